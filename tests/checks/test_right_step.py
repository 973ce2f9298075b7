"""In class, a step that is right is not blamed for a layer that calls it wrongly."""

from __future__ import annotations

import numpy as np

from autograder.checks.own_layer import ReferenceCalls
from autograder.checks.reference import read_reference
from autograder.checks.submission_judge import led_to_the_first
from autograder.judging.diagnosis import failure
from autograder.values.request import Failed, Request
from autograder.values.verdict import CheckVerdict, Finding, Outcome, StepVerdict, Verdict
from support.graded_texts import graded, solution, step_of
from support.learner_workspace import NAME, ROOT

FOLDER = ROOT / "solutions" / NAME
LAYER = "SingleHeadAttention"
SCALED = "    return attention_scores / np.sqrt(embedding_dimension)\n"
SCORES = "compute_attention_scores(queries, keys)\n"


DRAWN = "        self.query_weights, self.key_weights, self.value_weights, self.output_weights"


def graded_with(*changes: tuple[str, str]) -> Verdict:
    """The verdict on the reference with these changes."""
    (verdict,) = graded(NAME, solution(NAME, *changes))
    return verdict


def said(verdict: Verdict) -> str:
    finding = step_of(verdict, LAYER).finding
    assert finding
    return finding.message


def test_of_a_right_step_the_call_of_it_is_told_that_is_wrong() -> None:
    verdict = graded_with((SCORES, "compute_attention_scores(keys, queries)\n"))
    told = said(verdict)
    assert "calls `compute_attention_scores` with its arguments in another order" in told
    assert any(
        "“Your queries and keys have changed places.”" in detail
        for step in verdict.steps
        for detail in (step.finding.details if step.finding else ())
    )
    assert "The fault is in" not in told
    assert verdict.chain.finding and "The fault is in" not in verdict.chain.finding.message
    assert verdict.points == verdict.max_points - 4


def test_a_step_that_is_not_written_is_not_called_right() -> None:
    told = said(
        graded_with(
            (SCALED, "    raise NotImplementedError\n"),
            ("scale_scores(attention_scores, x.shape[-1])\n", "attention_scores\n"),
        )
    )
    assert "Expected there: what `scale_scores` gives." in told
    assert "Your layer does not call `scale_scores`." in told
    assert "right by itself" not in told


def test_a_right_step_is_not_charged_for_a_setting_that_the_class_makes() -> None:
    verdict = graded_with((DRAWN, f'        np.seterr(all="raise")\n{DRAWN}'))
    assert [step.name for step in verdict.steps if step.finding] == [LAYER]
    told = said(verdict)
    assert "FloatingPointError" in told and "`np.seterr`" in told
    assert "yours alone raises nothing" in told and "a setting" in told


def test_a_class_that_inherits_what_is_wrong_leads_to_the_class_that_it_is_built_on() -> None:
    def failing(name: str, fact: str) -> StepVerdict:
        finding = Finding(Outcome.WRONG_VALUES, fact, look="Why?")
        check = CheckVerdict.of("check", "title", finding)
        return StepVerdict(name, name, Outcome.WRONG_VALUES, 0, 1, (check,))

    layers = ("Layer", "CausalLayer")
    steps = (
        failing("step", "`Layer(8)` has no bias."),
        failing("Layer", "`Layer(8)` has no bias."),
        failing("CausalLayer", "`CausalLayer(8)` has no bias."),
    )
    before, first, second = led_to_the_first(steps, layers)
    assert (before, first) == steps[:2]
    assert second.finding and second.finding.look.startswith("Your `Layer` shows the same.")
    others = (*steps[:2], failing("CausalLayer", "It is 2, but 3 is expected."))
    assert led_to_the_first(others, layers) == others


def test_a_step_that_is_wrong_only_with_what_its_caller_passes_is_told_what_it_gives_there() -> (
    None
):
    old = "    return exponentials / exponentials.sum(axis=-1, keepdims=True)\n"
    # Only the steps after it are asked with hidden tokens.
    verdict = graded_with((old, f"    exponentials += 0.01 * (scores == -1e9)\n{old}"))
    assert [step.name for step in verdict.steps if step.finding] == ["softmax"]
    told = next(step.finding for step in verdict.steps if step.finding)
    assert told.right == "With the inputs of its own checks, it gives what is expected."
    assert told.fact.startswith(
        "With what a right `compute_attention_weights` passes to it, `softmax`"
    )
    assert "numbers are not as expected" in told.look


def test_of_two_right_steps_that_do_not_fit_each_other_one_is_charged_and_not_the_class() -> None:
    mask = "    return np.tril(np.ones((sequence_length, sequence_length)))\n"
    apply = "    return np.where(causal_mask == 1, scaled_scores, -1e9)\n"
    verdict = graded_with(
        (mask, f"{mask[:-1]} == 1\n"),
        (
            apply,
            "    hidden = np.ones_like(causal_mask) - causal_mask\n"
            "    return scaled_scores - 1e9 * hidden\n",
        ),
    )
    assert [step.name for step in verdict.steps if step.finding] == ["apply_mask"]
    told = next(step.finding for step in verdict.steps if step.finding)
    assert (
        told.fact == "With what your other steps give, `apply_mask` does not give what is expected."
    )


def test_an_error_that_only_the_layer_makes_visible_is_charged_to_the_step_that_makes_it() -> None:
    """It is within what the checks of the step can see."""
    old = "    return softmax(scores)\n"
    verdict = graded_with((old, "    return np.clip(softmax(scores), 1e-6, None)\n"))
    assert [step.name for step in verdict.steps if step.finding] == ["compute_attention_weights"]
    told = next(step.finding for step in verdict.steps if step.finding)
    assert told.look.startswith("Its numbers are nearly right: they differ by up to 1e-06")
    assert "a bound set" in told.look and verdict.points == verdict.max_points - 1
    assert verdict.chain.breaks_at == "compute_attention_weights"
    assert verdict.chain.finding == told


def test_a_layer_whose_result_is_only_nearly_right_is_not_said_to_be_right_in_all_its_parts() -> (
    None
):
    added = "apply_attention(attention_weights + 1e-6, values)\n"
    told = said(graded_with(("apply_attention(attention_weights, values)\n", added)))
    assert "nearly right" in told and "give what is expected" not in told


GONE = Failed(Outcome.INFRASTRUCTURE, "gone")


class Silent:
    """Answers nothing, by a fault of ours."""

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Failed:
        return GONE


def test_no_step_is_charged_for_a_call_at_which_the_reference_itself_fails() -> None:
    reference = read_reference(FOLDER)
    calls = ReferenceCalls("numpy", reference, Silent(), ())
    assert calls.expectation(Request("softmax", ("no scores",))) is None


def test_a_fault_of_ours_at_a_call_of_the_layer_is_told_as_one() -> None:
    reference = read_reference(FOLDER)
    scores = np.ones((1, 2, 2))
    calls = ReferenceCalls("numpy", reference, Silent(), ())
    calls.__dict__["calls"] = [Request("softmax", (scores,), layouts=((0, 2, 1),))]
    (spoiler, *_) = calls.spoilers(LAYER, ["softmax"])
    assert spoiler.fault == failure(GONE)
