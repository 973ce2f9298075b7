"""Answers workers' questions about earlier steps, with what the reference gives.

The questions come from untrusted code. One that is too large is refused before it is read, and an
answer that raises is a refusal too: only what the student's code passed on can have made it raise.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from autograder.model.given_answers import GivenAnswers, key_of
from autograder.protocol import wire
from autograder.protocol.wire import Value
from autograder.sandbox import exchange

AnswerOfReference = Callable[
    [str, tuple[Value, ...], Mapping[str, Value], tuple[Value, ...]], Value | None
]

_LARGEST_QUESTION = 8 * 1024 * 1024  # bytes of all arrays; what is too much work, `answer` refuses


class ReferenceAnswers:
    """Answers questions with `answer`, as frames; None refuses all.

    What was asked with the same bytes is answered again from `given`, but for `drawing` steps. A
    refusal because something was raised is not kept: it may have been a lack of memory.
    """

    def __init__(
        self,
        answer: AnswerOfReference | None,
        drawing: Collection[str] = (),
        given: GivenAnswers | None = None,
    ) -> None:
        self._answer, self._drawing, self._given = answer, drawing, given

    def frame(self, number: int, head: bytes, payload: bytes, leaning_on: Collection[str]) -> bytes:
        """Return the frame that answers the question `number`, about a step of `leaning_on`.

        Raises `WireError` when the question is not well formed.
        """
        facts = exchange.unnumbered_question(number, head)
        if len(payload) > _LARGEST_QUESTION:
            return exchange.refusal_of("").frame(number)
        key = key_of(facts, payload) if self._given is not None else b""
        known = self._given.again(key) if self._given is not None else None
        if known and known.step in leaning_on:
            return known.frame(number)
        question = exchange.read_question(*wire.read_frame(head, payload), leaning_on)
        try:
            answer = exchange.answer_to(question.step, self._answered(question))
        except Exception:  # what the student's code passed is wrong; its own step may say how
            return exchange.refusal_of(question.step).frame(number)
        if self._given is not None and question.step not in self._drawing:
            self._given.keep(key, answer)
        return answer.frame(number)

    def _answered(self, question: exchange.Question) -> Value | None:
        if self._answer is None:
            return None
        return self._answer(
            question.step, question.arguments, question.keywords, question.cotangents
        )
