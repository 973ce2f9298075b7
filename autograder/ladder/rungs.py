"""The two rungs of a step as data, and the file beside the solution that holds them.

The file is a part of the solution: it holds every line of it. So it lies in `solutions/`, and
students of a course do not get it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from autograder.errors import KitError

FILE = "rungs.json"
FORMAT_VERSION = 1
GAP = "____"
HERE = "### LINES"  # in a frame, before the name of a part


@dataclass(frozen=True)
class PuzzleLine:
    """One line to choose from, or not to choose.

    part: the function or method that it belongs to. text: with its indentation in there. place:
    the number of the line of the solution that it is, or that it stands in for. true: whether it is
    that line. mistake: the known mistake that a wrong line comes from, "" for exchanged names.
    """

    part: str
    text: str
    place: int
    true: bool = True
    mistake: str = ""


@dataclass(frozen=True)
class Rungs:
    """The rungs of a step.

    frame: the definition of the step, with a mark where the lines of each part belong. lines: in
    the order in which they are shown. gapped: the true line number `gap`, with `GAP` for an
    expression, and `filling` what belongs there; `gap` is None where there is nothing to leave out.
    """

    step: str
    frame: tuple[str, ...]
    lines: tuple[PuzzleLine, ...]
    gap: int | None = None
    gapped: str = ""
    filling: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the parts, in order."""
        return tuple(line.strip().removeprefix(HERE).strip() for line in self.frame if HERE in line)

    @property
    def true(self) -> tuple[PuzzleLine, ...]:
        """The lines of the solution, in order."""
        return tuple(
            sorted((line for line in self.lines if line.true), key=lambda each: each.place)
        )

    @property
    def wrong(self) -> tuple[PuzzleLine, ...]:
        """The lines that are wrong in their place."""
        return tuple(line for line in self.lines if not line.true)

    @property
    def task(self) -> str:
        """What to do with the lines, in words."""
        count, of, wrong = len(self.true), len(self.lines), len(self.wrong)
        lines = "One of these lines makes" if count == 1 else f"{count} of these {of} lines make"
        order = "" if count == 1 else " in the right order"
        others = "The other one is wrong." if wrong == 1 else f"The other {wrong} are wrong."
        return f"{lines} this step{order}. {others if wrong else ''}".rstrip()

    @property
    def gap_task(self) -> str:
        """What to do with the gap, in words."""
        return f"Here is the step with one expression left out, at {GAP}. What belongs there?"

    def with_wrong(self, wrong: PuzzleLine) -> tuple[PuzzleLine, ...]:
        """Return the lines of the solution, with a wrong line in its place."""
        return tuple(wrong if line.place == wrong.place else line for line in self.true)

    def with_gap(self) -> tuple[PuzzleLine, ...]:
        """Return the lines of the solution, one of them with its gap."""
        return tuple(
            PuzzleLine(line.part, self.gapped, line.place) if line.place == self.gap else line
            for line in self.true
        )

    def code(self, lines: Sequence[PuzzleLine]) -> str:
        """Return the definition of the step with these lines in it, in this order."""
        return "\n".join(text for text, _ in self._written(lines)) + "\n"

    def lines_of_code(self, lines: Sequence[PuzzleLine]) -> Mapping[int, PuzzleLine]:
        """Return which of these lines stands in which line (from 1) of their `code`."""
        rows = enumerate(self._written(lines), 1)
        return {number: line for number, (_, line) in rows if line}

    def _written(self, lines: Sequence[PuzzleLine]) -> Iterator[tuple[str, PuzzleLine | None]]:
        for row in self.frame:
            margin, mark, part = row.partition(HERE)
            chosen = [line for line in lines if line.part == part.strip()]
            if chosen:
                yield from ((margin + line.text, line) for line in chosen)
            else:  # without a line, a function would not be Python
                yield (f"{margin}pass" if mark else row), None


def write_rungs(exercise: str, rungs: Iterable[Rungs]) -> str:
    """Return the text of the file."""
    facts = {
        "format_version": FORMAT_VERSION,
        "exercise": exercise,
        "rungs": [asdict(each) for each in rungs],
    }
    return json.dumps(facts, indent=1, ensure_ascii=False) + "\n"


def read_rungs(file: Path) -> Mapping[str, Rungs]:
    """Return the rungs in `file` by the name of their step; raise `KitError` if it is not valid."""
    try:
        facts = json.loads(file.read_text(encoding="utf-8"))
        if facts["format_version"] != FORMAT_VERSION:
            raise ValueError(f"format_version is {facts['format_version']}")
        return {each["step"]: _rungs(each) for each in facts["rungs"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise KitError(
            f"the lines to sort cannot be read: {error}",
            place=str(file),
            cure="run `attn build`, or get the file again from where you got the solutions",
        ) from None


def _rungs(facts: Mapping[str, Any]) -> Rungs:
    lines = tuple(PuzzleLine(**line) for line in facts["lines"])
    return Rungs(**{**facts, "frame": tuple(facts["frame"]), "lines": lines})
