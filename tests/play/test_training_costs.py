"""What mistakes do to a training: measured, written down, and told in words."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from autograder.checks.reference import read_reference
from autograder.play.language_model import mistakes_of
from autograder.play.training import task_named, trained
from autograder.play.training_words import (
    COUNT,
    MET,
    OTHERS,
    MeasuredTrainings,
    TaskOutcome,
    TrainedMistake,
    TrainingResult,
    TriedInput,
    mistake_words,
    read_trainings,
    result_words,
    tried_words,
    words_before,
)
from autograder.values.exercise import MISTAKE_COSTS, LayerTraining, generated, read_exercise
from support.learner_workspace import ROOT
from support.training_measurement import main, training_document, written_trainings

SOLUTIONS = ROOT / "solutions"
DOCUMENT = ROOT / "docs" / "training-costs.md"
NAMES = ("torch_multi_head", "torch_single_head", "vit_multi_head")

RIGHT = TaskOutcome("write", (0.01, 0.02), (195, 199))


def mistake(name: str, *outcomes: TaskOutcome, step: str = "scale_scores") -> TrainedMistake:
    return TrainedMistake(name, step, f"You {name}.", "a title", outcomes)


COPIES = mistake("copy", TaskOutcome("write", (0.002,), (0,)))
WORSE = mistake("learn worse", TaskOutcome("write", (0.9,), (20,)), step="softmax")
HIDDEN = mistake("hide", TaskOutcome("write", (0.01,), (194,)), step="merge_heads")
STOPS = mistake("stop", TaskOutcome("write", stops="ValueError: no"), step="split_heads")
NAN = mistake("divide", TaskOutcome("write", (None,), (12,)), step="scores")
MEASURED = MeasuredTrainings((RIGHT,), (HIDDEN, WORSE, COPIES, STOPS, NAN))


def measured_for(name: str) -> MeasuredTrainings:
    found = read_trainings(SOLUTIONS / name)
    assert found is not None, f"run `make training-costs EXERCISE={name}`"
    return found


def told(*met: str) -> str:
    paragraphs = mistake_words(MEASURED, met, others=True)
    return "\n".join(line for lines in paragraphs for line in lines)


# --- measured -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_known_mistake_of_an_exercise_was_trained_with_and_students_get_what_was_measured(
    name: str,
) -> None:
    measured, reference = measured_for(name), read_reference(SOLUTIONS / name)
    known = [(each.name, each.step) for each in reference.misconceptions]
    found = [(each.name, each.step) for each in measured.mistakes]
    assert found == known, f"run `make training-costs EXERCISE={name}`"
    tasks = [each.task for each in reference.exercise.trainings]
    assert [each.task for each in measured.right] == tasks
    assert all(each.shown_by for each in measured.mistakes), "exact checks find every one"
    hidden = [each for each in measured.mistakes if measured.is_hidden(each)]
    assert 0 < len(hidden) < len(known)
    assert measured == read_trainings(ROOT / "assignments" / name)


def test_without_a_mask_the_loss_was_better_and_what_was_written_wrong() -> None:
    measured = measured_for("torch_multi_head")
    (ignored,) = mistakes_of(["causal_ignored"], measured.mistakes)
    (outcome,) = ignored.outcomes
    assert outcome.task == "write" and measured.looks_better(outcome)
    assert max(outcome.rights) < 0.05 * COUNT


def test_the_page_is_the_one_that_is_written_now() -> None:
    folders = (path.parent for path in sorted(SOLUTIONS.glob("*/exercise.toml")))
    assert DOCUMENT.read_text(encoding="utf-8") == training_document(folders)


@pytest.mark.slow
def test_the_script_measures_every_mistake_of_an_exercise(tmp_path: Path) -> None:
    solutions, page = tmp_path / "solutions", tmp_path / "page.md"
    for name in (NAMES[1], "_attention"):
        shutil.copytree(SOLUTIONS / name, solutions / name)
    generated(solutions / NAMES[1], MISTAKE_COSTS).unlink()
    main([NAMES[1], "--steps", "100", "--solutions", str(solutions), "--document", str(page)])
    before, now = (read_trainings(folder / NAMES[1]) for folder in (SOLUTIONS, solutions))
    assert before is not None and now is not None
    assert [each.name for each in now.mistakes] == [each.name for each in before.mistakes]
    # After so few steps the right layer sorts, and does not repeat: only sorting is measured.
    assert {one.task for each in now.mistakes for one in each.outcomes} == {"sort"}
    for earlier, later in zip(before.mistakes, now.mistakes, strict=True):
        (stops,) = (each.stops for each in earlier.outcomes if each.task == "sort")
        assert later.outcomes[0].stops == stops, earlier.name
    assert "# What each mistake does to a training" in page.read_text(encoding="utf-8")


def made(module: ModuleType, training: LayerTraining, width: int) -> Any:
    return getattr(module, training.layer)(width, *training.arguments)


@pytest.mark.slow
def test_the_right_layer_does_now_what_was_written_down() -> None:
    for name in NAMES:
        measured, reference = measured_for(name), read_reference(SOLUTIONS / name)
        for training in reference.exercise.trainings:
            *_, result = trained(
                task_named(training.task),
                partial(made, reference.module, training),
                causal=training.causal,
                seconds=600,
                looking=False,
            )
            assert isinstance(result, TrainingResult)
            was = measured.with_right_layer(training.task).rights
            assert min(was) - 0.05 * COUNT <= result.right <= max(was) + 0.05 * COUNT


# --- told ---------------------------------------------------------------------------------------


def test_a_better_loss_with_wrong_sequences_is_told_as_what_it_is() -> None:
    text = told("copy")
    assert text.startswith(MET) and "“You copy.”" in text
    assert "the loss is 0.002 in place of 0.01 to 0.02. It looks better, and it is wrong" in text
    assert "0 of 200 come out right, in place of 195 to 199" in text


@pytest.mark.parametrize(
    ("met", "words"),
    [
        ("hide", "nobody would notice. A check that finds it: a title."),
        ("learn worse", "“You learn worse.”"),
        ("stop", "Writing in order: it stops: ValueError: no"),
        ("divide", "Writing in order: the loss becomes NaN."),
    ],
)
def test_a_mistake_is_told_by_what_it_does_and_only_one_as_what_nobody_would_notice(
    met: str, words: str
) -> None:
    assert words in told(met)
    assert ("nobody would notice" in told(met)) is (met == "hide")


def test_a_loss_out_of_the_usual_range_is_not_told_as_hidden_from_all() -> None:
    apart = mistake("hide", TaskOutcome("write", (0.05,), (199, 195)), step="merge_heads")
    lines = [
        line
        for each in mistake_words(MeasuredTrainings((RIGHT,), (apart,)), ["hide"])
        for line in each
    ]
    text = "\n".join(lines)
    assert "195 to 199 of 200 come out right, as with the right layer; the loss is 0.05" in text
    assert "Only the loss differs, a little" in text and "So nobody" not in text


def test_who_met_none_reads_of_the_worst_of_different_steps() -> None:
    text = told("unknown")
    assert text.startswith(OTHERS)
    assert text.index("“You copy.”") < text.index("“You learn worse.”") < text.index("“You hide.”")
    assert "“You stop.”" not in text
    assert "Of the 5 known mistakes of this exercise, 1 stay hidden" in text
    assert list(mistake_words(None, ["copy"])) == []


def test_a_mistake_is_hidden_only_if_no_task_shows_it() -> None:
    both = mistake("both", HIDDEN.outcomes[0], WORSE.outcomes[0])
    assert MEASURED.is_hidden(HIDDEN) and not MEASURED.is_hidden(both)


def test_what_was_measured_is_written_and_read_back(tmp_path: Path) -> None:
    assert read_trainings(tmp_path) is None
    (tmp_path / MISTAKE_COSTS).write_text(written_trainings(MEASURED), encoding="utf-8")
    assert read_trainings(tmp_path) == MEASURED


LEARNED = TrainingResult("write", 0.01, 198, 199, 400, 400, 3.2)


def said(result: TrainingResult, causal: bool = True) -> str:
    return " ".join(result_words(result, MEASURED, causal=causal))


def test_a_result_says_what_came_and_what_it_means() -> None:
    assert "the loss is 0.01 nats a digit; who only guesses has 2.3" in said(LEARNED)
    assert "198 come out right. Your layer has learned it." in said(LEARNED)
    failed = said(replace(LEARNED, loss=1.5, right=3, right_when_told=4))
    assert "With a right layer it was 195 to 199 of 200. Do all checks pass?" in failed
    cut = said(replace(LEARNED, right=3, right_when_told=4, steps=50))
    assert "There was time for 50 of 400 steps" in cut and "checks" not in cut
    assert "the loss is NaN" in said(replace(LEARNED, loss=float("nan"), steps=1))


def test_a_model_that_copies_is_told_why_by_whether_there_was_to_be_a_mask() -> None:
    copied = replace(LEARNED, loss=0.001, right=1, right_when_told=200)
    assert "what the model writes is wrong" in said(copied)
    assert "Does your mask hide all later places" in said(copied)
    assert "Your layer has no mask" in said(copied, causal=False)


def test_an_input_is_shown_with_what_came_and_what_is_expected() -> None:
    assert tried_words(TriedInput("2 1", "1 2", "1 2")) == "2 1  →  1 2  right"
    assert tried_words(TriedInput("", "3", "5")) == "5  wrong, 3 is expected"


def test_every_task_of_an_exercise_is_told_before_it_begins() -> None:
    for name in NAMES:
        for training in read_exercise(SOLUTIONS / name).trainings:
            assert "is your layer" in words_before(training.task)
