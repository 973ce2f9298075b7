"""What is shown on a screen of so many rows: pages that divide no sentence and no picture."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, groupby

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.text import Text

from autograder.learning.terminal.indented import Indented
from autograder.reports.finding import sentences

ShownLines = tuple[str, ...]
AGAIN = "… key m: from the beginning"  # below the last of several pages


@contextmanager
def captured(console: Console) -> Iterator[list[str]]:
    """Collect the lines that the body prints, with their colors, instead of showing them."""
    lines: list[str] = []
    with console.capture() as printed:
        yield lines
    lines += printed.get().split("\n")[:-1]


def rows(lines: Sequence[str], width: int) -> int:
    """Return how many rows of a terminal the lines take."""
    return sum(-(-max(cell_len(_plain(line)), 1) // width) for line in lines)


@lru_cache(maxsize=1_024)
def _plain(line: str) -> str:
    return Text.from_ansi(line).plain  # the same lines are measured again and again


@dataclass(frozen=True)
class Piece:
    """A part of a screen, which can be divided between its units: `drawn` gives those of a range.

    count: how many units it has.
    """

    count: int
    drawn: Callable[[int, int], ShownLines]
    is_by_line: bool = False

    def lines(self) -> ShownLines:
        """All of its lines."""
        return self.drawn(0, self.count)

    def behind(self, first: int) -> Piece:
        """The same without its first units."""
        drawn, count = self.drawn, self.count - first
        return replace(self, count=count, drawn=lambda one, end: drawn(one + first, end + first))

    def by_line(self) -> Piece:
        """The same, divided between any two lines: for what no page has room for."""
        lines = self.lines()
        return Piece(len(lines), lambda first, end: lines[first:end], is_by_line=True)


def piece_of(console: Console, shown: RenderableType) -> Piece:
    """Return prose that is divided between sentences, and all else between its paragraphs."""
    frame = shown if isinstance(shown, Indented) else None
    text = frame.text if frame else shown
    if isinstance(text, Text) and text.plain.strip() and not text.no_wrap:
        prose, spans = text, sentences(text.plain)

        def drawn(first: int, end: int) -> ShownLines:
            part = prose[spans[first][0] : spans[end - 1][1]]
            return _printed(console, replace(frame, text=part) if frame else part)

        return Piece(len(spans), drawn)
    blocks = tuple(_blocks(_printed(console, shown)))
    return Piece(len(blocks), lambda first, end: tuple(chain.from_iterable(blocks[first:end])))


def _printed(console: Console, shown: RenderableType) -> ShownLines:
    with captured(console) as lines:
        console.print(shown, crop=False)
    return tuple(lines)


def _blocks(lines: Iterable[str]) -> Iterator[ShownLines]:
    """Give the lines between blank ones, and every run of blank ones by itself."""
    for _, block in groupby(lines, key=_is_blank):
        yield tuple(block)


def _is_blank(line: str) -> bool:
    return not _plain(line).strip()


def pages(pieces: Sequence[Piece], room: int, width: int) -> tuple[ShownLines, ...]:
    """Return what is shown one after the other, each of at most `room` rows.

    If it is more than one page, the last row of each says with which key the next one comes.
    """
    everything = _lines(pieces)
    if rows(everything, width) <= room:
        return (everything,)
    most = _rest(len(everything))
    free = room - max(rows((each,), width) for each in (most, AGAIN))
    found, left = list[ShownLines](), list(pieces)
    while left:
        page, left = _page(left, free, width)
        if not page:  # no room for anything
            return ((most,),) if free >= 0 else ((),)
        found.append((*page, _rest(len(_lines(left))) if left else AGAIN))
    return tuple(found)


def _page(pieces: list[Piece], free: int, width: int) -> tuple[ShownLines, list[Piece]]:
    """Return the lines that fit into `free` rows, and what is left for other pages."""
    shown, left = ShownLines(), pieces
    while left:
        piece, others = left[0], left[1:]
        taken = piece.count
        while taken and rows((*shown, *piece.drawn(0, taken)), width) > free:
            taken -= 1
        if taken:
            shown = _without_blank((*shown, *piece.drawn(0, taken)), at_start=True)
        left = [piece.behind(taken), *others] if taken < piece.count else others
        if taken == piece.count:
            continue
        if shown or piece.is_by_line:
            break
        left = [piece.by_line(), *others]
    while left and all(map(_is_blank, left[0].lines())):
        left = left[1:]
    return _without_blank(shown), left


def _lines(pieces: Sequence[Piece]) -> ShownLines:
    return tuple(line for piece in pieces for line in piece.lines())


def _without_blank(lines: ShownLines, *, at_start: bool = False) -> ShownLines:
    end = 0 if at_start else -1
    while lines and _is_blank(lines[end]):
        lines = lines[1:] if at_start else lines[:-1]
    return lines


def _rest(count: int) -> str:
    return f"… {count} more {'line' if count == 1 else 'lines'}: key m"
