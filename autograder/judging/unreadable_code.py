"""Code that Python cannot read: where, why, and what to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autograder.judging.explanation import cause
from autograder.model.verdict import Finding, Outcome

if TYPE_CHECKING:  # it needs NumPy, which may be what does not work
    from autograder.model.request import ExceptionReport


def not_python(error: ExceptionReport) -> Finding:
    """Return the finding on a file or a cell that Python cannot read."""
    quoted = f" `{error.code}`" if error.code else ""
    kind = f"{error.type_name}, line {error.line}:{quoted} ({error.message})"
    fact = f"Python cannot read this yet: {kind}."
    look = cause(error) or "Is a bracket, a quote or a colon missing there, or on the line before?"
    return Finding(Outcome.RAISED, fact, look=look)
