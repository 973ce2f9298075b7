"""The cells of a plain Python file in the percent format: `# %%` begins one.

Editors and jupytext cut files in this way. In valid Python, a marker within a string is text. In
other files, nobody can tell what is a string, so every marker counts.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from autograder.submission.cells import parsed

_MARKER = re.compile(r"#[ \t]*%%")
_PROSE = re.compile(r"\[(?:markdown|md|raw)\]")
_COMMENT = re.compile(r"^# ?", re.MULTILINE)


@dataclass(frozen=True)
class PercentCell:
    """One cell: its marker ("" for what stands above the first one) and its text, unchanged.

    `line` is the line of the marker, from 1; 0 without one. The text begins on the next line.
    """

    marker: str
    text: str
    line: int

    @property
    def last(self) -> int:
        """Its last line, from 1."""
        return self.line + self.text.count("\n") + (self.text[-1:] not in ("\n", ""))

    @property
    def is_prose(self) -> bool:
        """Whether the marker says that the cell is Markdown, in comments."""
        return _PROSE.search(self.marker) is not None

    @property
    def uncommented(self) -> str:
        """The text without the comment sign at the beginning of each line."""
        return _COMMENT.sub("", self.text)


def percent_cells(text: str) -> tuple[PercentCell, ...]:
    """Return what stands above the first marker, and then the cells in order.

    Put together again, with a line feed after each marker, markers and texts are the whole text.
    """
    lines = text.split("\n")
    markers = [number for number, line in enumerate(lines) if _MARKER.match(line)]
    within = _within_strings(text, len(lines)) if markers else ()
    markers = [number for number in markers if not (within and within[number])]
    ends = [*markers, len(lines)]
    cells = [PercentCell("", _joined(lines, 0, ends[0]), 0)]
    for start, end in zip(markers, ends[1:]):
        cells.append(PercentCell(lines[start], _joined(lines, start + 1, end), start + 1))
    return tuple(cells)


def without_head(cells: Sequence[PercentCell]) -> Sequence[PercentCell]:
    """Leave out what stands above the first marker if it is only comments, as tools write."""
    lines = cells[0].text.split("\n")
    only_comments = all(line.startswith("#") or not line.strip() for line in lines)
    return cells[1:] if not cells[0].marker and only_comments else cells


def _joined(lines: Sequence[str], start: int, end: int) -> str:
    """Join lines with their line feeds; the last line of a text has none."""
    return "".join(
        line if number == len(lines) else f"{line}\n"
        for number, line in enumerate(lines[start:end], start=start + 1)
    )


def _within_strings(text: str, lines: int) -> list[int]:
    """Return, for each line, how many strings it begins in; nothing if the text is not Python."""
    tree = parsed(text)
    if tree is None:
        return []
    changes = [0] * (lines + 2)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.JoinedStr) and node.end_lineno:
            changes[node.lineno] += 1  # the line below the one where it begins, from 0
            changes[node.end_lineno] -= 1
    return list(accumulate(changes))
