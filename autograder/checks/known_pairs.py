"""Which known mistakes give two answers that are amiss as a student's two answers are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from autograder.checks.conversation import Conversation
from autograder.checks.replay import Replay
from autograder.judging.answer_pair import AnswerForm, AnswerPair
from autograder.judging.diagnosis import Candidate
from autograder.judging.expectation import judge
from autograder.model.request import Reply, Request


@dataclass(frozen=True)
class KnownPairs:
    """The known mistakes in the student's place, in a conversation about answers of one form."""

    replay: Replay
    conversation: Conversation
    form: AnswerForm

    def alike(self, pair: AnswerPair, *answers: tuple[Request, Reply]) -> Iterator[Candidate]:
        """Give the mistakes that are amiss in the same arrays of `pair`, and nowhere before."""
        amiss = self.form.amiss(pair, *answers)
        request = self.conversation.request(pair.first)
        for known in self.replay.singles(request) if amiss else ():
            if self._amiss(known.name, pair) == amiss and self._passes(known, request):
                yield known

    def _amiss(self, name: str, pair: AnswerPair) -> tuple[str, ...] | None:
        """Return the arrays in which two answers of a mistake are amiss; None for other forms."""
        requests = [self.conversation.request(number) for number in (pair.first, pair.second)]
        # Each is asked anew: equal questions may get other numbers.
        known = [self.replay.again(request, name) for request in requests]
        answers = [(request, each.reply) for request, each in zip(requests, known) if each]
        return self.form.amiss(pair, *answers) if len(answers) == len(requests) else None

    def _passes(self, known: Candidate, request: Request) -> bool:
        """Say whether a mistake passes what the student's code has passed in this check."""
        expected = [question.expectation for question, _ in self.conversation.judged]
        if any(judge(each, request, known.reply, (), False) for each in expected):
            return False
        return not any(self._amiss(known.name, pair) for pair in self.conversation.compared[:-1])
