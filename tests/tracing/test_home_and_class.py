"""The same wrong layer is told in the same first sentence at home and in class."""

from __future__ import annotations

import re
from functools import cache

import pytest

from autograder.values.verdict import StepVerdict
from support.graded_texts import graded, solution
from tracing.judged_layer import NUMPY, Change, judged

LAYER = "SingleHeadAttention"
CHANGES: dict[str, Change] = {
    "another size": ("scores, x.shape[-1])\n", "scores, x.shape[1])\n"),
    "another result": (
        "attention(attention_weights, values)\n",
        "attention(attention_weights, x)\n",
    ),
    "exchanged": ("scores(queries, keys)\n", "scores(keys, queries)\n"),
    "once more": (
        "(attention_scores, x.shape[-1])\n",
        "(scale_scores(attention_scores, x.shape[-1]), x.shape[-1])\n",
    ),
    "left out": (
        "return project_output(attention_output, self.output_weights)",
        "return attention_output",
    ),
}


@cache
def in_class() -> dict[str, StepVerdict]:
    verdicts = graded(NUMPY, *(solution(NUMPY, change) for change in CHANGES.values()))
    return {name: verdict.steps[-1] for name, verdict in zip(CHANGES, verdicts)}


def without_numbers(text: str) -> str:
    return re.sub(r"\d+", "#", text)


@pytest.mark.parametrize("name", CHANGES)
def test_home_and_class_say_the_same_of_a_call(name: str) -> None:
    there, here = in_class()[name], judged(NUMPY, LAYER, CHANGES[name])
    assert there.finding and here.finding and there.outcome is here.outcome
    assert without_numbers(there.finding.fact) == without_numbers(here.finding.fact)
    assert there.finding.look == here.finding.look


def test_in_class_the_name_of_a_mistake_stays_where_the_call_is_told() -> None:
    step = in_class()["exchanged"]
    assert step.finding and step.finding.misconception
    assert "with its arguments in another order" in step.finding.fact
