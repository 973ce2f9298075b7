"""After a wrong step: which steps are judged again, where, and what that costs their owner."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from autograder.grading.batch import grade_batch
from autograder.model.exercise import read_exercise
from autograder.model.verdict import Outcome
from autograder.submission.reading import Submission
from support.counted_forks import counted_forks

FOLDER = Path(__file__).resolve().parents[2] / "solutions" / "numpy_single_head"
EXERCISE = read_exercise(FOLDER)
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

def scale_scores(attention_scores, head_dim): return attention_scores

class MultiHeadAttention(nn.Module):
    def __init__(self, size, num_heads, bias=True):
        super().__init__()
        assert size % num_heads == 0
        self.num_heads = num_heads
        self.Wqkv, self.Wo = nn.Linear(size, 3 * size, bias), nn.Linear(size, size, bias)

def forward(self, x):
    queries, keys, values = split_heads(self.Wqkv(x), self.num_heads)
    scores = scale_scores(compute_attention_scores(queries, keys), queries.shape[-1])
    output = apply_attention(compute_attention_weights(scores), values)
    return project_output(merge_heads(output), self.Wo)

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


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    return counted_forks(monkeypatch)


def judged(text: str, folder: Path = FOLDER) -> dict[str, tuple[Outcome, bool]]:
    """Return how the steps of a hand-in end, and whether they lean."""
    (verdict,) = grade_batch(folder, [Submission("s", folder.name, (text,), Path("s.py"))])
    return {step.name: (step.outcome, step.leaning) for step in verdict.steps}


def solution(folder: Path = FOLDER, *, without: tuple[str, ...] = ()) -> str:
    """Return a right hand-in, without some definitions."""
    tree = ast.parse((folder / "solution.py").read_text(encoding="utf-8"))
    tree.body = [node for node in tree.body if getattr(node, "name", "") not in without]
    return ast.unparse(tree)


def outcomes(added: str, *, without: tuple[str, ...] = ()) -> dict[str, tuple[Outcome, bool]]:
    """Return how the steps of a right hand-in with something `added` end, and whether they lean."""
    return judged(solution(without=without) + added)


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


@pytest.mark.parametrize(
    "put",
    [
        "MHA = MultiHeadAttention\nMHA.forward = forward",
        "for layer in (MultiHeadAttention,): layer.forward = forward",
        "def attach(cls):\n    cls.forward = forward\nattach(MultiHeadAttention)",
    ],
)
def test_a_layer_that_gets_its_method_later_keeps_its_points(put: str) -> None:
    folder = FOLDER.with_name("torch_multi_head")
    right = solution(folder, without=("MultiHeadAttention", "scale_scores"))
    method, causal = right.split("class CausalMultiHeadAttention")
    found = judged(f"{method}{LATE_METHOD}{put}\n\nclass CausalMultiHeadAttention{causal}", folder)
    assert found.pop("scale_scores") == (WRONG, False)
    assert found["MultiHeadAttention"] == (PASSED, True)
    assert {outcome for outcome, _ in found.values()} == {PASSED}
