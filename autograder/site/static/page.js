// The page of an exercise: editors, buttons, and what is kept in this browser.
import {
  EditorState, EditorView, autocompletion, basicSetup, classHighlighter, closeCompletion,
  completionKeymap, indentUnit, indentWithTab, keymap, python, syntaxHighlighting,
} from "./editor.js";

const SILENT = { seconds: 45, words: "Python does not answer." }; // where it names no limit itself
const ANEW = "Python was started anew; your code is as it was.";
const GONE = "Python is not there.";
const AGAIN = "To try once more, load this page again.";
const OLD = "You have changed your code since: this answer is of the code before.";
const { exercise, below, finale, steps } = JSON.parse(document.getElementById("facts").textContent);
const KEY = `attention-kit ${new URL(".", location).pathname} ${exercise}`; // one host, many sites
const ONCE = `attention-kit/${exercise}`; // what it was for all sites: the first to open takes it
const EMPTY = { code: {}, passed: {}, hints: {}, met: [] };
const LAST = document.getElementById("finale");
const editors = {};
const made = (kind, properties) => Object.assign(document.createElement(kind), properties);
const place = (step, name) => document.querySelector(`#${step} .${name}`);
const tell = (words) => { document.getElementById("python").textContent = words; };
const say = (words) => { document.getElementById("kept").textContent = words; };
let elsewhere = false; // whether another tab has written what is kept
const state = read();

function read() {
  try {
    const before = localStorage.getItem(ONCE);
    if (before && !localStorage.getItem(KEY)) {
      localStorage.setItem(KEY, before);
      localStorage.removeItem(ONCE);
    }
    return sound(localStorage.getItem(KEY) ?? "{}");
  } catch {
    return EMPTY; // nothing can be kept, which is said as soon as something should be
  }
}

/** What can be read of a text that was kept; where that is not all, the text is put aside. */
function sound(text) {
  const those = (kind, all) => Object.fromEntries(Object.entries(all ?? {}).filter(([, each]) => typeof each === kind));
  let found;
  try { found = { ...EMPTY, ...JSON.parse(text) }; } catch { found = {}; }
  const { code, passed, hints, met } = found;
  const kept = { code: those("string", code), passed: those("string", passed), hints: those("number", hints) };
  kept.met = Object.values(those("string", met));
  if (JSON.stringify(kept) !== JSON.stringify(found)) {
    putAside(text);
    localStorage.setItem(KEY, JSON.stringify(kept));
  }
  return kept;
}

function putAside(text) {
  let number = 1;
  const name = () => KEY.replace("attention-kit", `damaged${number}`);
  while (localStorage.getItem(name())) number += 1;
  localStorage.removeItem(KEY); // there may not be room for both
  localStorage.setItem(name(), text);
  say(`What this browser had kept of this page is damaged. What can be read of it is here; all of it is kept as “${name()}”: `);
  document.getElementById("kept").append(offered(text, "damaged.txt", "save it as a file"));
}

function keep() {
  if (elsewhere) return;
  try { localStorage.setItem(KEY, JSON.stringify(state)); }
  catch { say("This browser keeps nothing here: save your code as .py."); }
}

for (const { name } of steps) {
  const box = place(name, "editor");
  const stub = box.textContent;
  const changed = EditorView.updateListener.of((update) => {
    if (update.docChanged) written(name, update.state.doc.toString(), stub);
  });
  const run = () => { check(name); return true; };
  const leave = (view) => { closeCompletion(view); return false; }; // and then Tab leads out
  box.textContent = "";
  editors[name] = new EditorView({
    parent: box,
    state: EditorState.create({
      doc: state.code[name] ?? stub,
      extensions: [
        keymap.of([{ key: "Mod-Enter", run }, { key: "Escape", run: leave }, ...completionKeymap, indentWithTab]),
        autocompletion({ selectOnOpen: false, defaultKeymap: false }), // Enter makes a new line
        basicSetup, python(), syntaxHighlighting(classHighlighter), indentUnit.of("    "), changed,
        EditorState.changeFilter.of(() => !elsewhere),
        EditorView.contentAttributes.of({ "aria-label": `Your code for ${name}` }),
      ],
    }),
  });
  editors[name].stub = stub;
}

function written(name, text, stub) {
  if (text === stub) delete state.code[name];
  else state.code[name] = text;
  delete state.passed[name];
  keep();
  count();
  age(place(name, "answer"));
}

/** Mark an answer, if there is one, as of code that is not there any more. */
function age(box) {
  if (!box.firstElementChild || box.firstElementChild.matches(".old")) return;
  box.prepend(made("p", { className: "old", textContent: OLD }));
}

const codeOf = (name) => editors[name].state.doc.toString();

/** The pieces of the file, with what each is called when a line of it is told. */
function cells() {
  const pieces = steps.flatMap(({ name, above }) => [
    [`the lines above ${name}`, above], [`your ${name}`, codeOf(name)],
  ]);
  return [...pieces, ["the last lines", below]];
}

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

function heard({ event, what, id, piece, answer }) {
  if (event === "loading") tell(`${what} is loading …`);
  if (event === "failed") failed(AGAIN);
  if (event === "ready") isReady();
  if (event === "piece" && !piece.limit) waiting.get(id)?.told(piece);
  if (event === "answer") waiting.get(id)?.end(answer);
  if (event === "broken") restart("Python has ended.");
  else listen(piece?.limit);
}

/** Have the site kept, now that all that Python needs has come: nothing is fetched twice. */
async function isReady() {
  ready = true;
  tell("Python is ready.");
  try {
    await navigator.serviceWorker.register("service.js");
    await navigator.serviceWorker.ready;
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

function restart(why) {
  end(`${why} ${ANEW}`);
  start();
}

/** End Python, whatever it does; who waits is told. */
function end(words) {
  worker?.terminate();
  for (const each of [...waiting.values()]) each.end({ unanswered: words });
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

/** Put what was asked for right below the buttons, where it is seen. */
const first = (step, name) => { place(step, "buttons").after(place(step, name)); return place(step, name); };

async function check(step) {
  const box = first(step, "answer");
  const asked = codeOf(step);
  closeCompletion(editors[step]); // it would lie over the answer
  box.textContent = ready ? "checking …" : "checking, as soon as Python is ready …";
  const answer = await ask({ cells: cells(), step });
  box.innerHTML = answer.html ?? answer.unanswered; // the kit's, in which all text is escaped
  if (answer.unanswered) return;
  if (answer.printed) box.append(made("pre", { textContent: `Your code printed:\n${answer.printed}` }));
  if (answer.mistake && !state.met.includes(answer.mistake)) state.met.push(answer.mistake);
  if (codeOf(step) !== asked) return age(box); // written on meanwhile
  if (answer.passes) state.passed[step] = new Date().toISOString();
  else delete state.passed[step];
  keep();
  count();
}

/** Let the layer read the sentence and speak, as the pieces of it come. */
async function speak() {
  const [button, box] = [LAST.querySelector("button"), LAST.querySelector(".shown")];
  button.disabled = true;
  box.ariaBusy = "true"; // nobody wants it read out letter by letter
  box.textContent = "Your layer is reading …";
  let speech;
  const told = ({ html, text }) => {
    if (box.firstChild.nodeType === Node.TEXT_NODE) box.textContent = "";
    if (html) box.insertAdjacentHTML("beforeend", html);
    else (speech ??= box.appendChild(made("pre"))).append(text);
  };
  const answer = await ask({ cells: cells(), last: finale, met: state.met }, told);
  told({ html: answer.html ?? `<p>${answer.unanswered}</p>` });
  box.ariaBusy = "false";
  button.disabled = false;
}

function hint(step) {
  state.hints[step] = (state.hints[step] ?? 0) + 1;
  keep();
  const newest = first(step, "hints").querySelector(`[data-from="${state.hints[step]}"]`);
  showHints(step);
  newest.scrollIntoView({ block: "nearest" });
  newest.tabIndex = -1;
  if (place(step, "buttons [data-act=hint]").disabled) newest.focus(); // the button cannot have it
}

function showHints(step) {
  const shown = state.hints[step] ?? 0;
  const parts = [...place(step, "hints").querySelectorAll("[data-from], [data-until]")];
  for (const each of parts) each.hidden = shown < each.dataset.from || shown >= each.dataset.until;
  const button = place(step, "buttons [data-act=hint]");
  button.disabled = parts.every((each) => !(shown < each.dataset.from));
  button.textContent = button.disabled ? "No hint is left" : "Hint";
}

const chosen = (step) => [...place(step, "hints").querySelectorAll("[data-place]")]
  .sort((one, other) => one.dataset.place - other.dataset.place);

/** Choose a line, or not any more; each says at what place it was chosen. */
function choose(step, line) {
  const before = chosen(step);
  const order = before.includes(line) ? before.filter((each) => each !== line) : [...before, line];
  delete line.dataset.place;
  line.ariaLabel = null;
  order.forEach((each, index) => {
    each.dataset.place = index + 1;
    each.ariaLabel = `${each.textContent}, chosen as number ${index + 1}`;
  });
}

async function order(step) {
  const told = place(step, "hints .told");
  told.textContent = "trying …";
  const answer = await ask({ order: chosen(step).map(({ dataset }) => Number(dataset.line)), step });
  told.innerHTML = answer.html ?? answer.unanswered;
}

function reset(step) {
  if (confirm(`Put the stub of ${step} back? Your code of this step is lost.`)) write(step, editors[step].stub);
}

function write(step, text) {
  const view = editors[step];
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
  place(step, "answer").textContent = "";
}

/** Offer the file of the exercise, with the code of every editor in the place of its stub. */
const save = () => offered(cells().map(([, piece]) => piece).join("\n"), `${exercise}.py`).click();

function offered(text, download, textContent = "") {
  const href = URL.createObjectURL(new Blob([text], { type: "text/x-python" }));
  return made("a", { href, download, textContent });
}

/** Put the steps of a file into the editors. */
async function load({ target }) {
  const [file] = target.files;
  target.value = "";
  if (!file || elsewhere) return;
  if (!ready) say(`${file.name} is read as soon as Python is ready.`);
  const code = await ask({ file: await file.text() });
  const names = steps.map(({ name }) => name).filter((name) => code[name] !== undefined);
  if (elsewhere) return; // it was said why
  say("");
  if (code.unanswered) return say(`${file.name} was not read: ${code.unanswered}`);
  if (names.length === 0) return say(`${file.name} holds no step of this exercise.`);
  if (!confirm(`${file.name}: ${code.question}`)) return;
  names.forEach((name) => write(name, code[name]));
  say(`These steps are from ${file.name} now, and are checked: ${names.join(", ")}.`);
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
  LAST.querySelector("button").disabled = !all;
  LAST.querySelector("span").hidden = all;
  LAST.querySelector(".built").hidden = !all;
}

document.addEventListener("click", ({ target }) => {
  const step = target.closest("[data-step]")?.dataset.step;
  const act = { check, hint, reset, choose, order, save, speak }[target.dataset?.act];
  act?.(step, target);
});
document.getElementById("load").addEventListener("change", load);
window.addEventListener("storage", ({ key }) => {
  if (key !== KEY) return;
  elsewhere = true;
  say("You have written in another tab, so nothing is changed here. To go on here, load this page again.");
});
steps.forEach(({ name }) => showHints(name));
count();
start();
