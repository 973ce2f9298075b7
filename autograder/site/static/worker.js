// Python in a worker: the page stays alive, and can end it. The first message names the exercise.
import { loadPyodide } from "./pyodide/pyodide.mjs";

const say = self.postMessage.bind(self);
let page, started;

const lost = (why) => { if (!page) { console.error(why); say({ event: "failed" }); } };

// What does not come is told here, since Pyodide may wait for it for ever.
const get = self.fetch.bind(self);
self.fetch = async (...asked) => {
  const answer = await get(...asked).catch((error) => { lost(error); throw error; });
  if (!answer.ok) lost(`${answer.url}: ${answer.status}`);
  return answer;
};
self.onunhandledrejection = ({ reason }) => lost(reason);

async function start(exercise) {
  const archive = fetch("kit.zip").then((answer) => answer.arrayBuffer());
  say({ event: "loading", what: "Python" });
  const python = await loadPyodide({ indexURL: new URL("./pyodide/", import.meta.url).href });
  say({ event: "loading", what: "NumPy" });
  await python.loadPackage("numpy", { messageCallback: () => {} });
  say({ event: "loading", what: "the exercise" });
  python.unpackArchive(new Uint8Array(await archive), "zip", { extractDir: "/kit" });
  python.runPython("import sys; sys.path.insert(0, '/kit')");
  const { Page, give_up } = python.pyimport("autograder.site.in_page");
  const whole = Page(`/kit/assignments/${exercise}`);
  give_up();
  page = whole; // there is one only where all of that went well
  say({ event: "ready" });
}

self.onmessage = async ({ data }) => {
  if (data.exercise) started = start(data.exercise).catch(lost);
  await started;
  if (data.exercise || !page) return; // if not, it was said why
  try {
    const tell = (piece) => say({ event: "piece", id: data.id, piece: JSON.parse(piece) });
    say({ event: "answer", id: data.id, answer: JSON.parse(page.answer(JSON.stringify(data), tell)) });
  } catch (error) {
    say({ event: "broken", id: data.id, why: String(error).trim().split("\n").pop() });
  }
};
