"""Earlier steps answered by the host, so that a mistake in one cannot spoil a later one.

During one call, the names of earlier steps in the student's namespace ask the host. The
student's own code answers what the host refuses. With PyTorch, the host also gives the
gradients, so that a backward pass works. What is asked again in a call, as when a layer is used
twice, is answered as before, within a bound and but for what is drawn anew.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autograder.protocol import arrays, crossing, wire
from autograder.worker.host_channel import HostChannel

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
            return wire.encode(crossing.from_library(value, self._library), parts)

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
