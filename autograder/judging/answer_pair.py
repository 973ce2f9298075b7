"""Two answers to one check side by side: do they hold the same numbers, or others?

Whether a draw comes from the generator that is passed in shows in no single answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autograder.judging.compare import ResultSpec, arrays_of, compare_form
from autograder.judging.diagnosis import failure
from autograder.judging.expectation import with_attributes
from autograder.judging.layers import LinearLayers, judge_layers
from autograder.model.request import Failed, Reply, Request
from autograder.model.verdict import Finding, Outcome
from autograder.protocol.wire import Linear, Value


@dataclass(frozen=True)
class AnswerPair:
    """Two questions of a check, by their numbers, and whether their answers are the same.

    If `same`, every array holds the same numbers in both answers; else every array holds others.
    `fact` is what to say when that is not so, and `look` where to look next.
    """

    first: int
    second: int
    same: bool
    fact: str
    look: str = ""


@dataclass(frozen=True)
class AnswerForm:
    """What an answer looks like: the reference's, of which only the shapes count."""

    expected: Value
    form: ResultSpec

    def judge(self, pair: AnswerPair, *answers: tuple[Request, Reply]) -> Finding | None:
        """Return what is not as expected about two answers, or None."""
        for request, reply in answers:
            finding = self._misshapen(request, reply)
            if finding:
                return finding
        amiss, arrays = self._amiss(pair, *answers), arrays_of(self.expected, self.form)
        if not amiss:
            return None
        place = f" That is seen in {_listed(amiss)}." * (len(amiss) < len(arrays))
        right = f"The {'layers' if self._of_layers else 'arrays'} and their shapes are right."
        return Finding(Outcome.WRONG_VALUES, pair.fact + place, right=right, look=pair.look)

    def amiss(self, pair: AnswerPair, *answers: tuple[Request, Reply]) -> tuple[str, ...] | None:
        """Return the names of the arrays in which two answers are not as expected of the pair.

        None when one of them does not have this form.
        """
        if any(self._misshapen(*answer) for answer in answers):
            return None
        return self._amiss(pair, *answers)

    def _amiss(self, pair: AnswerPair, *answers: tuple[Request, Reply]) -> tuple[str, ...]:
        """Return the same of two answers that have this form."""
        first, second = (self._arrays(*answer) for answer in answers)
        return tuple(
            name
            for name, array, other in zip(self.form.names, first, second)
            if array.size and np.array_equal(array, other, equal_nan=True) != pair.same
        )

    @property
    def _of_layers(self) -> bool:
        return any(isinstance(part, Linear) for part in arrays_of(self.expected, self.form))

    def _misshapen(self, request: Request, reply: Reply) -> Finding | None:
        reply = with_attributes(request, reply)
        if isinstance(reply, Failed):
            return failure(reply)
        if self._of_layers:
            return judge_layers(LinearLayers(self.expected, self.form), reply, ())
        return compare_form(reply.value, self.expected, self.form)

    def _arrays(self, request: Request, reply: Reply) -> tuple[np.ndarray, ...]:
        answer = with_attributes(request, reply)
        assert not isinstance(answer, Failed)
        # Of a layer the weights: its bias may begin with zeros.
        parts = arrays_of(answer.value, self.form)
        return tuple(part.weight if isinstance(part, Linear) else part for part in parts)


def _listed(names: tuple[str, ...]) -> str:
    *others, last = (f"`{name}`" for name in names)
    return f"{', '.join(others)} and {last}" if others else last
