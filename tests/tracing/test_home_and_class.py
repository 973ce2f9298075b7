"""The same wrong code is told in the same first sentence at home and in class."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from autograder.grading.batch import grade_batch
from autograder.submission.reading import Submission
from autograder.values.verdict import Outcome, Verdict
from support.learner_workspace import ROOT
from tracing.judged_layer import NUMPY, TORCH, Change, judged

LAYER = "SingleHeadAttention"
DRAW = "0.02 * rng.standard_normal(shape)\n"
DIVIDED = "exponentials.sum(axis=-1, keepdims=True)"
WEIGHTS = "return scaled_scores.softmax(dim=-1)"
CHANGES: dict[str, dict[str, tuple[str, Change]]] = {
    NUMPY: {
        "another size": (LAYER, ("scores, x.shape[-1])\n", "scores, x.shape[1])\n")),
        "another result": (
            LAYER,
            ("attention(attention_weights, values)\n", "attention(attention_weights, x)\n"),
        ),
        "exchanged": (LAYER, ("scores(queries, keys)\n", "scores(keys, queries)\n")),
        "once more": (
            LAYER,
            (
                "(attention_scores, x.shape[-1])\n",
                "(scale_scores(attention_scores, x.shape[-1]), x.shape[-1])\n",
            ),
        ),
        "left out": (
            LAYER,
            ("return project_output(attention_output, self.output_weights)", "return attention_output"),
        ),
        "a sum over everything": ("softmax", (DIVIDED, "exponentials.sum()")),
        "code in a text": ("softmax", (f"/ {DIVIDED}", '* eval("1/0")')),
        "a spread that is too small": (
            "initialize_weights",
            (DRAW, "rng.uniform(-0.02, 0.02, shape)\n"),
        ),
        "one array four times": (
            "initialize_weights",
            (
                "return query_weights, key_weights, value_weights, output_weights\n    ###",
                "return (query_weights,) * 4\n    ###",
            ),
        ),
        "a generator of its own": (
            "initialize_weights",
            (
                "    shape = (embedding_dimension, embedding_dimension)\n    query",
                "    rng = np.random.default_rng()\n"
                "    shape = (embedding_dimension, embedding_dimension)\n    query",
            ),
        ),
        "a fixed seed": (
            "initialize_weights",
            (
                "    shape = (embedding_dimension, embedding_dimension)\n    query",
                "    rng = np.random.default_rng(0)\n"
                "    shape = (embedding_dimension, embedding_dimension)\n    query",
            ),
        ),
    },
    TORCH: {
        "no forward": (LAYER, ("    def forward(", "    def gathered(")),
        "an argument that does not reach the step": (
            LAYER,
            ("create_projections(hidden_size, bias)", "create_projections(hidden_size)"),
        ),
        "a dropout": (
            "compute_attention_weights",
            (WEIGHTS, f"{WEIGHTS[:6]} nn.functional.dropout({WEIGHTS[7:]}, p=0.4)"),
        ),
    },
}
NAMES = [(exercise, name) for exercise, changes in CHANGES.items() for name in changes]


@cache
def in_class(exercise: str) -> dict[str, Verdict]:
    folder = ROOT / "solutions" / exercise
    text = (folder / "solution.py").read_text(encoding="utf-8")
    handed_in = [
        Submission(name, exercise, (text.replace(*change),), Path("layer.py"))
        for name, (_, change) in CHANGES[exercise].items()
    ]
    return dict(zip(CHANGES[exercise], grade_batch(folder, handed_in)))


def without_numbers(text: str) -> str:
    return re.sub(r"\d+", "#", text)


@pytest.mark.parametrize(("exercise", "name"), NAMES)
def test_home_and_class_say_the_same(exercise: str, name: str) -> None:
    step, change = CHANGES[exercise][name]
    (there,) = (each for each in in_class(exercise)[name].steps if each.name == step)
    here = judged(exercise, step, change)
    assert there.finding and here.finding and there.outcome is here.outcome
    assert without_numbers(there.finding.fact) == without_numbers(here.finding.fact)
    assert without_numbers(there.finding.look) == without_numbers(here.finding.look)


def test_an_error_in_a_text_that_is_evaluated_is_told_by_the_line_that_does_so() -> None:
    finding = judged(NUMPY, "softmax", CHANGES[NUMPY]["code in a text"][1]).finding
    assert finding and 'eval("1/0")`, raises `ZeroDivisionError' in finding.fact


def test_a_module_without_forward_is_written_and_raises() -> None:
    step = judged(TORCH, LAYER, CHANGES[TORCH]["no forward"][1])
    assert step.outcome is Outcome.RAISED
    assert step.finding and 'missing the required "forward"' in step.finding.fact


def test_in_class_the_name_of_a_mistake_stays_where_the_call_is_told() -> None:
    step = in_class(NUMPY)["exchanged"].steps[-1]
    assert step.finding and step.finding.misconception
    assert "with its arguments in another order" in step.finding.fact
