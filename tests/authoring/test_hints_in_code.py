"""The third hint shows code for a similar job: it is there for every step, true, and no answer."""

from __future__ import annotations

import dataclasses

import pytest

from autograder.authoring.proof import similar_code_gaps
from autograder.judging.examples import read_examples
from autograder.judging.inprocess import InProcess
from autograder.learning.notebook_check import report_on
from autograder.values.exercise import Exercise, read_exercise
from support.learner_workspace import ROOT

EXERCISES = sorted(path.parent.name for path in (ROOT / "solutions").glob("*/exercise.toml"))
SOLUTIONS = ROOT / "solutions"


def with_similar(code: str) -> Exercise:
    """The NumPy exercise, with this code for its first step."""
    exercise = read_exercise(SOLUTIONS / "numpy_single_head")
    first, *others = exercise.steps
    return dataclasses.replace(exercise, steps=(dataclasses.replace(first, similar=code), *others))


@pytest.mark.parametrize("name", EXERCISES)
def test_every_step_has_similar_code_that_prints_what_it_says(name: str) -> None:
    exercise = read_exercise(SOLUTIONS / name)
    assert [step.name for step in exercise.steps if ">>> " not in step.similar] == []
    assert similar_code_gaps(exercise) == ()


@pytest.mark.parametrize(
    "code, gap",
    [
        (">>> 1 + 1\n3\n", "Expected: 3 Got: 2"),
        (">>> np.nothing\n", "AttributeError"),
        ("x = 1\n", "begin its lines with >>>"),
        (">>> 1\n1\n" * 9, "show less"),
    ],
)
def test_code_that_does_not_do_what_it_says_is_a_gap(code: str, gap: str) -> None:
    (said,) = similar_code_gaps(with_similar(code))
    assert gap in said and "softmax" in said


def test_a_card_shows_it_below_the_last_hint() -> None:
    exercise = read_exercise(ROOT / "assignments" / "numpy_single_head")
    step = exercise.steps[0]
    names = {"softmax": lambda scores: scores}
    examples = [each for each in read_examples(exercise.folder) if each.step == step.name]
    shown = report_on(step, examples, InProcess(names)).card.html()
    third = shown.index("Hint 3 of 3")
    assert third < shown.index("Similar code") < shown.index("&gt;&gt;&gt; heights = np.array(")
    assert shown.index("heights = np.array(") < shown.index("</pre>") < shown.index("</details>")
