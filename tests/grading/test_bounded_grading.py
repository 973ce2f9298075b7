"""What one hand-in makes the grader itself do is bounded: reading, judging, writing.

No hand-in is known that makes the graders slow, so an exercise is made whose own check is: it
spins, or eats memory, over one result. That stands for every fault of the kind in trusted code.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from autograder.grading.class_task import HandIn
from autograder.grading.classroom import grade_class, read_class
from autograder.grading.grader_pool import GraderPool
from autograder.grading.journal import JOURNAL, GradingRun, Journal
from autograder.grading.watched_process import Bounds
from autograder.submission.reading import Submission
from autograder.values.exercise import Exercise, read_exercise
from autograder.values.verdict import Outcome, Verdict
from support.broken.case import EXERCISE, NAME, Work
from support.copied_exercise import copy_exercise

pytestmark = pytest.mark.slow  # hand-ins that use up every limit, one after the other

BOUNDS = Bounds(seconds=2.0, wall_seconds=120.0, megabytes=512)
FAULTY = '''

@pytest.mark.step("scale_scores")
def test_that_is_slow_over_one_result(student, draw):
    """a fault of the grader's own"""
    answer = student(draw("B S S"), 4)
    value = getattr(answer.reply, "value", None)
    while isinstance(value, np.ndarray) and value.shape == (1, 2, 3):
        pass
    if isinstance(value, np.ndarray) and value.shape == (3, 2, 1):
        bytearray(1 << 40)
'''
SPINS = "def scale_scores(scores, embedding_dim):\n    return np.zeros((1, 2, 3))\n"
EATS = "def scale_scores(scores, embedding_dim):\n    return np.zeros((3, 2, 1))\n"
HONEST = ("honest_one", "honest_two", "honest_three")


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Exercise:
    folder = copy_exercise(NAME, tmp_path_factory.mktemp("solutions"))
    with (folder / "graders.py").open("a", encoding="utf-8") as file:
        file.write(FAULTY)
    return read_exercise(folder)


def handed_in(folder: Path, **extra: str) -> list[HandIn]:
    """Right work by everybody, with something of their own behind it."""
    folder.mkdir(exist_ok=True)
    texts = {**{name: f"# {name}" for name in HONEST}, **extra}
    work = Work(folder)
    return [
        HandIn(name, (work.write(f"{work.script}\n\n# %%\n{text}", f"{name}.py"),))
        for name, text in sorted(texts.items())
    ]


@pytest.fixture(scope="module")
def verdicts(faulty: Exercise, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdict]:
    folder = tmp_path_factory.mktemp("class")
    journal = Journal(folder / JOURNAL)
    journal.prepare()
    with GraderPool(2) as pool:
        read = read_class(pool, faulty, handed_in(folder / "in", spins=SPINS, eats=EATS))
        run = GradingRun(journal.path)
        verdicts = grade_class(faulty, read, run=run, pool=pool, bounds=BOUNDS)
        again = grade_class(faulty, read, run=run, pool=pool, bounds=BOUNDS)
    assert [marks(verdict) for verdict in again] == [marks(verdict) for verdict in verdicts]
    return {verdict.student: verdict for verdict in verdicts}


def marks(verdict: Verdict) -> Verdict:
    return replace(verdict, seconds=0.0)


@pytest.mark.parametrize("student", HONEST)
def test_the_rest_of_the_class_is_graded(student: str, verdicts: dict[str, Verdict]) -> None:
    assert verdicts[student].points == verdicts[student].max_points


@pytest.mark.parametrize(
    ("student", "outcome", "said"),
    [
        ("spins", Outcome.TIMED_OUT, "2 seconds of processor time"),
        ("eats", Outcome.OUT_OF_MEMORY, "512 megabytes of memory"),
    ],
)
def test_who_makes_the_grader_exceed_its_bound_is_told_so_and_keeps_what_was_judged(
    student: str, outcome: Outcome, said: str, verdicts: dict[str, Verdict]
) -> None:
    verdict = verdicts[student]
    names = [step.name for step in EXERCISE.steps]
    before = names.index("scale_scores")
    assert [step.name for step in verdict.steps] == names
    assert all(step.points == step.max_points for step in verdict.steps[:before])
    assert {step.outcome for step in verdict.steps[before:]} == {outcome}
    finding = verdict.steps[before].finding
    assert finding is not None and said in finding.message
    assert not verdict.infrastructure
    assert Verdict.from_json(verdict.to_json()) == verdict


def test_a_hand_in_that_takes_too_long_to_read_is_told_so_and_the_class_is_read(
    tmp_path: Path,
) -> None:
    hand_ins = handed_in(tmp_path / "in")
    many = '"a",' * 3_000_000
    long = Work(tmp_path / "in").write(f'{{"cells": [{{"outputs": [{many}""]}}]}}', "long.ipynb")
    hurried = Bounds(seconds=0.2, wall_seconds=120.0)
    with GraderPool(1) as pool:
        read = read_class(pool, EXERCISE, [*hand_ins, HandIn("long", (long,))], bounds=hurried)
    found: dict[str, Submission] = {each.student: each for each in read}
    assert all(found[name].rejected is None for name in HONEST)
    rejected = found["long"].rejected
    assert rejected and "0.2 seconds of processor time" in rejected.fact
