"""The code behind a step in a notebook: the cells that ran, and the notebook as it is saved.

A kernel knows what ran. A learner sees what is written, and may have changed a cell since it ran.
"""

from __future__ import annotations

import ast
import linecache
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import Any

from autograder.errors import KitError
from autograder.model.exercise import Exercise
from autograder.model.sanitize import LONGEST_NAME, clean_line
from autograder.model.shipped import handed_out
from autograder.model.verdict import StepVerdict
from autograder.notebook.broken_cell import names_set_by, names_used_by
from autograder.notebook.cell_log import CellLog, definitions, kernel_cells
from autograder.submission.cells import parsed
from autograder.submission.missing_import import modules_used, packages_of, remark_on_absent
from autograder.submission.parameter_words import step_by_parameter_name
from autograder.submission.reading import Submission, read_submission
from autograder.submission.slip import explained_step
from autograder.submission.slips import slips_in

# Where servers and editors tell a kernel which notebook it runs.
_JUPYTER, _VS_CODE = "JPY_SESSION_NAME", "__vsc_ipynb_file__"
_MOST_BYTES = 20_000_000  # of a notebook that is looked at


@dataclass(frozen=True)
class WrittenCode:
    """The code behind the steps of an exercise; `log` knows what ran in this kernel."""

    exercise: Exercise
    log: CellLog = field(default_factory=kernel_cells)
    _checked: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.log.steps.update(step.name for step in self.exercise.steps)

    def refuse_old(self, name: str, step: Any) -> None:
        """Raise `KitError` when the cell of a step, or of what it uses, left older code behind."""
        names = vars(sys.modules.get(step.__module__, object))
        for used in self._used_by(name, step):
            for cell in self.log.broken:
                if used in cell.names:
                    raise cell.told(used, name, there=used in names)
        renamed = self.log.renamed.get(name)
        if renamed and renamed.value is step:
            raise renamed.told(name, there=True)
        if self._is_changed(name, step):
            raise KitError(
                f"the cell of `{name}` was changed since it ran, so the kernel has the old code",
                place="the cell that defines it",
                cure=f"run that cell again, and then check({name})",
            )

    def has_run_since_check(self, name: str, step: Any) -> bool:
        """Say whether a step, or what it uses, was set anew since the check before; note this."""
        names = vars(sys.modules.get(step.__module__, object))
        now = {used: names.get(used) for used in self._used_by(name, step)} | {name: step}
        before = self._checked.get(name)
        self._checked[name] = now
        if before is None or before.keys() != now.keys():
            return True
        return any(before[used] is not value for used, value in now.items())

    def _used_by(self, name: str, step: Any) -> Iterator[str]:
        return names_used_by(name, _cells_of(self.exercise, name, step))

    def absent_in_class(self, name: str, step: Any) -> str:
        """Return a remark on a package that a step uses and that the exercise does not have."""
        names = vars(sys.modules.get(step.__module__, object))
        there = {*sys.stdlib_module_names, *packages_of(self.exercise.library, self._given)}
        for node in definitions(_source_of(step), name):
            for module in modules_used(node, names):
                if module not in there:
                    return remark_on_absent(clean_line(module, LONGEST_NAME))
        return ""

    def told(self, name: str, step: Any, verdict: StepVerdict) -> StepVerdict:
        """Return the verdict on `step` with the slips of writing told that explain it."""
        cells, given = tuple(dict.fromkeys(_cells_of(self.exercise, name, step))), self._given
        if not cells:
            return step_by_parameter_name(verdict, given)
        submission = Submission("", self.exercise.name, cells, Path("notebook.ipynb"))
        slips = slips_in(submission, self.exercise, given, live=True)
        others = [known.name for known in self.exercise.steps if known.name != verdict.name]
        taken = [each.slip() for each in self.log.taken.values()]
        every = {**slips, name: [*taken, *slips.get(name, ())]}
        return step_by_parameter_name(explained_step(verdict, every, others), given)

    @cached_property
    def _given(self) -> str:
        return handed_out(self.exercise)

    def _is_changed(self, name: str, step: Any) -> bool:
        """Say whether the step was changed and saved since it ran."""
        saved = self._saved_notebook(name, step)
        ran_at = self.log.ran_at.get(name)
        if saved is None or ran_at is None or saved.stat().st_mtime <= ran_at:
            return False
        written = read_submission(saved, self.exercise, "").cells
        now = {ast.dump(node) for text in written for node in definitions(text, name)}
        now |= {text for text in written if not parsed(text) and name in names_set_by(text)}
        ran = {ast.dump(node) for node in definitions(_source_of(step), name)}
        return bool(ran and not now & ran)

    def _saved_notebook(self, name: str, step: Any) -> Path | None:
        """Return the file of this notebook, also where it was renamed since the kernel started."""
        names: Mapping[str, Any] = vars(sys.modules.get(step.__module__, object))
        path = Path(str(names.get(_VS_CODE) or os.environ.get(_JUPYTER, "")))
        if path.suffix != ".ipynb":
            return None
        if path.is_file():
            return path
        cell = self.log.set_by.get(name)
        return _renamed_notebook(path.parent, cell.cell_id if cell else None)


def _renamed_notebook(folder: Path, cell_id: str | None) -> Path | None:
    """Return the notebook of a folder that was saved last and has this cell; None when unknown."""
    if not cell_id:
        return None
    having = [
        path
        for path in folder.glob("*.ipynb")
        if path.stat().st_size <= _MOST_BYTES and f'"{cell_id}"' in path.read_text("utf-8")
    ]
    return max(having, key=lambda path: path.stat().st_mtime, default=None)


def _cells_of(exercise: Exercise, name: str, step: Any) -> Iterator[str]:
    """The cells that ran and define steps, in the order of the exercise."""
    names = vars(sys.modules.get(step.__module__, object))
    for known in exercise.steps:
        text = _source_of(step if known.name == name else names.get(known.name))
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
