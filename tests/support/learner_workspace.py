"""A learner's workspace for the tests: laid out by the real command, with answers put in."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.built_once import built_once

ROOT = Path(__file__).resolve().parents[2]
ATTN = str(Path(sys.executable).with_name("attn"))
NAME = "numpy_single_head"
REFERENCE = (ROOT / "solutions" / NAME / "solution.py").read_text(encoding="utf-8")
WRONG_SOFTMAX = """    powers = np.exp(scores - scores.max(-2, keepdims=True))
    return powers / powers.sum(-2, keepdims=True)"""
RIGHT_SOFTMAX = """    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)"""


@dataclass(frozen=True)
class Run:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """What `--json` printed."""
        facts: dict[str, Any] = json.loads(self.out)
        return facts

    @property
    def words(self) -> str:
        """The output with every run of white space as one space, so that no wrap matters."""
        return " ".join(self.out.split())


def attn(
    *words: object,
    folder: Path,
    command: str = ATTN,
    keys: str = "",
    encoding: str = "utf-8",
    **env: str,
) -> Run:
    """Run a command in a terminal of this encoding; its output must be readable in it."""
    run = subprocess.run(
        [command, *map(str, words)],
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": encoding, **env},
        input=keys,
        capture_output=True,
        encoding=encoding,
        check=False,
        timeout=900,
    )
    return Run(run.returncode, run.stdout, run.stderr)


def start(folder: Path, *exercises: str) -> Path:
    """A workspace with one exercise, or with those named."""
    return Path(shutil.copytree(_started(exercises or (NAME,)), folder))


def _started(exercises: tuple[str, ...]) -> Path:
    """What the command lays out; a copy of it costs less than the command."""

    def lay_out(folder: Path) -> None:
        named = [word for name in exercises for word in ("--exercise", name)]
        run = attn("start", "work", *named, folder=folder)
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
