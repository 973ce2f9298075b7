"""Seeded mutations of everything that untrusted bytes can reach: only declared ends come out.

The frames of a worker, the control messages of the zygote, and the files that
students hand in. Each mutation has a generator of its own, seeded with what a
failing assertion prints, so that one alone can be tried again.
"""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from _pytest.mark import ParameterSet

from autograder.sandbox import exchange
from autograder.sandbox import zygote_process as channels
from autograder.sandbox import zygote_process as processes
from autograder.sandbox.zygote_process import Channel, Ending, ZygoteDied, ZygoteProcess, judge
from autograder.submission.reading import Submission, read_submission
from autograder.values.exercise import Limits, read_exercise
from autograder.values.request import ExceptionReport, Failed, Request, Returned
from autograder.worker import wire
from autograder.worker.control import Plan
from worker.hostile_replies import ARRAYS, PLAIN

ROOT = Path(__file__).resolve().parents[2]
SEED = 20_260
# What is mutated is counted in shares. The fast tests take the first, the slow ones the others.
SHARES = 20
SLOWEST = 1.0  # seconds of the processor for one frame; the measured worst is a twentieth of it
MOST_MEMORY = 3 * wire.MAX_PAYLOAD

LAYER = wire.Linear(np.ones((2, 3)), np.ones(2))
FUNCTION = Request("f", (*ARRAYS, *PLAIN))
CLASS = Request("Head", (4,), method="forward", method_arguments=(ARRAYS[0],), read=("a", "*"))
LEANING_ON = ("softmax", "scale_scores")
REPORT = {
    "type": "ValueError",
    "message": "shapes (2, 3) and (4,) do not match",
    "line": 3,
    "code": "return a @ b",
    "shapes": {"a": [2, 3], "b": [4]},
}


def encoded(values: tuple[wire.Value, ...], parts: list[bytes]) -> list[dict[str, Any]]:
    return [wire.encode(value, parts) for value in values]


def returned(
    number: int,
    value: wire.Value,
    after: tuple[wire.Value, ...],
    gradients: tuple[wire.Value, ...] = (),
    **named: Any,
) -> bytes:
    parts: list[bytes] = []
    reply = {
        "id": number,
        "value": wire.encode(value, parts),
        "after": encoded(after, parts),
        "attributes": {name: wire.encode(one, parts) for name, one in named.items()},
        "gradients": encoded(gradients, parts),
        "observations": ["set_grad_enabled"] * bool(gradients),
    }
    return wire.frame(reply, parts)


def question() -> bytes:
    parts: list[bytes] = []
    header = {
        "ask": 1,
        "step": "softmax",
        "arguments": encoded((ARRAYS[0], 4, LAYER), parts),
        "keywords": {"rng": wire.encode(wire.Seed(3), parts)},
        "cotangents": encoded((ARRAYS[2],), parts),
    }
    return wire.frame(header, parts)


def read_answer(header: dict[str, Any], payload: wire.Payload) -> object:
    """As the worker reads it; there only the student's own process could come to harm."""
    value = wire.decode(header.get("value"), payload)
    payload.end()
    return value


def reply_to(request: Request) -> Callable[[dict[str, Any], wire.Payload], object]:
    return lambda header, payload: exchange.read_reply(header, payload, 1, request)


# Every kind of frame that is decoded: a whole one, and who reads it.
FRAMES: tuple[tuple[bytes, Callable[[dict[str, Any], wire.Payload], object]], ...] = (
    (returned(1, ARRAYS, FUNCTION.arguments), reply_to(FUNCTION)),
    (returned(1, ARRAYS[0], CLASS.method_arguments, a=LAYER), reply_to(CLASS)),
    (
        returned(1, ARRAYS[0], FUNCTION.arguments, (ARRAYS[0], None)),
        reply_to(replace(FUNCTION, backward=ARRAYS[0])),
    ),
    (wire.frame({"id": 1, "raised": {**REPORT, "stub": "f"}}, []), reply_to(FUNCTION)),
    (wire.frame({"id": 1, "raised": REPORT}, []), reply_to(FUNCTION)),
    (wire.frame({"id": 1, "missing": "forward"}, []), reply_to(CLASS)),
    (wire.frame({"id": 1, "oversize": True}, []), reply_to(FUNCTION)),
    (
        wire.frame({"id": 1, "failures": [None, REPORT, None]}, []),
        lambda header, payload: exchange.read_failures(header, 1, 3),
    ),
    (
        question(),
        lambda header, payload: exchange.read_question(header, payload, 1, LEANING_ON),
    ),
    (exchange.answer_frame(1, (ARRAYS[0], 2.5)), read_answer),
)

# What may stand in place of any value: other types, other sizes, what JSON has at its edges.
EDGES = (
    "null", "true", "false", "0", "-1", "1", "1.5", "-0.0", "1e999", "1e-999", "64", "65", "255",
    "268435456", "268435457", "9223372036854775807", "9223372036854775808", "-9223372036854775809",
    "9" * 300, "9" * 5000, '""', '"x"', '"b1"', '"O"', '"f8"', '"array"', '"linear"', '"seed"',
    '"\\ud800"', '"\\u0000\\u001b[2J\\u202e"', '"' + "x" * 5000 + '"', "[]", "{}", "[[]]",
    "[0]", "[-1]", "[2, 3]", "[268435456, 268435456, 0]", "[1, 1, 1, 1, 1, 1, 1, 1, 1]", "NaN",
    "[" * 3000 + "]" * 3000, '{"kind": "plain", "value": 1}', '{"kind": "sequence", "items": []}',
    '{"kind": "opaque", "type": "X"}', '{"kind": "array", "dtype": "f8", "shape": [0]}',
    '{"kind": "sequence", "items": [' * 6 + "]}" * 6,
    '{"kind": "float", "value": "0x1p-1074"}', '{"kind": "seed", "seed": 1}', "{} {}", "'x'", "",
)  # fmt: skip
TOKENS = tuple(edge.encode() for edge in EDGES if len(edge) < 40) + (b'"', b"\\", b"\xff", b"\0")


def mutated(frame: bytes, rng: random.Random) -> bytes:
    """Return `frame` broken in one way, or in a few."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        frame = rng.choice(WAYS)(frame, rng)
    return frame


def cut_of(frame: bytes) -> int:
    """Where the header ends, as far as the frame still says it."""
    if len(frame) < wire.PREFIX.size:
        return len(frame)
    length: int = wire.PREFIX.unpack_from(frame)[1]
    return min(len(frame), wire.PREFIX.size + length)


def with_header(frame: bytes, head: bytes) -> bytes:
    """Return the frame with another header, and a length that is right again."""
    rest = frame[cut_of(frame) :]
    return wire.PREFIX.pack(wire.MAGIC, len(head), len(rest)) + head + rest


def header_of(frame: bytes) -> bytes:
    return frame[wire.PREFIX.size : cut_of(frame)]


def flip(frame: bytes, rng: random.Random) -> bytes:
    """Turn over single bits, anywhere."""
    data = bytearray(frame)
    for _ in range(rng.randint(1, 4) if data else 0):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def truncate(frame: bytes, rng: random.Random) -> bytes:
    return frame[: rng.randrange(len(frame) + 1)]


def splice(frame: bytes, rng: random.Random) -> bytes:
    """Go on in the middle of another frame, or with the payload of another."""
    other = rng.choice(FRAMES)[0]
    if rng.random() < 0.5:
        return frame[: cut_of(frame)] + other[cut_of(other) :]
    return frame[: rng.randrange(len(frame) + 1)] + other[rng.randrange(len(other)) :]


def lie(frame: bytes, rng: random.Random) -> bytes:
    """Give other lengths than the true ones."""
    if len(frame) < wire.PREFIX.size:
        return frame
    magic, head, size = wire.PREFIX.unpack_from(frame)
    near = rng.choice((0, 1, head - 1, head + 1, size, wire.MAX_HEADER, (1 << 32) - 1))
    far = rng.choice((0, 1, size + 1, size + 8, wire.MAX_PAYLOAD, wire.MAX_PAYLOAD + 1, 1 << 63))
    pair = rng.choice(((near, size), (head, far), (near, far), (size, head)))
    clipped = (pair[0] % (1 << 32), pair[1] % (1 << 64))
    return wire.PREFIX.pack(magic, *clipped) + frame[wire.PREFIX.size :]


def retype(frame: bytes, rng: random.Random) -> bytes:
    """Put a token in place of a piece of the header."""
    head = header_of(frame)
    place = rng.randrange(len(head) + 1)
    return with_header(frame, head[:place] + rng.choice(TOKENS) + head[place + rng.randrange(9) :])


def repeat(frame: bytes, rng: random.Random) -> bytes:
    """Write a piece of the header twice."""
    head = header_of(frame)
    start = rng.randrange(len(head) + 1)
    end = start + rng.randrange(40)
    return with_header(frame, head[:end] + head[start:])


def rewrite(frame: bytes, rng: random.Random) -> bytes:
    """Change the header as JSON: other values, keys that are missing, twice there, renamed."""
    try:
        facts = json.loads(header_of(frame))
    except (ValueError, RecursionError):
        return frame
    places = list(places_in(facts))
    if not places:
        return frame
    holder, key = rng.choice(places)
    marker = "\0here\0"
    match rng.randrange(6):
        case 0:
            del holder[key]
        case 5 if type(holder) is dict:
            holder[rng.choice(("id", "value", "raised", "x", "\x1b[2J\u202e", "n" * 999))] = (
                holder.pop(key)
            )
        case 1 if type(holder) is dict:
            text = json.dumps(holder[key])
            holder[key] = marker
            again = f"{text}, {json.dumps(key)}: {rng.choice((text, 'null'))}"
            return with_header(frame, filled(facts, marker, again))
        case 2:
            other, place = rng.choice(places)
            kept = json.loads(json.dumps(holder[key]))
            holder[key] = json.loads(json.dumps(other[place]))
            other[place] = kept
        case 3 if type(holder) is list:
            holder *= rng.choice((2, 3, 70))
        case _:
            holder[key] = marker
            return with_header(frame, filled(facts, marker, rng.choice(EDGES)))
    return with_header(frame, json.dumps(facts).encode())


def filled(facts: Any, marker: str, text: str) -> bytes:
    return json.dumps(facts).replace(json.dumps(marker), text, 1).encode("utf-8", "surrogatepass")


def places_in(facts: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a JSON value: who holds it, and under which key."""
    if type(facts) not in (dict, list):
        return
    inside = facts.items() if type(facts) is dict else enumerate(facts)
    for key, value in inside:
        yield facts, key
        if type(value) in (dict, list):
            yield from places_in(value)


WAYS = (flip, truncate, splice, lie, retype, repeat, *[rewrite] * 6)


class Short(Exception):
    """Fewer bytes than the frame says: the grader waits for the rest, until its deadline."""


def arrived(frame: bytes) -> tuple[dict[str, Any], wire.Payload]:
    """Take a frame apart as the grader's channel does when it has come whole."""
    if len(frame) < wire.PREFIX.size:
        raise Short
    head, size = wire.read_prefix(frame[: wire.PREFIX.size])
    end = wire.PREFIX.size + head
    if len(frame) < end + size:
        raise Short
    return wire.read_header(frame[wire.PREFIX.size : end]), wire.Payload(frame[end : end + size])


def flaw(value: object, depth: int = 0) -> str:
    """Say what is wrong with a decoded value, or nothing: it is of a closed list of types."""
    match value:
        case Returned():
            inside = (value.value, *value.after, *value.attributes.values())
            return "".join(flaw(item) for item in inside) + flaw_of_texts(*value.attributes)
        case Failed():
            return flaw_of_texts(value.detail) + (flaw(value.exception) if value.exception else "")
        case ExceptionReport():
            lines = (value.type_name, value.message, value.code, *value.shapes)
            numbers = [value.line, *(size for shape in value.shapes.values() for size in shape)]
            right = all(type(number) is int and 0 <= number < 1 << 63 for number in numbers)
            return flaw_of_texts(*lines) + ("" if right else f"the numbers {numbers}")
        case exchange.Question():
            inside = (*value.arguments, *value.keywords.values(), *value.cotangents)
            return (
                ""
                if value.step in LEANING_ON
                else f"the step {value.step}" + "".join(flaw(item) for item in inside)
            )
        case tuple():
            if len(value) > wire.MAX_ITEMS or depth > wire.MAX_DEPTH + 1:
                return "a sequence that is too long or too deep"
            return "".join(flaw(item, depth + 1) for item in value)
        case np.ndarray():
            known = type(value) is np.ndarray and value.dtype in wire.NAMES
            whole = value.flags.owndata and value.flags.writeable and value.flags.c_contiguous
            return "" if known and whole else f"an array of {value.dtype}"
        case wire.Linear():
            return flaw(value.weight) + ("" if value.bias is None else flaw(value.bias))
        case wire.Opaque():
            return "" if type(value.type_name) is str and len(value.type_name) <= 80 else "a name"
        case wire.Seed():
            return "" if 0 <= value.seed < 1 << 63 else "a seed"
        case str():
            return "" if len(value) <= 4096 else "a long text"
        case None | bool() | float():
            return ""
        case int():
            return "" if abs(value) < 1 << 63 else "a large number"
    return f"something of type {type(value).__name__}"


def flaw_of_texts(*texts: str) -> str:
    plain = all(type(text) is str and len(text) <= 600 for text in texts)
    shown = [text.replace("\n", "").replace("\t", "") for text in texts]
    return "" if plain and all(text.isprintable() for text in shown) else f"the texts {texts}"


def outcome_of(seed: int) -> str:
    """Read the mutated frame of `seed`; return how it ended, an AssertionError names the seed."""
    rng = random.Random(seed)
    whole, read = rng.choice(FRAMES)
    frame = mutated(whole, rng)
    begun = time.process_time()
    try:
        value = read(*arrived(frame))
    except wire.WireError:
        end = "refused"
    except Short:
        end = "short"
    except BaseException as error:
        raise AssertionError(f"seed {seed}: {error!r} for {frame[:400]!r}") from error
    else:
        end = "read"
        wrong = "".join(map(flaw, value)) if type(value) is tuple else flaw(value)
        assert not wrong, f"seed {seed}: {wrong} came out of {frame[:400]!r}"
    seconds = time.process_time() - begun
    assert seconds < SLOWEST, f"seed {seed}: {seconds:.2f} s for {frame[:400]!r}"
    return end


def shares(count: int) -> list[ParameterSet]:
    """The numbers of the shares as parameters; all but the first are slow."""
    return [pytest.param(one, marks=pytest.mark.slow if one else ()) for one in range(count)]


def test_every_whole_frame_is_read() -> None:
    for whole, read in FRAMES:
        value = read(*arrived(whole))
        assert not ("".join(map(flaw, value)) if type(value) is tuple else flaw(value))


@pytest.mark.parametrize("share", shares(SHARES))
def test_thousands_of_mutated_frames_are_values_or_wire_errors(share: int) -> None:
    first = SEED + share * 5_000
    ends = [outcome_of(seed) for seed in range(first, first + 5_000)]
    counts = {end: ends.count(end) for end in ("read", "refused", "short")}
    # As many as show that the mutations get past the first look, and that most are not harmless.
    assert counts["read"] > 250 and counts["refused"] > 2000 and counts["short"] > 150, (
        f"seeds from {first}: {counts}"
    )


def test_what_comes_over_a_socket_ends_in_a_value_or_a_declared_end() -> None:
    ends: list[str] = []
    for seed in range(SEED, SEED + 1500):
        rng = random.Random(seed)
        whole, read = rng.choice(FRAMES)
        frame = mutated(whole, rng)
        near, far = socket.socketpair()
        channel = Channel(1024)
        channel._socket.close()
        channel._socket = near
        near.setblocking(False)
        channel.hand_over()
        try:
            if seed % 2:
                near.send(b"a request that is never read")
            far.sendall(frame)
            far.close()
            read(*channel.receive(time.monotonic() + 60))
            ends.append("read")
        except (wire.WireError, channels.Closed) as error:
            ends.append(type(error).__name__)
        except BaseException as error:
            raise AssertionError(f"seed {seed}: {error!r} for {frame[:400]!r}") from error
        finally:
            channel.close()
    assert {*ends} == {"read", "WireError", "Closed"}, f"seed {SEED}: {set(ends)}"


# --- the slowest and the largest that the caps let through --------------------------------------


def filled_up(begin: str, unit: str, end: str, between: str = ",") -> bytes:
    """A header as long as the cap allows, made of one thing many times over."""
    times = (wire.MAX_HEADER - len(begin) - len(end)) // (len(unit) + len(between))
    return (begin + between.join([unit] * times) + end).encode()


def value_of(facts: object) -> bytes:
    return json.dumps({"id": 1, "value": facts, "after": [], "attributes": {}}).encode()


def nested(item: object) -> bytes:
    return value_of(
        {"kind": "sequence", "items": [{"kind": "sequence", "items": [item] * 64}] * 50}
    )


RAISED = '{"id": 1, "raised": {"type": "E", "message": "m", "code": "", "line": 1, "shapes": {"'
LARGEST: Mapping[str, tuple[bytes, int]] = {
    "64 MB of booleans": (
        value_of({"kind": "array", "dtype": "b1", "shape": [wire.MAX_PAYLOAD]}),
        wire.MAX_PAYLOAD,
    ),
    "64 MB of numbers": (
        value_of({"kind": "array", "dtype": "f8", "shape": [wire.MAX_PAYLOAD // 8]}),
        wire.MAX_PAYLOAD,
    ),
    "numbers of many digits": (filled_up('{"id": 1, "x": [', "9" * 4299, "]}"), 0),
    "numbers of many places": (filled_up('{"id": 1, "x": [', f"1.{'7' * 4000}e-300", "]}"), 0),
    "small numbers": (filled_up('{"id": 1, "x": [', "1e5", "]}"), 0),
    "empty objects": (filled_up('{"id": 1, "x": [', "{}", "]}"), 0),
    "objects in objects": (filled_up('{"id": 1, "x": [', '{"a":{}}', "]}"), 0),
    "lists in lists": (b'{"id": 1, "x": ' + b"[" * 900 + b"]" * 900 + b"}", 0),
    "lists without end": (filled_up('{"id": 1, "x": ', "[", "", ""), 0),
    "objects without end": (filled_up('{"id": 1, "x": ', '{"a":', "", ""), 0),
    "escaped surrogates": (filled_up('{"id": 1, "x": "', "\\ud800", '"}', ""), 0),
    "values": (filled_up('{"id": 1, "value": [', '{"kind":"plain","value":1}', "]}"), 0),
    "values in sequences": (nested({"kind": "plain", "value": None}), 0),
    "arrays of nothing": (nested({"kind": "array", "dtype": "f8", "shape": [0]}), 0),
    "floats": (nested({"kind": "float", "value": "0x1.fffffffffffffp-1022"}), 0),
    "a name of escapes": (filled_up(RAISED, "\\u001b]", '":[1]}}}', ""), 0),
    "a name of marks": (filled_up(RAISED, "\\u0301", '":[1]}}}', ""), 0),
    "a name of overrides": (filled_up(RAISED, "\\u202e", '":[1]}}}', ""), 0),
}


@pytest.mark.parametrize(("head", "size"), LARGEST.values(), ids=LARGEST)
def test_no_frame_within_the_caps_takes_long(head: bytes, size: int) -> None:
    assert len(head) <= wire.MAX_HEADER
    payload = bytes(size)
    spent = []
    for _ in range(3):  # the best of three: the first one touches memory that is new
        begun = time.process_time()
        read_largest(head, payload)
        spent.append(time.process_time() - begun)
    assert min(spent) < SLOWEST / 2, f"{min(spent):.2f} s"


@pytest.mark.parametrize(("head", "size"), LARGEST.values(), ids=LARGEST)
def test_no_frame_within_the_caps_takes_much_memory(head: bytes, size: int) -> None:
    payload = bytes(size)
    tracemalloc.start()
    try:
        read_largest(head, payload)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # An array is copied once; a header of many small things is a thirtyfold of its text.
    assert peak < 1.1 * size + 64 * wire.MAX_HEADER < MOST_MEMORY, f"{peak} bytes"


def read_largest(head: bytes, payload: bytes) -> None:
    try:
        exchange.read_reply(wire.read_header(head), wire.Payload(payload), 1, Request("f"))
    except wire.WireError:
        return


# --- the control messages of the zygote ---------------------------------------------------------

MESSAGES = (
    {"forked": 17},
    {"ended": 17, "status": 9, "kilobytes": 30_000, "milliseconds": 12},
    {"ended": 18, "status": 256, "kilobytes": 30_000, "milliseconds": 12},
    {"ready": {"namespaces": True, "landlock": 6, "seccomp": True, "missing": {}}},
    {"refused": "unshare: Operation not permitted"},
)
CONTROL_EDGES = (*EDGES, "17", "127", "2943", "65535", "65536", "4611686018427387904")


def mutated_message(rng: random.Random) -> bytes:
    """Return one message of the zygote's, changed as JSON or as bytes; sometimes only noise."""
    facts = json.loads(json.dumps(rng.choice(MESSAGES)))
    match rng.randrange(6):
        case 0:
            return rng.randbytes(rng.randrange(1, 60))
        case 1:
            return flip(json.dumps(facts).encode(), rng)
        case 2:
            return truncate(json.dumps(facts).encode(), rng)
        case 3:
            del facts[rng.choice(list(facts))]
            return json.dumps(facts).encode()
    holder, key = rng.choice(list(places_in(facts)))
    holder[key] = "\0here\0"
    return filled(facts, "\0here\0", rng.choice(CONTROL_EDGES))


PLANNED = Plan("numpy", 64, 1, "/nowhere", 0, ())


class Muttering:
    """In place of the zygote's process: says what it is told to, and ends when it is killed."""

    def __init__(self, command: list[str], *, pass_fds: list[int], **_: object) -> None:
        self.line = socket.socket(fileno=os.dup(pass_fds[0]))
        self.line.send(b'{"ready": {}}')

    def kill(self) -> None:
        self.line.close()

    def wait(self) -> int:
        return 0


def asked(process: ZygoteProcess, rng: random.Random) -> str:
    """Ask the zygote what the grader asks; return how that ended."""
    try:
        match rng.randrange(3):
            case 0:
                assert type(process.fork(1, (0, 1))) is int
            case 1:
                ending = process.wait(17, 0.0005)
                assert ending is None or judged(ending)
            case _:
                assert judged(process.kill(17))
    except (ZygoteDied, TimeoutError) as error:
        return type(error).__name__
    return "answered"


def judged(ending: Ending) -> bool:
    return isinstance(judge(ending, Limits()), Failed)


@pytest.mark.parametrize("share", shares(5))
def test_five_thousand_mutated_words_of_the_zygote_are_answers_or_its_death(
    share: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "Popen", Muttering)
    monkeypatch.setattr(processes, "_TO_FORK", 0.0005)
    monkeypatch.setattr(processes, "_TO_CONFIRM", 0.0005)
    ends: list[str] = []
    first = SEED + 1000 * share
    for seed in range(first, first + 1000):
        rng = random.Random(seed)
        words = [mutated_message(rng) for _ in range(rng.randint(1, 2))]
        process = ZygoteProcess(PLANNED)
        assert process.greeting
        line = process._process.line  # type: ignore[attr-defined]
        try:
            for word in words:
                line.send(word[: 1 << 15])
            if rng.random() < 0.5:
                line.close()
            ends.append(asked(process, rng))
        except BaseException as error:
            raise AssertionError(f"seed {seed}: {error!r} for {words!r}") from error
        finally:
            process.close()
    counts = {end: ends.count(end) for end in set(ends)}
    assert set(counts) == {"answered", "ZygoteDied", "TimeoutError"}, (
        f"seeds from {first}: {counts}"
    )
    assert min(counts.values()) > 20, f"seeds from {first}: {counts}"


def test_a_zygote_that_says_what_nobody_waits_for_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(subprocess, "Popen", Muttering)
    process = ZygoteProcess(PLANNED)
    assert process.greeting
    line = process._process.line  # type: ignore[attr-defined]
    stop = threading.Event()

    def mutter() -> None:
        while not stop.is_set():
            try:
                line.send(b'{"ended": 1}')
            except OSError:
                return

    muttering = threading.Thread(target=mutter)
    muttering.start()
    try:
        with pytest.raises(ZygoteDied, match="nobody waits for"):
            process.fork(1, (0, 1))
    finally:
        stop.set()
        process.close()
        muttering.join(60)


# --- what students hand in ----------------------------------------------------------------------

EXERCISE = read_exercise(ROOT / "assignments" / "numpy_single_head")
NOTEBOOK = (EXERCISE.folder / "numpy_single_head.ipynb").read_bytes()
SCRIPT = (ROOT / "solutions" / "numpy_single_head" / "solution.py").read_bytes()
SLOWEST_FILE = 5.0  # seconds of the processor
PIECES = (
    b"\0", b"\r", b"\r\n", b"\x0c", b"\xff\xfe", b"\xef\xbb\xbf", "\u2028".encode(), b"\\",
    b"%", b"!", b"?", b"%%", b"# %%\n", b"# %% [markdown]\n", b'"""', b"'", b"(", b")" * 300,
    b"(" * 300, b"[" * 100_000, b"{", b"    ", b"\t", b"\n", b":", b"=", b"@", b"9" * 5000,
    b"check(", b"check(softmax)\r", b"import autograder\r", b"x = 1; check(f)\n",
    b"# -*- coding: utf-7 -*-\n",
    b"def f():\n" * 120, b"-" * 5000, b"not " * 3000, b"x." * 5000, "\u1d52s".encode(), b"\\ud800",
    b"null", b"[]", b"{}", b"true", b"1e999", b'"cells"', b'"source"', b'"worksheets"', b"\\u0000",
)  # fmt: skip


def broken_file(rng: random.Random) -> tuple[str, bytes]:
    """Return a name and the bytes of a submission that something has happened to."""
    name, data = rng.choice((("anna.ipynb", NOTEBOOK), ("anna.py", SCRIPT)))
    if name == "anna.ipynb" and rng.random() < 0.4:
        return name, rewritten_notebook(rng)
    for _ in range(rng.randint(1, 5)):
        start = rng.randrange(len(data) + 1)
        match rng.randrange(5):
            case 0:
                data = flip(data, rng)
            case 1:
                data = data[:start] + data[start + rng.choice((1, 10, 1000)) :]
            case 2:
                data = data[:start]
            case 3:
                data = data[:start] + data[rng.randrange(len(data) + 1) :][:2000] + data[start:]
            case _:
                data = data[:start] + rng.choice(PIECES) + data[start:]
    return name, data


def rewritten_notebook(rng: random.Random) -> bytes:
    """Return the notebook with other JSON in some places, or with hostile lines in its cells."""
    facts = json.loads(NOTEBOOK)
    codes = [cell for cell in facts["cells"] if cell["cell_type"] == "code"]
    for _ in range(rng.randint(1, 4)):
        text = rng.choice(PIECES).decode("utf-8", "replace")
        source = rng.choice(codes)["source"]
        source.insert(rng.randrange(len(source) + 1), text)
    holder, key = rng.choice(list(places_in(facts)))
    if rng.random() < 0.5:
        return json.dumps(facts).encode()
    holder[key] = "\0here\0"
    return filled(facts, "\0here\0", rng.choice(EDGES))


@pytest.mark.parametrize("share", shares(20))
def test_two_thousand_mutated_files_are_read_or_rejected_in_a_sentence(
    share: int, tmp_path: Path
) -> None:
    ends: list[bool] = []
    for seed in range(SEED + 100 * share, SEED + 100 * (share + 1)):
        rng = random.Random(seed)
        name, data = broken_file(rng)
        (tmp_path / name).write_bytes(data)
        path = tmp_path if rng.random() < 0.2 else tmp_path / name
        begun = time.process_time()
        try:
            submission = read_submission(path, EXERCISE, "anna")
        except BaseException as error:
            raise AssertionError(f"seed {seed}: {error!r} for {name}") from error
        seconds = time.process_time() - begun
        (tmp_path / name).unlink()
        assert seconds < SLOWEST_FILE, f"seed {seed}: {seconds:.1f} s for {name}"
        ends.append(read_as_it_should_be(submission, seed))
    assert 10 < sum(ends) < 100, f"{sum(ends)} of {len(ends)} are read"


def read_as_it_should_be(submission: Submission, seed: int) -> bool:
    """Whether there is code to run; a rejected submission has none, and says why."""
    assert type(submission) is Submission, f"seed {seed}"
    assert all(type(cell) is str for cell in submission.cells), f"seed {seed}"
    assert len(submission.code_hash) == 64, f"seed {seed}"
    rejected = submission.rejected
    if rejected:
        told = rejected.fact
        assert submission.cells == () and told.endswith("."), f"seed {seed}: {told}"
    return rejected is None
