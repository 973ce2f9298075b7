"""What a broken submission is: a builder that writes it, and what its owner should get.

A builder gets the whole, right work and an empty folder, and writes into the folder what
the student hands in. Declared beside it: the steps that earn nothing, how they end, and
words that the student's page has to say.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from autograder.values.exercise import read_exercise
from autograder.values.verdict import Outcome
from demo.sample_class import SampleStudent, hand_in

ROOT = Path(__file__).resolve().parents[3]
NAME = "numpy_single_head"
EXERCISE = read_exercise(ROOT / "solutions" / NAME)
ASSIGNMENT = ROOT / "assignments" / NAME
STEPS = tuple(step.name for step in EXERCISE.steps)
NOTEBOOK, SCRIPT = f"{NAME}.ipynb", f"{NAME}.py"

Cell = dict[str, Any]


@dataclass(frozen=True)
class Work:
    """The reference's answers as a student would hand them in, and the folder to write into."""

    folder: Path

    @property
    def cells(self) -> list[Cell]:
        """The cells of the answered notebook; change them as you like."""
        return copy.deepcopy(json.loads(_answered("notebook"))["cells"])

    @property
    def stubs(self) -> dict[str, Cell]:
        """The solution cells as released, by step."""
        released = json.loads((ASSIGNMENT / NOTEBOOK).read_text(encoding="utf-8"))
        return {grade_id(cell): cell for cell in released["cells"] if grade_id(cell) in STEPS}

    @property
    def answers(self) -> dict[str, str]:
        """The right code, by step."""
        return {grade_id(cell): text(cell) for cell in self.cells if grade_id(cell) in STEPS}

    @property
    def script(self) -> str:
        """The answered `.py`."""
        return _answered("script")

    def save(self, cells: Iterable[Cell], name: str = NOTEBOOK, **facts: object) -> Path:
        """Write a notebook of `cells`; `facts` replace the released notebook's own."""
        notebook = json.loads(_answered("notebook")) | {"cells": list(cells)} | facts
        return self.write(json.dumps(notebook, ensure_ascii=False), name)

    def write(self, content: str | bytes, name: str = SCRIPT) -> Path:
        """Write a file as it is."""
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def edited(self, step: str, change: Callable[[str], str]) -> list[Cell]:
        """The answered notebook with one step's code changed."""
        cells = self.cells
        target = next(cell for cell in cells if grade_id(cell) == step)
        target["source"] = change(text(target))
        return cells

    def with_cell(self, source: str, before: str = "softmax", kind: str = "code") -> list[Cell]:
        """The answered notebook with one more cell before a step's."""
        cells = self.cells
        place = next(n for n, cell in enumerate(cells) if grade_id(cell) == before)
        return [*cells[:place], new_cell(source, kind), *cells[place:]]


@dataclass(frozen=True)
class Broken:
    """One broken submission: who hands it in, how it is made, and what it should get.

    `loses` are the steps without points, `ends` how they end, `says` words on the page. Words
    that are said only of a folder, such as about a file's name, are in `says_of_folder`.
    """

    student: str
    build: Callable[[Work], object]
    loses: tuple[str, ...]
    ends: Outcome | None
    says: tuple[str, ...]
    says_of_folder: tuple[str, ...]

    @property
    def rejected(self) -> bool:
        """Whether none of it can be read."""
        return self.ends is Outcome.REJECTED


CASES: dict[str, Broken] = {}


def broken(
    *,
    loses: str = "",
    ends: Outcome | None = None,
    says: str | tuple[str, ...] = (),
    says_of_folder: str | tuple[str, ...] = (),
    student: str = "",
) -> Callable[[Callable[[Work], object]], Callable[[Work], object]]:
    """Declare a builder; `loses` are names of steps, or "everything"."""
    lost = STEPS if loses == "everything" else tuple(loses.split())

    def declared(build: Callable[[Work], object]) -> Callable[[Work], object]:
        name = student or build.__name__
        if name in CASES:
            raise ValueError(f"two students are called {name}")
        CASES[name] = Broken(name, build, lost, ends, _all(says), _all(says_of_folder))
        return build

    return declared


def _all(words: str | tuple[str, ...]) -> tuple[str, ...]:
    return (words,) if isinstance(words, str) else words


def new_cell(source: str, kind: str = "code") -> Cell:
    """A cell without metadata."""
    facts: Cell = {"cell_type": kind, "metadata": {}, "source": source}
    return facts | ({"outputs": [], "execution_count": None} if kind == "code" else {})


def grade_id(cell: Cell) -> str:
    """The name that nbgrader knows a cell by, "" when it has none."""
    return str(cell.get("metadata", {}).get("nbgrader", {}).get("grade_id", ""))


def text(cell: Cell) -> str:
    """The source of a cell as one text."""
    return "".join(cell["source"])


@cache
def _answered(kind: str) -> str:
    whole = SampleStudent("whole", {"base": "reference", "hands in": kind}, {}, "")
    with TemporaryDirectory() as folder:
        return hand_in(whole, EXERCISE, ASSIGNMENT, Path(folder)).read_text(encoding="utf-8")
