"""What becomes of a hand-in whose judging did not finish, by what its grader process is known for.

The pool is simulated, so that a hand-in is lost without a wait. That the real pool loses them as it
should is in test_bounded_grading and test_grader_pool.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from autograder.grading.class_task import HandIn
from autograder.grading.classroom import ClassJudging, grade_class, read_class
from autograder.grading.grader_pool import Cause, Loss, PlacedResult
from autograder.grading.journal import JOURNAL, GradingRun, Journal, JudgedStep
from autograder.grading.watched_process import Bounds
from autograder.submission.reading import Submission
from autograder.values.symbols import why_not_graded
from autograder.values.verdict import Outcome, Verdict
from support.verdicts import EXERCISE, found_in, verdict

ADA = Submission("ada", EXERCISE.name, ("x = 1",), Path("ada.py"))
BEN = Submission("ben", EXERCISE.name, ADA.cells, Path("ben.py"))
FIRST = verdict("ada").steps[0]


@dataclass
class LosingPool:
    """Judges nothing: every hand-in is lost in this way, or in turn in these ways."""

    losses: tuple[Loss, ...]
    asked: list[tuple[str, bool]] = field(default_factory=list)
    processes: int = 1

    def results(
        self, work: object, items: Sequence[Submission], bounds: Bounds, batch: int = 1
    ) -> Iterator[PlacedResult]:
        """Note who is asked, and whether together; see `Pool.results`."""
        for place, item in enumerate(items):
            loss = self.losses[min(len(self.asked), len(self.losses) - 1)]
            self.asked.append((item.student, isinstance(work, ClassJudging) and work.run.together))
            yield place, loss


def loss(cause: Cause, *parts: JudgedStep) -> Loss:
    return Loss(cause, "what is known", parts)


@pytest.fixture
def run(tmp_path: Path) -> GradingRun:
    journal = Journal(tmp_path / JOURNAL)
    assert journal.prepare() is None
    return GradingRun(journal.path)


def kept(run: GradingRun, found: Verdict) -> Verdict | None:
    assert run.journal is not None
    return found_in(
        Journal(run.journal), run.key(ADA, found.exercise_hash), found.student, EXERCISE
    )


@pytest.mark.parametrize(
    ("cause", "outcome"),
    [
        (Cause.TIME, Outcome.TIMED_OUT),
        (Cause.MEMORY, Outcome.OUT_OF_MEMORY),
        (Cause.CRASH, Outcome.CRASHED),
    ],
)
def test_what_was_judged_before_the_stop_counts_and_is_kept_for_all_with_this_code(
    run: GradingRun, cause: Cause, outcome: Outcome
) -> None:
    pool = LosingPool((loss(cause, JudgedStep(FIRST, "full")),))
    ada, ben = grade_class(EXERCISE, [ADA, BEN], run=run, pool=pool)
    assert pool.asked == [("ada", True)]
    assert (ada.student, ben.student) == ("ada", "ben") and ada.steps == ben.steps
    assert ada.steps[0] == FIRST and ada.protection == "full"
    assert {step.outcome for step in ada.steps[1:]} == {outcome}
    assert not ada.infrastructure and kept(run, ada) == ada


def test_where_no_step_was_judged_a_hand_in_is_judged_again_one_step_after_the_other(
    run: GradingRun,
) -> None:
    pool = LosingPool((loss(Cause.TIME), loss(Cause.TIME, JudgedStep(FIRST, "full"))))
    ada, ben = grade_class(EXERCISE, [ADA, BEN], run=run, pool=pool)
    assert pool.asked == [("ada", True), ("ada", False)]
    assert ada.steps[0] == ben.steps[0] == FIRST


def test_a_hand_in_that_is_lost_again_has_its_verdict(run: GradingRun) -> None:
    pool = LosingPool((loss(Cause.MEMORY),))
    (ada,) = grade_class(EXERCISE, [ADA], run=run, pool=pool)
    assert len(pool.asked) == 2
    assert {step.outcome for step in ada.steps} == {Outcome.OUT_OF_MEMORY} and ada.points == 0


@pytest.mark.parametrize("cause", [cause for cause in Cause if cause.ours])
@pytest.mark.parametrize("judged", [(), (JudgedStep(FIRST, "full"),)], ids=["nothing", "a step"])
def test_a_grader_that_was_ended_from_outside_or_kept_waiting_is_no_verdict_on_anybody(
    run: GradingRun, judged: tuple[JudgedStep, ...], cause: Cause
) -> None:
    pool = LosingPool((loss(cause, *judged),))
    (ada,) = grade_class(EXERCISE, [ADA], run=run, pool=pool)
    assert len(pool.asked) == 1
    assert ada.infrastructure and kept(run, ada) is None
    assert ada.steps[0].finding and "what is known" in ada.steps[0].finding.details[0]


@pytest.mark.parametrize("cause", Cause)
def test_only_what_a_hand_in_does_to_its_reading_rejects_it(run: GradingRun, cause: Cause) -> None:
    pool = LosingPool((loss(cause),))
    (ada,) = read_class(pool, EXERCISE, [HandIn("ada", (ADA.path,))])
    assert ada.rejected and ada.cells == ()
    ours = ada.rejected.outcome is Outcome.INFRASTRUCTURE
    assert ours == cause.ours and ours == ("hand it in again" not in ada.rejected.fact)
    if ours:
        (found,) = grade_class(EXERCISE, [ada], run=run, processes=1)
        assert found.infrastructure and "what is known" in why_not_graded(found)
        assert kept(run, found) is None
