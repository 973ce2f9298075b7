"""Questions that workers inherit are answered as if they had been sent."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import numpy as np
import pytest

from autograder.model.exercise import Limits
from autograder.model.request import Reply, Request, Returned
from autograder.protocol.wire import Linear
from autograder.sandbox import SandboxedStudent, Zygote, exchange, inheritance

LIMITS = Limits(seconds_per_call=5.0, memory_megabytes=512)
IN_PLACE = "def f(x):\n    x *= 2\n    return x"


@pytest.fixture
def zygote() -> Iterator[Zygote]:
    with Zygote("numpy", LIMITS) as zygote:
        yield zygote


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the questions that workers knew, in the order in which they were asked."""
    numbers: list[int] = []
    frame = exchange.inherited_frame

    def made(number: int, inherited: int, request: Request, leaning_on: tuple[str, ...]) -> bytes:
        numbers.append(inherited)
        return frame(number, inherited, request, leaning_on)

    monkeypatch.setattr(exchange, "inherited_frame", made)
    return numbers


def numbers(count: int, size: int = 1) -> list[Request]:
    return [Request("f", (np.full(size, float(number)),)) for number in range(count)]


def values(replies: tuple[Reply, ...]) -> list[float]:
    return [float(each.value[0]) for each in replies if isinstance(each, Returned)]


def test_an_inherited_question_is_answered_and_not_sent(zygote: Zygote, known: list[int]) -> None:
    zygote.inherit([("a check", tuple(numbers(3)))])
    with SandboxedStudent(zygote, (IN_PLACE,), seed=1) as student:
        assert student.load_failures == (None,)
        known.clear()
        replies = student.ask_all(numbers(4), [None] * 4)
    assert values(replies) == [0.0, 2.0, 4.0, 6.0]
    assert known == [1, 2, 3]
    after = [float(each.after[0][0]) for each in replies if isinstance(each, Returned)]
    assert after == [0.0, 2.0, 4.0, 6.0], "what the code did to its argument is told"


def test_what_one_worker_did_to_its_question_reaches_no_other(
    zygote: Zygote, known: list[int]
) -> None:
    zygote.inherit([("a check", tuple(numbers(3)))])
    for _ in range(3):
        with SandboxedStudent(zygote, (IN_PLACE,), seed=1) as student:
            # Asked again, it is sent: the code may have changed what the worker knows.
            for _ in range(2):
                assert values(student.ask_all(numbers(3), [None] * 3)) == [0.0, 2.0, 4.0]
    assert known == [1, 2, 3] * 3


def test_a_request_that_is_asked_twice_at_once_is_sent_once(zygote: Zygote) -> None:
    zygote.inherit([("a check", tuple(numbers(2)))])
    with SandboxedStudent(zygote, (IN_PLACE,), seed=1) as student:
        replies = student.ask_all([*numbers(2), *numbers(2)], [None] * 4)
    assert values(replies) == [0.0, 2.0, 0.0, 2.0]


def test_a_fresh_worker_knows_also_what_came_later(zygote: Zygote, known: list[int]) -> None:
    code = "import os\ndef f(x):\n    if x[0] == 1: os._exit(1)\n    return x"
    zygote.inherit([("a check", tuple(numbers(1)))])
    with SandboxedStudent(zygote, (code,), seed=1) as student:
        student.ask_all(numbers(2), [None] * 2)  # it ends there
        zygote.inherit([("a check", tuple(numbers(1))), ("another", tuple(numbers(3)[2:]))])
        known.clear()
        assert values(student.ask_all(numbers(3)[::2], [None] * 2)) == [0.0, 2.0]
    assert known == [1, 2]


def test_who_leans_knows_them_too(zygote: Zygote, known: list[int]) -> None:
    code = "def g(x): return 0 * x\ndef f(x): return g(x) + 1"
    zygote.inherit([("a check", tuple(numbers(2)))])
    with SandboxedStudent(zygote, (code,), seed=1, answer=lambda _, x, *__: 10 * x[0]) as student:
        known.clear()
        assert values(student.ask_all(numbers(2), [None] * 2, ("g",))) == [1.0, 11.0]
        assert values(student.ask_all(numbers(2), [None] * 2)) == [1.0, 1.0]
    assert known == [1, 2] * 2


def test_a_zygote_that_was_started_again_passes_them_on(zygote: Zygote, known: list[int]) -> None:
    zygote.inherit([("a check", tuple(numbers(2)))])
    with SandboxedStudent(zygote, (IN_PLACE,), seed=1) as student:
        student.ask_all(numbers(2), [None] * 2)
    os.kill(zygote.pid, signal.SIGKILL)
    time.sleep(0.1)
    known.clear()
    for _ in range(2):  # the first worker may still be that of the dead one
        with SandboxedStudent(zygote, (IN_PLACE,), seed=1) as student:
            replies = student.ask_all(numbers(2), [None] * 2)
    assert values(replies) == [0.0, 2.0]
    assert known[-2:] == [1, 2]


def test_what_finds_no_room_is_sent(known: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inheritance, "MOST_BYTES", 3_000)
    with Zygote("numpy", LIMITS) as small:
        small.inherit([("a check", (*numbers(2), *numbers(3, 400)))])
        with SandboxedStudent(small, (IN_PLACE,), seed=1) as student:
            known.clear()
            assert len(values(student.ask_all(numbers(3, 400), [None] * 3))) == 3
    assert not known


def test_no_random_number_depends_on_what_was_inherited() -> None:
    """With a layer among the arguments, PyTorch would draw its first weights."""
    draw = "import torch\ndef f(layer): return torch.rand(4)"
    layer = Linear(np.ones((3, 2), np.float32), np.zeros(3, np.float32))
    drawn = []
    with Zygote("torch", LIMITS) as zygote:
        for requests in ((), (Request("f", (layer,)),)):
            zygote.inherit([("a check", requests)])
            with SandboxedStudent(zygote, (draw,), seed=7) as student:
                (reply,) = student.ask_all([Request("f", (layer,))], [None])
            assert isinstance(reply, Returned)
            drawn.append(reply.value.tolist())
    assert drawn[0] == drawn[1]
