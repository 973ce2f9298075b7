"""Counterfactual replay: what every known mistake replies to a check's own request.

Each reply is computed once for a hand-in. Those to the inputs of functions that many hand-ins share
are kept as long as these; those of layers and of pairs would be too many.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

from autograder.judging.diagnosis import PAIR, Candidate, place_in
from autograder.model.request import Request
from autograder.model.verdict import Finding, Outcome

if TYPE_CHECKING:
    from autograder.checks.known_mistake import Misconception
    from autograder.checks.reference import Reference


class Replay:
    """The known mistakes of a reference, one at a time and in pairs."""

    def __init__(self, reference: Reference) -> None:
        self._reference = reference

    def singles(self, request: Request) -> tuple[Candidate, ...]:
        """Return what every mistake that can show in `request` makes of it.

        The step's own mistakes come first. For a class, the reference follows, with one of its
        functions replaced by each known mistake of that function.
        """
        memories = self._reference.memories
        kept = memories.replayed.singles if request.method is not None else memories.now.singles
        if request.key not in kept:
            known = self._reference.misconceptions
            own = [mistake for mistake in known if mistake.step == request.target]
            inside = [mistake for mistake in known if mistake.step != request.target]
            chosen = [*own, *inside] if request.method is not None else own
            kept[request.key] = tuple(self._replayed(request, each) for each in chosen)
        return kept[request.key]

    def pairs(
        self, request: Request, suspects: frozenset[str] | None = None
    ) -> tuple[Candidate, ...]:
        """Return what two mistakes in two functions together make of a class.

        There are thousands; with `suspects`, only those of these names are tried.
        """
        if suspects is not None:
            return tuple(self._paired(request, suspects))
        kept = self._reference.memories.replayed.pairs
        if request.key not in kept:
            kept[request.key] = tuple(self._paired(request, None))
        return kept[request.key]

    def again(self, request: Request, name: str) -> Candidate | None:
        """Return what the mistake, or the pair, of this name makes of `request`.

        None when it cannot show there.
        """
        known = self._reference.misconceptions
        mistakes = [mistake for mistake in known if mistake.name in name.split(PAIR)]
        if request.method is None:
            mistakes = [mistake for mistake in mistakes if mistake.step == request.target]
        return self._replayed(request, *mistakes) if mistakes else None

    def _paired(self, request: Request, suspects: frozenset[str] | None) -> Iterator[Candidate]:
        if request.method is None:
            return
        every = self._reference.misconceptions
        known = [mistake for mistake in every if mistake.step != request.target]
        for first, second in combinations(known, 2):
            suspect = suspects is None or _name(first, second) in suspects
            if first.step != second.step and suspect:
                yield self._replayed(request, first, second)

    def _replayed(self, request: Request, *mistakes: Misconception) -> Candidate:
        wrong = {mistake.step: mistake.wrong for mistake in mistakes}
        # A wrong layer of sizes that are 1 may hold no numbers, say; nobody needs to hear of it.
        with self._reference.replaced(wrong), warnings.catch_warnings(action="ignore"):
            reply = self._reference.ask(request)
        inside = mistakes[0].step if mistakes[0].step != request.target else ""
        return Candidate(_name(*mistakes), words_for(request, mistakes), reply, inside)


def suspects_after(
    finding: Finding | None, suspects: frozenset[str] | None
) -> frozenset[str] | None:
    """Return the pairs that may still explain another check of the step; None stands for all.

    So all of them are tried once in a step, and not again in each of its checks.
    """
    if finding is None or finding.outcome is not Outcome.WRONG_VALUES:
        return suspects
    names = frozenset(name for name, _ in finding.matches)
    explained_by_one = names and not any(PAIR in name for name in names)
    return suspects if explained_by_one else names


def _name(*mistakes: Misconception) -> str:
    return PAIR.join(mistake.name for mistake in mistakes)


def words_for(request: Request, mistakes: tuple[Misconception, ...]) -> str:
    """Return the words for one mistake or two; inside a class they name the step they are about."""
    first = mistakes[0]
    if first.step == request.target:
        return first.words
    method = request.method or "__init__"
    if len(mistakes) == 1:
        return f"{place_in(first.step, method)} {first.words}"
    facts = [mistake.words.partition("\n\n")[0] for mistake in mistakes]
    listed = " ".join(
        f"({number}) `{mistake.step}`: {_lower(fact)}"
        for number, (mistake, fact) in enumerate(zip(mistakes, facts), start=1)
    )
    look = "Take them one at a time: correct the first, then check again."
    return f"Your `{method}` behaves as if two steps were wrong. {listed}\n\n{look}"


def _lower(words: str) -> str:
    return words[0].lower() + words[1:]
