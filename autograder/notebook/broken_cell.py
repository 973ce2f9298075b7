"""Cells that Python could not read, and what they keep from being there.

After such a cell the kernel has what it had before: the old code, or nothing. The check would
answer about the old code, or Python would say that a name is not defined.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from autograder.errors import KitError
from autograder.judging.unreadable_code import not_python
from autograder.model.request import ExceptionReport
from autograder.submission.cells import parsed, pieces
from autograder.submission.definitions import find_in_piece, top_level
from autograder.submission.slip import names_bound_in

# At the left margin of text that is not Python; definitions are found elsewhere.
_BINDS = re.compile(r"^(\w+)[ \t]*=(?!=)|^(?:from|import)[ \t].*?\b(\w+)[ \t]*$", re.MULTILINE)


@dataclass(frozen=True)
class BrokenCell:
    """A cell that could not run: the `names` it would have set, and the error.

    number: the one in brackets beside the cell, as in [4]. cell_id: JupyterLab's, or None.
    """

    names: frozenset[str]
    error: ExceptionReport
    number: int
    cell_id: str | None

    def told(self, name: str, step: str, *, there: bool) -> KitError:
        """Return what to say about `name`, which `step` needs; it is `there` from before."""
        uses = f", which `{step}` uses" if name != step else ""
        has = f"the old `{name}` is still there" if there else f"there is no `{name}` yet"
        quoted = f": `{self.error.code}`" if self.error.code else ""
        return KitError(
            f"Python cannot read the cell of `{name}`{uses}, so {has}",
            place=f"cell [{self.number}], line {self.error.line}{quoted} ({self.error.message})",
            cure=f"{not_python(self.error).look} Then run that cell again, and check({step})",
        )


def broken_cell(
    text: str, error: BaseException | None, number: int, cell_id: str | None
) -> BrokenCell | None:
    """Return the cell `text` as broken, if `error` is that Python cannot read it."""
    if not isinstance(error, SyntaxError):
        return None
    blank = len(text) - len(text.lstrip())  # IPython leaves out the blank lines at the top
    line = (error.lineno or 0) + text.count("\n", 0, blank)
    report = ExceptionReport(type(error).__name__, error.msg, line, (error.text or "").strip())
    return BrokenCell(names_set_by(text), report, number, cell_id)


def names_set_by(text: str) -> frozenset[str]:
    """Return the names that a cell sets at its left margin, as far as its text shows them."""
    found: set[str] = set()
    for piece in pieces([text]):
        tree = parsed(piece)
        if tree is None:
            found |= {name for pair in _BINDS.findall(piece) for name in pair if name}
            found |= {each.name for each in find_in_piece(piece)}
        else:
            found |= {name for node in tree.body for name in _bound_by(node)}
    return frozenset(found)


def _bound_by(node: ast.stmt) -> Collection[str]:
    definitions = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return {node.name} if isinstance(node, definitions) else names_bound_in(node)


def names_used_by(step: str, cells: Iterable[str]) -> Iterator[str]:
    """Yield `step`, and the names that its definition mentions, followed through `cells`."""
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
        waiting += sorted({each.id for each in names if isinstance(each.ctx, ast.Load)})


_EMPTY = ast.Module([], [])
