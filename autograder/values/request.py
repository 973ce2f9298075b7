"""What is asked of a student's code, and what comes back.

A request names a function of the submission (or a class to construct, with
weights to put into it and a method to call) and carries only inputs. A reply is
either what the code returned or how it failed. Whoever answers (a sandboxed
worker, or the function in the learner's own notebook) is a `Respondent`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np

from autograder.values.verdict import Outcome
from autograder.worker.call import EarlierCall, LayerCall, StandIn
from autograder.worker.wire import Linear, Seed, Value, encode, to_json

_OWN_PRECISION = ("", "float64")


@dataclass(frozen=True)
class Request:
    """One call of the student's code.

    Without `method`, `target` is a function that gets `arguments`. With it, `target` is a class,
    which is constructed with `arguments`. Its `attributes` (name to array) are set, and the
    methods in `before` are called. Then `method` (none when it is "") is called `calls` times
    with `method_arguments` and `keywords`. `read` names the attributes to send back ("*" stands
    for the names of all attributes).

    `dtype` names the type that every floating-point input is cast to. `layouts` says for each
    argument of the call in which order its axes lie in memory, outermost first (None: as they are
    counted). `earlier` holds calls that are made first, and whose results are dropped; the last
    of them is made once more before the result is looked at.

    With PyTorch only: `backward` is a gradient for each result (a tuple for several), to be
    propagated back from it. Without `recording`, no gradients are recorded meanwhile.
    """

    target: str
    arguments: tuple[Value, ...] = ()
    keywords: Mapping[str, Value] = field(default_factory=dict)
    method: str | None = None
    method_arguments: tuple[Value, ...] = ()
    attributes: Mapping[str, Value] = field(default_factory=dict)
    read: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    calls: int = 1
    dtype: str = ""
    backward: Value = None
    layouts: tuple[tuple[int, ...] | None, ...] = ()
    earlier: tuple[EarlierCall, ...] = ()
    recording: bool = True

    @property
    def alone(self) -> Request:
        """The same without conditions: with no calls before, in the exercise's own precision.

        float64 stays, since it is more.
        """
        conditions = self.before or self.layouts or self.earlier or not self.recording
        return self._alone if conditions or self.dtype not in _OWN_PRECISION else self

    @cached_property
    def _alone(self) -> Request:
        dtype = self.dtype if self.dtype in _OWN_PRECISION else ""
        return replace(self, dtype=dtype, before=(), layouts=(), earlier=(), recording=True)

    @property
    def call_arguments(self) -> tuple[Value, ...]:
        """The arguments of the call that is looked at: those of the method, if one is called."""
        return self.method_arguments if self.method else self.arguments

    @property
    def inputs(self) -> tuple[Value, ...]:
        """What it hands over by position, and what it puts into an instance."""
        return (*self.arguments, *self.method_arguments, *self.attributes.values())

    @cached_property
    def encoded(self) -> tuple[bytes, bytes]:
        """The request as JSON, and the bytes of its arrays: what a worker is sent."""
        parts: list[bytes] = []

        def values(items: tuple[Value, ...]) -> list[Any]:
            return [encode(item, parts) for item in items]

        def named(items: Mapping[str, Value]) -> dict[str, Any]:
            return {name: encode(item, parts) for name, item in items.items()}

        facts: dict[str, Any] = {
            "target": self.target,
            "method": self.method,
            "calls": self.calls,
            "recording": self.recording,
            "dtype": self.dtype,
        }
        # In the order in which the worker takes arrays from the payload.
        sequences = {
            "arguments": values(self.arguments),
            "keywords": named(self.keywords),
            "method_arguments": values(self.method_arguments),
            "attributes": named(self.attributes),
            "backward": values(() if self.backward is None else (self.backward,)),
            "earlier": values(tuple(earlier.values for earlier in self.earlier)),
            "layouts": [list(order) if order else None for order in self.layouts],
            "before": list(self.before),
            "read": list(self.read),
        }
        # Most requests leave most of them empty.
        facts |= {name: each for name, each in sequences.items() if each}
        return to_json(facts), b"".join(parts)

    @cached_property
    def key(self) -> bytes:
        """A digest of all that is asked: equal requests have equal keys."""
        digest = hashlib.blake2b()
        # Most requests leave most of it empty.
        own = vars(self)
        said = ((name, own[name], default) for name, default in _DEFAULTS.items())
        _hash(tuple((name, value) for name, value, left in said if not _is(value, left)), digest)
        return digest.digest()


_DEFAULTS = {each.name: each.default for each in fields(Request)}


def _is(value: object, default: object) -> bool:
    """Say whether a field holds what it holds when nothing is said; an empty dict is made anew."""
    return value is default or (type(value) is dict and not value)


def _hash(value: object, digest: hashlib.blake2b) -> None:
    """Add a value to a digest, so that no other value adds the same."""
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype.str}{value.shape}".encode())
        digest.update(value.tobytes())
    elif isinstance(value, tuple):
        digest.update(b"(%d" % len(value))
        for item in value:
            _hash(item, digest)
    elif isinstance(value, dict):
        _hash(tuple(value.items()), digest)
    elif isinstance(value, EarlierCall | Linear | Seed):
        _hash((type(value).__name__, *vars(value).values()), digest)
    else:
        text = repr(value).encode("utf-8", "replace")
        digest.update(b"%d " % len(text) + text)


@dataclass(frozen=True)
class Returned:
    """What the code returned, its arguments after the call, and the attributes that were read.

    `after` holds the arguments of the call (of the method, when there is one) as
    they are afterwards, so that an input overwritten in place can be seen. An
    attribute that does not exist is left out of `attributes`. `gradients`, after a backward pass,
    holds those of the arguments (of a linear layer, of its weight and bias), then those of the
    attributes that were set; None stands where none arrived. `observations` names what else was
    seen, of `wire.OBSERVATIONS`. `encoded` are the bytes that it was read from, if it was: whoever
    sends the same bytes for the same request has returned the same.
    """

    value: Value
    after: tuple[Value, ...] = ()
    attributes: Mapping[str, Value] = field(default_factory=dict)
    gradients: tuple[Value, ...] = ()
    observations: tuple[str, ...] = ()
    encoded: bytes = field(default=b"", compare=False, repr=False)


@dataclass(frozen=True)
class ExceptionReport:
    """An exception of the student's code, as text that is not trusted.

    `line` is the number of the student's own line where it happened (0 when none), `code` that
    line, and `shapes` the array-valued names of that frame with their shapes.
    """

    type_name: str
    message: str
    line: int = 0
    code: str = ""
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Failed:
    """The code did not return: the outcome that was observed, and the exception if there was one.

    `look` is where to look next, when more is known than the outcome says.
    """

    outcome: Outcome
    detail: str = ""
    exception: ExceptionReport | None = None
    look: str = ""


Reply = Returned | Failed
KnownReplies = Mapping[bytes, Returned]  # to one request, by the bytes that they were read from


@dataclass(frozen=True)
class Watched:
    """A reply, the calls of steps that were made for it, and the steps that were `reached`.

    The calls are those of the layer itself. Steps may also be reached through each other.
    """

    reply: Reply
    calls: tuple[LayerCall, ...] = ()
    reached: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Sighting:
    """An array that a student's code computed on the way, and the number of its line."""

    line: int
    array: np.ndarray


class Respondent(Protocol):
    """Answers requests with a student's code."""

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        """Answer `request`.

        While it runs, the names in `leaning_on` (earlier steps) are answered by the
        reference instead of the student's own code.
        """
        ...


@runtime_checkable
class PipelinedRespondent(Protocol):
    """Answers many requests with less waiting than one by one."""

    def ask_all(
        self,
        requests: Sequence[Request],
        known: Sequence[KnownReplies | None],
        leaning_on: tuple[str, ...] = (),
    ) -> tuple[Reply, ...]:
        """Answer `requests`, all about one step if it leans on others, in their order.

        `known` holds for each of them the replies that need not be read again, or None. There are
        fewer replies when the last one is of code that could not go on.
        """
        ...


@runtime_checkable
class ReadableRespondent(Protocol):
    """Knows the text of the student's code."""

    def may_call(self, step: str, others: Collection[str]) -> bool:
        """Say whether `step` may call one of the `others`; True where the text does not tell."""
        ...

    def names_reached(self, step: str) -> Collection[str]:
        """Return the names that `step` and the functions it names mention, as far as text tells."""
        ...

    @property
    def cells(self) -> tuple[str, ...]:
        """The texts that were run; the lines of the one with the number N are those of "cell N"."""
        ...

    def may_fix_a_large_size(self) -> bool:
        """Say whether the text holds a whole number of hundreds or more, as a size might be."""
        ...


@runtime_checkable
class ContinuingRespondent(Protocol):
    """Can be asked on where it was asked alone."""

    def go_on_leaning(self, leaning_on: tuple[str, ...]) -> None:
        """Have the process that was asked alone answer next for steps that lean on these.

        So no other has to be started. What was done in it before may spoil what it answers then.
        """
        ...

    def lean_afresh(self) -> bool:
        """End the process that leans if it was asked alone before; say whether that was so."""
        ...

    def begin_afresh(self) -> None:
        """End the process that is asked alone; nothing from before is in the next one."""
        ...


@runtime_checkable
class Watchable(Protocol):
    """Shows which steps a student's layer calls, and lets some calls be answered otherwise."""

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        """Answer `request`; see `Respondent`."""
        ...

    def watch(
        self, request: Request, steps: Collection[str], stand_ins: Mapping[int, StandIn]
    ) -> Watched:
        """Answer `request`, with the calls of `steps`; some, by number, are answered otherwise.

        What is seen comes from untrusted code, and need not be what it did.
        """
        ...


@runtime_checkable
class Traceable(Protocol):
    """Shows what a student's code computes on the way to an answer."""

    def trace(self, request: Request) -> tuple[Sighting, ...]:
        """Return the arrays that are seen while `request` is answered, in order; none on failure.

        They come from untrusted code, and need not be what it computed.
        """
        ...
