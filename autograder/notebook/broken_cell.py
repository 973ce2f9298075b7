"""Cells that did not run to their end, and what they keep from being there.

Python could not read them, or an error stopped them. The kernel then has what it had before: the
old code, or nothing. The check would answer about the old code, or Python would say that a name is
not defined.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from autograder.errors import KitError
from autograder.judging.inprocess import report
from autograder.judging.unreadable_code import not_python
from autograder.model.request import ExceptionReport
from autograder.submission.cells import parsed, pieces
from autograder.submission.definitions import find_in_piece, top_level
from autograder.submission.slip import names_bound_in

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
    defines = any(find_in_piece(piece) for piece in pieces([text]))
    return replace(cell, imports=bool(_IMPORTS.search(text)) and not defines)


def names_set_by(text: str) -> frozenset[str]:
    """Return the names that a cell sets at its left margin, as far as its text shows them."""
    found: set[str] = set()
    for piece in pieces([text]):
        tree = parsed(piece)
        if tree is None:
            found.update(_BINDS.findall(piece))
            found |= {name for line in _IMPORTED.findall(piece) for name in _NAME.findall(line)}
            found |= {each.name for each in find_in_piece(piece)}
        else:
            found |= {name for node in tree.body for name in _bound_by(node)}
    return frozenset(found)


def _bound_by(node: ast.stmt) -> Collection[str]:
    definitions = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return {node.name} if isinstance(node, definitions) else names_bound_in(node)


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
