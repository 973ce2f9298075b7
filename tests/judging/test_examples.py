"""What students have instead of the solution: the worked examples of the real graders."""

from __future__ import annotations

import base64
import lzma
import shutil
import zlib
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
from autograder.judging.examples import (
    Example,
    alike,
    facts_in,
    packed,
    read_examples,
    read_value,
    write_examples,
)
from autograder.judging.expectation import judge
from autograder.judging.inprocess import InProcess
from autograder.learning.notebook_check import open_exercise
from autograder.values.exercise import EARLIER_EXAMPLES, EXAMPLES
from autograder.values.request import Returned
from autograder.values.verdict import Finding, Outcome

ROOT = Path(__file__).resolve().parents[2]
NAME = "numpy_single_head"
STUB = ROOT / "assignments" / NAME
REFERENCE = read_reference(ROOT / "solutions" / NAME)
STEPS = REFERENCE.exercise.steps
RANDOM = {step.name for step in STEPS if step.compare == "distribution"}
COMPARED = [known for known in REFERENCE.misconceptions if known.step not in RANDOM]
DRAWN = [known for known in REFERENCE.misconceptions if known.step in RANDOM]


@pytest.fixture(scope="module")
def content() -> bytes:
    """The file that students have; `attn build --check` says that it is the one of today."""
    return (STUB / EXAMPLES).read_bytes()


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
    content: bytes, examples: tuple[Example, ...]
) -> None:
    assert alike(write_examples(NAME, examples), content)
    assert facts_in(write_examples(NAME, examples)).keys() == facts_in(content).keys()


def test_a_folder_of_an_earlier_release_is_checked_by_what_is_asked_today(tmp_path: Path) -> None:
    shutil.copyfile(
        ROOT / "tests" / "golden" / "examples_of_earlier_releases.json",
        tmp_path / EARLIER_EXAMPLES,
    )
    (example,) = read_examples(tmp_path)
    assert ask_example(example, answers()).finding is None
    transposed = answers(softmax=lambda scores: REFERENCE.module.softmax(scores.swapaxes(-1, -2)))
    finding = ask_example(example, transposed).finding
    assert finding and finding.misconception == "softmax_of_the_transposed_scores"
    shutil.copyfile(STUB / EXAMPLES, tmp_path / EXAMPLES)
    assert len(read_examples(tmp_path)) > 1  # a newer release was laid over it


def test_a_large_array_of_an_earlier_release_is_read() -> None:
    numbers = np.arange(6, dtype="float32").reshape(2, 3)
    text = base64.b64encode(zlib.compress(numbers.tobytes())).decode("ascii")
    read = read_value({"dtype": "float32", "packed": text, "shape": [2, 3]})
    assert isinstance(read, np.ndarray) and read.dtype == numbers.dtype
    assert np.array_equal(read, numbers)


def test_worked_examples_with_layers_of_pytorch_read_back_and_write_the_same() -> None:
    folder = ROOT / "assignments" / "torch_single_head"
    written = (folder / EXAMPLES).read_bytes()
    assert alike(write_examples(folder.name, read_examples(folder)), written)


def test_arrays_come_back_bit_by_bit_each_for_itself() -> None:
    arrays = [
        np.array([[0.1, -0.0], [np.inf, 1e-45]], dtype="float32"),
        np.zeros((2, 0, 3), dtype="float64"),
        np.array(True),
        np.arange(3),
        np.array([1 / 3], dtype="float16"),
    ]
    keywords = {"at": arrays[0], "dtype": "float32", "more": [1.5, None, "ä\n"]}
    read = facts_in(packed({"arrays": [*arrays, arrays[0]], "keywords": keywords}))
    for made, array in zip(read["arrays"], [*arrays, arrays[0]]):
        assert (made.dtype, made.shape) == (array.dtype, array.shape)
        assert made.tobytes() == array.tobytes()
    read["arrays"][0][:] = 7
    assert read["keywords"]["at"].tobytes() == arrays[0].tobytes()  # nobody shares it
    assert read["keywords"]["more"] == keywords["more"]


def test_files_that_differ_in_the_last_digits_hold_the_same() -> None:
    def file(number: float, word: str = "x") -> bytes:
        return packed({"word": word, "numbers": np.array([number, 2.0])})

    assert alike(file(1.0), file(1.0 + 1e-9))
    assert not alike(file(1.0), file(1.1))
    assert not alike(file(1.0), file(1.0, "y"))
    assert not alike(b"", file(1.0))


def test_what_every_exercise_hands_out_to_check_with_is_small() -> None:
    files = sorted((ROOT / "assignments").glob(f"*/{EXAMPLES}"))
    assert len(files) == len(list((ROOT / "solutions").glob("*/exercise.toml")))
    assert sum(file.stat().st_size for file in files) < 2_500_000


def test_of_a_mistake_gradients_are_written_where_its_values_are_right() -> None:
    """Nobody looks at the others, and they would be a large part of all numbers."""
    written = {
        (mistake.name, isinstance(mistake.reply, Returned) and bool(mistake.reply.gradients))
        for example in read_examples(ROOT / "assignments" / "stretch_steps")
        if example.request.backward is not None
        for mistake in example.mistakes
    }
    assert {name for name, gradients in written if gradients} == {"context_detached"}
    assert len(written) > 20


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
    "content",
    [
        None,
        b"no xz",
        lzma.compress(b"no JSON"),
        packed({}),
        packed({"format_version": 0, "examples": []}),
        packed({"format_version": 2, "examples": [np.zeros(3)]})[:-40],
    ],
    ids=["none", "not packed", "no JSON", "empty", "another version", "cut"],
)
def test_worked_examples_that_cannot_be_read_are_told_with_a_cure(
    tmp_path: Path, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / EXAMPLES).write_bytes(content)
    with pytest.raises(KitError) as caught:
        read_examples(tmp_path)
    assert caught.value.place == str(tmp_path / EXAMPLES)
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
    assert caught.value.place == str(tmp_path) and EXAMPLES in caught.value.cure


def test_a_notebook_finds_its_files_from_the_folder_above(tmp_path: Path) -> None:
    shutil.copytree(STUB, tmp_path / NAME)
    above, beside = open_exercise(NAME, tmp_path), open_exercise(NAME, STUB)
    assert write_examples(NAME, above.examples) == write_examples(NAME, beside.examples)
