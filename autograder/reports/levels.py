"""Says on every page how well the grader was protected, and loudly if it was not.

A mark given without protection looks like any other mark, so the reader must be
told right beside it.
"""

from __future__ import annotations

from collections.abc import Iterable

from autograder.model.verdict import NOT_RUN, Verdict


def level_words(verdicts: Iterable[Verdict]) -> str:
    """Return the levels, as in "Protection while grading: full.", or "" if nothing was run."""
    levels = sorted({verdict.protection for verdict in verdicts} - {NOT_RUN})
    return f"Protection while grading: {', '.join(levels)}." if levels else ""


def unprotected_words(verdicts: Iterable[Verdict]) -> str:
    """Return a warning to put above marks given without protection, or "" if there are none."""
    from autograder.model.protection import Protection

    if not any(verdict.protection == Protection.PROCESS for verdict in verdicts):
        return ""
    return (
        f"Graded without protection (level: {Protection.PROCESS}). Nothing reliable kept a "
        "submission away from the grader or the work of others; this was allowed explicitly."
    )
