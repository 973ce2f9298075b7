"""Whose doing is it when a check raises something that no check should raise?

A check that is sound raises nothing but its finding. When it does all the same, it is run
again: with the reference's answers, and with those that the student's code gave. What the first
goes through and the second does not is the student's answer; everything else is our fault.
"""

from __future__ import annotations

from autograder.errors import KitError
from autograder.judging.value_words import type_words
from autograder.model.request import Failed, Reply, Request, Respondent
from autograder.model.verdict import Finding, Outcome

# No answer of a student's brings these about: the exercise, the machine, its memory or its disk.
OURS = (KitError, MemoryError, OSError)
_MOST_ATTRIBUTES = 4
_LONGEST_DETAIL = 300


class ReplyRecorder:
    """A `Respondent` that passes requests on and keeps the replies, in order."""

    def __init__(self, respondent: Respondent) -> None:
        self._respondent = respondent
        self.replies: list[Reply] = []

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        """Answer `request` as the other respondent does."""
        reply = self._respondent.ask(request, leaning_on)
        self.replies.append(reply)
        return reply


class PlaybackEnded(Exception):
    """A check asked for more than there was the first time."""


class Playback:
    """A `Respondent` that gives replies once more, whatever it is asked; no code is run."""

    def __init__(self, replies: list[Reply]) -> None:
        self._replies = iter(tuple(replies))

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        """Give the next reply; raise `PlaybackEnded` when there is none."""
        reply = next(self._replies, None)
        if reply is None:
            raise PlaybackEnded
        return reply


def of_the_student(check: str, reply: Reply | None, error: BaseException) -> Finding:
    """The finding on an answer that makes a check raise `error`; `reply` is the last one given."""
    return Finding(
        Outcome.WRONG_TYPE,
        f"{_given(reply)}, which cannot be compared with what is expected.",
        look="Read the annotation of this step once more: what should come back?",
        details=(_detail(check, error),),
    )


def of_ours(check: str, *errors: BaseException) -> Finding:
    """The finding on a check that raises by itself."""
    return Finding(
        Outcome.INFRASTRUCTURE,
        "This check could not be run, through no fault of yours. Your instructor is told.",
        details=tuple(_detail(check, error) for error in errors),
    )


def _given(reply: Reply | None) -> str:
    if reply is None or isinstance(reply, Failed):
        return "Your code ends in a way"
    if not reply.attributes:
        return f"Your code gives back {type_words(reply.value)}"
    kept = [
        f"`{name}`, {type_words(value)}" for name, value in reply.attributes.items() if name != "*"
    ]
    return f"Your code keeps {'; '.join(kept[:_MOST_ATTRIBUTES]) or 'no attributes'}"


def _detail(check: str, error: BaseException) -> str:
    return f"{check}: {type(error).__name__}: {error}"[:_LONGEST_DETAIL]
