"""A learner's workspace for the tests: laid out by the real command, with answers put in."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from support.built_once import built_once
from support.typed_commands import typed

ROOT = Path(__file__).resolve().parents[2]
NAME = "numpy_single_head"
REFERENCE = (ROOT / "solutions" / NAME / "solution.py").read_text(encoding="utf-8")
CELL = re.compile(r"^(?=# %%)", re.MULTILINE)
WRONG_SOFTMAX = """    powers = np.exp(scores - scores.max(-2, keepdims=True))
    return powers / powers.sum(-2, keepdims=True)"""
RIGHT_SOFTMAX = """    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)"""


def start(folder: Path, *exercises: str) -> Path:
    """A workspace with one exercise, or with those named."""
    return Path(shutil.copytree(_started(exercises or (NAME,)), folder))


def _started(exercises: tuple[str, ...]) -> Path:
    """What the command lays out; a copy of it costs less than the command."""

    def lay_out(folder: Path) -> None:
        named = [word for name in exercises for word in ("--exercise", name)]
        run = typed("start", "work", *named, folder=folder)
        assert run.code == 0, run.err

    return built_once("-".join(("started", *exercises)), lay_out) / "work"


def written(stub: str, **bodies: str) -> str:
    """The stub with the bodies of some functions in it."""
    for name, body in bodies.items():
        line = f'    # YOUR CODE HERE\n    raise NotImplementedError("{name} is not written yet")'
        assert stub.count(line) == 1, name
        stub = stub.replace(line, body)
    return stub


def put(workspace: Path, exercise: str = NAME, **bodies: str) -> Path:
    """Write the bodies of some steps in the script; return it."""
    file = stub_file(workspace, exercise)
    file.write_text(written(file.read_text(encoding="utf-8"), **bodies), encoding="utf-8")
    return file


def notebook_with(file: Path, **bodies: str) -> str:
    """The text of a notebook, with the bodies of some steps in their cells."""
    notebook = json.loads(file.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        step = cell["id"].removeprefix("step-")
        if step in bodies:
            cell["source"] = written("".join(cell["source"]), **{step: bodies[step]})
    return json.dumps(notebook)


def solve(workspace: Path, exercise: str = NAME, old: str = "", new: str = "") -> Path:
    """Put the reference's steps in the script, with `new` for `old`, and no notebook beside it."""
    text = (ROOT / "solutions" / exercise / "solution.py").read_text(encoding="utf-8")
    cells = [cell for cell in CELL.split(text) if 'active="ipynb"' not in cell.partition("\n")[0]]
    text = re.sub(r" *### (BEGIN|END) SOLUTION\n", "", "".join(cells))
    assert old in text
    file = stub_file(workspace, exercise)
    file.with_suffix(".ipynb").unlink(missing_ok=True)
    file.write_text(text.replace(old, new) if old else text, encoding="utf-8")
    return file


def progress_file(workspace: Path) -> Path:
    """Where the commands note what has passed."""
    return workspace / ".attn" / "progress.json"


def noted_steps(workspace: Path, exercise: str = NAME) -> dict[str, dict[str, Any]]:
    """What is noted of each step of an exercise."""
    facts = json.loads(progress_file(workspace).read_text(encoding="utf-8"))
    steps: dict[str, dict[str, Any]] = facts["exercises"][exercise]
    return steps


def limited(workspace: Path, exercise: str = NAME, **limits: float) -> None:
    """Give the exercise other limits, so that a test need not wait for long."""
    file = workspace / exercise / "exercise.toml"
    text = file.read_text(encoding="utf-8")
    for name, number in limits.items():
        text, count = re.subn(rf"^{name} = .*$", f"{name} = {number}", text, flags=re.MULTILINE)
        assert count == 1, name
    file.write_text(text, encoding="utf-8")


def stub_file(workspace: Path, exercise: str = NAME) -> Path:
    return workspace / exercise / f"{exercise}.py"
