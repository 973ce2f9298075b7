"""The two rungs after the hints in words: lines to sort, and the solution with a gap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from autograder.ladder.rungs import GAP, PuzzleLine, Rungs
from autograder.learning.terminal.indented import Indented
from autograder.learning.terminal.screen import command

NUMBER = 3  # columns


def puzzle_lines(rungs: Rungs) -> Iterator[Indented]:
    """Give the lines to choose from, with their numbers, and how to answer."""
    count, of = len(rungs.true), len(rungs.lines)
    wrong = of - count
    yield Indented(Text(_task(count, of, wrong)), 0, 0)
    numbered = {line: f"{number:>{NUMBER}}" for number, line in enumerate(rungs.lines, 1)}
    yield from _by_part(rungs, rungs.lines, numbered)
    example = " ".join(str(number) for number in range(1, count + 1))
    yield command(f"attn puzzle {rungs.step} {example}", "tries these: type your own numbers")


def _task(count: int, of: int, wrong: int) -> str:
    lines = "One of these lines makes" if count == 1 else f"{count} of these {of} lines make"
    order = "" if count == 1 else " in the right order"
    others = "The other one is wrong." if wrong == 1 else f"The other {wrong} are wrong."
    return f"{lines} this step{order}. {others if wrong else ''}".rstrip()


def gap_lines(rungs: Rungs) -> Iterator[Indented]:
    """Give the lines of the solution, one of them with a gap."""
    yield Indented(Text(f"Here is the step with one expression left out, at {GAP}."), 0, 0)
    yield from _by_part(rungs, rungs.with_gap(), {})
    yield Indented(Text("What belongs there? Write the step in your own file."), 0, 0)


def _by_part(
    rungs: Rungs, lines: Sequence[PuzzleLine], numbers: dict[PuzzleLine, str]
) -> Iterator[Indented]:
    for part in rungs.parts:
        if len(rungs.parts) > 1:
            yield Indented(Text(f"in {part}:", "bold"), 2, 2)
        for line in lines:
            if line.part == part:
                yield _row(line, numbers.get(line, ""))


def _row(line: PuzzleLine, number: str) -> Indented:
    code = line.text.lstrip()
    margin = 2 + len(line.text) - len(code)
    row = Text.assemble((number, "bold cyan"), "  " if number else "", (code, ""))
    # What belongs to an `if` stands behind its number, indented.
    if number:
        row = Text.assemble((number, "bold cyan"), "  ", line.text)
        return Indented(row, 2, 2 + NUMBER + 2 + margin + 4)
    return Indented(row, margin + 2, margin + 6)
