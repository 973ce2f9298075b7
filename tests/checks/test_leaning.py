"""After a wrong step: which steps are judged again, where, and what that costs their owner."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.grading.batch import grade_batch
from autograder.model.exercise import read_exercise
from autograder.model.verdict import Outcome
from autograder.sandbox import Zygote
from autograder.sandbox.zygote import Worker
from autograder.submission.reading import Submission

FOLDER = Path(__file__).resolve().parents[2] / "solutions" / "numpy_single_head"
EXERCISE = read_exercise(FOLDER)
PASSED, WRONG = Outcome.PASSED, Outcome.WRONG_VALUES

WRONG_SOFTMAX = "\ndef softmax(scores): return scores / scores.sum(axis=-1, keepdims=True)\n"
NOT_SCALED = "\ndef scale_scores(attention_scores, key_dim): return attention_scores\n"
OUT_OF_A_TABLE = """
TABLE = {}
if True:
    TABLE["softmax"] = lambda scores: softmax(scores)

def compute_attention_weights(scores):
    return TABLE["softmax"](scores)
"""
SPOILS = """
SEEN = []

def softmax(scores):
    SEEN.append(scores)
    return scores

right_forward = SingleHeadAttention.forward

def forward(self, *arguments, **named):
    if SEEN:
        raise ValueError("softmax was here")
    return right_forward(self, *arguments, **named)

SingleHeadAttention.forward = forward
"""


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seeds of all workers that are forked, the last one's last."""
    seeds, fork = [], Zygote.fork

    def counted(zygote: Zygote, seed: int) -> Worker:
        seeds.append(seed)
        return fork(zygote, seed)

    monkeypatch.setattr(Zygote, "fork", counted)
    return seeds


def outcomes(added: str) -> dict[str, tuple[Outcome, bool]]:
    """Return how the steps of a right hand-in with something `added` end, and whether they lean."""
    text = (FOLDER / "solution.py").read_text(encoding="utf-8") + added
    (verdict,) = grade_batch(FOLDER, [Submission("s", EXERCISE.name, (text,), Path("s.py"))])
    return {step.name: (step.outcome, step.leaning) for step in verdict.steps}


def test_a_step_that_calls_a_wrong_one_keeps_its_points(forks: list[int]) -> None:
    found = outcomes(WRONG_SOFTMAX)
    assert found.pop("softmax") == (WRONG, False)
    leaning = ("compute_attention_weights", "SingleHeadAttention")
    assert {name: found.pop(name) for name in leaning} == dict.fromkeys(leaning, (PASSED, True))
    assert set(found.values()) == {(PASSED, False)}
    assert forks.count(forks[-1]) == 2  # one is asked alone and then of the layer, one leans


def test_a_way_to_call_that_is_not_seen_in_the_text_costs_no_points() -> None:
    found = outcomes(WRONG_SOFTMAX + OUT_OF_A_TABLE)
    assert found["compute_attention_weights"] == (PASSED, True)


def test_a_second_wrong_step_that_calls_no_other_is_judged_once(forks: list[int]) -> None:
    found = outcomes(WRONG_SOFTMAX + NOT_SCALED)
    assert found["softmax"] == found["scale_scores"] == (WRONG, False)
    assert found["SingleHeadAttention"] == (PASSED, True)
    assert forks.count(forks[-1]) == 2  # as many as after one


def test_what_a_wrong_step_has_left_behind_costs_no_right_layer_its_points() -> None:
    found = outcomes(SPOILS)
    assert found.pop("softmax")[0] is WRONG
    assert found["SingleHeadAttention"] == (PASSED, True)
    assert {outcome for outcome, _ in found.values()} == {PASSED}
