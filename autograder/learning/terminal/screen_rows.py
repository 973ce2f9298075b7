"""Lines that are counted and cut, so that they fit a terminal without scrolling."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

ShownLines = tuple[str, ...]


@contextmanager
def captured(console: Console) -> Iterator[list[str]]:
    """Collect the lines that the body prints, with their colors, instead of showing them."""
    lines: list[str] = []
    with console.capture() as printed:
        yield lines
    lines += printed.get().split("\n")[:-1]


def rows(lines: Sequence[str], width: int) -> int:
    """Return how many rows of a terminal the lines take."""
    return sum(-(-max(cell_len(Text.from_ansi(line).plain), 1) // width) for line in lines)


def cut(lines: Sequence[str], room: int, width: int, whole: str) -> ShownLines:
    """Return as many of the lines as fit into `room` rows; the last then says how to see all."""
    if rows(lines, width) <= room:
        return tuple(lines)
    for kept in range(len(lines) - 1, -1, -1):
        shown = (*lines[:kept], _rest(len(lines) - kept, whole))
        if rows(shown, width) <= room:
            return shown
    return ()


def _rest(count: int, whole: str) -> str:
    return f"… {count} more {'line' if count == 1 else 'lines'}. To see all: {whole}"
