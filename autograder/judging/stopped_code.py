"""Sentences about code that was stopped because it does not return.

A place is the innermost line of the learner's own code: its number (0 if unknown), its text, and
its function ("" at the top of the file).
"""

from __future__ import annotations

from autograder.model.symbols import LOOP
from autograder.model.verdict import Finding, Outcome

CodePlace = tuple[int, str, str]
NOWHERE: CodePlace = (0, "", "")


def still_running(step: str, seconds: float, place: CodePlace = NOWHERE) -> Finding:
    """Return the finding on a step that was stopped at the time limit."""
    fact = f"`{step}` was still running after {seconds:g} s{at(place, step)}, and was stopped."
    return Finding(Outcome.TIMED_OUT, fact, look=LOOP)


def at(place: CodePlace, step: str = "") -> str:
    """Return where code was stopped, in words; nothing when that is unknown."""
    number, text, function = place
    if not number:
        return ""
    inside = f" of `{function}`" if function and function != step else ""
    return f" at line {number}{inside}" + (f", `{text}`" if text else "")
