"""A verdict counts once the journal holds it; one that cannot be kept is a fault of ours."""

from __future__ import annotations

from autograder.grading.journal import Journal
from autograder.grading.journal_writer import JournalFault, JournalWriter
from autograder.grading.unjudged import infrastructure
from autograder.model.exercise import Exercise
from autograder.model.verdict import Verdict
from autograder.submission.reading import Submission


def kept(
    journal: Journal | JournalWriter | None,
    key: str,
    verdict: Verdict,
    exercise: Exercise,
    submission: Submission,
) -> Verdict:
    """Keep the `verdict` on `submission` under `key`; return the one that counts.

    A verdict that is no judgement is not kept. One that the journal cannot take is returned as
    an infrastructure verdict, so that nothing counts that a later run would not find.
    """
    if journal is None or verdict.infrastructure or submission.rejected:
        return verdict
    try:
        journal.keep(key, verdict)
    except JournalFault as fault:
        return infrastructure(exercise, submission, str(fault))
    return verdict
