"""A learner's workspace for the tests: laid out by the real command, with answers put in."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from support.built_once import built_once
from support.typed_commands import typed

ROOT = Path(__file__).resolve().parents[2]
NAME = "numpy_single_head"
REFERENCE = (ROOT / "solutions" / NAME / "solution.py").read_text(encoding="utf-8")
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


def limited(workspace: Path, exercise: str = NAME, **limits: float) -> None:
    """Give the exercise other limits, so that a test need not wait for long."""
    file = workspace / exercise / "exercise.toml"
    text = file.read_text(encoding="utf-8")
    for name, number in limits.items():
        text, count = re.subn(rf"^{name} = .*$", f"{name} = {number}", text, flags=re.MULTILINE)
        assert count == 1, name
    file.write_text(text, encoding="utf-8")


def stub_file(workspace: Path) -> Path:
    return workspace / NAME / f"{NAME}.py"
