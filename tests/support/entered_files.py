"""How much of the package one `attn grade` of one file goes through: `make layers` prints it.

Counted are files and functions that are called in the starter and its grader process, at least
once, and not what runs in the sandbox. The hand-in has two mistakes with a name.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from support.import_layers import PACKAGE
from support.nameless_mistakes import NOT_THE_ROOT, written
from support.reference_steps import reference_steps

NAME = "numpy_single_head"
# Every process of Python imports this before anything else.
HOOK = """
import os, sys, threading

seen, functions = set(), 0x1  # a module's code and a class's have no such flag
file = open(os.path.join({folder!r}, str(os.getpid())), "w", buffering=1)

def enter(frame, event, argument):
    code = frame.f_code
    if event == "call" and code not in seen:
        seen.add(code)
        if code.co_flags & functions and code.co_filename.startswith({package!r}):
            print(code.co_filename, code.co_firstlineno, code.co_name, file=file)

threading.setprofile(enter)
sys.setprofile(enter)
"""


def entered() -> dict[Path, int]:
    """Return how many functions of each file are called when one hand-in is graded."""
    wrong = reference_steps(NAME)["softmax"].replace("axis=-1", "axis=-2")
    with tempfile.TemporaryDirectory() as place:
        class_folder, hooks, seen = (Path(place, name) for name in ("class", "hooks", "seen"))
        for folder in (class_folder, hooks, seen):
            folder.mkdir()
        text = written(NAME, softmax=wrong, scale_scores=NOT_THE_ROOT)
        (class_folder / "ada.py").write_text(text, encoding="utf-8")
        hook = HOOK.format(folder=str(seen), package=f"{PACKAGE}{os.sep}")
        (hooks / "sitecustomize.py").write_text(hook, encoding="utf-8")
        words = ("grade", str(class_folder), "--exercise", NAME, "--processes", "1")
        subprocess.run(
            [sys.executable, "-m", "autograder.cli", *words],
            env={**os.environ, "PYTHONPATH": f"{hooks}{os.pathsep}{PACKAGE.parent}"},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        lines = {line for file in seen.iterdir() for line in file.read_text().splitlines()}
    return Counter(Path(line.rsplit(" ", 2)[0]) for line in lines)


def counted() -> str:
    """Say how large the package is, and how much of it grading one file enters."""
    files = sorted(PACKAGE.rglob("*.py"))
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)
    found = entered()
    rooms = Counter(file.relative_to(PACKAGE).parts[0] for file in found)
    told = ", ".join(f"{room.removesuffix('.py')} {count}" for room, count in rooms.most_common())
    return (
        f"{lines:,} lines in {len(files)} files; grading one hand-in enters {len(found)} of them, "
        f"with {sum(found.values()):,} functions: {told}"
    )


if __name__ == "__main__":
    print(counted())
