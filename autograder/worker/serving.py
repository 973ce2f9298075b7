"""Load a student's cells and answer requests about them, inside the sandbox.

Everything in this process belongs to the student once the cells have run: it may
lie in every answer. That is no worse than a function that returns a wrong array,
because the host believes nothing but well-formed values.
"""

from __future__ import annotations
import __future__

import contextlib
import functools
import io
import linecache
import os
import signal
import sys
import types
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from autograder.worker import arrays, sightings, wire
from autograder.worker.arrays import ImportGuard
from autograder.worker.call import Call, CallWatch, Missing, Performed, brief, describe, perform
from autograder.worker.host_channel import (
    HostChannel,
    HostGone,
    read_call,
    read_stand_ins,
    written_calls,
)

# Earlier steps answered by the host, so that a mistake in one cannot spoil a later one.
#
# During one call, the names of earlier steps in the student's namespace ask the host. The
# student's own code answers what the host refuses. With PyTorch, the host also gives the
# gradients, so that a backward pass works. What is asked again in a call, as when a layer is used
# twice, is answered as before, within a bound and but for what is drawn anew.

REFUSED = object()
_MOST_KEPT = 1 << 20  # bytes of the questions and answers of one call


class HostAnswers:
    """Asks the host over `channel`, in the array library of the exercise.

    What the host had sent before its answer is put into `waiting`.
    """

    def __init__(self, channel: HostChannel, library_name: str) -> None:
        self._channel = channel
        self._library = library_name
        self._asked = 0
        self.drawing: frozenset[str] = frozenset()  # steps that answer anew each time
        self._answers: dict[bytes, tuple[dict[str, Any], wire.Payload]] = {}
        self._room = 0  # bytes that are still kept of this call's questions and answers
        self.waiting: deque[tuple[dict[str, Any], wire.Payload]] = deque()

    @contextlib.contextmanager
    def on(self, steps: list[str], names: dict[str, Any]) -> Iterator[None]:
        """For one call, have the host answer for `steps` in the namespace `names`."""
        own = {step: names[step] for step in steps if step in names}
        names.update({step: self._proxy(step, own.get(step)) for step in steps})
        self._room = _MOST_KEPT
        try:
            yield
        finally:
            self._answers.clear()
            for step in steps:
                names.pop(step, None)
            names.update(own)

    def _proxy(self, step: str, own: Callable[..., Any] | None) -> Callable[..., Any]:
        def answered_by_host(*arguments: Any, **keywords: Any) -> Any:
            value = self._ask(step, arguments, keywords, ())
            if value is REFUSED:
                return _own(step, own)(*arguments, **keywords)
            leaves = _leaves((*arguments, *keywords.values()))
            if not any(leaf.requires_grad for leaf in leaves):
                return value

            def gradients(cotangents: tuple[Any, ...]) -> tuple[Any, ...]:
                found = self._ask(step, arguments, keywords, cotangents)
                if found is REFUSED or len(found) != len(leaves):
                    raise RuntimeError(f"there is no gradient through {step}")
                return tuple(found)

            return _attached(value, leaves, gradients)

        return answered_by_host

    def _ask(
        self,
        step: str,
        arguments: tuple[Any, ...],
        keywords: dict[str, Any],
        cotangents: tuple[Any, ...],
    ) -> Any:
        parts: list[bytes] = []

        def encoded(value: Any) -> dict[str, Any]:
            if isinstance(value, np.random.Generator):  # what the host draws follows from it
                value = wire.Seed(int(value.integers(1 << 63)))
            return wire.encode(wire.from_library(value, self._library), parts)

        types = {leaf.dtype for leaf in _leaves((*arguments, *keywords.values()))}
        if len(types) > 1:  # which the host would not see of bfloat16, and PyTorch refuses
            return REFUSED
        question = {
            "step": step,
            "arguments": [encoded(argument) for argument in arguments],
            "keywords": {name: encoded(value) for name, value in keywords.items()},
            "cotangents": [encoded(cotangent) for cotangent in cotangents],
        }
        header, payload = self._answer(question, parts)
        if not header["ok"]:
            return REFUSED
        # What crosses the wire as bfloat16 comes back as float32.
        dtype = str(*types).rpartition(".")[2]
        return arrays.to_library(wire.decode(header["value"], payload), self._library, dtype)

    def _answer(
        self, question: dict[str, Any], parts: list[bytes]
    ) -> tuple[dict[str, Any], wire.Payload]:
        """Return the host's answer: what it was, if the same was asked before in this call."""
        size, asked = sum(map(len, parts)), wire.to_json(question)
        same = b"".join((asked, *parts)) if size <= _MOST_KEPT else b""
        if same in self._answers:
            header, payload = self._answers[same]
            return header, payload.again()
        try:
            self._channel.send_encoded(b'{"ask": %d, %s' % (self._asked + 1, asked[1:]), parts)
        except wire.WireError:  # too large to ask, and nothing was sent
            return {"ok": False}, wire.Payload(b"")
        self._asked += 1
        header, payload = self._channel.receive()
        while "answer" not in header:
            self.waiting.append((header, payload))
            header, payload = self._channel.receive()
        needed = len(same) + len(payload)
        if same and needed <= self._room and question["step"] not in self.drawing:
            self._room -= needed
            self._answers[same] = header, payload.again()
        return header, payload


def _own(step: str, own: Callable[..., Any] | None) -> Callable[..., Any]:
    if own is None:
        raise NameError(f"name {step!r} is not defined")
    return own


def _leaves(values: tuple[Any, ...]) -> list[Any]:
    """Return the floating-point tensors in `values`, in the order in which the host counts them.

    A linear layer's weight and bias are among them, and so is what a tuple or list holds.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return []
    leaves: list[Any] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            leaves += [value] if value.is_floating_point() else []
        elif type(value) in (tuple, list) and len(value) <= wire.MAX_ITEMS:
            leaves += _leaves(tuple(value))
        elif isinstance(value, torch.nn.Linear):
            leaves += [value.weight] if value.bias is None else [value.weight, value.bias]
    return leaves


def _attached(
    value: Any, leaves: list[Any], gradients: Callable[[tuple[Any, ...]], tuple[Any, ...]]
) -> Any:
    """Return the host's tensors as results of `leaves` in the student's graph.

    What is not a tensor comes back as it is: no gradient reaches it.
    """
    if not isinstance(value, tuple | sys.modules["torch"].Tensor):
        return value
    return _answered().apply((value, gradients), *leaves)


@functools.cache
def _answered() -> Any:
    """Return the function of PyTorch's graph that gives an answer, and passes gradients on."""
    torch = sys.modules["torch"]

    def cloned(part: Any) -> Any:
        return part.clone() if isinstance(part, torch.Tensor) else part

    class Answered(torch.autograd.Function):  # type: ignore[misc,name-defined]
        @staticmethod
        def forward(context: Any, answer: tuple[Any, Callable[..., Any]], *leaves: Any) -> Any:
            value, context.gradients = answer
            # What a student's code detached gets no gradient, rather than one of zeros.
            context.set_materialize_grads(False)
            return tuple(map(cloned, value)) if isinstance(value, tuple) else cloned(value)

        @staticmethod
        def backward(context: Any, *cotangents: Any) -> Any:
            return None, *context.gradients(cotangents)

    return Answered


_FULL_REPORTS = 30  # the others have no message, so that a reply stays under the wire's cap
_FEATURES = {name: getattr(__future__, name).compiler_flag for name in __future__.all_feature_names}
_UNFIT = 98


class Session:
    """The conversation with the host over one channel."""

    def __init__(self, channel: HostChannel, library_name: str) -> None:
        self._channel = channel
        self._library = library_name
        self._module = types.ModuleType("submission")
        self._lines: dict[str, list[str]] = {}
        self._cells: list[tuple[str, str, int]] = []  # name, source, compiler flags
        self._host_answers = HostAnswers(channel, library_name)
        self._late_imports = _LateImports(channel)
        sys.modules["submission"] = self._module

    def serve(self) -> NoReturn:
        """Answer until the host closes the channel; end the process when an answer fails."""
        # An interrupt ends the process, as any signal from outside does: nobody types here.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        while True:
            try:
                request = self._next()
            except HostGone:
                os._exit(0)
            try:
                self._answer(*request)
            except BaseException:  # no student code may go on running after a broken answer
                os._exit(_UNFIT)

    def _next(self) -> tuple[dict[str, Any], wire.Payload]:
        waiting = self._host_answers.waiting
        return waiting.popleft() if waiting else self._channel.receive()

    def _answer(self, header: dict[str, Any], payload: wire.Payload) -> None:
        number, parts = header["id"], list[bytes]()
        self._late_imports.told = False
        reply: dict[str, Any]
        if header["op"] == "load":
            sources = [str(payload.take(size), "utf-8") for size in header["cells"]]
            if header["packages"]:
                ImportGuard(header["packages"], self._lines.keys()).install()
                sys.meta_path.insert(0, self._late_imports)
                self._late_imports.packages = frozenset(header["packages"])
            self._host_answers.drawing = frozenset(header["drawing"])
            reply = {"failures": self._load(sources)}
        elif header["op"] == "trace":
            reply = {"seen": self._traced(header, payload, parts)}
        elif header["op"] == "watch":
            reply = self._watched(header, payload, parts)
        else:
            try:
                reply = self._call(header, payload, parts)
            except BaseException as error:
                parts.clear()
                reply = {"raised": describe(error, self._lines.get)}
        try:
            self._channel.send({"id": number} | reply, parts)
        except wire.WireError:
            self._channel.send({"id": number, "oversize": True}, [])

    def _load(self, sources: list[str]) -> list[dict[str, Any] | None]:
        failures: list[dict[str, Any] | None] = []
        flags = 0
        for number, source in enumerate(sources, start=1):
            name = f"cell {number}"
            lines = io.StringIO(source, newline=None).readlines()  # as Python counts them
            self._lines[name] = lines
            linecache.cache[name] = (len(source), None, lines, name)
            try:
                self._cells.append((name, source, flags))
                code = compile(source, name, "exec", flags, dont_inherit=True)
                # As in a notebook, a __future__ import holds for the cells after it.
                flags |= sum(flag for flag in _FEATURES.values() if code.co_flags & flag)
                exec(code, vars(self._module))
            except BaseException as error:  # SystemExit too: the next cells still count
                facts = describe(error, self._lines.get)
                count = sum(failure is not None for failure in failures)
                failures.append(facts if count < _FULL_REPORTS else brief(facts))
            else:
                failures.append(None)
        return failures

    def _traced(
        self, header: dict[str, Any], payload: wire.Payload, parts: list[bytes]
    ) -> list[list[Any]]:
        """Answer a request with the arrays seen on the way, each with its line."""
        call = read_call(header, payload, self._library)
        watch = sightings.ExpressionWatch(self._library)
        space = types.ModuleType("submission")
        sightings.run_watched(self._cells, vars(space), watch)
        watch.seen.clear()  # of what ran while loading
        with contextlib.suppress(BaseException):  # what was seen until then is the answer
            perform(vars(space)[header["target"]], call)
        return [[line, wire.encode(array, parts)] for line, array in watch.seen]

    def _watched(
        self, header: dict[str, Any], payload: wire.Payload, parts: list[bytes]
    ) -> dict[str, Any]:
        """Answer a request with the calls that it makes of steps; some are answered otherwise."""
        call, stand_ins = read_call(header, payload, self._library), read_stand_ins(header, payload)
        own, names = list[bytes](), vars(self._module)
        watch = CallWatch(names, header["steps"], self._library, stand_ins, header["dtype"])
        with watch.on():
            try:
                reply = self._answered(header, call, own)
            except BaseException as error:
                own.clear()
                reply = {"raised": describe(error, self._lines.get)}
        seen = {"calls": written_calls(watch.calls, parts), "reached": sorted(watch.reached)}
        parts += own
        return seen | reply

    def _call(
        self, header: dict[str, Any], payload: wire.Payload, parts: list[bytes]
    ) -> dict[str, Any]:
        return self._answered(header, read_call(header, payload, self._library), parts)

    def _answered(self, header: dict[str, Any], call: Call, parts: list[bytes]) -> dict[str, Any]:
        if header["target"] not in vars(self._module):
            return {"missing": header["target"]}
        try:
            performed = self._performed(header, call)
        except Missing as missing:
            return {"missing": str(missing)}
        return {
            "value": self._encoded(performed.value, parts),
            "after": [self._encoded(argument, parts) for argument in performed.after],
            "attributes": {
                name: self._encoded(value, parts) for name, value in performed.attributes.items()
            },
            "gradients": [self._encoded(gradient, parts) for gradient in performed.gradients],
            "observations": performed.observations,
        }

    def _performed(self, header: dict[str, Any], call: Call) -> Performed:
        names, leaning_on = vars(self._module), header["leaning_on"]
        if not leaning_on:
            return perform(names[header["target"]], call)
        with self._host_answers.on(leaning_on, names):
            return perform(names[header["target"]], call)

    def _encoded(self, value: Any, parts: list[bytes]) -> dict[str, Any]:
        return wire.encode(wire.from_library(value, self._library), parts)


class _LateImports:
    """Tells the host, once for each request, that a part of one of `packages` is imported.

    A library may import its larger parts only when they are first used. See `sys.meta_path`.
    """

    def __init__(self, channel: HostChannel) -> None:
        self._channel = channel
        self.packages: frozenset[str] = frozenset()
        self.told = False

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Leave the search to the others."""
        if not self.told and name.partition(".")[0] in self.packages:
            self.told = True
            self._channel.send_encoded(wire.IMPORTING, [])
            self._channel.ring()
