"""What a student reads is true of every code that gives the same answer, not only of the known one.

A mistake is told by the numbers that it gives, and other code may give them too.
"""

from __future__ import annotations

from functools import cache
from itertools import permutations
from pathlib import Path

import pytest

from autograder.authoring.harness import Harness, read_harness
from autograder.values.verdict import Finding

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"
SCORES = "def compute_attention_scores(queries, keys):\n    return queries @ {keys}"
# The exercise, the step, its code, and words that would not be true of it.
ORDERS = [
    (exercise, f"keys.{method}{order}")
    for exercise, method in (("numpy_single_head", "transpose"), ("torch_single_head", "permute"))
    for order in permutations(range(3))
]
CASES = {
    **{
        f"{exercise} {keys}": (
            exercise,
            "compute_attention_scores",
            SCORES.format(keys=keys),
            "You transpose the keys with",
        )
        for exercise, keys in ORDERS
    },
    "the outer axes swapped": (
        "numpy_single_head",
        "compute_attention_scores",
        SCORES.format(keys="np.swapaxes(keys, 0, 2)"),
        "You transpose the keys with",
    ),
    "NaN chosen by where": (
        "numpy_single_head",
        "apply_mask",
        "def apply_mask(scores, mask):\n    return np.where(mask == 1, scores * np.nan, -np.inf)",
        "multiply",
    ),
    "half the spread": (
        "numpy_single_head",
        "initialize_weights",
        "def initialize_weights(D, rng):\n    return tuple(rng.normal(0, 0.01, (4, D, D)))",
        "spread evenly",
    ),
    "a third of the spread": (
        "numpy_single_head",
        "initialize_weights",
        "def initialize_weights(D, rng):\n    return tuple(rng.normal(0, 0.006, (4, D, D)))",
        "none is negative",
    ),
    "the same number everywhere": (
        "numpy_single_head",
        "initialize_weights",
        "def initialize_weights(D, rng):\n    return tuple(np.full((4, D, D), 0.02))",
        "all 0",
    ),
    "a view of a chunk": (
        "torch_multi_head",
        "split_heads",
        "def split_heads(projected, heads):\n    B, S, width = projected.shape\n"
        "    return [part.view(B, heads, S, -1) for part in projected.chunk(3, dim=-1)]",
        "After a transpose",
    ),
}


@cache
def harness_of(exercise: str) -> Harness:
    return read_harness(SOLUTIONS / exercise)


def findings(exercise: str, step: str, code: str) -> list[Finding]:
    """What the hidden graders say about code of a step."""
    harness = harness_of(exercise)
    names = dict(vars(harness.module))
    exec(code, names)
    with harness.replaced({step: names[step]}):
        seen = harness.run_step(step)
    return [result.finding for result in seen.values() if result.finding]


@pytest.mark.parametrize("exercise, step, code, words", CASES.values(), ids=CASES)
def test_a_finding_says_nothing_that_is_false_of_the_code(
    exercise: str, step: str, code: str, words: str
) -> None:
    found = findings(exercise, step, code)
    if code.endswith("(0, 2, 1)"):
        assert not found  # the right order of the axes
        return
    assert found and all(words not in finding.message for finding in found)
