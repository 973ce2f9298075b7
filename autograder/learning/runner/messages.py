"""Sentences about files and steps that end Python, or print without end."""

from __future__ import annotations

from autograder.judging.stopped_code import NOWHERE, CodePlace, at
from autograder.model.symbols import EXIT, PRINT
from autograder.model.verdict import Finding, Outcome


def ended_python(step: str, how: str) -> Finding:
    """Return the finding on a step that ended the process; `how` is what the system says."""
    fact = f"`{step}` ended Python instead of returning a result."
    look = f"{EXIT} Calling a library with sizes that do not fit can do it too."
    return Finding(Outcome.CRASHED, fact, look=look, details=(how,) if how else ())


def printed_too_much(step: str, kilobytes: int, place: CodePlace = NOWHERE) -> Finding:
    """Return the finding on a step that prints without end."""
    fact = f"`{step}` printed more than {kilobytes} kB{at(place, step)}, and was stopped."
    return Finding(Outcome.OUTPUT_LIMIT, fact, look=PRINT)


def calls_blocked(name: str) -> Finding:
    """Return the finding on a step that calls another step that does not return."""
    fact = f"It calls `{name}`, which does not return yet."
    return Finding(Outcome.WAITS, fact, look=f"Correct `{name}` first, then check this again.")


def not_reached(seconds: float) -> Finding:
    """Return the finding on a step for which there was no time left."""
    fact = f"It was not checked: all steps together ran for more than {seconds:g} s."
    return Finding(Outcome.TIMED_OUT, fact, look="Look at the steps before it first.")


def top_still_running(seconds: float, place: CodePlace = NOWHERE) -> Finding:
    """Return the finding on a file whose top level does not end."""
    fact = f"The top of your file was still running after {seconds:g} s{at(place)}."
    look = "The code outside your functions runs at every check. Does it have to be there?"
    return Finding(Outcome.TIMED_OUT, fact, look=look)


def top_ended_python(place: CodePlace = NOWHERE, how: str = "") -> Finding:
    """Return the finding on a file that ends the process while it is loaded."""
    fact = f"The top of your file ends Python{at(place)}, before any step can be checked."
    return Finding(Outcome.CRASHED, fact, look=EXIT, details=(how,) if how else ())


def top_printed_too_much(kilobytes: int, place: CodePlace = NOWHERE) -> Finding:
    """Return the finding on a file that prints without end while it is loaded."""
    fact = f"The top of your file printed more than {kilobytes} kB{at(place)}, and was stopped."
    return Finding(Outcome.OUTPUT_LIMIT, fact, look=PRINT)
