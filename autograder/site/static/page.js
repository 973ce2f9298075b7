// The page of an exercise: editors, buttons, and what is kept in this browser.
import {
  EditorState, EditorView, basicSetup, classHighlighter, indentUnit, indentWithTab, keymap, python,
  syntaxHighlighting,
} from "./editor.js";

const PATIENCE = 45_000; // milliseconds: longer than every limit of the kit itself
const ANEW = "Python could not be interrupted, or has ended. It was started anew; your code is as it was.";
const GONE = "Python is not there.";
const AGAIN = "To try once more, load this page again.";
const OLD = "You have changed your code since: this answer is of the code before.";
const { exercise, below, finale, steps } = JSON.parse(document.getElementById("facts").textContent);
const KEY = `attention-kit ${new URL(".", location).pathname} ${exercise}`; // one host, many sites
const ONCE = `attention-kit/${exercise}`; // what it was for all sites: the first to open takes it
const state = { code: {}, passed: {}, hints: {}, met: [], ...read() };
const LAST = document.getElementById("finale");
const editors = {};
const place = (step, name) => document.querySelector(`#${step} .${name}`);
const tell = (words) => { document.getElementById("python").textContent = words; };
const say = (words) => { document.getElementById("kept").textContent = words; };
let elsewhere = false; // whether another tab has written what is kept

function read() {
  try {
    const before = localStorage.getItem(ONCE);
    if (before && !localStorage.getItem(KEY)) {
      localStorage.setItem(KEY, before);
      localStorage.removeItem(ONCE);
    }
    return JSON.parse(localStorage.getItem(KEY) ?? "{}");
  } catch {
    return {};
  }
}

function keep() {
  if (elsewhere) return;
  try {
    localStorage.setItem(KEY, JSON.stringify(state));
  } catch {
    say("This browser keeps nothing here: save your code as .py.");
  }
}

// -- the editors ---------------------------------------------------------------------------------

for (const { name } of steps) {
  const box = place(name, "editor");
  const stub = box.textContent;
  const changed = EditorView.updateListener.of((update) => {
    if (update.docChanged) written(name, update.state.doc.toString(), stub);
  });
  const run = () => { check(name); return true; };
  box.textContent = "";
  editors[name] = new EditorView({
    parent: box,
    state: EditorState.create({
      doc: state.code[name] ?? stub,
      extensions: [
        keymap.of([{ key: "Mod-Enter", run }, indentWithTab]),
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
  box.prepend(Object.assign(document.createElement("p"), { className: "old", textContent: OLD }));
}

const codeOf = (name) => editors[name].state.doc.toString();

/** The pieces of the file, with what each is called when a line of it is told. */
function cells() {
  const pieces = steps.flatMap(({ name, above }) => [
    [`the lines above ${name}`, above], [`your ${name}`, codeOf(name)],
  ]);
  return [...pieces, ["the last lines", below]];
}

// -- Python --------------------------------------------------------------------------------------

let worker;
let ready = false;
let missing = false; // whether Python cannot be had
let number = 0;
const waiting = new Map();

function start() {
  ready = false;
  if (typeof WebAssembly === "undefined") { failed("This browser has no WebAssembly."); return; }
  worker = new Worker("worker.js", { type: "module" });
  worker.onmessage = ({ data }) => heard(data);
  worker.onerror = () => failed(AGAIN);
  worker.postMessage({ exercise });
}

function heard(message) {
  if (message.event === "loading") tell(`${message.what} is loading …`);
  if (message.event === "failed") failed(AGAIN);
  if (message.event === "ready") {
    ready = true;
    tell("Python is ready.");
    navigator.serviceWorker?.ready.then(() => { // the site is kept, and Python runs
      if (!document.getElementById("kept").textContent) say("This page works offline now.");
    });
    for (const each of waiting.values()) each.begin();
  }
  if (message.event === "piece") waiting.get(message.id)?.hear(message.piece);
  if (message.event === "answer") waiting.get(message.id)?.end(message.answer);
  if (message.event === "broken") restart();
}

function failed(why) {
  missing = true;
  worker?.terminate();
  tell(`Python could not be loaded. ${why} These pages are tested in Chromium and Firefox.`);
  for (const each of [...waiting.values()]) each.end({ unanswered: GONE });
}

/** End Python, whatever it does, and start it anew; who waits is told. */
function restart() {
  worker.terminate();
  for (const each of [...waiting.values()]) each.end({ unanswered: ANEW });
  start();
}

/** Ask Python; `told` is given what it says before it has the whole answer. */
function ask(question, told) {
  if (missing) return Promise.resolve({ unanswered: GONE });
  return new Promise((resolve) => {
    const id = ++number;
    let timer;
    const begin = () => { clearTimeout(timer); timer = setTimeout(restart, PATIENCE); };
    const hear = (piece) => { begin(); told(piece); };
    const end = (answer) => { clearTimeout(timer); waiting.delete(id); resolve(answer); };
    waiting.set(id, { begin, hear, end });
    worker.postMessage({ id, ...question });
    if (ready) begin();
  });
}

// -- the buttons ---------------------------------------------------------------------------------

async function check(step) {
  const box = place(step, "answer");
  const asked = codeOf(step);
  box.textContent = ready ? "checking …" : "checking, as soon as Python is ready …";
  const answer = await ask({ cells: cells(), step });
  if (answer.unanswered) {
    box.textContent = `${step}: ${answer.unanswered}`;
    return;
  }
  box.innerHTML = answer.html; // the kit's card, in which all text is escaped
  if (answer.printed) {
    const out = box.appendChild(document.createElement("pre"));
    out.textContent = `Your code printed:\n${answer.printed}`;
  }
  if (answer.mistake && !state.met.includes(answer.mistake)) state.met.push(answer.mistake);
  if (codeOf(step) !== asked) { age(box); return; } // written on meanwhile
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
    if (html) box.insertAdjacentHTML("beforeend", html); // the kit's own, in which text is escaped
    else (speech ??= box.appendChild(document.createElement("pre"))).append(text);
  };
  const all = [...cells(), ...finale.map((code) => ["the last cells", code])];
  const answer = await ask({ cells: all, met: state.met }, told);
  told({ html: answer.html ?? `<p>${answer.unanswered}</p>` });
  box.ariaBusy = "false";
  button.disabled = false;
}

function hint(step) {
  const { hints, sort } = steps.find(({ name }) => name === step);
  state.hints[step] = Math.min((state.hints[step] ?? 0) + 1, hints.length + (sort?.gap ? 1 : 0));
  keep();
  showHints(step);
}

function showHints(step) {
  const { hints, similar, sort } = steps.find(({ name }) => name === step);
  const shown = state.hints[step] ?? 0;
  const box = place(step, "hints");
  box.textContent = "";
  hints.slice(0, shown).forEach((words, index) => {
    const line = box.appendChild(document.createElement("p"));
    line.textContent = `Hint ${index + 1} of ${hints.length}: ${words}`;
  });
  if (similar && shown >= hints.length) {
    box.appendChild(document.createElement("pre")).textContent = similar;
  }
  if (sort && shown >= hints.length) showLines(step, sort, box);
  if (sort?.gap && shown > hints.length) {
    box.appendChild(document.createElement("p")).textContent = sort.gap.task;
    box.appendChild(document.createElement("pre")).textContent = sort.gap.code;
  }
}

/** Offer the lines of a step to sort: each is a button, which says at what place it was chosen. */
function showLines(step, { task, lines, gap }, box) {
  const order = [];
  const add = (kind, words, to = box) => {
    const made = to.appendChild(document.createElement(kind));
    made.textContent = words;
    return made;
  };
  add("p", `${task} Choose them in their order.${gap ? " One hint more shows the step with a gap." : ""}`);
  const list = add("ol", "");
  const buttons = lines.map((line) => add("button", line, add("li", "", list)));
  buttons.forEach((button, number) => button.addEventListener("click", () => {
    if (order.includes(number)) order.splice(order.indexOf(number), 1);
    else order.push(number);
    buttons.forEach((each, its) => {
      const place = order.indexOf(its) + 1;
      each.dataset.place = place || "";
      each.ariaLabel = place ? `${lines[its]}, chosen as number ${place}` : lines[its];
    });
  }));
  const told = document.createElement("div");
  add("button", "Try this order").addEventListener("click", async () => {
    told.textContent = "trying …";
    const answer = await ask({ order, step });
    told.innerHTML = answer.html ?? ""; // the kit's own, in which text is escaped
    if (answer.unanswered) told.textContent = answer.unanswered;
  });
  box.append(told);
}

function reset(step) {
  if (!confirm(`Put the stub of ${step} back? Your code of this step is lost.`)) return;
  write(step, editors[step].stub);
}

function write(step, text) {
  const view = editors[step];
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
  place(step, "answer").textContent = "";
}

/** Offer the file of the exercise, with the code of every editor in the place of its stub. */
function save() {
  const text = cells().map(([, piece]) => piece).join("\n");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/x-python" }));
  link.download = `${exercise}.py`;
  link.click();
}

/** Put the steps of a file into the editors. */
async function load({ target }) {
  const [chosen] = target.files;
  target.value = "";
  if (!chosen || elsewhere) return;
  if (!ready) say(`${chosen.name} is read as soon as Python is ready.`);
  const code = await ask({ file: await chosen.text() });
  const names = steps.map(({ name }) => name).filter((name) => code[name] !== undefined);
  if (elsewhere) return; // it was said why
  say("");
  if (code.unanswered) {
    say(`${chosen.name} was not read: ${code.unanswered}`);
  } else if (names.length === 0) {
    say(`${chosen.name} holds no step of this exercise.`);
  } else if (confirm(`${chosen.name}: ${code.question}`)) {
    names.forEach((name) => write(name, code[name]));
    say(`These steps are from ${chosen.name} now: ${names.join(", ")}.`);
  }
}

function count() {
  const done = steps.filter(({ name }) => state.passed[name]).length;
  document.getElementById("count").textContent = `${done} of ${steps.length} steps pass`;
  for (const { name } of steps) {
    place(name, "after div").hidden = !state.passed[name];
    document.querySelector(`nav a[href="#${name}"]`)?.classList.toggle("done", !!state.passed[name]);
  }
  if (!LAST) return;
  const all = steps.every(({ name, needed }) => !needed || state.passed[name]);
  LAST.querySelector("button").disabled = !all;
  LAST.querySelector("span").hidden = all;
  LAST.querySelector(".built").hidden = !all;
}

document.addEventListener("click", ({ target }) => {
  const step = target.closest("[data-step]")?.dataset.step;
  const act = { check, hint, reset }[target.dataset?.act];
  if (step && act) act(step);
});
LAST?.querySelector("button").addEventListener("click", speak);
document.getElementById("save").addEventListener("click", save);
document.getElementById("load").addEventListener("change", load);
window.addEventListener("storage", ({ key }) => {
  if (key !== KEY) return;
  elsewhere = true;
  say("You have written in another tab, so nothing is changed here. To go on here, load this page again.");
});
steps.forEach(({ name }) => showHints(name));
count();
start();
navigator.serviceWorker?.register("service.js").catch(() => {}); // without one, the page works as long as there is a network
