"""Calls read from the frames that ask for them: by a worker, or by the zygote for all workers.

What many hand-ins are asked is read once, in the zygote, and every worker that it forks has it.
To read it takes a quarter of the time in which a worker answers with NumPy, a seventh with PyTorch.
"""

from __future__ import annotations

import contextlib
import gc
import json
from typing import Any

from autograder.protocol import arrays, wire
from autograder.protocol.call import Call, EarlierCall
from autograder.protocol.frame_buffer import FrameBuffer


def read_call(header: dict[str, Any], payload: wire.Payload, library: str) -> Call:
    """Return the call that a frame of the host asks for."""
    dtype, generators = header["dtype"], arrays.Generators()

    def inward(facts: Any) -> Any:
        value = wire.decode(facts, payload)
        return arrays.to_library(value, library, dtype, generators)

    def values(name: str) -> list[Any]:
        return list(map(inward, header.get(name, ())))

    def named(name: str) -> dict[str, Any]:
        return {key: inward(facts) for key, facts in header.get(name, {}).items()}

    # In the order in which the host wrote the arrays.
    arguments, keywords = values("arguments"), named("keywords")
    method_arguments, attributes = values("method_arguments"), named("attributes")
    backward = values("backward")
    return Call(
        arguments=arguments,
        keywords=keywords,
        method=header["method"],
        method_arguments=method_arguments,
        attributes=attributes,
        read=header.get("read", []),
        before=header.get("before", []),
        calls=header["calls"],
        dtype=dtype,
        backward=backward[0] if backward else None,
        layouts=header.get("layouts", []),
        earlier=[EarlierCall.of(each) for each in values("earlier")],
        recording=header["recording"],
    )


class InheritedCalls:
    """The calls that a worker knows from its beginning, by their numbers."""

    def __init__(self, library: str) -> None:
        self._library = library
        self._calls: dict[int, Call] = {}

    def __getitem__(self, number: int) -> Call:
        """Return a call; raise KeyError when it is not known."""
        return self._calls[number]

    def read(self, frames: bytes) -> list[int]:
        """Add the calls that frames ask for; return their numbers.

        What cannot be read is left out: a worker that is sent it says why.
        """
        buffer, numbers = FrameBuffer(), list[int]()
        buffer.add(frames)
        while frame := buffer.take():
            head, payload = frame
            header = json.loads(head)
            with contextlib.suppress(Exception):
                call = read_call(header, wire.Payload(payload), self._library)
                self._calls[header["id"]] = call
                numbers.append(header["id"])
        gc.freeze()  # or a collection in a worker would copy their pages
        return numbers
