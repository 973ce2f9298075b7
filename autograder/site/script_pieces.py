"""An exercise's script, cut at its steps: what stands in an editor, and what between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from autograder.submission.cells import find_definitions

CELL = "# %%"


@dataclass(frozen=True)
class ScriptPieces:
    """The code of each step by its name, what stands above each, and what below the last.

    Of a step that is there more than once, the last counts, as when Python runs the script.
    """

    code: dict[str, str]
    above: dict[str, str]
    below: str

    @classmethod
    def of(cls, script: str, steps: Iterable[str]) -> ScriptPieces:
        """Cut a script; a step that is not in it is in none of the pieces."""
        lines, names, end = script.split("\n"), {*steps}, 0
        code, above = dict[str, str](), dict[str, str]()
        for span in find_definitions(script):
            if span.name in names:
                code[span.name] = "\n".join(lines[span.first - 1 : span.last])
                above[span.name] = "\n".join(lines[end : span.first - 1])
                end = span.last
        return cls(code, above, "\n".join(lines[end:]))

    def own_code(self, text: str) -> dict[str, str]:
        """Return what a learner's file has for each editor; `self` is the script handed out.

        It is cut at our headings, whatever stands between them, so that a saved file comes back
        letter for letter; at its definitions where it has none of them.
        """
        lines = text.split("\n")
        starts = self._starts(lines)
        if not starts:
            return self._defined(ScriptPieces.of(text, self.above))
        defined = {each.name: each.first - 1 for each in find_definitions(text)}
        others = self.above.keys() - starts.keys()
        starts |= {name: defined[name] for name in others if name in defined}
        order = sorted(starts, key=starts.__getitem__)
        halves = [_halves(self.above[name]) for name in order]
        ends = [*(starts[name] for name in order[1:]), len(lines)]
        leads = [*(lead for lead, _ in halves), self.below.split("\n")]
        own = dict[str, str]()
        for name, end, (_, heading), lead in zip(order, ends, halves, leads[1:]):
            ours = [] if name in others else heading
            piece = lines[starts[name] + len(ours[:2]) : end]  # its title may be another
            own[name] = _without_end(piece[_same(piece, ours[2:]) :], lead)
        above = lines[: starts[order[0]]]
        kept = _same(above, leads[0])
        if added := _without_end(above[kept:], leads[0][kept:]).strip():
            own[order[0]] = f"{added}\n\n\n{own[order[0]]}"
        return own

    def _starts(self, lines: Sequence[str]) -> dict[str, int]:
        """Return the line from 0 of each step's heading, of those that a file has."""
        starts, last = dict[str, int](), 0
        titles = [_title(line) for line in lines]
        for name, above in self.above.items():
            lead, heading = _halves(above)
            whole = _find(lines, [*lead, *heading], last)
            title = [_title(line) for line in heading[:2]]
            found = whole + len(lead) if whole >= 0 else _find(titles, title, last)
            if title and found >= 0:
                starts[name] = found
                last = found + 1
        return starts

    def _defined(self, own: ScriptPieces) -> dict[str, str]:
        return {
            name: code
            if own.above[name].split() == self.above[name].split()
            else f"{own.above[name].strip()}\n\n\n{code}".lstrip()
            for name, code in own.code.items()
        }


def _halves(above: str) -> tuple[list[str], list[str]]:
    """Return the lines above a step's heading, and those from the heading on."""
    lines = above.split("\n")
    at = max((number for number, line in enumerate(lines) if line == CELL), default=len(lines))
    return lines[:at], lines[at:]


def _title(line: str) -> str:
    """Return a line without what stands far to the right in it: where the step has its place."""
    return line.split("  ")[0].rstrip()


def _find(lines: Sequence[str], wanted: Sequence[str], start: int) -> int:
    """Return where these lines stand in a row, from `start` on, or -1."""
    places = range(start, len(lines) - len(wanted) + 1)
    return next((at for at in places if lines[at : at + len(wanted)] == wanted), -1)


def _without_end(lines: Sequence[str], ours: Sequence[str]) -> str:
    return "\n".join(lines[: len(lines) - _same(lines[::-1], ours[::-1])])


def _same(lines: Sequence[str], ours: Sequence[str]) -> int:
    """Return how many lines at the beginning are ours."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(lines, ours)))
