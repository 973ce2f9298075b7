"""What a step has to be right in: with a layer that has no bias, and for the steps after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from autograder.judging.asking import ask_example, settled
from autograder.judging.conditions import STANDING
from autograder.judging.examples import read_examples
from autograder.judging.inprocess import InProcess
from autograder.values.verdict import Finding, Outcome
from support.learner_workspace import ROOT


def findings(exercise: str, step: str, code: Callable[..., Any]) -> dict[str, Finding | None]:
    """What the author's checks of a step find, by the names of the checks."""
    respondent = InProcess({step: code}, "torch")
    asked = [
        ask_example(each, respondent)
        for each in read_examples(ROOT / "assignments" / exercise)
        if each.step == step and not each.check.startswith(STANDING)
    ]
    return {each.example.check: each.finding for each in settled(asked)}


def by_hand(x: torch.Tensor, layer: Any) -> torch.Tensor:
    return torch.as_tensor(x @ layer.weight.T + layer.bias)


BY_HAND: dict[tuple[str, str, str], Callable[..., Any]] = {
    ("torch_multi_head", "project_output", "test_output_without_bias"): by_hand,
    ("torch_single_head", "project_output", "test_output_without_bias"): by_hand,
    ("torch_single_head", "project_qkv", "test_projection_without_bias"): (
        lambda x, layer: by_hand(x, layer).chunk(3, dim=-1)
    ),
    ("stretch_steps", "project_two_sequences", "test_projection_without_bias"): (
        lambda x, context, q, kv: (by_hand(x, q), *by_hand(context, kv).chunk(2, dim=-1))
    ),
}


@pytest.mark.parametrize(("exercise", "step", "check"), BY_HAND)
def test_a_bias_that_is_added_by_hand_is_missed_where_a_layer_has_none(
    exercise: str, step: str, check: str
) -> None:
    found = findings(exercise, step, BY_HAND[exercise, step, check])
    raised = found.pop(check)
    assert raised and "is None where the layer is made with `bias=False`" in raised.look
    assert set(found.values()) == {None}, "with a bias, it is right"


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_a_padding_mask_of_numbers_is_refused_and_one_of_booleans_passes(
    dtype: torch.dtype,
) -> None:
    def mask(lengths: torch.Tensor, num_tokens: int) -> torch.Tensor:
        return torch.arange(num_tokens) < lengths[:, None]

    assert set(findings("stretch_steps", "create_padding_mask", mask).values()) == {None}
    for finding in findings(
        "stretch_steps", "create_padding_mask", lambda *given: mask(*given).to(dtype)
    ).values():
        assert finding and finding.outcome is Outcome.WRONG_TYPE
        assert "but True and False are expected" in finding.fact
