"""Finding similar code in a class: in grader processes, at no cost to anybody when it fails."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from autograder.cli.report import find_similar_code
from autograder.grading.grader_pool import GraderPool
from autograder.submission.reading import Submission
from autograder.values.exercise import read_exercise
from support.honest_class import copied, honest_class

EXERCISE = read_exercise(Path(__file__).resolve().parents[2] / "solutions" / "numpy_single_head")
SEED = 3


def submission(name: str, text: str) -> Submission:
    return Submission(name, EXERCISE.name, (text,), Path(f"{name}.py"))


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return honest_class(EXERCISE, 30, SEED)


def test_a_pair_is_found_beside_what_cannot_be_compared(texts: list[str]) -> None:
    copy = copied(texts[17], random.Random(SEED), ["renamed variables", "other comments"])
    hostile = ("def softmax(x):\n    return " + "-" * 90_000 + "x", "(" * 5_000, "x" * 1_000_000)
    class_ = [submission(f"student{n}", text) for n, text in enumerate(texts)]
    class_ += [submission(f"hostile{n}", text) for n, text in enumerate(hostile)]
    class_ += [submission("copy", copy), submission("equal", texts[4])]
    with GraderPool(1) as pool:
        found = find_similar_code(pool, EXERCISE, class_)
    (pair,) = found.pairs
    assert set(pair.students) == {"student17", "copy"} and found.found == 1
    for step, one, other in pair.examples:
        assert f"def {step}(" in one and f"def {step}(" in other


def test_who_has_written_nothing_yet_is_like_nobody(texts: list[str]) -> None:
    stub = (
        EXERCISE.folder.parents[1] / "assignments" / EXERCISE.name / f"{EXERCISE.name}.py"
    ).read_text()
    class_ = [submission(f"student{n}", text) for n, text in enumerate(texts)]
    class_ += [submission(f"blank{n}", f"{stub}\n# {n}\n") for n in range(3)]
    with GraderPool(1) as pool:
        assert find_similar_code(pool, EXERCISE, class_).pairs == ()
