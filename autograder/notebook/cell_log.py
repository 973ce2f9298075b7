"""What ran in this kernel: which cell gave a step its value, and which cell took it away.

A kernel keeps what cells have left behind, also when the cell does not say it any more. The log
compares the steps before and after each cell, so it does not depend on how a cell is written.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from autograder.errors import KitError
from autograder.notebook.broken_cell import BrokenCell, broken_cell, names_set_by, stopped_cell
from autograder.notebook.taken_names import CHECK, TakenName, calls, taken_in
from autograder.submission.cells import parsed
from autograder.submission.definitions import DefinitionNode, find_definitions, top_level

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
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell:
        log.follow(shell)
    return log
