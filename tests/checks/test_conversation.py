"""A check says what it asks and expects; it is judged after its last line, in its own order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from autograder.checks.student import Conversation, ask_together
from autograder.judging.expectation import CheckFailed
from autograder.values.request import Failed, KnownReplies, Reply, Request, Returned
from autograder.values.verdict import Finding, Outcome


@dataclass
class Echo:
    """Answers every request with the name of its step, one by one."""

    asked: list[str] = field(default_factory=list)

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        self.asked.append(request.target)
        if request.target == "broken":
            return Failed(Outcome.INFRASTRUCTURE, "The machine failed.")
        return Returned(request.target)


@dataclass
class Pipelined(Echo):
    """Answers many requests at once, up to one that ends it."""

    together: list[int] = field(default_factory=list)
    leaning: list[tuple[str, ...]] = field(default_factory=list)

    def ask_all(
        self,
        requests: Sequence[Request],
        known: Sequence[KnownReplies | None],
        leaning_on: tuple[str, ...] = (),
    ) -> tuple[Reply, ...]:
        self.together.append(len(requests))
        self.leaning.append(leaning_on)
        names = [request.target for request in requests]
        end = names.index("the end") + 1 if "the end" in names else len(names)
        return tuple(map(self.ask, requests[:end]))


def put(conversation: Conversation, *names: str) -> list[int]:
    return [conversation.put(Request(name)) for name in names]


def value(conversation: Conversation, number: int) -> object:
    reply = conversation.reply(number)
    assert isinstance(reply, Returned)
    return reply.value


def test_nothing_is_asked_before_somebody_looks() -> None:
    echo = Echo()
    conversation = Conversation(echo)
    _, second = put(conversation, "one", "two")
    assert echo.asked == []
    assert value(conversation, second) == "two" and echo.asked == ["two"]


def test_who_answers_many_at_once_is_asked_all_that_is_open() -> None:
    respondent = Pipelined()
    first, second = Conversation(respondent), Conversation(respondent)
    numbers = put(first, "one", "two"), put(second, "three")
    ask_together([first, second])
    assert respondent.together == [3]
    assert value(first, numbers[0][1]) == "two" and value(second, numbers[1][0]) == "three"
    assert respondent.together == [3], "what was answered is not asked again"


def test_what_stays_open_after_an_end_is_asked_when_it_is_needed() -> None:
    respondent = Pipelined()
    conversation = Conversation(respondent)
    *_, last = put(conversation, "one", "the end", "three")
    ask_together([conversation])
    assert respondent.asked == ["one", "the end"]
    assert value(conversation, last) == "three"


def test_who_leans_on_the_reference_is_asked_together_too() -> None:
    respondent = Pipelined()
    conversation = Conversation(respondent, ("softmax",))
    first, _ = put(conversation, "one", "two")
    ask_together([conversation])
    assert value(conversation, first) == "one" and respondent.together == [2]
    assert respondent.leaning == [("softmax",)]


def test_judgements_are_made_in_order_and_the_first_that_fails_ends_them() -> None:
    seen: list[int] = []

    def fails() -> None:
        raise CheckFailed(Finding(Outcome.WRONG_VALUES, "It is wrong."))

    conversation = Conversation(Echo())
    for judgement in (lambda: seen.append(1), fails, lambda: seen.append(3)):
        conversation.look(judgement)
    assert seen == []
    with pytest.raises(CheckFailed):
        conversation.settle()
    conversation.settle()
    assert seen == [1]


def test_a_fault_of_ours_fails_whoever_looks_at_the_answer() -> None:
    conversation = Conversation(Echo())
    broken, other = put(conversation, "broken", "other")
    with pytest.raises(CheckFailed) as caught:
        conversation.reply(broken)
    assert caught.value.finding.outcome is Outcome.INFRASTRUCTURE
    assert value(conversation, other) == "other"


def test_an_eager_conversation_judges_line_by_line() -> None:
    seen: list[int] = []
    conversation = Conversation(Echo(), eager=True)
    conversation.look(lambda: seen.append(1))
    assert seen == [1]


def test_without_judging_nothing_is_looked_at() -> None:
    conversation = Conversation(Echo(), judging=False)
    conversation.look(lambda: pytest.fail("nobody asked for this"))
    conversation.settle()
