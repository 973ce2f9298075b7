"""What one run of a check asks of a student's code, and what it expects of the answers.

A check only says both. It is judged when it has said everything, in the order of its lines. So all
that a step is asked can be sent at once, and an answer that nobody looks at is not computed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile

import pytest

from autograder.checks.marks import title_of
from autograder.checks.memory import PassingReplies
from autograder.judging.asking import CheckAnswer
from autograder.judging.diagnosis import failure
from autograder.judging.examples import AnswerPair
from autograder.judging.expectation import CheckFailed, Expectation
from autograder.values.request import (
    Failed,
    KnownReplies,
    PipelinedRespondent,
    Reply,
    Request,
    Respondent,
)
from autograder.values.verdict import ChainVerdict, CheckVerdict, Finding, Outcome

Judgement = Callable[[], None]


@dataclass(frozen=True)
class CheckQuestion:
    """What a check asks, and what it expects; `expected` is called when that is first needed."""

    request: Request
    expected: Callable[[], Expectation]

    @cached_property
    def expectation(self) -> Expectation:
        """What the check expects of the answer."""
        return self.expected()


@dataclass(eq=False)
class Conversation:
    """The questions of one run of a check to `respondent`, and the judgements on the answers.

    Without `judging`, what is expected is only noted. If `eager`, every line of the check is
    judged before the next one is run. `passing` are replies that passed the check before. `given`
    are replies that are there already. `suspects` are the pairs of mistakes that other checks of
    the step have left (None: all).
    """

    respondent: Respondent
    leaning_on: tuple[str, ...] = ()
    judging: bool = True
    eager: bool = False
    passing: PassingReplies | None = None
    given: Sequence[Reply] = ()
    suspects: frozenset[str] | None = None
    # What is expected, in the order of the check's lines, and what of it was looked at so far.
    expected: list[CheckQuestion] = field(default_factory=list)
    judged: list[tuple[CheckQuestion, Reply]] = field(default_factory=list)
    compared: list[AnswerPair] = field(default_factory=list)  # what was looked at side by side
    requests: list[Request] = field(default_factory=list)  # all that were put
    exchanged: list[tuple[Request, Reply]] = field(default_factory=list)  # as replies came
    _replies: dict[int, Reply] = field(default_factory=dict)
    _judgements: deque[Judgement] = field(default_factory=deque)

    def put(self, request: Request) -> int:
        """Note a question; return its number."""
        number = len(self.requests)
        self.requests.append(request)
        for reply in self.given[number : number + 1]:
            self.receive(number, reply)
        return number

    def ask_now(self, request: Request) -> int:
        """Ask a question at once, and no other; return its number."""
        number = self.put(request)
        self._ask(number)
        return number

    def reply(self, number: int) -> Reply:
        """Return the reply to a question, which is asked now if it was not before.

        Raises `CheckFailed` when it is a fault of ours.
        """
        if number not in self._replies:
            ask_together([self])
        if number not in self._replies:
            self._ask(number)
        reply = self._replies[number]
        if isinstance(reply, Failed) and reply.outcome is Outcome.INFRASTRUCTURE:
            raise CheckFailed(failure(reply))
        return reply

    def expect(self, question: CheckQuestion, judgement: Judgement) -> None:
        """Note what is expected, and how it is judged."""
        self.expected.append(question)
        self.look(judgement)

    def look(self, judgement: Judgement) -> None:
        """Note a judgement to be made after those before it."""
        if self.judging:
            self._judgements.append(judgement)
        if self.eager:
            self.settle()

    def settle(self) -> None:
        """Make the judgements that were noted; the first that raises ends it."""
        while self._judgements:
            judgement = self._judgements.popleft()
            try:
                judgement()
            except BaseException:
                self._judgements.clear()
                raise

    def open(self) -> list[int]:
        """Return the numbers of the questions that were not asked yet."""
        return [number for number in range(len(self.requests)) if number not in self._replies]

    def known(self, number: int) -> KnownReplies | None:
        """Return the replies to a question that need not be read again; None to keep none."""
        return self.passing.known(number) if self.passing else None

    @property
    def replies(self) -> tuple[Reply, ...]:
        """The replies to the first questions, up to one that was not asked."""
        numbers = range(len(self.requests))
        asked = takewhile(self._replies.__contains__, numbers)
        return tuple(self._replies[number] for number in asked)

    def receive(self, number: int, reply: Reply) -> None:
        """Take the reply to a question."""
        self._replies[number] = reply
        self.exchanged.append((self.requests[number], reply))

    def _ask(self, number: int) -> None:
        self.receive(number, self.respondent.ask(self.requests[number], self.leaning_on))


def ask_together(conversations: Iterable[Conversation]) -> None:
    """Ask all open questions of conversations with one respondent at once, where it can do that.

    What stays open, as after code that has ended its process, is asked when it is needed.
    """
    asked = [(each, number) for each in conversations for number in each.open()]
    if not asked:
        return
    first = asked[0][0]
    if not isinstance(first.respondent, PipelinedRespondent):
        return
    requests = [each.requests[number] for each, number in asked]
    known = [each.known(number) for each, number in asked]
    replies = first.respondent.ask_all(requests, known, first.leaning_on)
    for (conversation, number), reply in zip(asked, replies):
        conversation.receive(number, reply)


# One run of a check: on what terms, and what it has shown so far.


@dataclass(frozen=True)
class CheckTerms:
    """On what terms a check is run: who answers, and what is done with the answers.

    The reference answers for the steps in `leaning_on`. `naming` says whether a difference is
    traced to a known mistake; if it is a function, that is called when it is first needed.
    """

    respondent: Respondent
    leaning_on: tuple[str, ...] = ()
    naming: bool | Callable[[], bool] = True

    @cached_property
    def names(self) -> bool:
        """Whether a difference is traced to a known mistake."""
        return self.naming if isinstance(self.naming, bool) else self.naming()

    @cached_property
    def together(self) -> bool:
        """Whether questions can be asked together."""
        return isinstance(self.respondent, PipelinedRespondent)


@dataclass
class RunningCheck:
    """What one run of a check has shown so far."""

    item: pytest.Item
    terms: CheckTerms
    conversation: Conversation
    finding: Finding | None = None
    chain: ChainVerdict | None = None
    errors: list[BaseException] = field(default_factory=list)
    called: bool = True  # False while only what it asked before is asked again
    judged: bool = False

    @property
    def verdict(self) -> CheckVerdict:
        """How the check ended."""
        return CheckVerdict.of(self.item.name, title_of(self.item), self.finding)

    @property
    def seen(self) -> CheckAnswer:
        """What the check has seen, for what is told of all checks of its step together."""
        replies = [reply for _, reply in self.conversation.judged]
        return self.item.name, self.finding, replies[-1] if replies else None

    def caught(self, error: BaseException) -> None:
        """Keep what the check raised."""
        if isinstance(error, CheckFailed):
            self.finding = error.finding
        else:
            self.errors.append(error)
