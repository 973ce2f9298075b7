"""Questions that every worker knows from its beginning, so that it need only be told which.

Inputs that hand-ins share are asked of each of them. Nothing that a student's code has answered
may be among them: it would reach the workers of other students.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from autograder.model.request import Request
from autograder.sandbox import exchange
from autograder.sandbox.zygote_process import ZygoteProcess

MOST_BYTES = 16 * 1024 * 1024


class Inheritance:
    """The questions that workers inherit, by their numbers, as far as there is room for them."""

    def __init__(self) -> None:
        self._requests: dict[bytes, Request] = {}  # in the order of their numbers, by their keys
        self._checks: set[Hashable] = set()
        self._room = MOST_BYTES
        self._heir: ZygoteProcess | None = None
        self._told: dict[bytes, int] = {}  # what the heir knows, and so its workers

    def add(self, checks: Iterable[tuple[Hashable, tuple[Request, ...]]]) -> None:
        """Have workers inherit the requests of checks; each check comes with what stands for it."""
        for check, requests in checks:
            if check not in self._checks:
                self._checks.add(check)
                self._find_room(requests)

    def _find_room(self, requests: tuple[Request, ...]) -> None:
        for request in requests:
            size = sum(map(len, request.encoded))
            if size <= self._room and request.key not in self._requests:
                self._room -= size
                self._requests[request.key] = request

    def hand_down(self, process: ZygoteProcess) -> dict[bytes, int]:
        """Tell a zygote what it does not know yet; return the numbers that its workers know.

        Raises `ZygoteDied` when it takes no orders.
        """
        if process is not self._heir:
            self._heir, self._told = process, {}
        if len(self._told) < len(self._requests):
            left = list(self._requests.items())[len(self._told) :]
            numbered = list(enumerate(left, start=len(self._told) + 1))
            frames = (exchange.call_frame(number, request, ()) for number, (_, request) in numbered)
            process.inherit(b"".join(frames))
            self._told |= {key: number for number, (key, _) in numbered}
        return dict(self._told)
