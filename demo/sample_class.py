"""A sample class, made of small files: each file says what one made-up student changes.

A file holds only the functions that differ from its base, which is the reference or the
untouched stub. Together with the base, it becomes the notebook or the `.py` that a student
would hand in. The demo and the tests use it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import nbformat

from autograder.authoring.regions import BEGIN, END
from autograder.course.creation import notebook_name, script_name
from autograder.errors import KitError
from autograder.submission.cells import cut_before_definitions, percent_cells
from autograder.values.exercise import Exercise

FACT = re.compile(r"^# ([a-z ]+): (.*)$")
SOLUTIONS_FOLDER = "SOLUTIONS_FOLDER"


@dataclass(frozen=True)
class SampleStudent:
    """One made-up student: a base, the definitions that differ, and the expected outcome.

    `facts` are the lines at the head of the file: kind, base, hands in, loses, named, outcome.
    """

    name: str
    facts: Mapping[str, str]
    changes: Mapping[str, str]
    preamble: str

    @property
    def notebook(self) -> bool:
        """Whether a notebook is handed in, not a plain `.py`."""
        return self.facts["hands in"] == "notebook"

    @property
    def hostile(self) -> bool:
        """Whether the code must not run without protection."""
        return self.facts["kind"] == "hostile"


def read_sample_class(folder: Path) -> tuple[SampleStudent, ...]:
    """Read the sample class of one exercise; raise `KitError` when there is none."""
    files = sorted(folder.glob("*.py"))
    if not files:
        raise KitError(
            "there is no sample class here",
            place=str(folder),
            cure="run this in the repository, or name a folder with --class",
        )
    return tuple(_classmate(file) for file in files)


def _classmate(file: Path) -> SampleStudent:
    lines = file.read_text(encoding="utf-8").split("\n")
    facts = {match[1]: match[2] for line in lines if (match := FACT.match(line))}
    body = "\n".join(line for line in lines if not FACT.match(line))
    (_, preamble), *parts = cut_before_definitions(body)
    changes = {name: part.strip() for name, part in parts}
    return SampleStudent(file.stem, facts, changes, preamble.strip() if parts else "")


def hand_in(classmate: SampleStudent, exercise: Exercise, assignment: Path, folder: Path) -> Path:
    """Write what `classmate` hands in into `folder`; return the file.

    `exercise` is the instructor's copy, `assignment` the folder that students get.
    """
    folder.mkdir(parents=True, exist_ok=True)
    definitions = _definitions(classmate, exercise, assignment)
    if classmate.notebook:
        return _notebook(classmate, definitions, exercise, assignment, folder)
    text = (assignment / script_name(exercise.name)).read_text(encoding="utf-8")
    for name, stub in _definitions_of(text, exercise).items():
        text = text.replace(stub, definitions.pop(name, stub) + "\n\n\n")
    file = folder / script_name(exercise.name)
    head, first, rest = text.partition("\n# %%\n")
    extra = "\n\n".join([classmate.preamble, *definitions.values()]).strip()
    file.write_text(f"{head}{first}{extra}\n{rest}" if extra else text, encoding="utf-8")
    return file


def _notebook(
    classmate: SampleStudent,
    definitions: dict[str, str],
    exercise: Exercise,
    assignment: Path,
    folder: Path,
) -> Path:
    notebook = nbformat.read(assignment / notebook_name(exercise.name), as_version=4)
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if name in definitions:
            cell.source = definitions.pop(name)
    extra = "\n\n".join([classmate.preamble, *definitions.values()]).strip()
    if extra:
        first = next(cell for cell in notebook.cells if cell.cell_type == "code")
        first.source = f"{extra}\n{first.source}"
    file = folder / notebook_name(exercise.name)
    nbformat.write(notebook, file)
    return file


def _definitions(classmate: SampleStudent, exercise: Exercise, assignment: Path) -> dict[str, str]:
    """Return the source of every definition that differs from the stub."""
    solution = (exercise.folder / "solution.py").read_text(encoding="utf-8")
    solved = "\n".join(line for line in solution.split("\n") if line.strip() not in (BEGIN, END))
    whole = _definitions_of(solved, exercise)
    keeps = classmate.facts.get("keeps", "").split()
    kept = (
        whole if classmate.facts["base"] == "reference" else {name: whole[name] for name in keeps}
    )
    secret = str(exercise.folder.resolve().parent)
    changes = {
        name: source.replace(SOLUTIONS_FOLDER, secret) for name, source in classmate.changes.items()
    }
    return {name: source.strip() for name, source in kept.items()} | changes


def _definitions_of(text: str, exercise: Exercise) -> dict[str, str]:
    """Return every step's definition in a percent-format text, up to the end of its cell."""
    steps = [step.name for step in exercise.steps]
    found = {}
    for cell in percent_cells(text):
        _, *parts = cut_before_definitions(cell.text)
        if parts and parts[0][0] in steps:
            found[parts[0][0]] = "\n".join(part for _, part in parts)
    return found
