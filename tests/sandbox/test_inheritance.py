"""Questions that workers inherit are answered as if they had been sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from autograder.model.exercise import Limits
from autograder.model.request import Failed, Reply, Request, Returned
from autograder.model.verdict import Outcome
from autograder.protocol import wire
from autograder.protocol.wire import Linear, Seed
from autograder.sandbox import SandboxedStudent, Zygote, exchange
from support.processes import kill

LIMITS = Limits(seconds_per_call=5.0, memory_megabytes=512)
IN_PLACE = "def f(x):\n    x *= 2\n    return x"


@pytest.fixture(scope="module")
def started() -> Iterator[Zygote]:
    with Zygote("numpy", LIMITS) as zygote:
        yield zygote


@pytest.fixture
def zygote(started: Zygote, request: pytest.FixtureRequest) -> Zygote:
    """A zygote whose workers inherit nothing yet."""
    started.inherit(request.node.nodeid, [])
    return started


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the questions that workers knew, in the order in which they were asked."""
    numbers: list[int] = []
    frame = exchange.inherited_frame

    def made(first: int, known: Sequence[tuple[str, int]], leaning_on: tuple[str, ...]) -> bytes:
        numbers.extend(number for _, number in known)
        return frame(first, known, leaning_on)

    monkeypatch.setattr(exchange, "inherited_frame", made)
    return numbers


def numbers(count: int, size: int = 1) -> list[Request]:
    return [Request("f", (np.full(size, float(number)),)) for number in range(count)]


def values(replies: tuple[Reply, ...]) -> list[float]:
    return [float(each.value[0]) for each in replies if isinstance(each, Returned)]


def test_an_inherited_question_is_answered_and_not_sent(zygote: Zygote, known: list[int]) -> None:
    zygote.inherit("a class", [("a check", tuple(numbers(3)))])
    with SandboxedStudent(zygote, (IN_PLACE,), seed=1) as student:
        assert student.load_failures == (None,)
        known.clear()
        replies = student.ask_all(numbers(4), [None] * 4)
    assert values(replies) == [0.0, 2.0, 4.0, 6.0]
    assert known == [1, 2, 3]
    after = [float(each.after[0][0]) for each in replies if isinstance(each, Returned)]
    assert after == [0.0, 2.0, 4.0, 6.0], "what the code did to its argument is told"


def test_inherited_and_sent_questions_are_answered_in_the_order_in_which_they_are_asked(
    zygote: Zygote, known: list[int]
) -> None:
    most = exchange._MOST_IN_A_FRAME
    asked = numbers(3 * most)
    # The first ones take more than one frame; of the others, every third is sent.
    inherited = [each for n, each in enumerate(asked) if n <= most or n % 3]
    zygote.inherit("a class", [("a check", tuple(inherited))])
    with SandboxedStudent(zygote, (IN_PLACE,), seed=1) as student:
        known.clear()
        replies = student.ask_all(asked, [None] * len(asked))
    assert values(replies) == [2.0 * number for number in range(len(asked))]
    assert known == list(range(1, len(inherited) + 1))


def test_what_one_worker_did_to_its_question_reaches_no_other(
    zygote: Zygote, known: list[int]
) -> None:
    zygote.inherit("a class", [("a check", tuple(numbers(3)))])
    for _ in range(3):
        with SandboxedStudent(zygote, (IN_PLACE,), seed=1) as student:
            # Asked again, it is sent: the code may have changed what the worker knows.
            for _ in range(2):
                assert values(student.ask_all(numbers(3), [None] * 3)) == [0.0, 2.0, 4.0]
    assert known == [1, 2, 3] * 3


def test_a_request_that_is_asked_twice_at_once_is_sent_once(zygote: Zygote) -> None:
    zygote.inherit("a class", [("a check", tuple(numbers(2)))])
    with SandboxedStudent(zygote, (IN_PLACE,), seed=1) as student:
        replies = student.ask_all([*numbers(2), *numbers(2)], [None] * 4)
    assert values(replies) == [0.0, 2.0, 0.0, 2.0]


def test_a_fresh_worker_knows_also_what_came_later(zygote: Zygote, known: list[int]) -> None:
    code = "import os\ndef f(x):\n    if x[0] == 1: os._exit(1)\n    return x"
    zygote.inherit("a class", [("a check", tuple(numbers(1)))])
    with SandboxedStudent(zygote, (code,), seed=1) as student:
        student.ask_all(numbers(2), [None] * 2)  # it ends there
        zygote.inherit(
            "a class", [("a check", tuple(numbers(1))), ("another", tuple(numbers(3)[2:]))]
        )
        known.clear()
        assert values(student.ask_all(numbers(3)[::2], [None] * 2)) == [0.0, 2.0]
    assert known == [1, 2]


def test_who_leans_knows_them_too(zygote: Zygote, known: list[int]) -> None:
    code = "def g(x): return 0 * x\ndef f(x): return g(x) + 1"
    zygote.inherit("a class", [("a check", tuple(numbers(2)))])
    with SandboxedStudent(zygote, (code,), seed=1, answer=lambda _, x, *__: 10 * x[0]) as student:
        known.clear()
        assert values(student.ask_all(numbers(2), [None] * 2, ("g",))) == [1.0, 11.0]
        assert values(student.ask_all(numbers(2), [None] * 2)) == [1.0, 1.0]
    assert known == [1, 2] * 2


def test_a_zygote_that_was_started_again_passes_them_on(zygote: Zygote, known: list[int]) -> None:
    zygote.inherit("a class", [("a check", tuple(numbers(2)))])
    with SandboxedStudent(zygote, (IN_PLACE,), seed=1) as student:
        student.ask_all(numbers(2), [None] * 2)
    kill(zygote.pid)
    known.clear()
    for _ in range(2):  # the first only finds out that it is dead
        with SandboxedStudent(zygote, (IN_PLACE,), seed=1) as student:
            replies = student.ask_all(numbers(2), [None] * 2)
    assert values(replies) == [0.0, 2.0]
    assert known[-2:] == [1, 2]


def test_what_finds_no_room_is_sent(
    zygote: Zygote, known: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "MOST_BYTES", 3_000)
    zygote.inherit("a class", [("a check", (*numbers(2), *numbers(3, 400)))])
    with SandboxedStudent(zygote, (IN_PLACE,), seed=1) as student:
        known.clear()
        assert len(values(student.ask_all(numbers(3, 400), [None] * 3))) == 3
    assert not known


def test_of_another_class_nothing_is_left(zygote: Zygote, known: list[int]) -> None:
    code = (
        "import gc, numpy as np\n"
        "FOUND = [each for each in gc.get_objects() if type(each).__name__ == 'Session']\n"
        "def f(x): return np.array([len(FOUND[0]._inherited._calls)])"
    )
    zygote.inherit("a class", [("a check", tuple(numbers(3)))])
    counts = []
    for of_class, checks in (("a class", []), ("another", []), ("another", numbers(1))):
        zygote.inherit(of_class, [("a check", tuple(checks))] if checks else [])
        with SandboxedStudent(zygote, (code,), seed=1) as student:
            counts += values(student.ask_all(numbers(1), [None]))
    assert counts == [3, 0, 1]
    assert known == [1, 1]


def test_a_question_that_cannot_be_read_is_sent_and_costs_only_itself(zygote: Zygote) -> None:
    unreadable = Request("f", (np.ones(1),), dtype="no such type")
    requests = (numbers(1)[0], unreadable, numbers(2)[1])
    zygote.inherit("a class", [("a check", requests)])
    with SandboxedStudent(zygote, (IN_PLACE,), seed=1) as student:
        first, second, third = student.ask_all(requests, [None] * 3)
    assert values((first, third)) == [0.0, 2.0]
    assert isinstance(second, Failed) and second.outcome is Outcome.RAISED


def test_a_question_with_a_long_header_is_not_inherited(zygote: Zygote) -> None:
    long = Request("f", (np.ones(1),), keywords={"name": "x" * wire.MAX_HEADER})
    zygote.inherit("a class", [("a check", (long, numbers(2)[1]))])
    with SandboxedStudent(zygote, (IN_PLACE,), seed=1) as student:
        assert values(student.ask_all(numbers(2), [None] * 2)) == [0.0, 2.0]


def test_requests_of_other_kinds_have_other_keys() -> None:
    """Or a worker would be asked what it knows of another."""
    layer = Linear(np.ones((2, 2)), np.zeros(2))
    likes = [(Seed(5), (5,)), (layer, (layer.weight, layer.bias, True))]
    for pair in likes:
        first, second = (Request("f", (value,)) for value in pair)
        assert first.key != second.key
