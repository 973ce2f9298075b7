"""What is said of a layer that is right by itself, where steps of it are not written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from autograder.reports.class_page import class_table
from autograder.reports.class_summary import chain_sentence, class_summary, first_line
from autograder.values.exercise import Exercise, Grading, Limits, Step
from autograder.values.verdict import (
    ChainVerdict,
    CheckVerdict,
    Finding,
    LayerVerdict,
    Outcome,
    StepVerdict,
    Verdict,
)
from support.shown import printed
from support.verdicts import class_page, feedback_page

NAMES = ("softmax", "create_causal_mask", "scale_scores", "Attention")
EXERCISE = Exercise(
    name="toy",
    title="Toy",
    library="numpy",
    difficulty=1,
    steps=tuple(Step(name, name.title(), 2.0, 5, ("", "", "")) for name in NAMES),
    limits=Limits(),
    grading=Grading(),
    folder=Path("solutions/toy"),
)
LEAD = (
    "Your layer is complete and right: `Attention` passes all of its checks by itself. "
    "The steps are its parts as functions, so that each part can be checked by itself."
)


def step(number: int, state: str) -> StepVerdict:
    """A step that is "right", "wrong" or "open" (not written), or done "by layer"."""
    facts = EXERCISE.steps[number]
    outcome = {"right": Outcome.PASSED, "wrong": Outcome.WRONG_VALUES}.get(
        state, Outcome.NOT_WRITTEN
    )
    finding = None if state == "right" else Finding(outcome, f"`{facts.name}` is {state}.")
    checks = (CheckVerdict.of("check", "it works", finding),)
    return StepVerdict.of(facts, checks, by_layer=state == "by layer")


def verdict(*states: str, chain: ChainVerdict | None = None) -> Verdict:
    steps = tuple(step(number, state) for number, state in enumerate((*states, "right")))
    broken = next((each for each in steps if not each.passes), None)
    outcome = broken.outcome if broken else Outcome.PASSED
    layer = LayerVerdict("Attention", Outcome.PASSED)
    told = chain or ChainVerdict(outcome, broken.name if broken else None, None, layer=layer)
    return Verdict("toy", "anna", steps, told, "c0de", "e0e0", 7, "full", 0.5)


@pytest.mark.parametrize(
    ("states", "rest"),
    [
        (
            ("by layer", "by layer", "by layer"),
            " You did not write steps 1 to 3 as functions. Your layer does their work, so you get "
            "their points.",
        ),
        (
            ("by layer", "right", "right"),
            " You did not write step 1 as a function. Your layer does its work, so you get its "
            "points.",
        ),
        (
            ("by layer", "open", "right"),
            " You did not write step 1 as a function. Your layer does its work, so you get its "
            "points. Next comes step 2, which is not written yet and has its own points.",
        ),
        (
            ("open", "open", "open"),
            " Next comes step 1, which is not written yet and has its own points.",
        ),
        (
            ("by layer", "right", "wrong"),
            " You did not write step 1 as a function. Your layer does its work, so you get its "
            "points. Step 3, judged alone, is not right yet, so look there first.",
        ),
    ],
)
def test_the_first_thing_said_is_that_the_layer_is_right(
    states: tuple[str, ...], rest: str
) -> None:
    assert chain_sentence(EXERCISE, verdict(*states)) == LEAD + rest


def test_nothing_is_said_of_the_layer_where_all_is_right_end_to_end() -> None:
    sentence = chain_sentence(EXERCISE, verdict("right", "right", "right"))
    assert sentence == "Every step is right, alone and joined end to end."


@pytest.mark.parametrize("layer", [None, LayerVerdict("Attention", Outcome.WRONG_VALUES)])
def test_a_layer_that_is_not_right_by_itself_is_not_called_right(
    layer: LayerVerdict | None,
) -> None:
    chain = ChainVerdict(Outcome.NOT_WRITTEN, "softmax", None, layer=layer)
    judged = verdict("open", "open", "open", chain=chain)
    page = feedback_page(EXERCISE, judged)
    assert "complete and right" not in chain_sentence(EXERCISE, judged) + page


def test_the_page_leads_with_the_layer_and_says_where_points_come_from() -> None:
    page = feedback_page(EXERCISE, verdict("by layer", "open", "right"))
    assert "Your whole layer</h2>" in page
    assert page.index("Your layer is complete and right") < page.index("Step by step")
    assert "done by your layer" in page and "2 of 2 points" in page
    assert "`softmax` is by layer" not in page


def test_the_table_has_a_sign_for_what_the_layer_does() -> None:
    roll = [verdict("by layer", "open", "right")]
    table = printed(class_table(EXERCISE, roll), width=120)
    assert "+ · ✓ ✓" in table and "+ done by the layer" in table
    assert "6/8" in table and "2: the whole layer is right; " in table
    assert "done by your layer" in class_page(EXERCISE, roll)


def test_in_one_line_a_layer_that_does_everything_is_right() -> None:
    whole = verdict("by layer", "by layer", "by layer")
    assert first_line(whole)[0] == 0 and "the whole layer is right" in first_line(whole)[1]


def test_the_class_is_told_how_many_wrote_the_layer_only() -> None:
    ben = replace(verdict("open", "open", "open"), student="ben")
    sentences = class_summary(EXERCISE, [verdict("by layer", "by layer", "right"), ben])
    (said,) = [each for each in sentences if "whole layer" in each]
    assert "2 students" in said and "1 of them with points" in said
    assert "Not written most often: step 1, softmax, by 1 student" in " ".join(sentences)


def test_a_step_by_the_layer_gets_its_points_and_never_more() -> None:
    judged = verdict("by layer", "by layer", "by layer")
    assert judged.points == judged.max_points == 8
    assert Verdict.from_json(judged.to_json()) == judged
    assert '"by_layer": true' in judged.to_json()
