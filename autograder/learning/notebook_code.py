"""The code behind a step in a notebook: the cells that ran, and the notebook as it is saved.

A kernel knows what ran. A learner sees what is written, and may have changed a cell since it ran.
"""

from __future__ import annotations

import ast
import linecache
import os
import re
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from types import FunctionType, ModuleType, TracebackType
from typing import Any

from autograder.errors import KitError
from autograder.judging.explanation import IMPORTS, not_python
from autograder.judging.inprocess import report
from autograder.learning.card import shell
from autograder.submission.cells import (
    DefinitionNode,
    find_definitions,
    find_in_piece,
    parsed,
    pieces,
    top_level,
)
from autograder.submission.missing_import import modules_used, packages_of, remark_on_absent
from autograder.submission.reading import Submission, read_submission
from autograder.submission.slip import Slip, capitalized, explained_step, step_by_parameter_name
from autograder.submission.slips import slips_in
from autograder.submission.syntax_tree import names_bound_in
from autograder.values.exercise import Exercise
from autograder.values.request import ExceptionReport
from autograder.values.sanitize import LONGEST_NAME, clean_line
from autograder.values.this_machine import handed_out
from autograder.values.verdict import Outcome, StepVerdict

# Names that the notebook's own cells have set, and that a learner's cell took for a value.
#
# `check = 3` takes the check away, and `np = 3` NumPy, from every cell that runs later.

CHECK = "check"
NAMES = frozenset({CHECK, *IMPORTS})
_ERRORS = "(?:Attribute|Type)Error"


@dataclass(frozen=True)
class TakenName:
    """A name that a cell gave to a value; `place` says where, as in "cell [4], line 1"."""

    name: str
    place: str
    code: str

    def told(self) -> KitError:
        """Return what to say where `check` is called and is something else by now."""
        return KitError(
            f"`{self.name}` is a value of yours now, and no longer the check",
            place=f"{self.place}: `{self.code}`",
            cure=f"give that value another name, then run the cell with `{self.name} = "
            "open_exercise(...)` again",
        )

    def slip(self) -> Slip:
        """Return the slip for a step that uses the name."""
        fact = f"{capitalized(self.place)} gives the name `{self.name}` to a value."
        look = (
            f"So the `{self.name}` that you import is out of reach. Give that value another name, "
            "and run the cell with the imports again."
        )
        seen = rf"(?<![\w.]){self.name}\s*[.(].*raises `{_ERRORS}"
        return Slip((Outcome.RAISED,), seen, fact, look)


def taken_in(cell: str, place: str, values: Mapping[str, Any]) -> Iterator[TakenName]:
    """Yield the names that a cell which has run took for values."""
    tree = parsed(cell)
    for node in tree.body if tree else ():
        for name in sorted(NAMES & names_bound_in(node)):
            value = values.get(name)
            if not (callable(value) or isinstance(value, ModuleType)):
                line = getattr(node, "lineno", 0)
                code = ast.get_source_segment(cell, node) or name
                yield TakenName(name, f"{place}, line {line}", code.split("\n")[0][:80])


def calls(name: str, trace: TracebackType | None) -> bool:
    """Whether an error arose in a line that calls `name`."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return False
    line = linecache.getline(trace.tb_frame.f_code.co_filename, trace.tb_lineno)
    return re.search(rf"(?<![\w.]){name}\s*\(", line) is not None


# Cells that did not run to their end, and what they keep from being there.
#
# Python could not read them, or an error stopped them. The kernel then has what it had before:
# the old code, or nothing. The check would answer about the old code, or Python would say that a
# name is not defined.

# At the left margin of text that is not Python; definitions are found elsewhere.
_BINDS = re.compile(r"^(\w+)[ \t]*=(?!=)", re.MULTILINE)
_IMPORTED = re.compile(r"^(?:from[ \t]+[\w.]+[ \t]+)?import[ \t](.*)$", re.MULTILINE)
_NAME = re.compile(r"\w+")
_IMPORTS = re.compile(r"^(?:from|import)[ \t]", re.MULTILINE)


@dataclass(frozen=True)
class BrokenCell:
    """A cell that did not run to its end: the `names` it would have set, and the error.

    number: the one in brackets beside the cell, as in [4]. cell_id: JupyterLab's, or None.
    readable: whether Python could read it, so that it began to run. missing: the name that it
    stopped for, if that is why. imports: whether it is a cell with imports and no step.
    """

    names: frozenset[str]
    error: ExceptionReport
    number: int
    cell_id: str | None
    readable: bool = False
    missing: str = ""
    imports: bool = False

    def told(self, name: str, step: str, *, there: bool) -> KitError:
        """Return what to say about `name`, which `step` needs; it is `there` from before.

        `step` is "" where a cell that is no check stopped for the name.
        """
        uses = f", which `{step}` uses" if step and name != step and not self.imports else ""
        has = f"the old `{name}` is still there" if there else f"there is no `{name}` yet"
        quoted = f": `{self.error.code}`" if self.error.code else ""
        cell = "the cell with the imports" if self.imports else f"the cell of `{name}`"
        if self.readable:
            fact = f"{cell}{uses} stopped with {self.error.type_name}, so {has}"
        else:
            fact = f"Python cannot read {cell}{uses}, so {has}"
        after = f", and check({step})" if step and not self.imports else ""
        after = ", and the cells below it" if self.imports else after
        return KitError(
            fact,
            place=f"cell [{self.number}], line {self.error.line}{quoted} ({self.error.message})",
            cure=f"{self._look} Then run that cell again{after}",
        )

    @property
    def _look(self) -> str:
        if not self.readable:
            return not_python(self.error).look
        if self.missing:
            return (
                f"Nothing sets `{self.missing}` yet. Did the cell with the imports run? Run the "
                "cells above, from the first one on."
            )
        return "Mend that line."


def broken_cell(
    text: str, error: BaseException | None, number: int, cell_id: str | None
) -> BrokenCell | None:
    """Return the cell `text` as broken, if `error` is that Python cannot read it."""
    if not isinstance(error, SyntaxError):
        return None
    blank = len(text) - len(text.lstrip())  # IPython leaves out the blank lines at the top
    line = (error.lineno or 0) + text.count("\n", 0, blank)
    seen = ExceptionReport(type(error).__name__, error.msg, line, (error.text or "").strip())
    return _imports_told(BrokenCell(names_set_by(text), seen, number, cell_id), text)


def stopped_cell(
    text: str, error: BaseException, number: int, cell_id: str | None, left: Collection[str]
) -> BrokenCell | None:
    """Return a cell that an error stopped, if it `left` names that it would have set."""
    names = names_set_by(text) & frozenset(left)
    if not names:
        return None
    missing = str(error.name or "") if isinstance(error, NameError) else ""
    cell = BrokenCell(names, report(error), number, cell_id, readable=True, missing=missing)
    return _imports_told(cell, text)


def _imports_told(cell: BrokenCell, text: str) -> BrokenCell:
    defines = any(find_in_piece(piece) for piece in pieces([text])[0])
    return replace(cell, imports=bool(_IMPORTS.search(text)) and not defines)


def names_set_by(text: str) -> frozenset[str]:
    """Return the names that a cell sets at its left margin, as far as its text shows them."""
    found: set[str] = set()
    for piece in pieces([text])[0]:
        tree = parsed(piece)
        if tree is None:
            found.update(_BINDS.findall(piece))
            found |= {name for line in _IMPORTED.findall(piece) for name in _NAME.findall(line)}
            found |= {each.name for each in find_in_piece(piece)}
        else:
            for node in tree.body:
                found |= {node.name} if isinstance(node, DefinitionNode) else names_bound_in(node)
    return frozenset(found)


def names_used_by(step: str, cells: Iterable[str]) -> Iterator[str]:
    """Yield `step`, and the names that its definition mentions, followed through `cells`.

    A function's own variables are not among them.
    """
    defined = {node.name: node for text in cells for node in top_level(parsed(text) or _EMPTY)}
    seen, waiting = set[str](), [step]
    while waiting:
        name = waiting.pop(0)
        if name in seen:
            continue
        seen.add(name)
        yield name
        node = defined.get(name)
        names = (each for each in ast.walk(node or _EMPTY) if isinstance(each, ast.Name))
        used = {each.id for each in names if isinstance(each.ctx, ast.Load)}
        waiting += sorted(used - (names_bound_in(node) if node else set()))


_EMPTY = ast.Module([], [])


# What ran in this kernel: which cell gave a step its value, and which cell took it away.
#
# A kernel keeps what cells have left behind, also when the cell does not say it any more. The log
# compares the steps before and after each cell, so it does not depend on how a cell is written.

STEP_ID = "step-"  # before the name of a step, in the id of its cell
_NOTHING = object()


@dataclass(frozen=True)
class RanCell:
    """One run of a cell; `number` is the one in brackets beside it, and 0 where it is unknown."""

    text: str
    number: int
    cell_id: str | None

    @property
    def place(self) -> str:
        """Where it is, in words."""
        return f"cell [{self.number}]" if self.number else "your cell"


@dataclass(frozen=True)
class Renamed:
    """A cell that ran without the step that it is for, and the `value` that the step had then."""

    cell: RanCell
    value: Any

    def told(self, name: str, *, there: bool) -> KitError:
        """Return what to say about the step `name`, which is `there` from before or not."""
        defined = [each.name for each in find_definitions(self.cell.text)]
        what = f"defines `{defined[0]}`, not `{name}`" if defined else f"does not define `{name}`"
        has = f"the old `{name}` is still there" if there else f"there is no `{name}` yet"
        called = f"`{defined[0]}`" if defined else "what it defines"
        return KitError(
            f"your cell {what}, so {has}",
            place=self.cell.place,
            cure=f"give {called} the name `{name}`, run that cell, and then check({name})",
        )


@dataclass
class CellLog:
    """The cells that ran since the first exercise was opened in this kernel.

    steps: the names that are watched. ran_at: when a cell that defines a name last ran. set_by,
    deleted_by: the cell that last gave a step a value, or took it away. running: the cell
    that runs, or ran last. taken: the names of the check and of modules that are values by now.
    """

    steps: set[str] = field(default_factory=set)
    ran_at: dict[str, float] = field(default_factory=dict)
    set_by: dict[str, RanCell] = field(default_factory=dict)
    deleted_by: dict[str, RanCell] = field(default_factory=dict)
    renamed: dict[str, Renamed] = field(default_factory=dict)
    broken: list[BrokenCell] = field(default_factory=list)
    taken: dict[str, TakenName] = field(default_factory=dict)
    running: RanCell = RanCell("", 0, None)
    _before: dict[str, Any] = field(default_factory=dict)

    def follow(self, shell: Any) -> None:
        """Note from now on what each cell of this kernel does to the steps."""
        shell.events.register("pre_run_cell", lambda info: self._begins(shell, info))
        shell.events.register("post_run_cell", lambda result: self._ended(shell, result))
        if not shell.custom_exceptions:  # otherwise somebody else's
            shell.set_custom_exc((NameError, TypeError), self._show_missing)

    def _begins(self, shell: Any, info: Any) -> None:
        text = info.raw_cell or ""
        cell = RanCell(text, 0, getattr(info, "cell_id", None))
        for node in definitions(text):
            self.ran_at[node.name] = time.time()
        self.running = cell
        self._before = {name: shell.user_ns.get(name, _NOTHING) for name in self.steps}
        for name in self.steps - names_set_by(text):
            if self._is_for(cell, name):
                self.renamed[name] = Renamed(cell, shell.user_ns.get(name))

    def _is_for(self, cell: RanCell, name: str) -> bool:
        """Say whether a cell that does not set the step `name` is the one that is for it."""
        defined = {each.name for each in find_definitions(cell.text)}
        if any(_plain(each) == _plain(name) for each in defined - self.steps):
            return True
        if cell.cell_id is None or re.search(rf"\b{re.escape(name)}\b", cell.text):
            return False
        before = self.set_by.get(name)
        return cell.cell_id == (before.cell_id if before else STEP_ID + name)

    def _ended(self, shell: Any, result: Any) -> None:
        cell = replace(self.running, number=result.execution_count or 0)
        for name, each in self.renamed.items():
            if each.cell is self.running:
                self.renamed[name] = Renamed(cell, each.value)
        after = {name: shell.user_ns.get(name, _NOTHING) for name in self.steps}
        changed = {name for name in self._before if after[name] is not self._before[name]}
        self._before = {}
        for name in changed:
            there = after[name] is not _NOTHING
            (self.set_by if there else self.deleted_by)[name] = cell
            if there:
                self.deleted_by.pop(name, None)
        names = names_set_by(cell.text)
        for name in names & self.taken.keys():
            del self.taken[name]
        for taken in taken_in(cell.text, cell.place, shell.user_ns):
            self.taken[taken.name] = taken
        self.broken[:] = [
            each
            for each in self.broken
            if not (each.names & names or (cell.cell_id and each.cell_id == cell.cell_id))
        ]
        found = broken_cell(cell.text, result.error_before_exec, cell.number, cell.cell_id)
        if result.error_in_exec:
            left = {each for each in names if each not in shell.user_ns}
            left |= (names & self.steps) - changed
            error = result.error_in_exec
            found = stopped_cell(cell.text, error, cell.number, cell.cell_id, left)
        self.broken.extend([found] if found else [])

    def _show_missing(
        self,
        shell: Any,
        kind: type,
        error: NameError | TypeError,
        trace: Any,
        tb_offset: Any = None,
    ) -> None:
        """Show an error, or why a name is not there or something else, where that is known."""
        told: Any = None
        if isinstance(error, NameError):
            told = self.missing(str(error.name))
        elif CHECK in self.taken and calls(CHECK, trace):
            told = self.taken[CHECK].told()
        shown = (type(told), told, None) if told else (kind, error, trace)
        shell.showtraceback(shown, running_compiled_code=True)

    def missing(self, name: str) -> KitError | None:
        """Return why a name is not there, where that is known."""
        step = name if name in self.steps else ""
        for cell, needed in self._behind(name):
            return cell.told(needed, step, there=False)
        if not step:
            return None
        if name in self.renamed and self.renamed[name].value is None:
            return self.renamed[name].told(name, there=False)
        by = self.deleted_by.get(name)
        if self._before.get(name, _NOTHING) is not _NOTHING:  # there when this cell began
            by = self.running
        if by:
            return KitError(
                f"`{name}` is not there any more: a cell has deleted it",
                place=by.place,
                cure=f"run the cell of `{name}` again, and then check({name})",
            )
        return KitError(
            f"`{name}` is not there yet: no cell that defines it has run since the kernel started",
            place=f"the cell of `{name}`",
            cure=f"run the cells above from the first one on, and then check({name})",
        )

    def _behind(self, name: str) -> Iterator[tuple[BrokenCell, str]]:
        """Yield the cells that keep `name` from being there and what they set, the cause first."""
        for cell in self.broken:
            if name in cell.names:
                if cell.missing and cell.missing != name:
                    yield from self._behind(cell.missing)
                    imports = (each for each in self.broken if each.imports and not each.readable)
                    yield from ((each, cell.missing) for each in imports)
                yield cell, name


def definitions(text: str, name: str = "") -> Iterator[DefinitionNode]:
    """Yield the functions and classes that a text defines, those called `name` or all."""
    tree = parsed(text)
    return (node for node in (top_level(tree) if tree else ()) if name in ("", node.name))


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


@cache
def kernel_cells() -> CellLog:
    """Return the one log of this kernel, which is empty outside of a kernel."""
    log = CellLog()
    if found := shell():
        log.follow(found)
    return log


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
        names = names_beside(step)
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
        names = names_beside(step)
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
        names = names_beside(step)
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
        names = names_beside(step)
        path = Path(str(names.get(_VS_CODE) or os.environ.get(_JUPYTER, "")))
        if path.suffix != ".ipynb":
            return None
        if path.is_file():
            return path
        cell = self.log.set_by.get(name)
        return _renamed_notebook(path.parent, cell.cell_id if cell else None)


def names_beside(step: Any) -> dict[str, Any]:
    """Return the names of the module or kernel in which a step was defined."""
    module = sys.modules.get(step.__module__)
    return vars(module) if module else {}


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
    names = names_beside(step)
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
