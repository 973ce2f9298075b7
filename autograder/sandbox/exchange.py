"""Requests as frames, and a worker's frames as replies, decoded strictly.

Everything that arrives here may be forged. What is not exactly an answer to the
question raises `WireError`, and a name that nobody asked about goes no further.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from autograder.model.given_answers import GivenAnswer
from autograder.model.request import (
    ExceptionReport,
    Failed,
    Reply,
    Request,
    Returned,
    Sighting,
    Watched,
)
from autograder.model.sanitize import clean
from autograder.model.symbols import not_there, not_written
from autograder.model.verdict import Outcome
from autograder.protocol import wire
from autograder.protocol.call import MOST_CALLS, LayerCall, StandIn
from autograder.protocol.wire import CODE, MESSAGE, NAME, SHAPES
from autograder.sandbox.zygote_process import ZygoteProcess, is_memory_error
from autograder.worker.sightings import LARGEST_SEEN, MOST_SEEN

_ASK = b'{"ask": '
LONGEST_KEPT = 8192  # bytes of a header; it could hold anything beside what is expected


@dataclass(frozen=True)
class Question:
    """What a worker asks while it leans on earlier steps."""

    step: str
    arguments: tuple[wire.Value, ...]
    keywords: Mapping[str, wire.Value]
    cotangents: tuple[wire.Value, ...] = ()


def load_frame(
    number: int, cells: tuple[str, ...], packages: tuple[str, ...], drawing: tuple[str, ...] = ()
) -> bytes:
    """Return the frame that tells a worker to run `cells`, which have these `packages`.

    Of `drawing` steps, the reference's answer is another one each time.
    """
    sources = [cell.encode("utf-8", "replace") for cell in cells]
    sizes = [len(source) for source in sources]
    header = {
        "id": number,
        "op": "load",
        "cells": sizes,
        "packages": packages,
        "drawing": drawing,
    }
    return wire.frame(header, sources)


def call_frame(
    number: int, request: Request, leaning_on: tuple[str, ...], op: str = "call"
) -> bytes:
    """Return the frame that tells a worker to answer `request`, or to "trace" it."""
    facts, arrays = request.encoded
    head = b'{"id": %d, %s, %s' % (number, _what_is_asked(op, leaning_on), facts[1:])
    return wire.frame_of(head, [arrays])


def watch_frame(
    number: int, request: Request, steps: Collection[str], stand_ins: Mapping[int, StandIn]
) -> bytes:
    """Return the frame that tells a worker to answer `request` with the calls of `steps`."""
    facts, arrays = request.encoded
    parts = [arrays]
    ways = [
        (call, each.way, wire.encode(each.value, parts), list(each.order))
        for call, each in stand_ins.items()
    ]
    more = wire.to_json({"steps": list(steps), "stand_ins": ways})[1:-1]
    head = b'{"id": %d, %s, %s, %s' % (number, _what_is_asked("watch", ()), more, facts[1:])
    return wire.frame_of(head, parts)


def inherited_frame(
    first: int, known: Sequence[tuple[str, int]], leaning_on: tuple[str, ...]
) -> bytes:
    """Return the frame that tells a worker to answer questions that it knows, one by one.

    They are `known` by their step and their number; the answers are numbered from `first` on.
    """
    asked = wire.to_json({"inherited": known})
    head = b'{"id": %d, %s, %s' % (first, _what_is_asked("call", leaning_on), asked[1:])
    return wire.frame_of(head, [])


@lru_cache(maxsize=64)
def _what_is_asked(op: str, leaning_on: tuple[str, ...]) -> bytes:
    """Return what most questions begin with, as JSON without its braces."""
    return wire.to_json({"op": op, "leaning_on": list(leaning_on)})[1:-1]


def answer_to(step: str, value: wire.Value | None) -> GivenAnswer:
    """Return the answer to a worker's question about `step`; None refuses."""
    if value is None:
        return refusal_of(step)
    parts: list[bytes] = []
    facts = wire.to_json({"ok": True, "value": wire.encode(value, parts)})
    return GivenAnswer(step, facts[1:], b"".join(parts))


def refusal_of(step: str) -> GivenAnswer:
    """Return the answer that refuses a question about `step`."""
    return GivenAnswer(step, wire.to_json({"ok": False})[1:], b"")


def unnumbered(number: int, head: bytes, payload: bytes) -> bytes:
    """Return a reply's bytes without its number, as workers write it: equal ones say the same.

    A reply that says its number in another way has none, nor has one with a long header.
    """
    own = b'{"id": %d, ' % number
    if len(head) > LONGEST_KEPT or not head.startswith(own):
        return b""
    rest = head[len(own) :]
    return b"".join((wire.PREFIX.pack(wire.MAGIC, len(rest), len(payload)), rest, payload))


def read_failures(
    header: dict[str, Any], number: int, count: int
) -> tuple[ExceptionReport | None, ...]:
    """Return for each of `count` cells the exception that it raised, or None."""
    _same_number(header, number)
    failures = header.get("failures")
    if type(failures) is not list or len(failures) != count:
        raise wire.WireError("the cells are not answered for one by one")
    return tuple(None if facts is None else _report(facts) for facts in failures)


def unnumbered_question(number: int, head: bytes) -> bytes:
    """Return a question's JSON without its number, as workers write it."""
    own = _ASK + b"%d, " % number
    if not head.startswith(own):
        raise wire.WireError("a question is out of turn")
    return head[len(own) :]


def is_question(head: bytes) -> bool:
    """Say whether a frame is a question, by its JSON as workers write it."""
    return head.startswith(_ASK)


def read_question(
    header: dict[str, Any], payload: wire.Payload, leaning_on: Collection[str]
) -> Question:
    """Return a question about a step of `leaning_on`."""
    step, arguments, keywords = (header.get(key) for key in ("step", "arguments", "keywords"))
    if type(step) is not str or step not in leaning_on:
        raise wire.WireError("a question is about no step that may be asked about")
    values, named = _values(arguments, payload), _named(keywords, payload)
    question = Question(step, values, named, _values(header.get("cotangents"), payload))
    payload.end()
    return question


def read_reply(
    header: dict[str, Any], payload: wire.Payload, number: int, request: Request
) -> Reply:
    """Return the reply to `request`."""
    _same_number(header, number)
    if "oversize" in header:
        return Failed(Outcome.PROTOCOL, "What it returned is too large to be sent back.")
    if "missing" in header:
        return _missing(header["missing"], request)
    if "raised" in header:
        return _raised(header["raised"])
    value = wire.decode(header.get("value"), payload)
    after = _values(header.get("after"), payload)
    attributes = _named(header.get("attributes"), payload)
    gradients = _values(header.get("gradients", []), payload)
    payload.end()
    sent = request.arguments if request.method is None else request.method_arguments
    if len(after) != (0 if request.method == "" else len(sent)):
        raise wire.WireError("the arguments afterwards are not those of the call")
    if not set(attributes) <= set(request.read):
        raise wire.WireError("an attribute was sent that nobody asked for")
    if gradients and request.backward is None:
        raise wire.WireError("gradients were sent that nobody asked for")
    return Returned(
        value, after, attributes, gradients, _observations(header.get("observations", []))
    )


def read_watched(
    header: dict[str, Any],
    payload: wire.Payload,
    number: int,
    request: Request,
    steps: Collection[str],
) -> Watched:
    """Return the reply to `request`, with the calls of `steps` that a worker says were made."""
    calls, reached = header.get("calls", []), header.get("reached", [])
    if type(calls) is not list or len(calls) > MOST_CALLS:
        raise wire.WireError("calls are not listed, or are too many")
    if type(reached) is not list or any(name not in steps for name in reached):
        raise wire.WireError("steps are not listed, or were not asked about")
    made = tuple(_made_call(facts, payload, steps) for facts in calls)
    reply = read_reply(header, payload, number, request)
    return Watched(reply, made, frozenset(reached))


def _made_call(facts: Any, payload: wire.Payload, steps: Collection[str]) -> LayerCall:
    if type(facts) is not dict or facts.get("step") not in steps:
        raise wire.WireError("a call is of no step that was asked about")
    names, answered, bound = (facts.get(name) for name in ("names", "answered", "bound"))
    if type(names) is not list or len(names) > wire.MAX_ITEMS:
        raise wire.WireError("parameters are not listed, or are too many")
    arguments = _values(facts.get("arguments"), payload)
    if type(answered) is not bool or type(bound) is not bool:
        raise wire.WireError("a call does not say what became of it")
    if bound and len(names) != len(arguments):
        raise wire.WireError("parameters and arguments are not as many")
    return LayerCall(
        facts["step"],
        tuple(clean(wire.text(name, NAME), NAME) for name in names),
        arguments,
        wire.decode(facts.get("result"), payload),
        _line_number(facts.get("line")),
        answered,
        bound,
        wire.text(facts.get("file"), NAME),
    )


def read_sightings(
    header: dict[str, Any], payload: wire.Payload, number: int
) -> tuple[Sighting, ...]:
    """Return the arrays that a worker saw on the way; a worker that could not trace saw none."""
    _same_number(header, number)
    listed = header.get("seen", [])
    if type(listed) is not list or len(listed) > MOST_SEEN:
        raise wire.WireError("what was seen is not listed, or is too much")
    seen = tuple(_sighting(facts, payload) for facts in listed)
    payload.end()
    return seen


def _sighting(facts: Any, payload: wire.Payload) -> Sighting:
    if type(facts) is not list or len(facts) != 2:
        raise wire.WireError("what was seen is not a line and an array")
    array = wire.decode(facts[1], payload)
    if not isinstance(array, np.ndarray) or array.dtype.kind != "f" or array.size > LARGEST_SEEN:
        raise wire.WireError("what was seen is no array, or too large")
    return Sighting(_line_number(facts[0]), array)


def _line_number(line: Any) -> int:
    if type(line) is not int or not 0 <= line < 1 << 31:
        raise wire.WireError("a line has no number")
    return line


def _same_number(header: dict[str, Any], number: int) -> None:
    if type(header.get("id")) is not int or header["id"] != number:
        raise wire.WireError("a reply belongs to no request")


def _values(items: Any, payload: wire.Payload) -> tuple[wire.Value, ...]:
    if type(items) is not list or len(items) > wire.MAX_ITEMS:
        raise wire.WireError("values are not listed, or are too many")
    return tuple(wire.decode(item, payload) for item in items)


def _named(items: Any, payload: wire.Payload) -> dict[str, wire.Value]:
    if type(items) is not dict or len(items) > wire.MAX_ITEMS:
        raise wire.WireError("values are not named, or are too many")
    return {clean(name, NAME): wire.decode(item, payload) for name, item in items.items()}


def _observations(names: Any) -> tuple[str, ...]:
    if type(names) is not list or any(name not in wire.OBSERVATIONS for name in names):
        raise wire.WireError("what was seen is not listed by its names")
    return tuple(dict.fromkeys(names))


def _missing(name: Any, request: Request) -> Failed:
    if type(name) is not str or name not in (request.target, request.method):
        raise wire.WireError("a name is missing that nobody asked for")
    within = "" if name == request.target else request.target
    return Failed(Outcome.NOT_WRITTEN, not_there(name, within))


def _raised(facts: Any) -> Failed:
    report = _report(facts)
    stub = facts.get("stub")
    if type(stub) is str:
        return Failed(Outcome.NOT_WRITTEN, not_written(clean(stub, NAME)), report)
    outcome = Outcome.OUT_OF_MEMORY if is_memory_error(report) else Outcome.RAISED
    return Failed(outcome, exception=report)


def _report(facts: Any) -> ExceptionReport:
    if type(facts) is not dict:
        raise wire.WireError("an exception is not described by an object")
    line, shapes = _line_number(facts.get("line")), facts.get("shapes")
    if type(shapes) is not dict or len(shapes) > SHAPES:
        raise wire.WireError("shapes are not named, or are too many")
    return ExceptionReport(
        type_name=clean(wire.text(facts.get("type"), NAME), NAME),
        message=clean(wire.text(facts.get("message"), MESSAGE), MESSAGE),
        line=line,
        code=clean(wire.text(facts.get("code"), CODE), CODE),
        shapes={clean(name, NAME): _shape(shape) for name, shape in shapes.items()},
    )


def _shape(shape: Any) -> tuple[int, ...]:
    if type(shape) is not list or len(shape) > wire.MAX_AXES:
        raise wire.WireError("a shape is not a list")
    if any(type(size) is not int or not 0 <= size <= wire.MAX_AXIS for size in shape):
        raise wire.WireError("an axis has no valid size")
    return tuple(shape)


# Questions that every worker knows from its beginning, so that it need only be told which.
#
# Inputs that hand-ins share are asked of each of them. Nothing that a student's code has answered
# may be among them: it would reach the workers of other students.

MOST_BYTES, MOST_QUESTIONS = 16 * 1024 * 1024, 2_000
_MOST_IN_A_FRAME = 256  # questions, so that its header stays small
_LONGEST_FACTS = wire.MAX_HEADER // 2  # bytes of a question's JSON; its frame says a little more


class Inheritance:
    """The questions of one class that workers inherit, as far as there is room for them."""

    def __init__(self, of_class: Hashable = None) -> None:
        self.of_class = of_class
        self._requests: dict[bytes, Request] = {}  # in the order of their numbers, by their keys
        self._checks: set[Hashable] = set()
        self._room = MOST_BYTES
        self._heir: ZygoteProcess | None = None
        self._told = 0  # how many the heir was told
        self._known: dict[bytes, int] = {}  # the numbers of those that it could read

    def add(self, checks: Iterable[tuple[Hashable, tuple[Request, ...]]]) -> None:
        """Have workers inherit the requests of checks; each check comes with what stands for it."""
        for check, requests in checks:
            if check not in self._checks:
                self._checks.add(check)
                self._find_room(requests)

    def hand_down(self, process: ZygoteProcess) -> dict[bytes, int]:
        """Tell a zygote what it does not know yet; return the numbers of what its workers know.

        What it knows of another class, it forgets. Raises `ZygoteDied` when it takes no orders, and
        TimeoutError when it does not answer.
        """
        anew = process is not self._heir
        if anew:
            self._heir, self._told, self._known = process, 0, {}
        if anew or self._told < len(self._requests):
            left = list(self._requests.items())[self._told :]
            numbers = {key: self._told + place for place, (key, _) in enumerate(left, start=1)}
            frames = (call_frame(numbers[key], request, ()) for key, request in left)
            read = process.inherit(b"".join(frames), anew)
            self._known |= {key: number for key, number in numbers.items() if number in read}
            self._told = len(self._requests)
        return dict(self._known)

    def _find_room(self, requests: tuple[Request, ...]) -> None:
        for request in requests:
            facts, arrays = request.encoded
            size = len(facts) + len(arrays)
            fits = size <= self._room and len(facts) <= _LONGEST_FACTS
            few = len(self._requests) < MOST_QUESTIONS
            if fits and few and request.key not in self._requests:
                self._room -= size
                self._requests[request.key] = request


def frames_of(
    numbered: Iterable[tuple[int, Request]],
    inherited: dict[bytes, int],
    leaning_on: tuple[str, ...],
) -> Iterator[bytes]:
    """Give the frames that ask a worker these requests, which come with their own numbers.

    What it has `inherited` is asked by number, many in one frame, and taken out: it can be asked
    only once.
    """
    known: list[tuple[str, int]] = []
    first = 0
    for number, request in numbered:
        place = inherited.pop(request.key, 0)
        if known and (not place or len(known) == _MOST_IN_A_FRAME):
            yield inherited_frame(first, known, leaning_on)
            known = []
        if place:
            first = first if known else number
            known.append((request.target, place))
        else:
            yield call_frame(number, request, leaning_on)
    if known:
        yield inherited_frame(first, known, leaning_on)
