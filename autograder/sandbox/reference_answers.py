"""Answers workers' questions about earlier steps, with what the reference gives.

The questions come from untrusted code. One that is too large is refused before it is read, and an
answer that raises is a refusal too: only what the student's code passed on can have made it raise.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from autograder.protocol import wire
from autograder.protocol.wire import Value
from autograder.sandbox import exchange

AnswerOfReference = Callable[
    [str, tuple[Value, ...], Mapping[str, Value], tuple[Value, ...]], Value | None
]

_LARGEST_QUESTION = 8 * 1024 * 1024  # bytes of all arrays; what is too much work, `answer` refuses


class ReferenceAnswers:
    """Answers questions with `answer`, as frames; None refuses all."""

    def __init__(self, answer: AnswerOfReference | None) -> None:
        self._answer = answer

    def frame(self, number: int, head: bytes, payload: bytes, leaning_on: Collection[str]) -> bytes:
        """Return the frame that answers the question `number`, about a step of `leaning_on`.

        Raises `WireError` when the question is not well formed.
        """
        if len(payload) > _LARGEST_QUESTION:
            return exchange.answer_frame(number, None)
        header, arrays = wire.read_frame(head, payload)
        question = exchange.read_question(header, arrays, number, leaning_on)
        try:
            return exchange.answer_frame(number, self._answered(question))
        except Exception:  # what the student's code passed is wrong; its own step may say how
            return exchange.answer_frame(number, None)

    def _answered(self, question: exchange.Question) -> Value | None:
        if self._answer is None:
            return None
        return self._answer(
            question.step, question.arguments, question.keywords, question.cotangents
        )
