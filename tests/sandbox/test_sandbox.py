"""A sandboxed submission answers requests, and every way to fail is an outcome."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from autograder.errors import KitError
from autograder.sandbox import SandboxedStudent, Zygote, workers, zygote_process
from autograder.sandbox import zygote as zygote_module
from autograder.sandbox.measurement import Attempt
from autograder.sandbox.workers import MOST_ANSWERED, TOO_OFTEN
from autograder.sandbox.zygote import Worker
from autograder.sandbox.zygote_process import Budget, Ending
from autograder.values.exercise import Limits
from autograder.values.request import Request
from autograder.values.symbols import Protection
from autograder.values.verdict import Outcome
from autograder.worker.wire import TOO_LARGE, Opaque, Seed, Value
from sandbox.questions import ask, failed, raised_by, returned, value_of
from support.processes import descendants, kill

LIMITS = Limits(seconds_per_call=1.0, memory_megabytes=256, output_kilobytes=4)
# For code that only ends at its budget, so that less is waited for.
SHORT = replace(LIMITS, seconds_per_call=0.3)
SLACK = 5.0  # seconds, on a machine with other work
CHAIN = """
import numpy as np

def softmax(scores):
    return scores * 0

def weights(scores, offset=0.0):
    return softmax(scores) + offset

def unfinished(x):
    raise NotImplementedError("write this step")

def leans_on_unfinished(x):
    return unfinished(x)

class Head:
    def __init__(self, size):
        self.size = size
        self.scale = np.ones(size)

    def forward(self, x):
        self.seen = x * self.scale
        return softmax(self.seen)
"""


class Observed(Zygote):
    """A zygote that keeps how its workers ended, and strikes the next `strikes` of them."""

    strikes = 0
    signal = signal.SIGKILL
    forked = 0

    def __enter__(self) -> Observed:
        self.endings: list[Ending] = []
        super().__enter__()
        return self

    def fork(self, seed: int) -> Worker:
        before = set(descendants(self.pid)) if self.strikes and self.pid else set()
        worker = super().fork(seed)
        self.forked += 1
        if self.strikes:
            self.strikes -= 1
            (pid,) = set(descendants(self.pid)) - before
            os.kill(pid, self.signal)
        return worker

    def end(self, worker: Worker, patience: float = 0.0) -> Ending:
        self.endings.append(super().end(worker, patience))
        return self.endings[-1]


@pytest.fixture(scope="module")
def zygote() -> Iterator[Observed]:
    with Observed("numpy", LIMITS) as zygote:
        yield zygote


Limited = Callable[..., None]


@pytest.fixture
def limited(zygote: Observed, monkeypatch: pytest.MonkeyPatch) -> Limited:
    """Gives other limits to the submissions of this test."""
    return lambda **limits: monkeypatch.setattr(zygote, "limits", replace(LIMITS, **limits))


@pytest.fixture
def short(zygote: Observed, limited: Limited) -> Observed:
    """The same, with less time for each question."""
    limited(seconds_per_call=SHORT.seconds_per_call)
    return zygote


class Counting:
    """Answers the questions of a submission with what `answer` makes of their number."""

    def __init__(self, answer: Callable[[int], Value] = lambda number: 1) -> None:
        self.asked, self.answer = 0, answer

    def __call__(self, *_: object) -> Value:
        self.asked += 1
        return self.answer(self.asked)


ALL_OF_PYTHON = """
import tempfile, threading
from concurrent.futures import ThreadPoolExecutor
def f():
    with ThreadPoolExecutor(2) as pool, tempfile.TemporaryFile() as file:
        file.write(b'x')
        return sum(pool.map(abs, [-1, -2]))
"""
NUMBERS = np.random.default_rng(5).standard_normal(4)
TOO_LARGE_TO_SEND = ("np.zeros(9 << 20)", "np.broadcast_to(0.2, (1 << 18, 1 << 19))")
VALUES: dict[str, tuple[str, tuple[Value, ...], Value]] = {
    "an array for arrays": (
        "def f(a, b, c): return a @ b + c",
        (np.eye(2), np.ones((2, 3)), 2),
        np.full((2, 3), 3.0),
    ),
    "a generator for a seed": ("def f(rng): return rng.standard_normal(4)", (Seed(5),), NUMBERS),
    "a type for what says that it equals everything": (
        "class Yes:\n    def __eq__(self, other): return True\ndef f(): return Yes()",
        (),
        Opaque("Yes"),
    ),
    "a type for what does not cross": ("class Odd: pass\ndef f(): return Odd()", (), Opaque("Odd")),
    "threads and temporary files": (ALL_OF_PYTHON, (), 3),
    **{
        f"a word for {sent}": (f"import numpy as np\ndef f(): return {sent}", (), Opaque(TOO_LARGE))
        for sent in TOO_LARGE_TO_SEND
    },
}


@pytest.mark.parametrize(("code", "arguments", "value"), VALUES.values(), ids=VALUES)
def test_what_a_function_returns_arrives(
    zygote: Zygote, code: str, arguments: tuple[Value, ...], value: Value
) -> None:
    arrived = value_of(zygote, code, *arguments)
    assert type(arrived) is type(value)
    np.testing.assert_array_equal(arrived, value)


def test_an_argument_overwritten_in_place_is_seen(zygote: Zygote) -> None:
    reply = returned(ask(zygote, "def f(a, b): a -= 1; return 0", np.ones(3), np.ones(2)))
    np.testing.assert_array_equal(reply.after[0], np.zeros(3))
    np.testing.assert_array_equal(reply.after[1], np.ones(2))


def test_the_seed_of_the_submission_fixes_what_it_draws(zygote: Zygote) -> None:
    draws = "random.random(), float(np.random.rand())"
    code = f"import random\nimport numpy as np\ndef f(): return {draws}"
    assert value_of(zygote, code) == value_of(zygote, code)


def test_keyword_arguments_arrive(zygote: Zygote) -> None:
    with SandboxedStudent(zygote, (CHAIN,), seed=1) as student:
        reply = returned(student.ask(Request("weights", (np.ones(2),), {"offset": 3.0})))
    np.testing.assert_array_equal(reply.value, np.full(2, 3.0))


def test_a_class_is_constructed_given_weights_called_and_read(zygote: Zygote) -> None:
    request = Request(
        "Head",
        (2,),
        method="forward",
        method_arguments=(np.array([1.0, 2.0]),),
        attributes={"scale": np.array([10.0, 10.0])},
        read=("seen", "size", "absent"),
    )
    with SandboxedStudent(zygote, (CHAIN,), seed=1) as student:
        reply = returned(student.ask(request))
    np.testing.assert_array_equal(reply.value, np.zeros(2))
    np.testing.assert_array_equal(reply.attributes["seen"], np.array([10.0, 20.0]))
    assert reply.attributes["size"] == 2 and "absent" not in reply.attributes
    np.testing.assert_array_equal(reply.after[0], np.array([1.0, 2.0]))


def test_a_class_can_be_constructed_and_read_without_a_call(zygote: Zygote) -> None:
    with SandboxedStudent(zygote, (CHAIN,), seed=1) as student:
        reply = returned(student.ask(Request("Head", (2,), method="", read=("scale",))))
    assert reply.value is None and reply.after == ()
    np.testing.assert_array_equal(reply.attributes["scale"], np.ones(2))


def test_an_earlier_step_is_answered_by_the_reference_while_it_is_leaned_on(zygote: Zygote) -> None:
    asked = []

    def answer(step: str, given: Any, named: Any, _: object) -> Value:
        asked.append((step, given[0].shape, dict(named)))
        return given[0] + 7

    with SandboxedStudent(zygote, (CHAIN,), seed=1, answer=answer) as student:
        for leaning_on, value in ((("softmax",), 8.0), ((), 0.0), (("softmax",), 8.0)):
            reply = returned(student.ask(Request("weights", (np.ones(2),)), leaning_on))
            np.testing.assert_array_equal(reply.value, np.full(2, value))
    assert asked == [("softmax", (2,), {})] * 2


def test_the_students_own_step_is_used_when_the_reference_gives_no_answer(zygote: Zygote) -> None:
    with SandboxedStudent(zygote, (CHAIN,), seed=1, answer=lambda *_: None) as student:
        reply = returned(student.ask(Request("weights", (np.ones(2),)), ("softmax",)))
    np.testing.assert_array_equal(reply.value, np.zeros(2))


def test_a_step_that_is_missing_can_be_leaned_on(zygote: Zygote) -> None:
    code = "def f(x): return softmax(x)"
    with SandboxedStudent(zygote, (code,), seed=1, answer=lambda *_: np.ones(1)) as student:
        assert returned(student.ask(Request("f", (np.ones(2),)), ("softmax",))).value == 1
    assert raised_by(zygote, code, np.ones(2)) == "NameError"


def test_a_question_too_large_for_the_reference_is_refused(zygote: Zygote) -> None:
    code = "import numpy as np\ndef g(x): return 1\ndef f(): return g(np.ones(2_000_000))"
    with SandboxedStudent(zygote, (code,), seed=1, answer=lambda *_: 2) as student:
        assert returned(student.ask(Request("f"), ("g",))).value == 1


def test_an_exception_is_told_with_its_line_and_the_shapes_around_it(zygote: Zygote) -> None:
    code = "import numpy as np\ndef f(x):\n    y = np.ones((3, 4))\n    return x @ y\n"
    reply = failed(ask(zygote, code, np.ones((2, 5))))
    report = reply.exception
    assert reply.outcome is Outcome.RAISED and report
    assert report.type_name == "ValueError" and "matmul" in report.message
    assert (report.line, report.code) == (4, "return x @ y")
    assert report.shapes == {"x": (2, 5), "y": (3, 4)}


def test_the_shape_of_an_array_that_could_not_be_sent_is_not_told_either(zygote: Zygote) -> None:
    code = (
        "import numpy as np\ndef f(x):\n    many = x.reshape((1,) * 12)\n"
        "    long = np.broadcast_to(x, (1 << 40, 1))\n    raise ValueError\n"
    )
    report = failed(ask(zygote, code, np.ones(1))).exception
    assert report and report.shapes == {"x": (1,)}


def test_a_stub_is_not_written_yet(zygote: Zygote) -> None:
    reply = failed(ask(zygote, CHAIN, np.ones(1), name="unfinished"))
    assert reply.outcome is Outcome.NOT_WRITTEN
    assert reply.detail == "`unfinished` is not written yet."
    through = failed(ask(zygote, CHAIN, np.ones(1), name="leans_on_unfinished"))
    assert through.detail == "`unfinished` is not written yet."


def test_what_a_library_has_not_implemented_is_no_stub(zygote: Zygote) -> None:
    reply = failed(ask(zygote, "def f(x):\n    return memoryview(x)[0]\n", np.ones((2, 2))))
    assert reply.outcome is Outcome.RAISED
    assert reply.exception and reply.exception.type_name == "NotImplementedError"
    assert reply.exception.line == 2


def test_a_missing_name_is_not_written_and_said_to_be_missing(zygote: Zygote) -> None:
    reply = failed(ask(zygote, CHAIN, name="absent"))
    assert reply.outcome is Outcome.NOT_WRITTEN
    assert reply.detail == "There is no `absent` yet."
    with SandboxedStudent(zygote, (CHAIN,), seed=1) as student:
        method = failed(student.ask(Request("Head", (1,), method="backward")))
    assert method.detail == "There is no `backward` in `Head` yet."


def test_a_cell_that_does_not_parse_costs_only_itself(zygote: Zygote) -> None:
    cells = ("import numpy as np", "def broken(x):\n    return (x", "def f(x): return np.exp(x)")
    with SandboxedStudent(zygote, cells, seed=1) as student:
        assert returned(student.ask(Request("f", (0.0,)))).value == 1.0
        first, second, third = student.load_failures
        assert first is None and third is None
        assert second and second.type_name == "SyntaxError" and second.line == 2
        broken = failed(student.ask(Request("broken", (0.0,))))
    assert broken.outcome is Outcome.NOT_WRITTEN


@pytest.mark.parametrize("ending", ["1 / 0", "raise SystemExit", "import no_such_module", "exit()"])
def test_a_cell_that_raises_costs_only_itself(zygote: Zygote, ending: str) -> None:
    with SandboxedStudent(zygote, (ending, "def f(): return 1"), seed=1) as student:
        assert returned(student.ask(Request("f"))).value == 1
        assert student.load_failures[0] is not None and student.load_failures[1] is None


def test_a_future_import_holds_for_the_cells_after_it(zygote: Zygote) -> None:
    cells = ("from __future__ import annotations", "def f(x: NotDefined): return 1")
    with SandboxedStudent(zygote, cells, seed=1) as student:
        assert returned(student.ask(Request("f", (1,)))).value == 1


def test_what_is_printed_is_kept_up_to_the_limit_without_control_characters(zygote: Zygote) -> None:
    code = "def f():\n    print('\\x1b[31mred\\u202e')\n    print('x' * 100_000)\n    return 1"
    with SandboxedStudent(zygote, (code,), seed=1) as student:
        assert returned(student.ask(Request("f"))).value == 1
        student.close()
        assert student.output.startswith("red\nxxx") and 3000 < len(student.output) <= 4096


ENDINGS = {
    "a loop without end": ("while True: pass", Outcome.TIMED_OUT),
    "all exceptions and signals ignored": (
        "import signal\n    for s in (2, 14, 15, 24): signal.signal(s, signal.SIG_IGN)\n"
        "    while True:\n        try:\n            while True: pass\n"
        "        except BaseException: pass",
        Outcome.TIMED_OUT,
    ),
    "an exit of the process": ("import os; os._exit(0)", Outcome.CRASHED),
    "an abort": ("import os; os.abort()", Outcome.CRASHED),
    "a wild pointer": ("import ctypes; ctypes.string_at(0)", Outcome.CRASHED),
    "a closed channel": ("import os, time; os.close(3); time.sleep(60)", Outcome.CRASHED),
    "a large array": ("import numpy as np; return np.ones(1 << 28)", Outcome.OUT_OF_MEMORY),
    "a long list": ("return list(range(1 << 27))", Outcome.OUT_OF_MEMORY),
    "a flood of output": ("while True: print('x' * 10_000)", Outcome.OUTPUT_LIMIT),
    "too large to send": ("return 'x' * (5 << 20)", Outcome.PROTOCOL),
    "an exit by exception": ("raise SystemExit(0)", Outcome.RAISED),
    "endless recursion": ("return f()", Outcome.RAISED),
    "a cry for the keyboard": ("return input()", Outcome.RAISED),
}


@pytest.mark.parametrize(("body", "outcome"), ENDINGS.values(), ids=ENDINGS)
def test_every_way_to_fail_is_an_outcome_and_costs_only_itself(
    short: Zygote, body: str, outcome: Outcome
) -> None:
    code = f"def f():\n    {body}\n\ndef g(): return 5"
    with SandboxedStudent(short, (code,), seed=1) as student:
        assert failed(student.ask(Request("f"))).outcome is outcome
        assert returned(student.ask(Request("g"))).value == 5


@pytest.mark.parametrize(
    ("cell", "outcome"),
    [
        ("while True: pass", Outcome.TIMED_OUT),
        ("import os; os._exit(3)", Outcome.CRASHED),
        ("while True: print('x' * 10_000)", Outcome.OUTPUT_LIMIT),
    ],
)
def test_loading_that_ends_the_process_is_not_tried_again(
    short: Observed, cell: str, outcome: Outcome
) -> None:
    with SandboxedStudent(short, (cell, "def f(): return 1"), seed=1) as student:
        first = failed(student.ask(Request("f")))
        forked = short.forked
        second = failed(student.ask(Request("f")))
        assert short.forked == forked
        assert student.load_failures == ()
    assert first.outcome is outcome and second == first


def test_all_calls_together_have_a_time_limit(zygote: Observed, limited: Limited) -> None:
    limited(seconds_per_call=0.4, seconds_per_submission=0.6)
    code = "def f():\n    while True: pass\ndef g(): return 1"
    with SandboxedStudent(zygote, (code,), seed=1) as hasty:
        for _ in range(2):
            assert failed(hasty.ask(Request("f"))).outcome is Outcome.TIMED_OUT
        second = zygote.endings[-1]
        last = failed(hasty.ask(Request("g")))
    assert second.milliseconds < 350  # what was left, not as much as a call may have
    assert last.outcome is Outcome.TIMED_OUT and "0.6 s" in last.detail


def test_what_a_library_imports_late_is_not_the_codes_own_time(
    zygote: Zygote, limited: Limited
) -> None:
    limited(seconds_per_call=0.4, seconds_per_submission=0.6)
    busy = "    begun = time.process_time()\n    while time.process_time() - begun < 0.8: pass\n"
    code = (
        f"import time\ndef late():\n    import numpy.f2py\n{busy}    return 1\n"
        f"def again():\n    import numpy.f2py\n{busy}    return 2\ndef f(): return 3"
    )
    with SandboxedStudent(zygote, (code,), packages=("numpy",), seed=1) as student:
        assert returned(student.ask(Request("late"))).value == 1
        assert returned(student.ask(Request("f"))).value == 3  # most of the 0.6 s is left
        # By now it is imported, and a call has its own time only.
        assert failed(student.ask(Request("again"))).outcome is Outcome.TIMED_OUT


def test_code_that_says_without_end_that_it_imports_is_stopped(short: Observed) -> None:
    code = """
import sys
def f():
    channel = sys.meta_path[0]._channel
    while True: channel.send_encoded(b'{"importing": true}', [])
"""
    with SandboxedStudent(short, (code,), packages=("numpy",), seed=1) as student:
        assert failed(student.ask(Request("f"))).outcome is Outcome.PROTOCOL


# --- time: of the processor, with three times as much on the wall as the end of it ----------------


def waited_for(zygote: Zygote, body: str) -> float:
    """Return how long a call took that does not end by itself, in seconds."""
    code = f"def f():\n    {body}\n\ndef g(): return 5"
    with SandboxedStudent(zygote, (code,), seed=1) as student:
        assert returned(student.ask(Request("g"))).value == 5
        begun = time.monotonic()
        assert failed(student.ask(Request("f"))).outcome is Outcome.TIMED_OUT
        seconds = time.monotonic() - begun
        assert returned(student.ask(Request("g"))).value == 5
    return seconds


def test_a_loop_ends_at_its_budget_of_processor_time(short: Observed) -> None:
    seconds = waited_for(short, "while True: pass")
    spent = short.endings[-2].milliseconds / 1000
    assert spent < 2 * SHORT.seconds_per_call  # three times as much is only for the wall
    assert SHORT.seconds_per_call <= seconds < 3 * SHORT.seconds_per_call + SLACK


@pytest.mark.parametrize(
    "body",
    ["import time; time.sleep(60)", "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"],
)
def test_what_uses_no_processor_ends_at_three_times_its_budget(short: Zygote, body: str) -> None:
    seconds = waited_for(short, body)
    assert 3 * SHORT.seconds_per_call <= seconds < 3 * SHORT.seconds_per_call + SLACK


def test_a_right_answer_passes_although_the_machine_is_busy(zygote: Zygote) -> None:
    code = "def begun(): return 0\ndef f():\n    begun()\n    return sum(range(1_000_000))"

    def starve(*_: object) -> Value:
        """Take the processor away from the worker that asks, for longer than its budget."""
        worker = descendants(zygote.pid)[-1]
        os.kill(worker, signal.SIGSTOP)
        threading.Timer(1.5 * LIMITS.seconds_per_call, os.kill, (worker, signal.SIGCONT)).start()
        return 0

    with SandboxedStudent(zygote, (code,), seed=1, answer=starve) as student:
        begun = time.monotonic()
        reply = returned(student.ask(Request("f"), ("begun",)))
        assert time.monotonic() - begun > 1.4 * LIMITS.seconds_per_call
    assert reply.value == sum(range(1_000_000))


def test_loading_is_not_cut_short_by_a_busy_machine_either(short: Zygote) -> None:
    load = 2 * SHORT.seconds_per_call
    assert value_of(short, f"import time\ntime.sleep({1.2 * load})\ndef f(): return 1") == 1


def test_time_in_which_a_worker_waits_for_us_is_not_its_own(short: Zygote) -> None:
    code = "def g(): return 0\ndef f(): return g() + 1"

    def late(*_: object) -> Value:
        time.sleep(3.2 * SHORT.seconds_per_call)
        return 1

    with SandboxedStudent(short, (code,), seed=1, answer=late) as student:
        assert returned(student.ask(Request("f"), ("g",))).value == 2


def test_a_third_of_the_time_that_is_slept_counts_for_the_submission(
    zygote: Zygote, limited: Limited
) -> None:
    limited(seconds_per_call=0.5, seconds_per_submission=0.5)
    code = "import time\ndef f(): time.sleep(1.0)\ndef g(): return 1"
    with SandboxedStudent(zygote, (code,), seed=1) as student:
        returned(student.ask(Request("f")))  # a third of it is still there
        assert failed(student.ask(Request("f"))).outcome is Outcome.TIMED_OUT
        assert "0.5 s" in failed(student.ask(Request("g"))).detail


def test_a_budget_is_charged_for_what_the_processor_did() -> None:
    used = [10.9, 10.4, 10.0]
    budget = Budget(0.5, used.pop)
    while len(used) == 3:  # until the first look, after a twentieth
        time.sleep(budget.left())
    budget.settle()
    assert budget.spent == pytest.approx(0.4)
    assert Budget(60.0, lambda: None).spent < 1.0


def test_what_we_compute_for_a_worker_is_its_own_time(short: Zygote) -> None:
    code = "def g(n): return 0\ndef f():\n    for n in range(12): g(n)\n    return 1"

    def computed(*_: object) -> Value:
        begun = time.process_time()
        while time.process_time() - begun < 0.2 * SHORT.seconds_per_call:
            pass
        return 1

    with SandboxedStudent(short, (code,), seed=1, answer=computed) as student:
        assert failed(student.ask(Request("f"), ("g",))).outcome is Outcome.TIMED_OUT


COUNTING = "def g(n): return 0\ndef f(count): return sum(g(n) for n in range(count))"


def test_many_questions_of_a_call_are_answered_and_one_too_many_ends_it(zygote: Zygote) -> None:
    """What its own code answered from then on would say nothing about the step."""
    with SandboxedStudent(zygote, (COUNTING,), seed=1, answer=lambda *_: 1) as student:
        few, many = (student.ask(Request("f", (MOST_ANSWERED + n,)), ("g",)) for n in (0, 1))
        assert returned(few).value == MOST_ANSWERED
        assert (failed(many).outcome, failed(many).detail) == (Outcome.TIMED_OUT, TOO_OFTEN)
        assert returned(student.ask(Request("f", (3,)), ("g",))).value == 3


def test_the_questions_of_a_submission_are_bounded_together(
    zygote: Zygote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_MOST_ANSWERED", 1000)
    answer = Counting()
    with SandboxedStudent(zygote, (COUNTING,), seed=1, answer=answer) as student:
        replies = [student.ask(Request("f", (400,)), ("g", f"and {n}")) for n in range(4)]
    assert [returned(reply).value for reply in replies[:2]] == [400, 400]
    assert [failed(reply).detail for reply in replies[2:]] == [TOO_OFTEN] * 2
    assert answer.asked == 1000


@pytest.mark.parametrize(
    ("drawing", "expected"),
    [((), [[1] * 5, [2] * 5]), (("g",), [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]])],
)
def test_what_is_asked_again_in_a_call_is_answered_as_before_unless_it_is_drawn_anew(
    zygote: Zygote, drawing: tuple[str, ...], expected: list[list[int]]
) -> None:
    code = "def g(x): return 0\ndef f(x): return [float(g(x)[0]) for _ in range(5)]"
    answer = Counting(lambda number: np.full(2, float(number)))
    with SandboxedStudent(zygote, (code,), drawing=drawing, seed=1, answer=answer) as student:
        replies = [returned(student.ask(Request("f", (np.ones(2),)), ("g",))) for _ in range(2)]
    assert [list(reply.value) for reply in replies] == expected  # in the second call, asked anew
    assert answer.asked == expected[-1][-1]


def test_an_answer_that_was_changed_in_place_is_whole_when_it_is_asked_for_again(
    zygote: Zygote,
) -> None:
    code = "def g(x): return x\ndef f(x):\n    g(x)[:] = 9\n    return g(x)"
    with SandboxedStudent(zygote, (code,), seed=1, answer=lambda *_: np.full(2, 8.0)) as student:
        reply = returned(student.ask(Request("f", (np.ones(2),)), ("g",)))
    np.testing.assert_array_equal(reply.value, np.full(2, 8.0))


def test_of_large_questions_no_more_is_kept_than_a_megabyte(zygote: Zygote) -> None:
    sums = "sum(g(x, n) for _ in range(2) for n in range(20))"
    code, answer = f"def g(x, n): return 0\ndef f(x): return {sums}", Counting()
    with SandboxedStudent(zygote, (code,), seed=1, answer=answer) as student:
        assert returned(student.ask(Request("f", (np.ones(12_000),)), ("g",))).value == 40
    assert answer.asked == 40 - (1 << 20) // 97_000  # of 96 kilobytes and a header each


# --- who is killed from outside is asked once more ------------------------------------------------


OUTSIDE = [signal.Signals[f"SIG{name}"] for name in "KILL TERM HUP INT QUIT XCPU".split()]


@pytest.mark.parametrize("sent", OUTSIDE)
def test_a_worker_killed_from_outside_while_loading_is_replaced(
    zygote: Observed, sent: signal.Signals
) -> None:
    zygote.strikes, zygote.signal = 1, sent
    assert value_of(zygote, "def f(): return 1") == 1


def test_a_worker_killed_twice_while_loading_has_crashed(zygote: Observed) -> None:
    zygote.strikes, zygote.signal = 2, signal.SIGKILL
    with SandboxedStudent(zygote, ("def f(): return 1",), seed=1) as student:
        first, second = (failed(student.ask(Request("f"))) for _ in range(2))
    assert first.outcome is Outcome.CRASHED and second == first and zygote.strikes == 0


@pytest.mark.parametrize("sent", OUTSIDE)
def test_a_worker_killed_from_outside_during_a_call_is_asked_once_more(
    zygote: Zygote, sent: signal.Signals
) -> None:
    code = "def g(): return 0\ndef f():\n    g()\n    return 7"
    strikes = [sent]

    def strike(*_: object) -> Value:
        if strikes:
            os.kill(descendants(zygote.pid)[-1], strikes.pop())
        return 0

    with SandboxedStudent(zygote, (code,), seed=1, answer=strike) as student:
        assert returned(student.ask(Request("f"), ("g",))).value == 7
    assert not strikes


@pytest.mark.parametrize(
    ("body", "times"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", 2),
        ("os.kill(os.getpid(), signal.SIGTERM)", 2),
        ("os._exit(1)", 1),
        ("os.abort()", 1),
    ],
)
def test_who_ends_the_own_process_has_crashed_after_one_more_try(
    zygote: Observed, body: str, times: int
) -> None:
    code = f"import os, signal\ndef f():\n    {body}\ndef g(): return 1"
    before = zygote.forked
    with SandboxedStudent(zygote, (code,), seed=1) as student:
        assert failed(student.ask(Request("f"))).outcome is Outcome.CRASHED
        assert zygote.forked - before == times
        assert returned(student.ask(Request("g"))).value == 1


# --- a worker that may ask the reference knows no inputs that it could not ask about before ------


KEPT = "KEPT = []\n" + "".join(
    f"def {name}(x): KEPT.append(x); return len(KEPT)\n" for name in ("first", "second", "third")
)


@pytest.fixture
def keeping(zygote: Zygote) -> Iterator[SandboxedStudent]:
    with SandboxedStudent(zygote, (KEPT,), seed=1, answer=lambda *_: 0) as student:
        yield student


def kept(student: SandboxedStudent, name: str, *leaning_on: str) -> Value:
    """How often the worker that is asked has been asked."""
    return returned(student.ask(Request(name, (1,)), leaning_on)).value


def test_who_leans_on_other_steps_has_a_worker_of_its_own(keeping: SandboxedStudent) -> None:
    assert [kept(keeping, "first"), kept(keeping, "second")] == [1, 2]
    assert [kept(keeping, "second", "first"), kept(keeping, "second", "first")] == [1, 2]
    assert kept(keeping, "third", "first") == 3  # which could ask about the same before
    assert kept(keeping, "third", "first", "second") == 1
    assert kept(keeping, "third") == 3  # those that lean have left nothing behind
    assert kept(keeping, "third", "first") == 1


def test_who_leans_where_it_was_asked_alone_is_never_asked_alone_again(
    keeping: SandboxedStudent,
) -> None:
    assert [kept(keeping, "first"), kept(keeping, "first")] == [1, 2]
    keeping.go_on_leaning(("a",))
    assert [kept(keeping, "first", "a"), kept(keeping, "first", "a")] == [3, 4]
    assert [kept(keeping, "first"), kept(keeping, "first")] == [1, 2]
    keeping.go_on_leaning(("a",))  # which it does already
    assert kept(keeping, "first", "a") == 5
    assert kept(keeping, "first") == 3
    keeping.go_on_leaning(("b",))
    assert kept(keeping, "first", "b") == 4
    assert kept(keeping, "first", "a") == 1


def test_who_is_asked_afresh_has_kept_nothing(keeping: SandboxedStudent) -> None:
    assert [kept(keeping, "first"), kept(keeping, "first")] == [1, 2]
    keeping.begin_afresh()
    assert kept(keeping, "first") == 1


def test_who_was_never_asked_alone_goes_on_in_a_new_worker(keeping: SandboxedStudent) -> None:
    keeping.go_on_leaning(("a",))
    assert kept(keeping, "first", "a") == 1


def test_to_load_anew_for_each_step_is_not_taken_from_the_time_of_the_calls(
    zygote: Observed, limited: Limited
) -> None:
    limited(seconds_per_call=0.5, seconds_per_submission=0.4)
    spin = "begun = time.process_time()\nwhile time.process_time() - begun < 0.12: pass"
    load = f"import time\n{spin}"
    before = zygote.forked
    with SandboxedStudent(zygote, (f"{load}\ndef f(): return 1",), seed=1) as student:
        assert returned(student.ask(Request("f"))).value == 1
        for number in range(2):
            assert returned(student.ask(Request("f"), (f"step {number}",))).value == 1
        for leaning_on in (("another step",), ()):
            student.go_on_leaning(("another step",))
            assert returned(student.ask(Request("f"), leaning_on)).value == 1
    assert 0.12 * (zygote.forked - before) > zygote.limits.seconds_per_submission


# --- when ours dies or hangs ----------------------------------------------------------------------


def test_a_zygote_that_dies_costs_only_that_call_and_is_started_anew(
    zygote: Zygote, limited: Limited
) -> None:
    limited(seconds_per_call=20.0)
    code = (
        "import time\ndef begun(): return 0\ndef f():\n    begun()\n    time.sleep(60)\n"
        "def g(): return 1"
    )

    def die(*_: object) -> Value:
        kill(zygote.pid)
        return 0

    with SandboxedStudent(zygote, (code,), seed=1, answer=die) as student:
        begun = time.monotonic()
        assert failed(student.ask(Request("f"), ("begun",))).outcome is Outcome.INFRASTRUCTURE
        assert time.monotonic() - begun < 20.0  # it is seen, not waited for
        assert returned(student.ask(Request("g"))).value == 1
        kill(zygote.pid)  # between two calls
        assert failed(student.ask(Request("g"))).outcome is Outcome.INFRASTRUCTURE
        assert returned(student.ask(Request("g"))).value == 1
    assert zygote.protection is not Protection.PROCESS


@pytest.mark.parametrize("while_it", ["starts", "is measured"])
def test_a_zygote_that_is_killed_before_it_is_ready_is_started_once_more(
    while_it: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    zygote = Zygote("numpy", LIMITS).begin()
    if while_it == "starts":
        assert zygote._begun
        os.kill(zygote._begun.pid, signal.SIGKILL)
    else:
        kill_while_measured(zygote, 1, monkeypatch)
    with zygote:
        assert value_of(zygote, "def f(): return 1") == 1


def test_a_zygote_that_is_killed_again_and_again_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    zygote = Zygote("numpy", LIMITS)
    killed = kill_while_measured(zygote, 5, monkeypatch)
    with pytest.raises(KitError, match="does not answer") as caught, zygote:
        pass
    assert "run it again" in caught.value.cure and len(killed) == 2


def kill_while_measured(
    zygote: Zygote, times: int, monkeypatch: pytest.MonkeyPatch
) -> Sequence[int]:
    """Have the zygote killed as soon as it is measured; return whom that has struck."""
    killed: list[int] = []
    measure = zygote_module.try_everything

    def strike_and_measure(*arguments: Any) -> tuple[Attempt, ...]:
        if len(killed) < times:
            killed.append(zygote.pid)
            kill(zygote.pid)
        return measure(*arguments)

    monkeypatch.setattr(zygote_module, "try_everything", strike_and_measure)
    return killed


def test_a_zygote_with_threads_does_not_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (os.cpu_count() or 1) > 1, "OpenBLAS makes no second thread on a single processor"
    monkeypatch.setitem(zygote_process._ENVIRONMENT, "OPENBLAS_NUM_THREADS", "2")
    with pytest.raises(KitError, match="2 threads are running"), Zygote("numpy", LIMITS):
        pass


def test_files_of_one_submission_are_not_there_for_the_next(zygote: Zygote) -> None:
    write = (
        "import os, tempfile\ndef f():\n    open(tempfile.gettempdir() + '/left', 'w').write('x')\n"
        "    return tuple(os.listdir(tempfile.gettempdir()))"
    )
    look = "import os, tempfile\ndef f(): return tuple(os.listdir(tempfile.gettempdir()))"
    with SandboxedStudent(zygote, (write,), seed=1) as first:
        assert returned(first.ask(Request("f"))).value == ("left",)
        assert value_of(zygote, look) == ()
