"""The code of an instructor's own steps within a file of the kit's exercise.

Both become one file, so that own steps may use what the exercise has. An error still names the
file that the instructor wrote, and its line (`autograder/model/origin.py`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.building.stub import NOTEBOOK_ONLY, SCRIPT_ONLY
from autograder.errors import KitError
from autograder.model.origin import note_origin
from autograder.submission.definitions import top_level
from autograder.submission.percent import PercentCell, percent_cells

_CELL = "# %%"


@dataclass(frozen=True)
class AddedCode:
    """A file's text with lines of the instructor's file at `origin`: `count` from `first` on.

    Lines count from 1.
    """

    text: str
    origin: Path
    first: int
    count: int

    def write(self, path: Path) -> None:
        """Write the text to `path`, and beside it where the added lines come from."""
        path.write_text(self.text, encoding="utf-8")
        note_origin(path, self.origin, self.first, self.count)


def with_code(text: str, added: str, origin: Path, *, after: int) -> AddedCode:
    """Return the kit's `text` with `added`, which is the text of `origin`, after its line `after`.

    What is added begins a cell of its own. Raises `KitError` when it is not Python, or takes a name
    that the kit's file has for something else.
    """
    _refuse_names(text, added, origin)
    lines, own = text.removesuffix("\n").split("\n"), _without_head(added, origin)
    merged = "\n".join([*lines[:after], _CELL, *own, *lines[after:], ""])
    return AddedCode(merged, origin, after + 2, len(own))


def last_line_about(text: str, line: int) -> int:
    """Return the last line about the step at a line, both from 1: of its cell, or of prose below.

    What stands below, up to the next heading, is about the same step.
    """
    cells = percent_cells(text)
    number = max(number for number, cell in enumerate(cells) if cell.line <= line)
    while number + 1 < len(cells) and _goes_on(cells[number + 1]):
        number += 1
    return cells[number].last


def _goes_on(cell: PercentCell) -> bool:
    return cell.is_prose and not cell.uncommented.lstrip().startswith("#")


def without_cells(text: str, names: Collection[str]) -> str:
    """Return a text without the cells that define `names`, or use them in the notebook only.

    The prose right above each is left out too, its brief and its lesson, and what goes on about it
    below.
    """
    tree, cells = ast.parse(text), percent_cells(text)
    lines = {node.lineno for node in top_level(tree) if node.name in names}
    defines = [any(cell.line < line <= cell.last for line in lines) for cell in cells]
    gone = [each or _uses(cell, names) for each, cell in zip(defines, cells, strict=True)]
    above = [False] * len(cells)
    for number in range(len(cells) - 2, -1, -1):
        brief_goes = above[number + 1] and SCRIPT_ONLY in cells[number + 1].marker
        above[number] = cells[number].is_prose and (gone[number + 1] or brief_goes)
    below = [_goes_on(cell) and over for cell, over in zip(cells, [False, *defines], strict=False)]
    kept = (cell for cell, *out in zip(cells, gone, above, below, strict=True) if not any(out))
    return "".join(f"{cell.marker}\n{cell.text}" if cell.marker else cell.text for cell in kept)


def _uses(cell: PercentCell, names: Collection[str]) -> bool:
    if cell.is_prose or NOTEBOOK_ONLY not in cell.marker:
        return False
    return any(re.search(rf"\b{re.escape(name)}\b", cell.text) for name in names)


def _without_head(added: str, path: Path) -> list[str]:
    """Return the lines; what stands at the head of a file, docstring and __future__, is blank."""
    lines, tree = added.removesuffix("\n").split("\n"), _tree(added, path)
    head = [node for node in tree.body if isinstance(node, ast.ImportFrom) and _is_future(node)]
    if ast.get_docstring(tree, clean=False) is not None:
        head.insert(0, tree.body[0])  # type: ignore[arg-type]
    for node in head:
        for number in range(node.lineno - 1, node.end_lineno or node.lineno):
            lines[number] = ""
    return lines


def _is_future(node: ast.ImportFrom) -> bool:
    return node.module == "__future__"


def _refuse_names(text: str, added: str, path: Path) -> None:
    """Refuse a name that the kit's file has already: the later would take the earlier's place."""
    taken = dict(_names(ast.parse(text)))
    for name, node in _names(_tree(added, path)):
        other = taken.get(name)
        if other is not None and ast.unparse(other) != ast.unparse(node):
            raise KitError(
                f"{name} is the name of something else in the kit's {path.name}",
                place=f"{path}:{node.lineno}",
                cure="give it another name",
            )


def _names(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """Give each name that the module binds at its top, with the statement."""
    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                for each in names:
                    if not (isinstance(node, ast.ImportFrom) and _is_future(node)):
                        alone = (
                            ast.Import([each])
                            if isinstance(node, ast.Import)
                            else (ast.ImportFrom(node.module, [each], node.level))
                        )
                        bound = each.asname or each.name.partition(".")[0]
                        yield bound, ast.copy_location(alone, node)
            case _:
                for part in ast.walk(node):
                    if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                        yield part.id, node


def _tree(added: str, path: Path) -> ast.Module:
    try:
        return ast.parse(added)
    except SyntaxError as error:
        raise KitError(
            f"{path.name} is not valid Python: {error.msg}",
            place=f"{path}:{error.lineno}" if error.lineno else str(path),
            cure="correct that line",
        ) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise KitError(
            f"{path.name} is nothing that Python can read: {str(error) or 'too deep'}",
            place=str(path),
            cure="write it anew; no sign or line of that kind is needed",
        ) from None
