"""The floor of judging: the least that any grader with this sandbox has to do for a hand-in.

A zygote is warm. For each hand-in it forks a worker with all layers of the real sandbox, which
loads the hand-in, makes the call of each check of the author's once, at one size, and sends one
frame back with all results. They are compared with what the reference gave in the same way. That
is all. LEFT_OUT says what a grader does beyond that.

A program that a row of the benchmark runs and measures: `floor_judging.py EXERCISE TEXTS`, with the
folder of an exercise and a JSON file of hand-ins.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from autograder.checks.marks import by_purpose
from autograder.checks.plugin import GradingPlugin, run_graders
from autograder.checks.reference import Reference, read_reference
from autograder.judging.expectation import Expectation, Refused
from autograder.sandbox import Zygote, exchange
from autograder.values.exercise import SOLUTION
from autograder.values.request import Request, Returned
from autograder.worker.wire import Linear, Value

LEFT_OUT = (
    "reading, inputs of each hand-in's own, further sizes, standing properties, gradients, changed "
    "arguments, steps judged again, the chain, diagnosis, limits on time and output, journal, "
    "pages, gradebook"
)
_SECONDS = 60.0
_TOLERANCES = {"numpy": (1e-6, 1e-8), "torch": (1e-4, 1e-5)}
# Runs in the worker, after the cells of the hand-in. It gets all calls at once.
DRIVER = """
def answer_everything(*calls):
    from autograder.worker.arrays import put

    def made(target, arguments, names, values, method, method_arguments, attributes, own):
        keywords = dict(zip(names, values))
        called = globals()[target]
        if method is None:
            return called(*arguments, **keywords)
        instance = called(*arguments)
        for name, value in zip(attributes, own):
            put(instance, name, value)
        if method:
            return getattr(instance, method)(*method_arguments, **keywords)

    def answer(call):
        try:
            return made(*call)
        except Exception as error:
            return type(error).__name__

    return tuple(answer(call) for call in calls)
"""


@dataclass(frozen=True)
class Expected:
    """What the reference gave twice; where both differ, it was drawn, and only its shape counts."""

    first: Value
    second: Value
    tolerance: tuple[float, float]

    def met_by(self, value: Value) -> bool:
        """Say whether a hand-in's results are right."""
        return self._same(value, self.first, self.second)

    def _same(self, value: Value, first: Value, second: Value) -> bool:
        value, first, second = map(_parts, (value, first, second))
        if isinstance(first, tuple) and isinstance(second, tuple):
            if not isinstance(value, tuple) or len(value) != len(first):
                return False
            return all(map(self._same, value, first, second))
        if not isinstance(first, np.ndarray) or not isinstance(second, np.ndarray):
            return type(value) is type(first) and (first != second or value == first)
        if not isinstance(value, np.ndarray) or value.shape != first.shape:
            return False
        return not self._close(first, second) or self._close(value, first)

    def _close(self, one: np.ndarray, other: np.ndarray) -> bool:
        relative, absolute = self.tolerance
        return bool(np.allclose(one, other, relative, absolute, equal_nan=True))


def _parts(value: Value) -> Value:
    return (value.weight, value.bias) if isinstance(value, Linear) else value


def questions(reference: Reference) -> tuple[Request, ...]:
    """Return the first call that each check of the author's makes, at the first of its sizes."""
    found: dict[str, Request] = {}

    def judge(plugin: GradingPlugin) -> None:
        own, telling, _ = by_purpose(plugin.collected.items)
        for item in (*own, *telling):
            name = getattr(item, "originalname", item.name)

            def record(
                request: Request, expectation: Expectation, *compared: object, name: str = name
            ) -> None:
                if not isinstance(expectation, Refused):
                    found.setdefault(name, request.alone)

            plugin.recorded(item, reference, record)

    run_graders(GradingPlugin(reference, judge))
    return tuple({request.key: request for request in found.values()}.values())


def together(requests: Sequence[Request]) -> Request:
    """Return one request, to the driver, that holds the calls of all."""
    return Request("answer_everything", tuple(_call(request) for request in requests))


def _call(request: Request) -> tuple[Any, ...]:
    """Return a call in the order of the driver's parameters."""
    return (
        request.target,
        request.arguments,
        *_named(request.keywords),
        request.method,
        request.method_arguments,
        *_named(request.attributes),
    )


def _named(values: Any) -> tuple[tuple[str, ...], tuple[Value, ...]]:
    return tuple(values), tuple(values.values())


def answered(zygote: Zygote, text: str, everything: Request, seed: int = 0) -> Value:
    """Return what the code of a hand-in answers, from a new worker that ends with it."""
    worker = zygote.fork(seed)
    try:
        channel, deadline = worker.channel, time.monotonic() + _SECONDS
        channel.send_soon(exchange.load_frame(1, (text, DRIVER), ()))
        channel.send_soon(exchange.call_frame(2, everything, ()))
        loaded, _ = channel.receive(deadline)
        if any(exchange.read_failures(loaded, 1, 2)):
            return None
        header, payload = channel.receive(deadline)
        reply = exchange.read_reply(header, payload, 2, everything)
        return reply.value if isinstance(reply, Returned) else None
    finally:
        zygote.end(worker)


def right(reference: Reference, zygote: Zygote, texts: Sequence[str]) -> Iterator[bool]:
    """Say of each hand-in whether all results are right.

    Raises RuntimeError when the reference itself does not answer.
    """
    exercise = reference.exercise
    everything = together(questions(reference))
    solution = (exercise.folder / SOLUTION).read_text(encoding="utf-8")
    first, second = (answered(zygote, solution, everything, seed) for seed in (1, 2))
    if not isinstance(first, tuple) or any(type(value) is str for value in first):
        raise RuntimeError(f"the reference does not answer: {first!r}")
    expected = Expected(first, second, _TOLERANCES[exercise.library])
    print(f"{len(everything.arguments)} calls; left out: {LEFT_OUT}")
    for text in texts:
        yield expected.met_by(answered(zygote, text, everything))


def main(folder: Path, texts: Path) -> None:
    """Print how many hand-ins are right, as far as the floor looks."""
    reference = read_reference(folder)
    exercise = reference.exercise
    handed_in = json.loads(texts.read_text(encoding="utf-8"))
    with Zygote(exercise.library, exercise.limits, secrets=exercise.secret_folders) as zygote:
        print(f"protection: {zygote.protection}")
        found = sum(right(reference, zygote, handed_in))
    print(f"{found} of {len(handed_in)} are right")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
