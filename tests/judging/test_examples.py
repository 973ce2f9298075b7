"""What students have instead of the solution: the worked examples of the real graders."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder.checks.marks import step_of
from autograder.checks.plugin import GradingPlugin, run_graders
from autograder.checks.reference import Misconception, read_reference
from autograder.errors import KitError
from autograder.judging.asking import ask_example, ask_examples
from autograder.judging.conditions import STANDING
from autograder.judging.examples import FILE, Example, read_examples, write_examples
from autograder.judging.expectation import judge
from autograder.judging.inprocess import InProcess
from autograder.model.verdict import Finding, Outcome
from autograder.notebook.check import open_exercise

ROOT = Path(__file__).resolve().parents[2]
NAME = "numpy_single_head"
STUB = ROOT / "assignments" / NAME
REFERENCE = read_reference(ROOT / "solutions" / NAME)
STEPS = REFERENCE.exercise.steps
RANDOM = {step.name for step in STEPS if step.compare == "distribution"}
COMPARED = [known for known in REFERENCE.misconceptions if known.step not in RANDOM]
DRAWN = [known for known in REFERENCE.misconceptions if known.step in RANDOM]


@pytest.fixture(scope="module")
def text() -> str:
    """The file that students have; `attn build --check` says that it is the one of today."""
    return (STUB / FILE).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def examples() -> tuple[Example, ...]:
    return read_examples(STUB)


@pytest.fixture(scope="module")
def live() -> tuple[Example, ...]:
    """The same questions as the public checks ask them, never written down."""
    kept: list[Example] = []

    def judge_all(plugin: GradingPlugin) -> None:
        for item in plugin.collected.shown:
            step, name = str(step_of(item)), item.name

            def keep(
                request: Any, expectation: Any, *compared: Any, step: str = step, name: str = name
            ) -> None:
                kept.append(Example(step, name, "", request, expectation, (), *compared))

            plugin.recorded(item, REFERENCE, keep)

    run_graders(GradingPlugin(REFERENCE, judge_all, public=True))
    return tuple(kept)


def answers(**names: Any) -> InProcess:
    return InProcess({**vars(REFERENCE.module), **names})


def findings(examples: tuple[Example, ...], known: Misconception) -> list[Finding | None]:
    """What the examples of its step say to one who made this mistake."""
    respondent = answers(**{known.step: known.wrong})
    with np.errstate(all="ignore"):
        asked = [
            ask_example(each, respondent)
            for each in examples
            if each.step == known.step and not each.check.startswith(STANDING)
        ]
    return [each.finding for each in asked]


# --- the file -----------------------------------------------------------------------------------


def test_every_step_has_a_worked_example(examples: tuple[Example, ...]) -> None:
    assert {example.step for example in examples} == {step.name for step in STEPS}


def test_what_is_written_reads_back_and_writes_the_same(
    text: str, examples: tuple[Example, ...]
) -> None:
    assert write_examples(NAME, examples) == text


def test_a_file_of_0_1_0_is_read_without_the_questions_that_are_no_longer_asked(
    tmp_path: Path, text: str, examples: tuple[Example, ...]
) -> None:
    facts = json.loads(text)
    old = facts["examples"][0]
    form = {name: old["expectation"][name] for name in ("names", "axes", "compare", "noun")}
    mistakes = [{"name": "a", "words": "b", "after": []}]
    gone = {**old, "expectation": {"kind": "unchanged", **form, "precision": ""}}
    facts["examples"].insert(0, {**gone, "mistakes": mistakes})
    (tmp_path / FILE).write_text(json.dumps(facts), encoding="utf-8")
    assert write_examples(NAME, read_examples(tmp_path)) == write_examples(NAME, examples)


def test_worked_examples_with_layers_of_pytorch_read_back_and_write_the_same() -> None:
    folder = ROOT / "assignments" / "torch_single_head"
    written = (folder / FILE).read_text(encoding="utf-8")
    assert write_examples(folder.name, read_examples(folder)) == written


def test_the_numbers_are_few_enough_to_work_by_hand(examples: tuple[Example, ...]) -> None:
    for example in examples:
        by_hand = not example.check.startswith(STANDING) and not example.expectation.form.tokens
        if by_hand and example.step not in RANDOM and not example.request.read:
            values = (*example.request.arguments, *example.request.method_arguments)
            arrays = [value for value in values if isinstance(value, np.ndarray)]
            assert all(array.size <= 40 for array in arrays), example.check


@pytest.mark.parametrize("known", COMPARED, ids=lambda known: known.name)
def test_the_file_says_what_the_live_check_says(
    known: Misconception, examples: tuple[Example, ...], live: tuple[Example, ...]
) -> None:
    respondent = answers(**{known.step: known.wrong})
    due = []
    with np.errstate(all="ignore"):
        for example in live:
            if example.step == known.step and not example.check.startswith(STANDING):
                reply = respondent.ask(example.request)
                candidates = REFERENCE.replay.singles(example.request)
                due.append(judge(example.expectation, example.request, reply, candidates))
    assert findings(examples, known) == due


@pytest.mark.parametrize("known", COMPARED, ids=lambda known: known.name)
def test_a_known_mistake_is_named_by_the_worked_examples(
    known: Misconception, examples: tuple[Example, ...]
) -> None:
    respondent = answers(**{known.step: known.wrong})
    with np.errstate(all="ignore"):
        asked = ask_examples(REFERENCE.exercise.step(known.step), examples, respondent)
    first = asked.verdict.finding
    assert first and first.misconception == known.name
    assert first.fact == " ".join(known.words.split("\n\n")[0].split())


@pytest.mark.parametrize("known", DRAWN, ids=lambda known: known.name)
def test_a_mistake_about_a_draw_is_caught_by_the_worked_examples(
    known: Misconception, examples: tuple[Example, ...]
) -> None:
    respondent = answers(**{known.step: known.wrong})
    first = ask_examples(REFERENCE.exercise.step(known.step), examples, respondent).verdict.finding
    assert first and first.outcome is Outcome.WRONG_VALUES


def test_the_reference_passes_every_worked_example(examples: tuple[Example, ...]) -> None:
    found = [ask_example(example, answers()).finding for example in examples]
    assert found == [None] * len(examples)


def test_an_empty_file_passes_none_of_them(examples: tuple[Example, ...]) -> None:
    found = [ask_example(example, InProcess({})).finding for example in examples]
    assert {finding and finding.outcome for finding in found} == {Outcome.NOT_WRITTEN}


@pytest.mark.parametrize(
    "content", [None, "no JSON", "{}", '{"format_version": 0, "examples": []}'], ids=repr
)
def test_worked_examples_that_cannot_be_read_are_told_with_a_cure(
    tmp_path: Path, content: str | None
) -> None:
    if content is not None:
        (tmp_path / FILE).write_text(content, encoding="utf-8")
    with pytest.raises(KitError) as caught:
        read_examples(tmp_path)
    assert caught.value.place == str(tmp_path / FILE)
    assert "worked examples" in caught.value.fact and caught.value.cure


# --- the files beside a notebook ------------------------------------------------------------------


def test_a_check_of_what_is_no_step_is_told_by_name(tmp_path: Path) -> None:
    check = open_exercise(NAME, STUB)
    with pytest.raises(KitError) as caught:
        check(np.exp)
    assert "`exp` is not a step" in caught.value.fact and "softmax" in caught.value.cure


def test_a_notebook_away_from_its_files_is_told_where_they_are_missing(tmp_path: Path) -> None:
    with pytest.raises(KitError) as caught:
        open_exercise(NAME, tmp_path)
    assert caught.value.place == str(tmp_path) and "examples.json" in caught.value.cure


def test_a_notebook_finds_its_files_from_the_folder_above(tmp_path: Path) -> None:
    shutil.copytree(STUB, tmp_path / NAME)
    above, beside = open_exercise(NAME, tmp_path), open_exercise(NAME, STUB)
    assert write_examples(NAME, above.examples) == write_examples(NAME, beside.examples)
