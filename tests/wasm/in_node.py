"""Python scripts in Pyodide, which runs in Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from autograder.site.site_folder import NUMPY, parts_folder

ROOT = Path(__file__).resolve().parents[2]
PARTS = parts_folder()
NODE_MISSING = "Node is needed, and none is on the PATH; cure: apt install npm"
PARTS_MISSING = (
    "the parts of a site are not there, or are others; cure: rm -rf .venv/.pyodide, and make again"
)
LIBRARIES = ("jaxtyping", "wadler_lindig")  # besides NumPy, what students' code imports


def find_node() -> str | None:
    """Where Node lies; None when there is none."""
    return shutil.which("node")


def start_script(script: Path, *words: object, work: Path) -> subprocess.Popen[str]:
    """Run a script in Pyodide, which sees the repository and the folder `work`."""
    facts = {
        "parts": str(PARTS),
        "numpy": NUMPY,
        "folders": [str(ROOT), str(work)],
        "libraries": [folder for name in LIBRARIES for folder in _installed(name)],
        "words": [str(script), *map(str, words)],
    }
    file = work / "facts.json"
    file.write_text(json.dumps(facts), encoding="utf-8")
    node = find_node()
    assert node
    command = [node, str(Path(__file__).with_name("run.mjs")), str(file)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _installed(name: str) -> list[str]:
    """Return the folder of a library and that of its record, in which it looks for its version."""
    found = find_spec(name)
    assert found and found.origin
    folder = Path(found.origin).parent
    return [str(folder), *map(str, folder.parent.glob(f"{name}-*.dist-info"))]
