"""What a student's code computes on the way: seen without changing it, and believed by nobody."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from autograder.sandbox import SandboxedStudent, Zygote
from autograder.sandbox.exchange import read_sightings, read_watched
from autograder.values.exercise import Limits
from autograder.values.request import Failed, Request, Returned
from autograder.values.verdict import Outcome
from autograder.worker import wire
from autograder.worker.call import ANSWER, MOST_CALLS, LayerCall, StandIn
from autograder.worker.sightings import LARGEST_SEEN, MOST_SEEN, ExpressionWatch, run_watched

X = np.arange(12.0).reshape(3, 4)

# Code that is right but particular, and would notice being looked at.
PARTICULAR = {
    "exact type": "def f(x):\n    assert type(x) is np.ndarray\n    return x + 1\n",
    "identity": "def f(x):\n    assert x is x\n    return (y := x * 2) + y\n",
    "in place": "def f(x):\n    y = x.copy()\n    y[0] += 1\n    np.exp(y, out=y)\n    return y\n",
    "locals, del": "def f(x):\n    y = x\n    assert 'y' in locals()\n    del y\n    return x\n",
    "side effect in an index": (
        "def f(x):\n    calls = []\n    def at():\n        calls.append(1)\n        return 0\n"
        "    y = x.copy()\n    y[at()] += 1\n    assert len(calls) == 1\n    return y\n"
    ),
    "closures": (
        "def f(x):\n    g = lambda t, *, by=2: [u * by for u in t]\n    return np.array(g(x))\n"
    ),
    "generator": (
        "def f(x):\n    def rows():\n        yield from x\n    return np.stack(list(rows()))\n"
    ),
    "match": (
        "def f(x):\n    match x.shape:\n        case (rows, 4) if rows > 1:\n"
        "            return x * rows\n"
    ),
    "super": (
        "class A:\n    def g(self, x):\n        return x + 1\n"
        "class B(A):\n    def g(self, x):\n        return super().g(x) * 2\n"
        "def f(x):\n    return B().g(x)\n"
    ),
    "text": "def f(x):\n    assert f'{x.shape!r:>8}' and f'{len(x)}' == '3'\n    return x\n",
    "no trace": "import sys\ndef f(x):\n    assert sys.gettrace() is None\n    return x + 1\n",
    "own name": (
        "def f(x, *xs, **named):\n    global kept\n    kept = x\n    return kept[..., ::-1]\n"
    ),
}


def watched(source: str) -> tuple[dict[str, Any], ExpressionWatch]:
    watch, space = ExpressionWatch("numpy"), {"np": np, "__name__": "submission"}
    run_watched([("cell 1", source, 0)], space, watch)
    return space, watch


@pytest.mark.parametrize("source", PARTICULAR.values(), ids=PARTICULAR)
def test_code_that_is_watched_gives_the_same_result(source: str) -> None:
    plain: dict[str, Any] = {"np": np, "__name__": "submission"}
    exec(compile(source, "cell 1", "exec"), plain)
    space, _ = watched(source)
    assert np.array_equal(space["f"](X), plain["f"](X))


def test_every_array_is_seen_once_with_its_line() -> None:
    space, watch = watched("def f(x):\n    y = x + 1\n    z = y * 2\n    return z * 1.0\n")
    space["f"](X)
    assert [line for line, _ in watch.seen] == [2, 2, 3]
    assert [array[0, 0] for _, array in watch.seen] == [0, 1, 2]


def test_what_is_seen_stays_as_it_was() -> None:
    space, watch = watched("def f(x):\n    y = x + 1\n    y[:] = 0\n    return y\n")
    space["f"](X)
    assert np.array_equal(watch.seen[1][1], X + 1)


def test_how_much_is_kept_is_bounded() -> None:
    space, watch = watched("def f(x):\n    for n in range(30_000):\n        x = x + n\n")
    space["f"](X)
    assert len(watch.seen) == MOST_SEEN
    space, watch = watched("def f(x):\n    return np.ones(x) + 1\n")
    space["f"](LARGEST_SEEN + 1)
    assert watch.seen == []


def sighting(line: Any = 3, array: Any = X) -> tuple[list[Any], list[bytes]]:
    parts: list[bytes] = []
    return [line, wire.encode(array, parts)], parts


def read(header: dict[str, Any], parts: list[bytes]) -> Any:
    return read_sightings(header, wire.Payload(b"".join(parts)), 7)


def test_a_sighting_crosses() -> None:
    facts, parts = sighting()
    (seen,) = read({"id": 7, "seen": [facts]}, parts)
    assert seen.line == 3 and np.array_equal(seen.array, X)


def test_a_worker_that_could_not_look_has_seen_nothing() -> None:
    assert read({"id": 7, "raised": {}}, []) == ()


@pytest.mark.parametrize(
    "seen",
    [
        None,
        {},
        "many",
        [None],
        [[3]],
        [[3, None]],
        [[3, {"kind": "plain", "value": 1}, 0]],
        [[3, {"kind": "plain", "value": 1}]],
        [[3, {"kind": "array", "dtype": "f8", "shape": [1 << 20]}]],
        [[True, sighting()[0][1]]],
        [[-1, sighting()[0][1]]],
        [[3, {"kind": "array", "dtype": "i8", "shape": [3, 4]}]],
        [],
    ],
    ids=lambda seen: str(seen)[:40],
)
def test_what_is_forged_is_refused(seen: Any) -> None:
    _, parts = sighting()
    with pytest.raises(wire.WireError):
        read({"id": 7, "seen": seen}, parts)


def test_what_is_larger_than_a_worker_may_keep_is_refused() -> None:
    facts, parts = sighting(array=np.zeros(LARGEST_SEEN + 1))
    with pytest.raises(wire.WireError):
        read({"id": 7, "seen": [facts]}, parts)


def test_more_than_a_worker_may_keep_is_refused() -> None:
    facts, parts = sighting()
    assert len(read({"id": 7, "seen": [facts] * MOST_SEEN}, parts * MOST_SEEN)) == MOST_SEEN
    with pytest.raises(wire.WireError):
        read({"id": 7, "seen": [facts] * (MOST_SEEN + 1)}, parts * (MOST_SEEN + 1))


# --- the calls that a layer makes of its steps ------------------------------------------------

LAYER = """
def double(x):
    return 2 * x

class Layer:
    def forward(self, x):
        y = double(x)
        return double(x=y + 1)
"""
FORWARD = Request("Layer", method="forward", method_arguments=(X,))


def test_a_worker_shows_the_calls_of_a_layer_and_answers_one_otherwise() -> None:
    cells = ("import numpy as np", LAYER)
    with Zygote("numpy", Limits()) as zygote, SandboxedStudent(zygote, cells, seed=1) as student:
        seen = student.watch(FORWARD, ("double",), {})
        other = student.watch(FORWARD, ("double",), {1: StandIn(ANSWER, np.zeros(2))})
        plain = student.ask(FORWARD)
    assert isinstance(seen.reply, Returned) and isinstance(plain, Returned)
    assert np.array_equal(seen.reply.value, plain.value)
    first, second = seen.calls
    assert (first.step, first.names, first.file, first.line) == ("double", ("x",), "cell 2", 7)
    assert np.array_equal(second.arguments[0], 2 * X + 1) and second.line == 8
    assert seen.reached == {"double"}
    assert isinstance(other.reply, Returned) and np.array_equal(other.reply.value, np.zeros(2))


def test_code_that_raises_shows_the_calls_until_then() -> None:
    text = LAYER.replace("2 * x", "1 / 0 if (x > 9).all() else 9 + x")
    with Zygote("numpy", Limits()) as zygote, SandboxedStudent(zygote, (text,), seed=1) as student:
        seen = student.watch(replace(FORWARD, method_arguments=(X + 1,)), ("double",), {})
    assert isinstance(seen.reply, Failed) and seen.reply.outcome is Outcome.RAISED
    assert [call.answered for call in seen.calls] == [True, False]


CALL = {
    "step": "double",
    "names": ["x"],
    "arguments": [wire.encode(1, [])],
    "result": wire.encode(2, []),
    "line": 7,
    "answered": True,
    "bound": True,
    "file": "cell 1",
}
RAISED = {"type": "E", "message": "", "line": 0, "code": "", "shapes": {}}


def test_a_call_crosses() -> None:
    header = {"id": 7, "calls": [CALL], "reached": ["double"], "raised": RAISED}
    seen = read_watched(header, wire.Payload(b""), 7, FORWARD, ("double",))
    assert seen.calls == (LayerCall("double", ("x",), (1,), 2, 7, file="cell 1"),)


@pytest.mark.parametrize(
    "forged",
    [
        {"calls": {}},
        {"calls": [CALL] * (MOST_CALLS + 1)},
        {"calls": [None]},
        {"reached": ["other"]},
        {"reached": [["double"]]},
        *({"calls": [CALL | {name: value}]} for name in CALL for value in (None, -1, 0.5)),
        {"calls": [CALL | {"names": ["x", "y"]}]},
        {"calls": [CALL | {"arguments": [{"kind": "array", "dtype": "f8", "shape": [9]}]}]},
    ],
    ids=lambda forged: str(forged)[:50],
)
def test_calls_that_are_forged_are_refused(forged: dict[str, Any]) -> None:
    header = {"id": 7, "calls": [CALL], "reached": ["double"], "raised": RAISED} | forged
    with pytest.raises(wire.WireError):
        read_watched(header, wire.Payload(b""), 7, FORWARD, frozenset({"double"}))
