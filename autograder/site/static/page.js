// The page of an exercise: editors, buttons, and what is kept in this browser.
import * as Editor from "./editor.js";

const SILENT = { seconds: 45, words: "Python does not answer." }; // where it names no limit itself
const [GONE, TOO_DEEP] = ["Python is not there.", ": code calls itself, or is nested, too deeply for a browser."];
const AGAIN = "To try once more, load this page again.";
const OLD = "Your code has changed since, here or in a step that this one uses: this answer is of the code before.";
const { exercise, below, finale, steps } = JSON.parse(document.getElementById("facts").textContent);
const KEY = `attention-kit ${new URL(".", location).pathname} ${exercise}`; // one host, many sites
const EMPTY = { code: {}, passed: {}, hints: {}, met: [] };
const LAST = document.getElementById("finale");
const editors = {};
const made = (kind, properties) => Object.assign(document.createElement(kind), properties);
const place = (step, name) => document.querySelector(`#${step} .${name}`);
const tell = (words) => { document.getElementById("python").textContent = words; };
const say = (words) => { document.getElementById("kept").textContent = words; };
const offered = (text, download, textContent = "") =>
  made("a", { href: URL.createObjectURL(new Blob([text], { type: "text/x-python" })), download, textContent });
let [elsewhere, kept] = [false, null]; // whether another tab has written what is kept; what it was here
const state = read();

function read() {
  try {
    const state = sound(localStorage.getItem(KEY) ?? "{}");
    kept = localStorage.getItem(KEY); // the sound part, where it was damaged
    return state;
  } catch {
    return EMPTY; // nothing can be kept, which is said as soon as something should be
  }
}

/** What can be read of a text that was kept; where that is not all, the text is put aside. */
function sound(text) {
  const those = (kind, all) => Object.fromEntries(Object.entries(all ?? {}).filter(([, each]) => typeof each === kind));
  let found = {};
  try { found = { ...EMPTY, ...JSON.parse(text) }; } catch { /* nothing of it can be read */ }
  const [code, passed] = [those("string", found.code), those("string", found.passed)];
  const kept = { code, passed, hints: those("number", found.hints), met: Object.values(those("string", found.met)) };
  if (JSON.stringify(kept) !== JSON.stringify(found)) {
    putAside(text);
    localStorage.setItem(KEY, JSON.stringify(kept));
  }
  return kept;
}
function putAside(text) {
  const name = KEY.replace("attention-kit", `damaged${Date.now()}`);
  localStorage.removeItem(KEY); // there may not be room for both
  localStorage.setItem(name, text);
  say(`What this browser had kept of this page is damaged. What can be read of it is here; all of it is kept as “${name}”: `);
  document.getElementById("kept").append(offered(text, "damaged.txt", "save it as a file"));
}

function keep() {
  count();
  try {
    if (![null, kept].includes(localStorage.getItem(KEY))) writtenElsewhere();
    if (elsewhere) return;
    localStorage.setItem(KEY, JSON.stringify(state));
    kept = localStorage.getItem(KEY);
  } catch { say("This browser keeps nothing here: save your code as .py."); }
}
function writtenElsewhere() {
  elsewhere = true; // and what is kept is newer than what this page has
  say("You have written in another tab, so nothing is changed here. To go on here, load this page again.");
}

for (const { name } of steps) {
  const box = place(name, "editor");
  const stub = box.textContent;
  const changed = Editor.EditorView.updateListener.of(({ docChanged, startState, state }) => {
    if (docChanged) written(name, startState.doc.toString(), state.doc.toString(), stub);
  });
  const run = () => !!check(name, true);
  const leave = (view) => Editor.closeCompletion(view) && false; // and then Tab leads out
  box.textContent = "";
  editors[name] = new Editor.EditorView({
    parent: box,
    state: Editor.EditorState.create({
      doc: state.code[name] ?? stub,
      extensions: [
        Editor.keymap.of([{ key: "Mod-Enter", run }, { key: "Escape", run: leave }, ...Editor.completionKeymap, Editor.indentWithTab]),
        Editor.autocompletion({ selectOnOpen: false, defaultKeymap: false }), // Enter makes a new line
        Editor.basicSetup, Editor.python(), Editor.syntaxHighlighting(Editor.classHighlighter), Editor.indentUnit.of("    "), changed,
        Editor.EditorState.changeFilter.of(() => !elsewhere),
        Editor.EditorView.contentAttributes.of({ "aria-label": `Your code for ${name}` }),
      ],
    }),
  });
  editors[name].stub = stub;
}

function written(name, before, text, stub) {
  if (text === stub) delete state.code[name];
  else state.code[name] = text;
  for (const each of reached(name, before + "\n" + text)) {
    delete state.passed[each];
    age(place(each, "answer"));
  }
  if (LAST) age(LAST.querySelector(".shown"));
  document.querySelectorAll(".answer[data-uncounted=true]").forEach(age); // any code may be why
  keep();
}

const NAMED = /^(?:(?:async +)?def|class) +(\w+)|^(\w+)[^=(\n]*=/gm; // at the top of an editor

/** The steps whose code reaches what an editor has or had: each uses a name of one that does. */
function reached(step, text) {
  const found = new Set([step]);
  for (const each of found) { // goes on with what is added
    const names = [...(each === step ? text : codeOf(each)).matchAll(NAMED)].map(([, own, set]) => own ?? set);
    const uses = new RegExp(`\\b(${names.join("|")})\\b`);
    for (const { name } of steps) if (names.length && uses.test(codeOf(name))) found.add(name);
  }
  return found;
}

/** Mark an answer, if there is one, as of code that is not there any more. */
const age = (box) => box.querySelector(":scope > :first-child:not(.old)")
  && box.prepend(made("p", { className: "old", textContent: OLD }));
const codeOf = (name) => editors[name].state.doc.toString();

/** The pieces of the file, with what each is called when a line of it is told. */
const cells = () => [...steps.flatMap(({ name, above }) => [
  [`the lines above ${name}`, above], [`your ${name}`, codeOf(name)],
]), ["the last lines", below]];

let worker, timer, number = 0;
let [ready, missing] = [false, false]; // whether Python is there, and whether it cannot be had
const waiting = new Map();

function start() {
  ready = false;
  tell("Python is starting …");
  if (typeof WebAssembly === "undefined") return failed("This browser has no WebAssembly.");
  worker = new Worker("worker.js", { type: "module" });
  worker.onmessage = ({ data }) => heard(data);
  worker.onerror = () => failed(AGAIN);
  worker.postMessage({ exercise });
}
function heard({ event, what, id, piece, answer, why }) {
  if (event === "loading") tell(`${what} is loading …`);
  if (event === "failed") failed(AGAIN);
  if (event === "ready") isReady();
  if (piece && !piece.limit) waiting.get(id)?.told(piece);
  if (answer) waiting.get(id)?.end(answer);
  if (event === "broken") restart(`Python has ended${/call stack|recursion/.test(why) ? TOO_DEEP : `: ${why}`}`);
  else listen(piece?.limit);
}

/** Have the site kept, now that all that Python needs has come: nothing is fetched twice. */
async function isReady() {
  ready = true;
  tell("Python is ready.");
  try {
    await navigator.serviceWorker.register("service.js").then(() => navigator.serviceWorker.ready);
    if (!document.getElementById("kept").textContent) say("This page works offline now.");
  } catch { /* without one, the page works as long as there is a network */ }
}

/** Have Python ended where it says nothing for so long, with these words. */
function listen({ seconds, words } = SILENT) {
  clearTimeout(timer);
  if (ready && waiting.size) timer = setTimeout(restart, 1000 * seconds, words);
}
function failed(why) {
  missing = true;
  tell(`Python could not be loaded. ${why} These pages are tested in Chromium and Firefox.`);
  end(GONE);
}
const restart = (why) => { end(`${why} Python was started anew; your code is as it was.`); start(); };

/** End Python, whatever it does; who waits is told. */
function end(unanswered) {
  worker?.terminate();
  for (const each of [...waiting.values()]) each.end({ unanswered });
}

/** Ask Python; `told` is given what it says before it has the whole answer. */
function ask(question, told) {
  if (missing) return Promise.resolve({ unanswered: GONE });
  return new Promise((resolve) => {
    const id = ++number;
    const end = (answer) => { waiting.delete(id); resolve(answer); };
    waiting.set(id, { told, end });
    worker.postMessage({ id, ...question });
    if (waiting.size === 1) listen();
  });
}

const DRAWN = /^(br|code|details|div|li|p|pre|strong|summary|t(able|body|d|h|head|r)|ul)$/;
const SAID = /^(aria-label|colspan|scope|style)$/;

/** What Python draws, and no more than its cards are made of: a learner's code can draw it, too. */
function drawn({ html, unanswered }) {
  const { content } = made("template", { innerHTML: html ?? unanswered });
  for (const each of content.querySelectorAll("*")) {
    if (!DRAWN.test(each.localName)) each.remove();
    for (const { name } of [...each.attributes]) if (!SAID.test(name)) each.removeAttribute(name);
  }
  return content;
}

/** Put what was asked for right below the buttons, where it is seen. */
const first = (step, name) => { place(step, "buttons").after(place(step, name)); return place(step, name); };
async function check(step, wanted) {
  const box = first(step, "answer");
  const asked = codeOf(step);
  Editor.closeCompletion(editors[step]); // it would lie over the answer
  box.textContent = ready ? "checking …" : "checking, as soon as Python is ready …";
  const answer = await ask({ cells: cells(), step });
  box.replaceChildren(drawn(answer));
  box.dataset.uncounted = !!answer.uncounted;
  if (wanted) box.scrollIntoView({ block: "nearest" }); // it may lie below what is seen
  if (answer.unanswered) return;
  if (answer.printed) box.append(made("pre", { textContent: `Your code printed:\n${answer.printed}` }));
  if (answer.mistake && !state.met.includes(answer.mistake)) state.met.push(answer.mistake);
  if (codeOf(step) !== asked) return age(box); // written on meanwhile
  delete state.passed[step];
  if (answer.passes) state.passed[step] = new Date().toISOString();
  keep();
}

/** Let the layer read the sentence and speak, as the pieces of it come. */
async function speak() {
  const box = LAST.querySelector(".shown");
  let speech;
  box.ariaBusy = "true"; // nobody wants it read out letter by letter; and it is pressed once
  box.focus(); // the button cannot keep it
  count();
  box.textContent = "Every step is checked once more …";
  const needed = steps.filter((each) => each.needed).map(({ name }) => name);
  for (const name of needed) await check(name);
  const failing = needed.filter((name) => !state.passed[name]);
  box.textContent = failing.length ? `Not yet: ${failing.join(", ")} does not pass any more.` : "Your layer is reading …";
  const told = ({ html, unanswered, text }) => {
    if (box.firstChild.nodeType === Node.TEXT_NODE) box.textContent = "";
    if (html ?? unanswered) box.append(drawn({ html, unanswered }));
    else (speech ??= box.appendChild(made("pre"))).append(text);
  };
  if (!failing.length) told(await ask({ cells: cells(), last: finale, met: state.met }, told));
  box.ariaBusy = "false";
  count();
}

function hint(step) {
  const number = state.hints[step] = (state.hints[step] ?? 0) + 1;
  const newest = Object.assign(first(step, "hints").querySelector(`[data-from="${number}"]`), { tabIndex: -1 });
  keep();
  showHints(step);
  newest.scrollIntoView({ block: "nearest" });
  if (place(step, "buttons [data-act=hint]").disabled) newest.focus(); // the button cannot have it
}
function showHints(step) {
  const [shown, button] = [state.hints[step] ?? 0, place(step, "buttons [data-act=hint]")];
  const parts = [...place(step, "hints").querySelectorAll("[data-from], [data-until]")];
  for (const each of parts) each.hidden = shown < each.dataset.from || shown >= each.dataset.until;
  button.disabled = parts.every((each) => !(shown < each.dataset.from));
  button.textContent = button.disabled ? "No hint is left" : "Hint";
}

const chosen = (step) => [...place(step, "hints").querySelectorAll("[data-place]")]
  .sort((one, other) => one.dataset.place - other.dataset.place);
/** Choose a line, or not any more; each says at what place it was chosen. */
function choose(step, line) {
  const order = chosen(step).filter((each) => each !== line);
  if (!line.dataset.place) order.push(line);
  delete line.dataset.place;
  line.ariaLabel = null;
  place(step, "hints .told").textContent = ""; // it was of another order
  order.forEach((each, index) => { each.ariaLabel = `${each.textContent}, chosen as number ${each.dataset.place = index + 1}`; });
}

async function order(step) {
  const told = place(step, "hints .told");
  told.textContent = "trying …";
  const answer = drawn(await ask({ order: chosen(step).map(({ dataset }) => Number(dataset.line)), step }));
  if (told.textContent) told.replaceChildren(answer); // if not, lines were chosen meanwhile
}
const reset = (step) => confirm(`Put the stub of ${step} back? Your code of this step is lost.`)
  && write(step, editors[step].stub);

function write(step, insert) {
  editors[step].dispatch({ changes: { from: 0, to: codeOf(step).length, insert } });
  place(step, "answer").textContent = "";
}

/** Offer the file of the exercise, with the code of every editor in the place of its stub. */
const save = () => offered(cells().map(([, piece]) => piece).join("\n"), `${exercise}.py`).click();

/** Put the steps of a file into the editors. */
async function load({ target }) {
  const [file] = target.files;
  target.value = "";
  if (!file || elsewhere) return;
  if (file.size > 1e6) return say(`${file.name} was not read: it is larger than 1 MB.`);
  say(ready ? `${file.name} is being read …` : `${file.name} is read as soon as Python is ready.`);
  const code = await ask({ file: await file.text() });
  const names = steps.map(({ name }) => name).filter((name) => code[name] !== undefined);
  if (elsewhere) return; // it was said why
  if (code.unanswered) return say(`${file.name} was not read: ${code.unanswered}`);
  if (names.length === 0) return say(`${file.name} holds no step of this exercise as Python code.`);
  if (!confirm(`${file.name}: ${code.question}`)) return say("");
  names.forEach((name) => write(name, code[name]));
  say(`${names.length} of ${steps.length} steps came from ${file.name}; each is checked once.`);
  for (const name of names) await check(name);
}

function count() {
  const done = steps.filter(({ name }) => state.passed[name]).length;
  document.getElementById("count").textContent = `${done} of ${steps.length} steps pass`;
  for (const { name } of steps) {
    place(name, "after div").hidden = !state.passed[name];
    document.querySelector(`nav a[href="#about-${name}"]`)?.classList.toggle("done", !!state.passed[name]);
  }
  if (!LAST) return;
  const all = steps.every(({ name, needed }) => !needed || state.passed[name]);
  LAST.querySelector("button").disabled = !all || LAST.querySelector(".shown").ariaBusy === "true";
  LAST.querySelector("span").hidden = all;
  LAST.querySelector(".built").hidden = !all;
}

document.addEventListener("click", ({ target }) => {
  const act = { check, hint, reset, choose, order, save, speak }[target.dataset?.act];
  act?.(target.closest("[data-step]")?.dataset.step, target);
});
document.getElementById("load").addEventListener("change", load);
window.addEventListener("storage", ({ key }) => { if (key === KEY) writtenElsewhere(); });
window.addEventListener("pageshow", ({ persisted }) => { if (persisted) location.reload(); }); // it is as it was left
steps.forEach(({ name }) => showHints(name));
count();
start();
