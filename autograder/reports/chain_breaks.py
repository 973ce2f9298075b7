"""Where the chains of a class break: which of the students' own steps stops them end to end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autograder.model.exercise import Exercise
from autograder.model.symbols import KEY, count, mark
from autograder.model.verdict import Outcome, Verdict
from autograder.reports.advice import layer_leads

# Where the chain of a student ends, beside the number of a step.
RIGHT_TO_THE_END, NO_SINGLE_STEP, NOT_RUN, NOT_ASKED = "right", "0", "none", ""


@dataclass(frozen=True)
class StepBreaks:
    """How many chains break at one place, by the sign of how they end.

    `place` is as `chain_place` gives it. `right_alone` are those in which the step itself is right.
    """

    place: str
    signs: dict[str, int]
    right_alone: int = 0

    @property
    def students(self) -> int:
        """How many chains break here."""
        return sum(self.signs.values())


@dataclass(frozen=True)
class ChainBreaks:
    """Where the chains of a class break: sentences, the signs in use, the places in order."""

    sentences: tuple[str, ...]
    signs: tuple[str, ...]
    places: tuple[StepBreaks, ...]

    @property
    def most(self) -> int:
        """The number of chains that break at the worst place, at least 1."""
        return max([1, *(place.students for place in self.places)])


def chain_place(exercise: Exercise, verdict: Verdict) -> str:
    """Return where a student's chain ends: the number of the step where it breaks, from 1.

    `RIGHT_TO_THE_END`, `NO_SINGLE_STEP` (it is wrong, and no step is to blame), `NOT_RUN` and
    `NOT_ASKED` stand for the rest.
    """
    chain = verdict.chain
    if chain.outcome is Outcome.PASSED:
        return RIGHT_TO_THE_END if chain.asked else NOT_ASKED
    if chain.outcome in (Outcome.INFRASTRUCTURE, Outcome.REJECTED):
        return NOT_RUN
    if chain.breaks_at is None:
        return NO_SINGLE_STEP
    return str([step.name for step in exercise.steps].index(chain.breaks_at) + 1)


def chain_breaks(exercise: Exercise, verdicts: Sequence[Verdict]) -> ChainBreaks | None:
    """Return where the chains break; None where no verdict knows how the steps work together."""
    ends = [(chain_place(exercise, verdict), verdict) for verdict in verdicts]
    if all(place in (NOT_ASKED, NOT_RUN) for place, _ in ends):
        return None
    places = []
    for place in [*(str(n) for n in range(1, len(exercise.steps) + 1)), NO_SINGLE_STEP]:
        here = [verdict for at, verdict in ends if at == place]
        if here:
            signs = Counter(mark(verdict.chain.outcome).sign for verdict in here)
            alone = 0 if place == NO_SINGLE_STEP else _right_alone(here, int(place))
            places.append(StepBreaks(place, dict(signs), alone))
    used = tuple(sign for sign in KEY if any(sign in place.signs for place in places))
    return ChainBreaks(tuple(_sentences(ends)), used, tuple(places))


def _right_alone(verdicts: Sequence[Verdict], position: int) -> int:
    return sum(verdict.steps[position - 1].passes for verdict in verdicts)


def _sentences(ends: Sequence[tuple[str, Verdict]]) -> Iterator[str]:
    run = [verdict for place, verdict in ends if place not in (NOT_ASKED, NOT_RUN)]
    right = sum(verdict.chain.outcome is Outcome.PASSED for verdict in run)
    yield f"Right end to end: {right} of {count(len(run), 'student')}."
    layers = sum(layer_leads(verdict) for verdict in run)
    if layers:
        yield f"Not right end to end, but with a layer that is right by itself: {layers}."
    not_run = sum(place == NOT_RUN for place, _ in ends)
    if not_run:
        yield f"Not run end to end: {count(not_run, 'student')}."
