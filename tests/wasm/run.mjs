// Runs a script in Pyodide: `node run.mjs FACTS`, a JSON file that names its parts and its words.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const { parts, numpy, folders, libraries, words } = JSON.parse(fs.readFileSync(process.argv[2]));
const { loadPyodide } = await import(pathToFileURL(path.join(parts, "pyodide.mjs")));
const python = await loadPyodide({
  indexURL: parts + path.sep,
  env: { HOME: "/home/pyodide", PYTHONDONTWRITEBYTECODE: "1" },
});
await python.loadPackage(path.join(parts, numpy), { messageCallback: () => {} });
const installed = python.runPython("import site; site.getsitepackages()[0]");
// Each folder has the path there that it has here, so that both sides name the same files.
const mounts = folders.map((folder) => [folder, folder]);
for (const each of libraries) mounts.push([each, `${installed}/${path.basename(each)}`]);
for (const [root, place] of mounts) {
  python.FS.mkdirTree(place);
  python.FS.mount(python.FS.filesystems.NODEFS, { root }, place);
}
const [script] = words;
python.globals.set("words", python.toPy(words));
python.runPython("import sys; sys.argv[:] = words");
python.runPython(fs.readFileSync(script, "utf8"), { filename: script });
