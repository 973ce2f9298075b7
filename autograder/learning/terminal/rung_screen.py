"""The two rungs after the hints in words: lines to sort, and the solution with a gap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from autograder.ladder.folding import folded
from autograder.ladder.rungs import PuzzleLine, Rungs
from autograder.learning.terminal.indented import Indented, unbroken
from autograder.learning.terminal.screen import command

NUMBER = 3  # columns


def puzzle_lines(rungs: Rungs, name: str = "") -> Iterator[RenderableType]:
    """Give the lines to choose from, with their numbers, and how to answer.

    `name` is what a command calls the step, if not by its name alone.
    """
    count = len(rungs.true)
    yield Indented(Text(rungs.task), 0, 0)
    numbered = {line: f"{number:>{NUMBER}}" for number, line in enumerate(rungs.lines, 1)}
    yield from _by_part(rungs, rungs.lines, numbered)
    example = " ".join(str(number) for number in range(1, count + 1))
    yield command(
        f"attn puzzle {name or rungs.step} {example}", "tries these: type your own numbers"
    )


def gap_lines(rungs: Rungs) -> Iterator[RenderableType]:
    """Give the lines of the solution, one of them with a gap."""
    yield Indented(Text(rungs.gap_task), 0, 0)
    yield from _by_part(rungs, rungs.with_gap(), {})
    yield Indented(Text("Write the step in your own file."), 0, 0)


def _by_part(
    rungs: Rungs, lines: Sequence[PuzzleLine], numbers: dict[PuzzleLine, str]
) -> Iterator[RenderableType]:
    for part in rungs.parts:
        if len(rungs.parts) > 1:
            yield Indented(Text(f"in {part}:", "bold"), 2, 2)
        for line in lines:
            if line.part == part:
                yield PuzzleRow(line.text, numbers.get(line, ""))


@dataclass(frozen=True)
class PuzzleRow:
    """A line of code behind its number; a long one is folded inside its brackets.

    What belongs to an `if` stands behind its number, indented.
    """

    code: str
    number: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Give the lines."""
        margin = "  " + self.number + "  " * bool(self.number)
        for place, line in enumerate(folded(self.code, options.max_width - len(margin))):
            head = Text(" " * len(margin)) if place else Text(margin, "bold cyan")
            yield unbroken(head.append(line, ""))
