"""The code behind a step in a notebook: the cells that ran, and the notebook as it is saved.

A kernel knows what ran. A learner sees what is written, and may have changed a cell since it ran.
"""

from __future__ import annotations

import ast
import linecache
import os
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType
from typing import Any

from autograder.errors import KitError
from autograder.model.exercise import Exercise
from autograder.model.shipped import handed_out
from autograder.model.verdict import StepVerdict
from autograder.notebook.broken_cell import (
    BrokenCell,
    broken_cell,
    names_set_by,
    names_used_by,
)
from autograder.submission.cells import parsed
from autograder.submission.definitions import DefinitionNode, top_level
from autograder.submission.reading import Submission, read_submission
from autograder.submission.slip import explained_step
from autograder.submission.slips import slips_in

# Where servers and editors tell a kernel which notebook it runs.
_JUPYTER, _VS_CODE = "JPY_SESSION_NAME", "__vsc_ipynb_file__"


@dataclass(frozen=True)
class WrittenCode:
    """What a notebook's kernel ran of an exercise, and when."""

    exercise: Exercise
    _ran_at: dict[str, float] = field(default_factory=dict)
    _broken: list[BrokenCell] = field(default_factory=list)

    def follow(self) -> None:
        """Note from now on when each cell of this kernel runs, and which could not."""
        ipython = sys.modules.get("IPython")
        shell = ipython.get_ipython() if ipython else None
        if not shell:
            return
        shell.events.register("pre_run_cell", self._note)
        shell.events.register("post_run_cell", self._note_broken)
        if not shell.custom_exceptions:  # otherwise somebody else's
            shell.set_custom_exc((NameError,), self._show_missing)

    def _note(self, info: Any) -> None:
        for node in _definitions(info.raw_cell or ""):
            self._ran_at[node.name] = time.time()

    def _note_broken(self, result: Any) -> None:
        info = result.info
        text, cell_id = info.raw_cell or "", getattr(info, "cell_id", None)
        names = names_set_by(text)
        self._broken[:] = [
            each
            for each in self._broken
            if not (each.names & names or (cell_id and each.cell_id == cell_id))
        ]
        found = broken_cell(text, result.error_before_exec, result.execution_count or 0, cell_id)
        self._broken.extend([found] if found else [])

    def _show_missing(
        self, shell: Any, kind: type, error: NameError, trace: Any, tb_offset: Any = None
    ) -> None:
        """Show a `NameError`, or why the name is not there, if a cell that failed is the reason."""
        told: Any = self._missing(str(error.name))
        shown = (type(told), told, None) if told else (kind, error, trace)
        shell.showtraceback(shown, running_compiled_code=True)

    def _missing(self, name: str) -> KitError | None:
        """Return why a name is not there, where that is known."""
        for cell in self._broken:
            if name in cell.names:
                return cell.told(name, name, there=False)
        if name in self._ran_at or name not in (step.name for step in self.exercise.steps):
            return None
        return KitError(
            f"`{name}` is not there yet: no cell that defines it has run since the kernel started",
            place=f"the cell of `{name}`",
            cure=f"run the cells above from the first one on, and then check({name})",
        )

    def refuse_broken(self, step: Any) -> None:
        """Raise `KitError` when the cell of a step, or of what it uses, could not run."""
        name = step.__name__
        names = vars(sys.modules.get(step.__module__, object))
        for used in names_used_by(name, _cells_of(self.exercise, step)):
            for cell in self._broken:
                if used in cell.names:
                    raise cell.told(used, name, there=used in names)

    def told(self, step: Any, verdict: StepVerdict) -> StepVerdict:
        """Return the verdict on `step` with the slips of writing told that explain it."""
        cells = tuple(dict.fromkeys(_cells_of(self.exercise, step)))
        if not cells:
            return verdict
        submission = Submission("", self.exercise.name, cells, Path("notebook.ipynb"))
        slips = slips_in(submission, self.exercise, handed_out(self.exercise))
        others = [known.name for known in self.exercise.steps if known.name != verdict.name]
        return explained_step(verdict, slips, others)

    def is_changed(self, step: Any) -> bool:
        """Say whether the step was changed and saved since it ran."""
        saved, name = _saved_notebook(step), step.__name__
        ran_at = self._ran_at.get(name)
        if saved is None or ran_at is None or saved.stat().st_mtime <= ran_at:
            return False
        written = read_submission(saved, self.exercise, "").cells
        now = {ast.dump(node) for text in written for node in _definitions(text, name)}
        now |= {text for text in written if not parsed(text) and name in names_set_by(text)}
        ran = {ast.dump(node) for node in _definitions(_source_of(step), name)}
        return bool(now and ran and not now & ran)


def _definitions(text: str, name: str = "") -> Iterator[DefinitionNode]:
    tree = parsed(text)
    return (node for node in (top_level(tree) if tree else ()) if name in ("", node.name))


def _cells_of(exercise: Exercise, step: Any) -> Iterator[str]:
    """The cells that ran and define steps, in the order of the exercise."""
    names = vars(sys.modules.get(step.__module__, object))
    for known in exercise.steps:
        value = step if known.name == step.__name__ else names.get(known.name)
        text = _source_of(value)
        if text:
            yield text


def _source_of(value: Any) -> str:
    """The text of the cell or file that defines a function or class; "" when there is none."""
    members = vars(value).values() if isinstance(value, type) else (value,)
    functions = (each for each in members if isinstance(each, FunctionType))
    function = next(functions, None)
    if function is None or function.__module__ != "__main__":  # no cell's
        return ""
    return "".join(linecache.getlines(function.__code__.co_filename))


def _saved_notebook(step: Any) -> Path | None:
    names: Mapping[str, Any] = vars(sys.modules.get(step.__module__, object))
    path = Path(str(names.get(_VS_CODE) or os.environ.get(_JUPYTER, "")))
    return path if path.suffix == ".ipynb" and path.is_file() else None
