"""Equal mistakes without a name are told by what they return on inputs that the class shares."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autograder.checks.submission_judge import answer_digest
from autograder.grading.journal import is_sound
from autograder.values.exercise import read_exercise
from autograder.values.request import Failed, Returned
from autograder.values.verdict import Outcome, Verdict
from autograder.worker.wire import Opaque
from support.graded_texts import graded
from support.learner_workspace import ROOT
from support.nameless_mistakes import FLATTER, NOT_THE_ROOT, SHARPER, SHARPER_TOO, written
from support.reference_steps import reference_steps

SECRET = b"a secret of this test"
NUMPY, TORCH = "numpy_single_head", "torch_single_head"


def answers(verdict: Verdict) -> dict[str, str]:
    return {step.name: step.answer for step in verdict.steps if step.answer}


LATER = """
calls = 0
def compute_attention_weights(scores):
    global calls
    calls += 1
    if calls > 12:
        {then}
    weights = softmax(scores)
    return weights**1.3 / (weights**1.3).sum(axis=-1, keepdims=True) * 0.9
"""
LATER_ENDS = ("raise ValueError", "return np.zeros(3)", "import os; os._exit(0)")
STEP = "compute_attention_weights"
HANDED_IN: dict[str, dict[str, str]] = {
    "right": {},
    "known": {"scale_scores": NOT_THE_ROOT},
    "sharper": {STEP: SHARPER},
    "sharper too": {STEP: SHARPER_TOO},
    "flatter": {STEP: FLATTER},
    "sharper after another": {STEP: SHARPER, "scale_scores": NOT_THE_ROOT},
    **{then: {STEP: LATER.format(then=then)} for then in LATER_ENDS},
}


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    texts = [written(NUMPY, **changes) for changes in HANDED_IN.values()]
    return dict(zip(HANDED_IN, graded(NUMPY, *texts, secret=SECRET), strict=True))


def test_one_mistake_has_one_answer_however_it_is_written(verdicts: dict[str, Verdict]) -> None:
    first, second = verdicts["sharper"], verdicts["sharper too"]
    assert first.seed != second.seed
    assert answers(first).keys() == {STEP}
    assert answers(first) == answers(second)


def test_another_mistake_has_another_answer(verdicts: dict[str, Verdict]) -> None:
    first, second = answers(verdicts["sharper"]), answers(verdicts["flatter"])
    assert first.keys() == second.keys()
    assert first != second


def test_a_mistake_has_its_answer_after_another_mistake_too(verdicts: dict[str, Verdict]) -> None:
    after = verdicts["sharper after another"]
    assert answers(after)[STEP] == answers(verdicts["sharper"])[STEP]


def test_right_steps_and_known_mistakes_have_none(verdicts: dict[str, Verdict]) -> None:
    named = verdicts["known"]
    assert answers(verdicts["right"]) == {}
    assert [each.name for each in named.steps if each.finding and each.finding.misconception]
    assert "scale_scores" not in answers(named)


@pytest.mark.parametrize("then", LATER_ENDS)
def test_what_a_step_does_when_it_has_been_called_often_changes_no_points(
    then: str, verdicts: dict[str, Verdict]
) -> None:
    first, second = verdicts["sharper"], verdicts[then]
    assert [step.points for step in first.steps] == [step.points for step in second.steps]
    assert second.remarks == first.remarks


@pytest.mark.slow  # PyTorch is imported
def test_a_layer_of_pytorch_has_one_too() -> None:
    steps = reference_steps(TORCH)
    (layer,) = (name for name, text in steps.items() if text.startswith("class "))
    changed = steps[layer].replace("    return ", "    return 0.9 * ")
    assert changed != steps[layer]
    spread = steps[layer].replace("    return ", "    return 9 / 10 * ")
    texts = (written(TORCH, **{layer: code}) for code in (changed, spread))
    first, second = graded(TORCH, *texts, secret=SECRET)
    assert answers(first).keys() == {layer}
    assert answers(first) == answers(second)


def test_the_answer_is_kept_with_the_verdict_and_one_that_the_kit_never_gives_is_not(
    verdicts: dict[str, Verdict],
) -> None:
    verdict = verdicts["sharper"]
    exercise = read_exercise(ROOT / "solutions" / NUMPY)
    read = Verdict.from_json(verdict.to_json())
    assert answers(read) == answers(verdict)
    assert is_sound(read, exercise)
    for forged in ("<b>", "EDF71DC3", "1" * 9):
        steps = tuple(replace(each, answer=each.answer and forged) for each in read.steps)
        assert not is_sound(replace(read, steps=steps), exercise)
    steps = tuple(replace(each, answer="12345678") for each in read.steps)  # of right ones too
    assert not is_sound(replace(read, steps=steps), exercise)


# --- the digest of an answer tells wrong answers apart, and not the ways to round them ------------

ANSWER = np.random.default_rng(5).standard_normal((2, 5, 8))


def digest(value: object) -> str:
    return answer_digest([Returned(value)])


def test_rounding_and_the_type_of_numbers_do_not_count() -> None:
    draws = [np.random.default_rng(seed).standard_normal((2, 5, 5)) for seed in range(200)]
    differ = [digest(draw) != digest(draw.astype(np.float32)) for draw in draws]
    assert sum(differ) <= 1, "seeds 0 to 199"


@pytest.mark.parametrize(
    "other",
    [
        ANSWER * 1.05,
        -ANSWER,
        ANSWER.swapaxes(0, 1),
        ANSWER.ravel(),
        np.where(ANSWER > 2, np.nan, ANSWER),
        np.where(ANSWER > 2, np.inf, ANSWER),
        np.flip(ANSWER, axis=1),
        np.zeros_like(ANSWER),
        (ANSWER, ANSWER),
        Opaque("list"),
        None,
        1.0,
    ],
    ids=lambda value: type(value).__name__,
)
def test_another_answer_has_another_digest(other: object) -> None:
    assert digest(other) != digest(ANSWER)


@pytest.mark.parametrize(
    "odd",
    [
        np.zeros(0),
        np.array(np.nan),
        np.full((2, 2), 1e308),
        np.full(3, 5e-324),
        np.array([1 + 2j]),
        np.array([True, False]),
        np.array([2**63], dtype=np.uint64),
        (),
        "text",
    ],
    ids=str,
)
@pytest.mark.filterwarnings("error")
def test_whatever_comes_back_has_a_digest(odd: object) -> None:
    assert len(digest(odd)) == 8


def test_failing_in_two_ways_is_two_answers() -> None:
    late, broken = Failed(Outcome.TIMED_OUT), Failed(Outcome.RAISED)
    assert answer_digest([late]) != answer_digest([broken])
    assert answer_digest([late]) != answer_digest([late, late])
