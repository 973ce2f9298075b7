"""The file in which a step is written again for a review; the learner's own work is not touched.

It holds the stub of one step. What the step calls is the learner's own work.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from autograder.errors import KitError
from autograder.learning.own_work import MARK
from autograder.learning.state.answer_key import solution_folder
from autograder.learning.state.workspace import Workspace
from autograder.model.exercise import GRADERS, Exercise, Step
from autograder.model.files import write_whole
from autograder.model.shipped import original
from autograder.submission.definitions import find_definitions

FOLDER = "review"


@dataclass(frozen=True)
class ReviewFile:
    """Where a step of a workspace is reviewed."""

    workspace: Workspace
    exercise: Exercise
    step: Step

    @property
    def path(self) -> Path:
        """The file that the learner writes."""
        return self.workspace.root / FOLDER / self.exercise.name / f"{self.step.name}.py"

    @property
    def _name(self) -> str:
        return f"{self.exercise.name}.{self.step.name}"

    def make(self, today: date) -> None:
        """Write the stub; a file that is there is kept as a copy. Raises `KitError`."""
        self.put_away(today)
        write_whole(self.path, self._stub(today))

    def put_away(self, today: date) -> Path | None:
        """Move the file to the kept copies, if there is one; return its new place."""
        if not self.path.is_file():
            return None
        folder = self.workspace.root / MARK / "kept"
        ends = (f"-{number}" if number else "" for number in itertools.count())
        names = (folder / f"review-{self._name}-{today}{end}.py" for end in ends)
        kept = next(name for name in names if not name.exists())
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.path.rename(kept)
        except OSError as error:
            raise KitError(
                f"the file of the last review cannot be put away: {error.strerror}",
                place=str(self.path),
                cure="move it away yourself, and try again",
            ) from error
        return kept

    def text(self) -> str:
        """Return what the learner has written; raise `KitError` if it cannot be read."""
        try:
            return self.path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise KitError(
                f"the file of the review cannot be read: {error}",
                place=str(self.path),
                cure=f"delete it, and `attn review {self.step.name}` makes it again",
            ) from None

    def cells(self, own: Sequence[str]) -> tuple[str, ...]:
        """Return the learner's own cells without this step, and the review below them."""
        return (*(_without(cell, self.step.name) for cell in own), self.text())

    def examples(self, today: date) -> Path | None:
        """Return the folder with worked examples on other inputs, drawn for this day.

        None where the solutions or the graders are not at hand. Raises `KitError` when they cannot
        be drawn.
        """
        from autograder.judging.examples import FILE as EXAMPLES

        solution = solution_folder(self.workspace, self.exercise)
        if solution is None or not (solution / GRADERS).is_file():
            return None
        folder = self.workspace.root / MARK / FOLDER / self._name / today.isoformat()
        if not (folder / EXAMPLES).is_file():
            from autograder.checks.recording import record_other_examples

            text = record_other_examples(solution, self.step.name, today.toordinal())
            write_whole(folder / EXAMPLES, text)
        return folder

    def _stub(self, today: date) -> str:
        stub = original(self.exercise, f"{self.exercise.name}.py").read_text(encoding="utf-8")
        (span,) = (each for each in find_definitions(stub) if each.name == self.step.name)
        imports = [
            ast.unparse(node)
            for node in ast.parse(stub).body
            if isinstance(node, ast.Import | ast.ImportFrom)
        ]
        definition = stub.split("\n")[span.first - 1 : span.last]
        head = (
            f"# Review of {self.step.name}, {today}: write it again, from memory.\n"
            "# Your own work stays as it is; the other steps are taken from there.\n"
            f"# Then type: attn review {self._name}\n"
        )
        return "\n".join([head, *imports, "", "", *definition, ""])


def _without(cell: str, name: str) -> str:
    """Return a cell in which the definitions of `name` are blank, so that line numbers stay."""
    lines = cell.split("\n")
    for span in find_definitions(cell):
        if span.name == name:
            lines[span.first - 1 : span.last] = [""] * (span.last - span.first + 1)
    return "\n".join(lines)
