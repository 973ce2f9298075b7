"""After a wrong step: which steps are judged again, where, and what that costs their owner."""

from __future__ import annotations

import ast

import pytest

from autograder.values.verdict import Outcome
from checks.counted_forks import counted_forks
from support.graded_texts import graded, solution
from support.learner_workspace import NAME

PASSED, WRONG = Outcome.PASSED, Outcome.WRONG_VALUES

WRONG_SOFTMAX = "\ndef softmax(scores): return scores / scores.sum(axis=-1, keepdims=True)\n"
CALLS_UNSEEN = """
from functools import singledispatch

@singledispatch
def normalized(scores): return scores

@normalized.register
def _(scores: np.ndarray): return softmax(scores)

def compute_attention_weights(scores): return normalized(scores)
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


RAISES_FROM_NOW_ON = """
def softmax(scores):
    np.seterr(all="raise")
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=0, keepdims=True)
"""
CALLS_NOBODY = """
def compute_attention_weights(scores):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)
"""
LATE_METHOD = """

def scale_scores(attention_scores, width): return attention_scores

class SingleHeadAttention:
    def __init__(self, size, rng):
        drawn = initialize_weights(size, rng)
        self.query_weights, self.key_weights, self.value_weights, self.output_weights = drawn

def forward(self, x, causal=False):
    matrices = self.query_weights, self.key_weights, self.value_weights
    queries, keys, values = project_qkv(x, *matrices)
    scores = scale_scores(compute_attention_scores(queries, keys), x.shape[-1])
    if causal:
        scores = apply_mask(scores, create_causal_mask(x.shape[1]))
    gathered = apply_attention(compute_attention_weights(scores), values)
    return project_output(gathered, self.output_weights)

"""
NEEDS_ITS_OWN_STEP = """
LAST = {}
right_attention, right_forward = apply_attention, SingleHeadAttention.forward

def apply_attention(attention_weights, values):
    LAST["weights"] = attention_weights
    return right_attention(attention_weights, values)

def forward(self, *arguments, **named):
    np.exp(np.array([-1000.0]))
    result = right_forward(self, *arguments, **named)
    self.attention_weights = LAST["weights"]
    return result

SingleHeadAttention.forward = forward
"""


LATER = (
    "Head = SingleHeadAttention\nHead.forward = forward",
    "for layer in (SingleHeadAttention,): layer.forward = forward",
    "def attach(cls):\n    cls.forward = forward\nattach(SingleHeadAttention)",
)


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    return counted_forks(monkeypatch)


def outcomes(added: str, *, without: tuple[str, ...] = ()) -> dict[str, tuple[Outcome, bool]]:
    """Return how the steps of a right hand-in end, and whether they lean.

    Something is `added` to it, and some definitions are left out.
    """
    tree = ast.parse(solution(NAME))
    tree.body = [node for node in tree.body if getattr(node, "name", "") not in without]
    (verdict,) = graded(NAME, ast.unparse(tree) + added)
    return {step.name: (step.outcome, step.leaning) for step in verdict.steps}


def test_a_step_that_calls_a_wrong_one_keeps_its_points(forks: list[int]) -> None:
    found = outcomes(WRONG_SOFTMAX)
    assert found.pop("softmax") == (WRONG, False)
    leaning = ("compute_attention_weights", "SingleHeadAttention")
    assert {name: found.pop(name) for name in leaning} == dict.fromkeys(leaning, (PASSED, True))
    assert set(found.values()) == {(PASSED, False)}
    assert forks.count(forks[-1]) == 2  # one is asked alone and then of the layer, one leans


def test_a_way_to_call_that_is_not_seen_in_the_text_costs_no_points() -> None:
    found = outcomes(WRONG_SOFTMAX + CALLS_UNSEEN, without=("compute_attention_weights",))
    assert found["compute_attention_weights"] == (PASSED, True)


def test_what_a_wrong_step_has_left_behind_costs_no_right_layer_its_points() -> None:
    found = outcomes(SPOILS)
    assert found.pop("softmax")[0] is WRONG
    assert found["SingleHeadAttention"] == (PASSED, True)
    assert {outcome for outcome, _ in found.values()} == {PASSED}


def test_a_right_step_that_calls_nobody_is_not_spoiled_by_a_wrong_one() -> None:
    both = ("softmax", "compute_attention_weights")
    found = outcomes(RAISES_FROM_NOW_ON + CALLS_NOBODY, without=both)
    assert found.pop("softmax")[0] is not PASSED
    assert {outcome for outcome, _ in found.values()} == {PASSED}


def test_a_layer_that_needs_its_own_right_steps_is_asked_with_them_in_a_fresh_process() -> None:
    found = outcomes(RAISES_FROM_NOW_ON + NEEDS_ITS_OWN_STEP)
    assert found.pop("softmax")[0] is not PASSED
    assert {outcome for outcome, _ in found.values()} == {PASSED}


@pytest.mark.parametrize("put", LATER)
def test_a_layer_that_gets_its_method_later_keeps_its_points(put: str) -> None:
    found = outcomes(LATE_METHOD + put, without=("SingleHeadAttention", "scale_scores"))
    assert found.pop("scale_scores") == (WRONG, False)
    assert found["SingleHeadAttention"] == (PASSED, True)
    assert {outcome for outcome, _ in found.values()} == {PASSED}
