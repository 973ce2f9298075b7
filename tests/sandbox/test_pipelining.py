"""Questions that are sent all at once: each is answered as it would be alone."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from autograder.sandbox import SandboxedStudent, Zygote
from autograder.sandbox.zygote_process import Channel
from autograder.values.exercise import Limits
from autograder.values.request import Failed, Reply, Request, Returned
from autograder.values.verdict import Outcome
from autograder.worker import wire
from autograder.worker.wire import Value

LIMITS = Limits(seconds_per_call=0.5, memory_megabytes=256, output_kilobytes=4)
# What `f` does depends on the number that it gets.
CODE = """
import os
import time
import numpy as np

def f(x):
    {line}
    return 2 * x
"""


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with Zygote("numpy", LIMITS) as zygote:
        yield zygote


def numbers(count: int, size: int = 1) -> list[Request]:
    return [Request("f", (np.full(size, float(number)),)) for number in range(count)]


def asked(zygote: Zygote, line: str, requests: list[Request]) -> tuple[Reply, ...]:
    with SandboxedStudent(zygote, (CODE.format(line=line),), seed=1) as student:
        return student.ask_all(requests, [None] * len(requests))


def values(replies: tuple[Reply, ...]) -> list[float]:
    return [float(each.value[0]) for each in replies if isinstance(each, Returned)]


def test_what_was_printed_before_an_answer_is_there_with_it() -> None:
    channel = Channel(kept_bytes=100)
    worker, output, _ = channel.far_ends
    os.write(output, b"said")
    os.write(worker, wire.frame({"id": 1}, []))
    channel.receive(time.monotonic() + 10)
    assert channel.output == b"said"
    channel.hand_over()
    channel.close()


def test_the_replies_come_in_the_order_of_the_requests(zygote: Zygote) -> None:
    assert values(asked(zygote, "pass", numbers(40))) == [2.0 * each for each in range(40)]


def test_an_exception_costs_only_its_own_request(zygote: Zygote) -> None:
    replies = asked(zygote, "assert x[0] != 3", numbers(6))
    assert [isinstance(each, Failed) for each in replies] == [False] * 3 + [True] + [False] * 2
    assert values(replies) == [0.0, 2.0, 4.0, 8.0, 10.0]


@pytest.mark.parametrize(
    ("line", "outcome"),
    [
        ("os._exit(1) if x[0] == 3 else None", Outcome.CRASHED),
        ("time.sleep(60 if x[0] == 3 else 0)", Outcome.TIMED_OUT),
        ("print('x' * (33 << 20) if x[0] == 3 else '', flush=True)", Outcome.OUTPUT_LIMIT),
        ("x[0] == 3 and os.write(3, b'no frame' * 10)", Outcome.PROTOCOL),
    ],
    ids="crash sleep flood forgery".split(),
)
def test_after_code_that_cannot_go_on_nothing_is_answered(
    zygote: Zygote, line: str, outcome: Outcome
) -> None:
    *before, last = asked(zygote, line, numbers(6))
    assert values(tuple(before)) == [0.0, 2.0, 4.0]
    assert isinstance(last, Failed) and last.outcome is outcome


def test_what_was_left_is_answered_by_a_fresh_worker(zygote: Zygote) -> None:
    code = CODE.format(line="os._exit(1) if x[0] == 1 else None")
    with SandboxedStudent(zygote, (code,), seed=1) as student:
        assert len(student.ask_all(numbers(3), [None] * 3)) == 2
        assert values((student.ask(numbers(3)[2]),)) == [4.0]


def test_requests_and_replies_larger_than_any_buffer_pass_each_other(zygote: Zygote) -> None:
    """Neither side waits for the other to read."""
    replies = asked(zygote, "pass", numbers(6, 200_000))
    assert values(replies) == [2.0 * each for each in range(6)]


def test_all_calls_together_have_their_time_limit_also_when_they_are_sent_together(
    zygote: Zygote, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = replace(LIMITS, seconds_per_call=20.0, seconds_per_submission=0.4)
    monkeypatch.setattr(zygote, "limits", limits)
    line = "begun = time.process_time()\n    while time.process_time() - begun < 0.1: pass"
    replies = asked(zygote, line, numbers(12))
    assert len(replies) < 12
    assert isinstance(replies[-1], Failed) and replies[-1].outcome is Outcome.TIMED_OUT


def test_a_request_after_those_that_were_left_gets_its_own_answer(zygote: Zygote) -> None:
    """No reply to a question that nobody waits for any more is taken for another's."""
    code = CODE.format(line="time.sleep(60 if x[0] == 1 else 0)")
    with SandboxedStudent(zygote, (code,), seed=1) as student:
        student.ask_all(numbers(4), [None] * 4)
        assert values(student.ask_all(numbers(1), [None] * 1)) == [0.0]


# --- while it leans on the reference -------------------------------------------------------------

LEANING = """
import os
import numpy as np

def softmax(x): return x - x

def f(x):
    {line}
    return softmax(x) + softmax(2 * x)
"""


def leaned(zygote: Zygote, line: str, requests: list[Request]) -> tuple[Reply, ...]:
    def answer(step: str, given: tuple[Value, ...], *_: object) -> Value:
        return given[0] + 100

    code = LEANING.format(line=line)
    with SandboxedStudent(zygote, (code,), seed=1, answer=answer) as student:
        return student.ask_all(requests, [None] * len(requests), ("softmax",))


@pytest.mark.parametrize("size", [1, 20_000])
def test_what_a_worker_asks_is_answered_between_requests(zygote: Zygote, size: int) -> None:
    """Its answer comes after the requests that were sent before it asked."""
    replies = leaned(zygote, "pass", numbers(6, size))
    assert values(replies) == [200.0 + 3 * each for each in range(6)]


def test_after_a_crash_nothing_is_answered_while_it_leans_either(zygote: Zygote) -> None:
    *before, last = leaned(zygote, "os._exit(1) if x[0] == 2 else None", numbers(6))
    assert values(tuple(before)) == [200.0, 203.0]
    assert isinstance(last, Failed) and last.outcome is Outcome.CRASHED


def test_who_asks_and_never_reads_the_answer_is_late(zygote: Zygote) -> None:
    ask = (
        "import struct; from autograder.worker import wire; "
        "frame = wire.frame({'ask': 1, 'step': 'softmax', 'arguments': [], 'keywords': {}, "
        "'cotangents': []}, []); os.write(3, frame)\n    import time; time.sleep(60)"
    )
    (last,) = leaned(zygote, ask, numbers(3, 200_000))
    assert isinstance(last, Failed) and last.outcome is Outcome.TIMED_OUT


def test_who_leans_is_asked_about_one_step_only(zygote: Zygote) -> None:
    with pytest.raises(ValueError, match="one step only"):
        leaned(zygote, "pass", [Request("f", (np.ones(1),)), Request("softmax", (np.ones(1),))])


def test_a_known_reply_is_recognized_while_it_leans(zygote: Zygote) -> None:
    code = LEANING.format(line="pass")
    request, known = numbers(1)[0], dict[bytes, Returned]()
    with SandboxedStudent(zygote, (code,), seed=1, answer=lambda *_: np.ones(1)) as student:
        (first,) = student.ask_all([request], [known], ("softmax",))
        assert isinstance(first, Returned) and first.encoded
        known[first.encoded] = first
        (again,) = student.ask_all([request], [known], ("softmax",))
        (alone,) = student.ask_all([request], [known])
    assert again is first and values((alone,)) == [0.0]
