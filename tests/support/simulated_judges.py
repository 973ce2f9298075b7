"""Judges who judge nobody: each hand-in gets the verdict on another one, as if it were its own.

They stand where a cluster stands, so everything else of a run is the real thing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from autograder.grading.classroom import ClassJudging
from autograder.grading.grader_pool import PlacedResult
from autograder.grading.journal import exercise_hash
from autograder.grading.watched_process import Bounds
from autograder.submission.reading import Submission
from autograder.values.exercise import read_exercise
from autograder.values.verdict import Verdict


class SimulatedJudges:
    """Gives `verdicts` in turn; each is read from text, so no two share an object."""

    processes = 1

    def __init__(self, verdicts: Sequence[Verdict]) -> None:
        self._texts = [verdict.to_json() for verdict in verdicts]

    def results(
        self, work: ClassJudging, items: Sequence[Submission], bounds: Bounds, batch: int = 1
    ) -> Iterator[PlacedResult]:
        """Give a verdict on each item, and keep it in the journal; see `Pool.results`."""
        exercise, digest = read_exercise(work.folder), exercise_hash(work.folder)
        for place, item in enumerate(items):
            verdict = replace(
                Verdict.from_json(self._texts[place % len(self._texts)]),
                student=item.student,
                code_hash=item.code_hash,
                exercise_hash=digest,
            )
            yield place, work.run.kept(verdict, exercise, item)
