"""Which entry of the input changes which entry of a layer's result: told where it is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder.authoring.harness import read_harness

NUMPY = Path(__file__).resolve().parents[2] / "solutions" / "numpy_single_head"
HARNESS = read_harness(NUMPY)
SOLUTION = HARNESS.module


def layer_that_hides(hidden: Any) -> type:
    """The reference's layer, but with what `hidden` makes of the scaled scores."""

    class Layer(SOLUTION.SingleHeadAttention):  # type: ignore[misc,name-defined]
        def forward(self, x: Any, causal: bool = False) -> Any:
            weights = self.query_weights, self.key_weights, self.value_weights
            queries, keys, values = SOLUTION.project_qkv(x, *weights)
            scores = SOLUTION.compute_attention_scores(queries, keys)
            scores = SOLUTION.scale_scores(scores, queries.shape[-1])
            shares = SOLUTION.softmax(hidden(scores) if causal else scores)
            return SOLUTION.apply_attention(shares, values) @ self.output_weights

    return Layer


def masked(scores: Any, mask: Any) -> Any:
    return np.where(mask == 1, scores, -1e9)


def lower(scores: Any) -> Any:
    return np.tril(np.ones(scores.shape[-2:]))


def only_the_first_sequence(scores: Any) -> Any:
    return np.concatenate([masked(scores[:1], lower(scores)), scores[1:]])


def token_1_sees_all(scores: Any) -> Any:
    mask = lower(scores)
    mask[1] = 1
    return masked(scores, mask)


def two_tokens_at_most(scores: Any) -> Any:
    return masked(scores, np.triu(lower(scores), -1))


def scores_of_the_sequence_before(scores: Any) -> Any:
    return masked(np.roll(scores, 1, axis=0), lower(scores))


CASES = {
    only_the_first_sequence: "entry 1 along axis 1 (S), your result changes at entry 0",
    token_1_sees_all: "entry 2 along axis 1 (S), your result changes at entry 1",
    two_tokens_at_most: "entry 0 along axis 1 (S), your result does not change at entry 2",
    scores_of_the_sequence_before: "entry 0 along axis 0 (B), your result changes at entry 1",
}


def finding_of(layer: type) -> Any:
    with HARNESS.replaced({"SingleHeadAttention": layer}):
        seen = HARNESS.run_step("SingleHeadAttention")
    return next((result.finding for result in seen.values() if result.finding), None)


@pytest.mark.parametrize("hidden", CASES, ids=lambda hidden: hidden.__name__)
def test_an_entry_with_a_wrong_influence_is_told_whatever_the_layer_is_made_of(hidden: Any) -> None:
    finding = finding_of(layer_that_hides(hidden))
    assert f"When `x` changes at {CASES[hidden]}" in finding.fact, finding.message


def test_of_scores_that_are_only_too_small_no_influence_is_told() -> None:
    finding = finding_of(layer_that_hides(lambda scores: masked(0.9 * scores, lower(scores))))
    assert finding and "When `x` changes" not in finding.fact, finding.message


def test_the_right_mask_has_no_finding() -> None:
    assert finding_of(layer_that_hides(lambda scores: masked(scores, lower(scores)))) is None
