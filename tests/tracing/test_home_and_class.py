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
            (
                "return project_output(attention_output, self.output_weights)",
                "return attention_output",
            ),
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

CLIPPED = ("return softmax(scores)", "return np.clip(softmax(scores), 1e-6, None)")
GETS_THE_INPUT = ("attention(attention_weights, values)\n", "attention(attention_weights, x)\n")
VIEWED = (
    "return attention_weights @ values",
    "return attention_weights @ values.view(values.shape[0], -1).view(values.shape)",
)
IN_SINGLE = (
    "return attention_scores / math.sqrt(head_dim)",
    "return attention_scores / torch.tensor([float(head_dim)]).sqrt()",
)
UNSCALED = ("weights(scaled_scores)\n", "weights(attention_scores)\n")
EXCHANGED = ("scores(queries, keys)\n", "scores(keys, queries)\n")
# Several faults: what is lost in class, and the steps that are wrong there. Of what is wrong only
# in the layer, a step is at fault that alone makes the whole layer right when it is right.
SEVERAL: dict[str, dict[str, tuple[tuple[Change, ...], int, set[str]]]] = {
    NUMPY: {
        "two wrong calls": ((("scores, x.shape[-1])", "scores, 3)"), GETS_THE_INPUT), 4, {LAYER}),
        "a wrong call and a step": ((GETS_THE_INPUT, CLIPPED), 4, {LAYER}),
        "a step": ((CLIPPED,), 1, {"compute_attention_weights"}),
    },
    TORCH: {
        "two wrong calls": ((UNSCALED, EXCHANGED), 7, {LAYER}),
        "a wrong call and a step": ((UNSCALED, VIEWED), 7, {LAYER}),
        "two steps": ((VIEWED, IN_SINGLE), 7, {LAYER}),
        "a step": ((VIEWED,), 2, {"apply_attention"}),
    },
}
FAULTS = [(exercise, name) for exercise, several in SEVERAL.items() for name in several]


@cache
def in_class(exercise: str) -> dict[str, Verdict]:
    folder = ROOT / "solutions" / exercise
    changes: dict[str, tuple[Change, ...]]
    changes = {name: (change,) for name, (_, change) in CHANGES[exercise].items()}
    changes |= {name: several[0] for name, several in SEVERAL[exercise].items()}
    handed_in = []
    for name, of_text in changes.items():
        text = (folder / "solution.py").read_text(encoding="utf-8")
        for change in of_text:
            assert change[0] in text
            text = text.replace(*change)
        handed_in.append(Submission(name, exercise, (text,), Path("layer.py")))
    return dict(zip(changes, grade_batch(folder, handed_in)))


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


@pytest.mark.parametrize(("exercise", "name"), FAULTS)
def test_of_several_faults_the_layer_costs_its_points_unless_one_step_cures_it(
    exercise: str, name: str
) -> None:
    changes, lost, wrong = SEVERAL[exercise][name]
    verdict = in_class(exercise)[name]
    assert verdict.max_points - verdict.points == lost
    assert {step.name for step in verdict.steps if step.finding} == wrong
    at_home = judged(exercise, LAYER, *changes)
    (step,) = wrong
    assert at_home.finding and (step == LAYER or f"calls your `{step}`" in at_home.finding.fact)


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
