"""What a student reads is true of every code that gives the same answer, not only of the known one.

A mistake is told by the numbers that it gives, and other code may give them too.
"""

from __future__ import annotations

from itertools import permutations

import pytest

from support.written_answers import WrittenAnswer, answers_in, hidden_findings

NUMPY, SINGLE, MULTI = "numpy_single_head", "torch_single_head", "torch_multi_head"
# What is said in the headings would not be true of the code.
SCORES = """
# {keys}: You transpose the keys with
def compute_attention_scores(queries, keys):
    return queries @ {keys}
"""
IN_NUMPY = """
# NaN chosen by where: multiply
def apply_mask(scores, mask):
    return np.where(mask == 1, scores * np.nan, -np.inf)

# half the spread: spread evenly
def initialize_weights(D, rng):
    return tuple(rng.normal(0, 0.01, (4, D, D)))

# a third of the spread: none is negative
def initialize_weights(D, rng):
    return tuple(rng.normal(0, 0.006, (4, D, D)))

# the same number everywhere: all 0
def initialize_weights(D, rng):
    return tuple(np.full((4, D, D), 0.02))
"""
IN_MULTI = """
# a view of a chunk: After a transpose
def split_heads(projected, heads):
    B, S, width = projected.shape
    return [part.view(B, heads, S, -1) for part in projected.chunk(3, dim=-1)]
"""
ORDERS = [
    (exercise, f"keys.{method}{order}")
    for exercise, method in ((NUMPY, "transpose"), (SINGLE, "permute"))
    for order in permutations(range(3))
]
TEXTS = [
    *((exercise, SCORES.format(keys=keys)) for exercise, keys in ORDERS),
    (NUMPY, SCORES.format(keys="np.swapaxes(keys, 0, 2)")),
    *((NUMPY, IN_NUMPY), (MULTI, IN_MULTI)),
]


@pytest.mark.parametrize(
    ("exercise", "answer"),
    [
        pytest.param(exercise, answer, id=f"{exercise} {name}")
        for exercise, text in TEXTS
        for name, answer in answers_in(text).items()
    ],
)
def test_a_finding_says_nothing_that_is_false_of_the_code(
    exercise: str, answer: WrittenAnswer
) -> None:
    found = hidden_findings(exercise, answer)
    if answer.name.endswith("(0, 2, 1)"):
        assert not found  # the right order of the axes
        return
    assert found and all(answer.says not in finding.message for finding in found)
