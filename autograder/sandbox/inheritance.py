"""Questions that every worker knows from its beginning, so that it need only be told which.

Inputs that hand-ins share are asked of each of them. Nothing that a student's code has answered
may be among them: it would reach the workers of other students.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from autograder.model.request import Request
from autograder.protocol import wire
from autograder.sandbox import exchange
from autograder.sandbox.zygote_process import ZygoteProcess

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
            frames = (exchange.call_frame(numbers[key], request, ()) for key, request in left)
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
            yield exchange.inherited_frame(first, known, leaning_on)
            known = []
        if place:
            first = first if known else number
            known.append((request.target, place))
        else:
            yield exchange.call_frame(number, request, leaning_on)
    if known:
        yield exchange.inherited_frame(first, known, leaning_on)
