"""What the tests of a learner's commands begin with."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.learner_workspace import NAME, ROOT, start
from support.typed_commands import typed


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace with the NumPy exercise, in which nothing is written yet."""
    return start(tmp_path / "work")


@pytest.fixture
def in_class(tmp_path: Path) -> Callable[[Path], dict[str, dict[str, Any]]]:
    """Grade a script of the NumPy exercise; return what is said of each step."""

    def graded(script: Path) -> dict[str, dict[str, Any]]:
        hand_in = tmp_path / "class" / "ada.py"
        hand_in.parent.mkdir()
        hand_in.write_bytes(script.read_bytes())
        words = ("--exercise", NAME, "--output", tmp_path / "out")
        run = typed("grade", hand_in.parent, *words, folder=ROOT)
        assert run.code == 0, run.err
        (verdict,) = (tmp_path / "out" / "verdicts").glob("*.json")
        steps = json.loads(verdict.read_text(encoding="utf-8"))["steps"]
        return {step["name"]: step for step in steps}

    return graded
