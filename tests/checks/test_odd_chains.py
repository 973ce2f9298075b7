"""End to end with steps whose answers are of the wrong form: always a student's finding.

The chain puts a student's values into the reference's own class, here, in the trusted process:
whatever that class makes of them, the fault is told to be where the value came from.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from autograder.checks.reference import Reference, read_reference
from autograder.values.verdict import Outcome
from support.graded_texts import graded, solution, step_of
from support.judged_steps import judged
from support.learner_workspace import ROOT

pytestmark = pytest.mark.slow  # every odd form at every step of every exercise

NUMPY = "numpy_single_head"
EXERCISES = (NUMPY, "torch_single_head", "torch_multi_head", "vit_multi_head")
CALLED_BY_ANOTHER = ("softmax",)
Names = Mapping[str, Any]


def first(value: Any) -> Any:
    return value[0] if isinstance(value, tuple) else value


# What may come back in place of an answer, made of the right one; the second, of several arrays.
ODD: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda value: None,
    "text": lambda value: "queries",
    "no axes": lambda value: first(value).sum(),
    "one long axis": lambda value: first(value).reshape(-1),
    "no numbers": lambda value: first(value)[:0],
    "much more": lambda value: first(value)[[0] * 100],
}
ODD_OF_SEVERAL: dict[str, Callable[[Any], Any]] = {
    "an empty tuple": lambda value: (),
    "a generator of too few": lambda value: (one for one in value[:2]),
    "a dict": lambda value: {"queries": value},
    "two and one": lambda value: (value[:2], value[2]),
    "two of three": lambda value: value[:2],
    "four of three": lambda value: (*value, value[0]),
    "each without its last axis": lambda value: [one[..., 0] for one in value],
    "one of them text": lambda value: (value[0], "keys", value[2]),
}


def odd_namespaces(reference: Reference) -> Iterator[tuple[str, str, Names]]:
    """For each step that the chain calls and each odd form: (step, form, what is handed in)."""
    for step in reference.exercise.steps:
        right = getattr(reference.module, step.name)
        if isinstance(right, type) or step.random or step.name in CALLED_BY_ANOTHER:
            continue
        several = len(reference.form(step.name).names) > 1
        for form, odd in {**ODD, **(ODD_OF_SEVERAL if several else {})}.items():
            yield step.name, form, copied(reference, step.name, odd)


def copied(reference: Reference, step: str, odd: Callable[[Any], Any]) -> Names:
    """A copy of the reference in which one step answers in an odd form."""
    path = reference.exercise.folder.resolve() / "solution.py"
    spec = importlib.util.spec_from_file_location("odd", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    right = getattr(module, step)
    setattr(module, step, lambda *given, **named: odd(right(*given, **named)))
    return vars(module)


@pytest.mark.parametrize("name", EXERCISES)
def test_an_answer_of_an_odd_form_is_found_at_its_step(name: str) -> None:
    reference = read_reference(ROOT / "solutions" / name)
    cases = list(odd_namespaces(reference))
    verdicts = judged(reference, *(names for _, _, names in cases))
    for (step, form, _), verdict in zip(cases, verdicts, strict=True):
        chain, finding = verdict.chain, verdict.chain.finding
        where = f"{step} gives {form}: {chain}"
        assert chain.breaks_at == step and finding, where
        assert chain.outcome in (Outcome.WRONG_TYPE, Outcome.WRONG_SHAPE), where
        assert f"`{step}`" in finding.fact and "no fault of yours" not in finding.message, where
        own = step_of(verdict, step)
        assert own.points == 0 and own.outcome is not Outcome.INFRASTRUCTURE, where
        assert not any(one.outcome is Outcome.INFRASTRUCTURE for one in verdict.steps), where


def test_values_that_the_class_cannot_go_on_with_are_found_though_each_is_an_array() -> None:
    """`keys.shape[-1]` of what has no axes raises in the reference's class, between two steps."""
    reference = read_reference(ROOT / "solutions" / "torch_single_head")
    odd = copied(reference, "project_qkv", lambda value: (value[0], value[1].sum(), value[2]))
    odd = {**odd, "compute_attention_scores": lambda queries, keys: queries @ queries.mT}
    (verdict,) = judged(reference, odd)
    assert verdict.chain.outcome is Outcome.WRONG_SHAPE
    assert verdict.chain.breaks_at == "project_qkv"


def test_shapes_that_deviate_together_and_give_the_right_result_pass_end_to_end() -> None:
    reference = read_reference(ROOT / "solutions" / NUMPY)
    odd = copied(reference, "create_causal_mask", lambda mask: mask[None])
    (verdict,) = judged(reference, odd)
    assert verdict.chain.outcome is Outcome.PASSED
    lost = [step.name for step in verdict.steps if step.outcome is not Outcome.PASSED]
    assert lost == ["create_causal_mask"]


PROJECTED = """

def project_qkv(x, query_weights, key_weights, value_weights):
    parts = [x @ query_weights, x @ key_weights, x @ value_weights]
    return {}
"""


def test_the_graders_tell_a_student_of_an_odd_projection() -> None:
    ends = ("(part for part in parts[:2])", "dict(zip('qkv', parts))", "(parts[:2], parts[2])")
    for verdict in graded(NUMPY, *(solution(NUMPY) + PROJECTED.format(end) for end in ends)):
        step = step_of(verdict, "project_qkv")
        assert step.outcome is Outcome.WRONG_TYPE
        assert not verdict.infrastructure and verdict.points == verdict.max_points - step.max_points
        chain, finding = verdict.chain, verdict.chain.finding
        assert chain.outcome is Outcome.WRONG_TYPE and chain.breaks_at == "project_qkv"
        assert finding and finding.fact == (
            "Run one after the other, your own steps first go wrong at `project_qkv`."
        )
        assert "queries, keys, values" in finding.details[0]


def test_a_chain_of_which_nothing_is_written_stops_and_does_not_go_wrong() -> None:
    (verdict,) = graded(NUMPY, "x = 1\n")
    assert verdict.chain.outcome is Outcome.NOT_WRITTEN and verdict.chain.finding
    assert verdict.chain.finding.fact == (
        "Run one after the other, your own steps stop at `initialize_weights`, which is not "
        "written yet."
    )


def test_a_projection_that_unpacks_gets_full_marks_in_the_sandbox() -> None:
    ends = ("(part for part in parts)", "map(np.asarray, parts)", "np.array(parts)")
    for verdict in graded(NUMPY, *(solution(NUMPY) + PROJECTED.format(end) for end in ends)):
        assert verdict.points == verdict.max_points and verdict.chain.outcome is Outcome.PASSED
