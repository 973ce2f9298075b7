"""Requests as frames, and a worker's frames as replies, decoded strictly.

Everything that arrives here may be forged. What is not exactly an answer to the
question raises `WireError`, and a name that nobody asked about goes no further.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from autograder.sandbox.zygote_process import is_memory_error
from autograder.values.request import (
    ExceptionReport,
    Failed,
    Reply,
    Request,
    Returned,
    Sighting,
    Watched,
)
from autograder.values.sanitize import clean
from autograder.values.symbols import not_there, not_written
from autograder.values.verdict import Outcome
from autograder.worker import wire
from autograder.worker.call import MOST_CALLS, LayerCall, StandIn
from autograder.worker.sightings import LARGEST_SEEN, MOST_SEEN
from autograder.worker.wire import CODE, MESSAGE, NAME, SHAPES, Value

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


@lru_cache(maxsize=64)
def _what_is_asked(op: str, leaning_on: tuple[str, ...]) -> bytes:
    """Return what most questions begin with, as JSON without its braces."""
    return wire.to_json({"op": op, "leaning_on": list(leaning_on)})[1:-1]


def answer_frame(number: int, value: wire.Value | None) -> bytes:
    """Return the frame that answers a worker's question; None refuses."""
    parts: list[bytes] = []
    answer = {} if value is None else {"value": wire.encode(value, parts)}
    return wire.frame({"answer": number, "ok": value is not None, **answer}, parts)


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


def is_question(head: bytes) -> bool:
    """Say whether a frame is a question, by its JSON as workers write it."""
    return head.startswith(_ASK)


def read_question(
    header: dict[str, Any], payload: wire.Payload, number: int, leaning_on: Collection[str]
) -> Question:
    """Return the question `number`, about a step of `leaning_on`."""
    if type(header.get("ask")) is not int or header["ask"] != number:
        raise wire.WireError("a question is out of turn")
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
    if type(reached) is not list or not all(_is_one_of(name, steps) for name in reached):
        raise wire.WireError("steps are not listed, or were not asked about")
    made = tuple(_made_call(facts, payload, steps) for facts in calls)
    reply = read_reply(header, payload, number, request)
    return Watched(reply, made, frozenset(reached))


def _is_one_of(name: Any, steps: Collection[str]) -> bool:
    return type(name) is str and name in steps


def _made_call(facts: Any, payload: wire.Payload, steps: Collection[str]) -> LayerCall:
    if type(facts) is not dict or not _is_one_of(facts.get("step"), steps):
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


# Answers workers' questions about earlier steps, with what the reference gives.
#
# The questions come from untrusted code. One that is too large is refused before it is read, and
# an answer that raises is a refusal too: only what the student's code passed on can have made it
# raise.

AnswerOfReference = Callable[
    [str, tuple[Value, ...], Mapping[str, Value], tuple[Value, ...]], Value | None
]

_LARGEST_QUESTION = 8 * 1024 * 1024  # bytes of all arrays; what is too much work, `answer` refuses


def answered_question(
    answer: AnswerOfReference | None,
    number: int,
    head: bytes,
    payload: bytes,
    leaning_on: Collection[str],
) -> bytes:
    """Return the frame that answers the question `number`, about a step of `leaning_on`.

    Without an `answer`, all are refused. Raises `WireError` when it is not well formed.
    """
    if len(payload) > _LARGEST_QUESTION:
        return answer_frame(number, None)
    asked = read_question(*wire.read_frame(head, payload), number, leaning_on)
    facts = (asked.step, asked.arguments, asked.keywords, asked.cotangents)
    try:
        return answer_frame(number, answer(*facts) if answer else None)
    except Exception:  # what the student's code passed is wrong; its own step may say how
        return answer_frame(number, None)
