"""Whose fault is it when a check raises something that no check should raise?

A sound check raises nothing but its finding. When one does raise something else, it is run again:
with the reference's answers, and with those that the student's code gave. If it passes with the
first and raises with the second, the student's answer is the cause; all else is our fault.
"""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Iterable
from pathlib import Path

from autograder.checks.author_error import place_of
from autograder.errors import KitError
from autograder.judging.value_words import type_words
from autograder.model.request import Failed, Reply, Request
from autograder.model.symbols import not_your_fault, our_fault
from autograder.model.verdict import Finding, Outcome

# No student's answer causes these: they come from the exercise, the machine, its memory or disk.
OURS = (KitError, MemoryError, OSError)
_MOST_ATTRIBUTES = 4
_LONGEST_DETAIL = 300


class PlaybackEnded(Exception):
    """A check asked what it did not ask the first time."""


class Playback:
    """A `Respondent` that gives the same replies to the same requests; no code is run."""

    def __init__(self, exchanged: Iterable[tuple[Request, Reply]]) -> None:
        self._replies: dict[bytes, deque[Reply]] = {}
        for request, reply in exchanged:
            self._replies.setdefault(request.key, deque()).append(reply)

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        """Give the next reply to `request`; raise `PlaybackEnded` when there is none."""
        replies = self._replies.get(request.key)
        if not replies:
            raise PlaybackEnded
        return replies.popleft()


def of_the_student(check: str, reply: Reply | None, error: BaseException) -> Finding:
    """The finding on an answer that makes a check raise `error`; `reply` is the last one given."""
    return Finding(
        Outcome.WRONG_TYPE,
        f"{_given(reply)} cannot be compared with what is expected.",
        look="Read the annotation of this step again: what should come back?",
        details=(_detail(check, error),),
    )


def of_ours(check: str, *errors: BaseException) -> Finding:
    """The finding on a check that raises by itself."""
    return our_fault(
        tuple(_with_place(check, error) for error in errors), "This check could not be run"
    )


def remark_on(error: BaseException) -> str:
    """The remark on a fault of ours that costs nobody a point: less is told, and that is all."""
    detail = fault_detail(error)[:_LONGEST_DETAIL].replace("`", "'")
    return (
        f"{not_your_fault('What is wrong inside your layer could not be looked for')} "
        f"Your points stay the same. For your instructor: `{detail}`."
    )


def fault_detail(error: BaseException) -> str:
    """Return an exception of ours with the file and the line that it came from."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error}, in {Path(place.filename).name}:{place.lineno}"


def _given(reply: Reply | None) -> str:
    if reply is None or isinstance(reply, Failed):
        return "Your code ends in a way that"
    if not reply.attributes:
        return f"Your code gives back {type_words(reply.value)}, which"
    kept = [
        f"`{name}`, {type_words(value)}" for name, value in reply.attributes.items() if name != "*"
    ]
    if not kept:
        return "Your code keeps no attributes, and nothing"
    return f"Your code keeps {'; '.join(kept[:_MOST_ATTRIBUTES])}, which"


def _with_place(check: str, error: BaseException) -> str:
    place = "" if isinstance(error, KitError) else place_of(error)
    return f"{_detail(check, error)} ({place})" if place else _detail(check, error)


def _detail(check: str, error: BaseException) -> str:
    return f"{check}: {type(error).__name__}: {error}"[:_LONGEST_DETAIL]
