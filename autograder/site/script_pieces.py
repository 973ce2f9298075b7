"""An exercise's script, cut at its steps: what stands in an editor, and what between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from autograder.submission.definitions import find_definitions


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

    def own_code(self, handed_out: ScriptPieces) -> dict[str, str]:
        """Return what a learner wrote for each step, with what they added above it."""
        return {
            name: code
            if _same(self.above[name], handed_out.above.get(name, ""))
            else f"{self.above[name].strip()}\n\n\n{code}"
            for name, code in self.code.items()
        }


def _same(one: str, other: str) -> bool:
    return one.split() == other.split()
