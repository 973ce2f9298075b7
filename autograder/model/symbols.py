"""The sign and the words of every outcome, for tables and pages alike.

A sign is never alone: it stands beside words or above a key, so that nobody
has to tell outcomes apart by colour. No word here depends on the sandbox.
"""

from __future__ import annotations

from dataclasses import dataclass

from autograder.model.verdict import Outcome


@dataclass(frozen=True)
class Mark:
    """How an outcome is shown: `sign` in a cell, `words` beside it, `sentence` to the student."""

    sign: str
    words: str
    sentence: str


MARKS: dict[Outcome, Mark] = {
    Outcome.PASSED: Mark("✓", "right", "This step is right."),
    Outcome.WRONG_TYPE: Mark(
        "✗", "wrong type", "Your code returns a value of another type than asked for."
    ),
    Outcome.WRONG_SHAPE: Mark(
        "✗", "wrong shape", "Your code returns an array of another shape than asked for."
    ),
    Outcome.WRONG_VALUES: Mark(
        "✗", "wrong values", "Your code returns other values than asked for."
    ),
    Outcome.RAISED: Mark("!", "stopped with an error", "Your code stops with an error."),
    Outcome.NOT_WRITTEN: Mark("·", "not written yet", "This step is not written yet."),
    Outcome.TIMED_OUT: Mark("∞", "took too long", "Your code runs past the time limit."),
    Outcome.OUT_OF_MEMORY: Mark(
        "☠", "ran out of memory", "Your code asks for more memory than the limit."
    ),
    Outcome.CRASHED: Mark("☠", "ended Python", "Your code ends Python before it returns."),
    Outcome.OUTPUT_LIMIT: Mark(
        "☠", "printed too much", "Your code prints more text than the limit."
    ),
    Outcome.PROTOCOL: Mark(
        "☠", "answer not readable", "What your code gives back cannot be read as arrays."
    ),
    Outcome.REJECTED: Mark(
        "⊘", "not accepted", "What you handed in cannot be read, so no step was run."
    ),
    Outcome.INFRASTRUCTURE: Mark(
        "?",
        "not judged yet",
        "This step is not judged yet. The fault is on our side and costs you nothing.",
    ),
}

# What each sign stands for, in the order of a legend.
KEY: dict[str, str] = {
    "✓": "right",
    "✗": "wrong",
    "!": "error",
    "·": "not written",
    "∞": "too slow",
    "☠": "crashed, or out of memory or output",
    "⊘": "not accepted",
    "?": "not judged (our fault)",
}


def mark(outcome: Outcome) -> Mark:
    """Return the mark of `outcome`; every outcome has one."""
    return MARKS[outcome]


def tone(sign: str) -> str:
    """Return the colour family of a sign: "right", "wrong" or "other"."""
    return {"✓": "right", "✗": "wrong", "!": "wrong", "☠": "wrong"}.get(sign, "other")


def number(points: float) -> str:
    """Return `points` as people write them: 2 and not 2.0, 1.5, 0.33."""
    return f"{round(points, 2):g}"


def count(amount: int, noun: str) -> str:
    """Return "1 student", "2 students"."""
    return f"{amount} {noun}" if amount == 1 else f"{amount} {noun}s"
