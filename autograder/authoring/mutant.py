"""Mutants: copies of a step of the reference with one small change each, in a stable order."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

from autograder.authoring.mutant_rules import changes
from autograder.authoring.mutated_step import Subject

_LONGEST = 160


@dataclass(frozen=True)
class Mutant:
    """A step with one change: the lines that it replaces, the new ones, and the whole step.

    Lines are as `ast` writes them, without their indentation, joined by "; ".
    """

    step: str
    kind: str
    old: str
    new: str
    text: str

    @property
    def words(self) -> str:
        """The change in one line."""
        old, new = (_short(line) for line in (self.old, self.new))
        change = f"`{old}` -> `{new}`" if old and new else f"+ `{new}`" if new else f"- `{old}`"
        return f"{self.step}, {self.kind}: {change}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


class MutatedCode:
    """A mutant, compiled once; every namespace of it is a new one and remembers nothing."""

    def __init__(self, mutant: Mutant, names: Mapping[str, Any]) -> None:
        self.mutant = mutant
        self._names = names
        self._code: CodeType = compile(mutant.text, f"<{mutant.step}>", "exec")

    def namespace(self) -> dict[str, Any]:
        """Return the names of the reference with the mutated step; raise what loading raises."""
        names = dict(self._names)
        exec(self._code, names)
        return names


def mutants_of(subject: Subject) -> tuple[Mutant, ...]:
    """Return all mutants of a step that compile and differ in text, by the walk of its tree."""
    original = ast.unparse(subject.tree)
    seen, found = {original}, []
    for kind, tree in changes(subject):
        text = ast.unparse(tree)
        if text in seen or not _compiles(text):
            continue
        seen.add(text)
        old, new = changed_lines(original, text)
        found.append(Mutant(subject.tree.name, kind, old, new, text))
    return tuple(found)


def _compiles(text: str) -> bool:
    try:
        compile(text, "<mutant>", "exec")
    except SyntaxError:
        return False
    return True


def changed_lines(old: str, new: str) -> tuple[str, str]:
    """Return the lines that are only in the old text and those that are only in the new one."""
    before, after = ([line.strip() for line in text.splitlines()] for text in (old, new))
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    gone: list[str] = []
    come: list[str] = []
    for tag, first, last, start, end in matcher.get_opcodes():
        if tag != "equal":
            gone += before[first:last]
            come += after[start:end]
    return _joined(gone), _joined(come)


def _joined(lines: list[str]) -> str:
    return "; ".join(lines).replace(":; ", ": ")


def spread(mutants: Sequence[Mutant], per_kind: int) -> tuple[Mutant, ...]:
    """Return at most `per_kind` mutants of each kind, evenly over the step, in their order."""
    by_kind: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        by_kind.setdefault(mutant.kind, []).append(mutant)
    chosen = {
        alike[number * len(alike) // per_kind].text if len(alike) > per_kind else alike[number].text
        for alike in by_kind.values()
        for number in range(min(per_kind, len(alike)))
    }
    return tuple(mutant for mutant in mutants if mutant.text in chosen)
