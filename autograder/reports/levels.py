"""How well the grader was protected, in words: on every page, and loudly where it was not.

A mark that was given without protection looks like any other, so whoever reads
one has to be told there and then.
"""

from __future__ import annotations

from collections.abc import Iterable

from autograder.model.verdict import NOT_RUN, Verdict


def level_words(verdicts: Iterable[Verdict]) -> str:
    """Return the levels that held, as in "Protection while grading: full."; "" when nothing ran."""
    levels = sorted({verdict.protection for verdict in verdicts} - {NOT_RUN})
    return f"Protection while grading: {', '.join(levels)}." if levels else ""


def unprotected_words(verdicts: Iterable[Verdict]) -> str:
    """Return what to put above marks that were given without protection; "" when none was."""
    from autograder.model.protection import Protection

    if not any(verdict.protection == Protection.PROCESS for verdict in verdicts):
        return ""
    return (
        f"Graded without protection (level: {Protection.PROCESS}). Nothing to rely on kept a "
        "submission from reaching the grader or the work of others; that was allowed by name."
    )
