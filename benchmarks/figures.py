"""Measured figures: the lowest, the median and the highest of some turns, as a line or a table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

TIMES = "times"  # the unit of a ratio
_HEADING = ("row", "what", "exercise", "unit", "lowest", "median", "highest", "values")


@dataclass(frozen=True)
class Figure:
    """What was measured in one row of the benchmark, over `values` turns."""

    row: int
    what: str
    exercise: str
    unit: str
    lowest: float
    median: float
    highest: float
    values: int

    @classmethod
    def of(
        cls, row: int, what: str, exercise: str, values: Iterable[float], unit: str = TIMES
    ) -> Figure:
        """Return the figure of some values; raises ValueError when there are none."""
        kept = sorted(values)
        if not kept:
            raise ValueError(f"nothing was measured: {what}")
        return cls(row, what, exercise, unit, kept[0], median(kept), kept[-1], len(kept))

    @property
    def line(self) -> str:
        """The figure in words, for a terminal."""
        return (
            f"{self.exercise:18} {self.what}: {number(self.lowest)} to {number(self.highest)}, "
            f"median {number(self.median)} {self.unit}"
        )

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells of the figure's row in the table."""
        numbers = map(number, (self.lowest, self.median, self.highest))
        return (str(self.row), self.what, self.exercise, self.unit, *numbers, str(self.values))


def ratios(numerators: Sequence[float], denominators: Sequence[float]) -> list[float]:
    """Return the ratio of every turn; raises ValueError when a turn is missing on one side."""
    return [over / under for over, under in zip(numerators, denominators, strict=True)]


def number(value: float) -> str:
    """Return a number with about three digits that count."""
    size = abs(value)
    return f"{value:,.0f}" if size >= 100 else f"{value:.1f}" if size >= 10 else f"{value:.2f}"


def table(figures: Iterable[Figure]) -> str:
    """Return a table in Markdown, in the order of the rows."""
    lines: list[tuple[str, ...]] = [_HEADING, ("---",) * 4 + ("---:",) * 4]
    lines += [figure.cells for figure in sorted(figures, key=lambda figure: figure.row)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def append_figure(figure: Figure, file: Path) -> None:
    """Add a figure to a file that `read_figures` reads."""
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(asdict(figure)) + "\n")


def read_figures(file: Path) -> tuple[Figure, ...]:
    """Return the figures in a file; none when there is no file yet."""
    if not file.exists():
        return ()
    lines = file.read_text(encoding="utf-8").splitlines()
    return tuple(Figure(**json.loads(line)) for line in lines)
