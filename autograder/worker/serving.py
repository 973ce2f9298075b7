"""Load a student's cells and answer requests about them, inside the sandbox.

Everything in this process belongs to the student once the cells have run: it may
lie in every answer. That is no worse than a function that returns a wrong array,
because the host believes nothing but well-formed values.
"""

from __future__ import annotations
import __future__

import contextlib
import io
import linecache
import os
import signal
import sys
import types
from typing import Any, NoReturn

from autograder.protocol import crossing, wire
from autograder.protocol.call import Call, Missing, Performed, perform
from autograder.protocol.import_guard import ImportGuard
from autograder.worker import exception_facts, tracing
from autograder.worker.host_answers import HostAnswers
from autograder.worker.host_channel import HostChannel, HostGone
from autograder.worker.inherited_calls import InheritedCalls, read_call

_FULL_REPORTS = 30  # the others have no message, so that a reply stays under the wire's cap
_FEATURES = {name: getattr(__future__, name).compiler_flag for name in __future__.all_feature_names}
_UNFIT = 98


class Session:
    """The conversation with the host over one channel.

    `inherited` are calls that were read before this process began; each is asked for once at most.
    """

    def __init__(self, channel: HostChannel, library_name: str, inherited: InheritedCalls) -> None:
        self._channel = channel
        self._library = library_name
        self._inherited = inherited
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
        header, payload = waiting.popleft() if waiting else self._channel.receive()
        if type(header.get("inherited")) is list:
            waiting.extendleft(reversed(_each(header)))
            return waiting.popleft()
        return header, payload

    def _answer(self, header: dict[str, Any], payload: wire.Payload) -> None:
        number, parts = header["id"], list[bytes]()
        self._late_imports.told = False
        reply: dict[str, Any]
        if header["op"] == "load":
            sources = [payload.take(size).decode("utf-8") for size in header["cells"]]
            if header["packages"]:
                ImportGuard(header["packages"], self._lines.keys()).install()
                sys.meta_path.insert(0, self._late_imports)
                self._late_imports.packages = frozenset(header["packages"])
            self._host_answers.drawing = frozenset(header["drawing"])
            reply = {"failures": self._load(sources)}
        elif header["op"] == "trace":
            reply = {"seen": self._traced(header, payload, parts)}
        else:
            try:
                reply = self._call(header, payload, parts)
            except BaseException as error:
                parts.clear()
                reply = {"raised": exception_facts.describe(error, self._lines)}
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
                facts = exception_facts.describe(error, self._lines)
                count = sum(failure is not None for failure in failures)
                failures.append(facts if count < _FULL_REPORTS else exception_facts.brief(facts))
            else:
                failures.append(None)
        return failures

    def _traced(
        self, header: dict[str, Any], payload: wire.Payload, parts: list[bytes]
    ) -> list[list[Any]]:
        """Answer a request with the arrays seen on the way, each with its line."""
        call = read_call(header, payload, self._library)
        watch = tracing.ExpressionWatch(self._library)
        space = types.ModuleType("submission")
        tracing.run_watched(self._cells, vars(space), watch)
        watch.seen.clear()  # of what ran while loading
        with contextlib.suppress(BaseException):  # what was seen until then is the answer
            perform(vars(space)[header["target"]], call)
        return [[line, wire.encode(array, parts)] for line, array in watch.seen]

    def _call(
        self, header: dict[str, Any], payload: wire.Payload, parts: list[bytes]
    ) -> dict[str, Any]:
        inherited = header.get("inherited")
        call = (
            self._inherited[inherited] if inherited else read_call(header, payload, self._library)
        )
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
        return wire.encode(crossing.from_library(value, self._library), parts)


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


def _each(header: dict[str, Any]) -> list[tuple[dict[str, Any], wire.Payload]]:
    """Return the questions of a frame that asks several inherited ones, each as one by itself."""
    asked = enumerate(header["inherited"], start=header["id"])
    return [
        (header | {"id": number, "target": target, "inherited": inherited}, wire.Payload(b""))
        for number, (target, inherited) in asked
    ]
