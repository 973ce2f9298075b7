"""Mutants: copies of a step of the reference with one small change each, in a stable order."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

from autograder.verification.code_changes import call_changes, function_changes, statement_changes
from autograder.verification.mutated_step import (
    Change,
    Subject,
    is_read,
    node_at,
    number_in,
    places,
    with_node,
)
from autograder.verification.value_changes import array_changes, number_changes, operator_changes

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
    for change in _changes(subject):
        tree = ast.fix_missing_locations(with_node(subject.tree, change.place, change.new))
        text = ast.unparse(tree)
        if text in seen or not _compiles(text):
            continue
        seen.add(text)
        old, new = changed_lines(original, text)
        found.append(Mutant(subject.tree.name, change.kind, old, new, text))
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


def _changes(subject: Subject) -> Iterator[Change]:
    for place, node in places(subject.tree):
        yield from function_changes(subject, place, node)
        yield from statement_changes(subject, place, node)
        if not isinstance(node, ast.expr) or not is_read(place, node):
            continue
        parent = node_at(subject.tree, place[:-1])
        if isinstance(parent, ast.Expr) or number_in(parent) is not None:
            continue  # a docstring, or the number behind a minus sign
        yield from operator_changes(subject, place, node)
        yield from call_changes(subject, place, node)
        yield from number_changes(subject, place, node)
        yield from array_changes(subject, place, node)


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
