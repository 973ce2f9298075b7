"""Trainings through somebody's layer: the right one learns, and mistakes do what is said."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from autograder.checks.reference import read_reference
from autograder.judging.inprocess import Unusable
from autograder.play.training import (
    GIVEN,
    TASKS,
    WIDTH,
    TaskModel,
    attention_maps,
    call_once,
    drawn_digits,
    joined,
    patches_of,
    sharpest,
    task_named,
    trained,
)
from autograder.play.training_words import (
    CLASSES,
    COUNT,
    MOMENTS,
    SIDE,
    Moment,
    TrainingResult,
    copies,
    picture_svg,
    shaded_lines,
)
from autograder.values.value_file import read_as

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"


@cache
def module(name: str) -> ModuleType:
    return read_reference(SOLUTIONS / name).module


def single(width: int) -> Any:
    return module("torch_single_head").SingleHeadAttention(width)


def causal(width: int) -> Any:
    return module("torch_multi_head").CausalMultiHeadAttention(width, 3)


def vision(width: int) -> Any:
    return module("vit_multi_head").MultiHeadSelfAttention(width, 3)


class Uniform(nn.Module):
    """Every token gathers the plain average: a mistake that sorting does not show."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.value = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        averaged: torch.Tensor = self.value(x).mean(dim=1, keepdim=True).expand_as(x)
        return averaged


def run(task: str, make: Callable[[int], Any], **options: Any) -> tuple[list[Moment], Any]:
    options = {"causal": False, "seconds": 600, **options}
    *moments, result = trained(task_named(task), make, **options)
    assert isinstance(result, TrainingResult)
    assert all(isinstance(each, Moment) for each in moments)
    return moments, result  # type: ignore[return-value]


# --- what is learned ----------------------------------------------------------------------------


@cache
def learned(task: str) -> tuple[list[Moment], TrainingResult]:
    return run(task, single)


@pytest.mark.parametrize("task", ["repeat", pytest.param("sort", marks=pytest.mark.slow)])
def test_a_right_layer_learns_to_repeat_and_to_sort(task: str) -> None:
    moments, result = learned(task)
    assert len(moments) == MOMENTS + 1 and moments[-1].step == TASKS[task].steps
    assert moments[0].loss > 2 > 0.1 > moments[-1].loss
    assert result.right >= 0.95 * COUNT
    assert all(each.came == each.expected for each in result.tried)


@pytest.mark.slow
def test_with_a_mask_a_model_learns_to_write_and_without_one_only_its_loss_is_better() -> None:
    _, right = run("write", causal, causal=True)
    _, copied = run("write", causal)
    assert right.right >= 0.9 * COUNT and not copies(right)
    assert copied.loss < right.loss / 2
    assert copied.right < 0.05 * COUNT < 0.95 * COUNT < copied.right_when_told
    assert copies(copied)


@pytest.mark.slow
def test_plain_averages_sort_and_do_not_repeat() -> None:
    _, sorting = run("sort", Uniform)
    _, repeating = run("repeat", Uniform)
    assert sorting.right > 0.9 * COUNT and repeating.right < 0.05 * COUNT


@pytest.mark.slow
def test_a_vision_transformer_learns_to_read_and_accuracy_hides_a_mistake() -> None:
    _, right = run("digits", vision)
    _, uniform = run("digits", Uniform)
    assert right.right > 0.9 * COUNT and uniform.right > 0.8 * COUNT


def test_a_repeating_model_looks_where_the_digit_stands() -> None:
    moments, _ = learned("repeat")
    (drawing,) = moments[-1].drawings
    looked = np.array(drawing.numbers)
    assert looked.shape == (GIVEN, 2 * GIVEN)
    assert [int(each) for each in looked.argmax(axis=1)] == list(range(GIVEN))
    assert [label.split()[-1] for label in drawing.rows] == list(drawing.columns[:GIVEN])


def test_the_picture_that_is_read_stands_beside_what_was_looked_at() -> None:
    moments, _ = run("digits", vision, steps=2)
    (drawing,) = moments[-1].drawings
    assert np.shape(drawing.picture) == (SIDE, SIDE) and np.shape(drawing.numbers) == (4, 4)
    pictures, _ = drawn_digits(1, np.random.default_rng(3))
    assert np.array_equal(joined(patches_of(pictures)[0]), pictures[0])
    digit = drawing.shows.removeprefix("the picture that it reads: a ")
    assert digit in "0 1 2 3 4 5 6 7 8 9".split()
    drawn = picture_svg(drawing.picture, drawing.shows)
    assert f"aria-label='{drawing.shows}'" in drawn and drawn.count("<rect") == SIDE**2
    (digits,) = learned("repeat")[0][-1].drawings
    assert digits.picture == () and digits.shows == "", "there a model reads no picture"


def test_ink_is_dark_and_what_is_beyond_its_range_is_no_other_sign() -> None:
    assert shaded_lines([(0.0, 1.0), (-0.4, 1.3), (0.5, 0.0)]) == ("  ██", "  ██", "▒▒")


# --- the same every time, and no trace ----------------------------------------------------------


def test_a_training_is_the_same_every_time_whether_it_is_looked_at_or_not() -> None:
    torch.manual_seed(5)
    _, first = run("sort", single, steps=10)
    _, second = run("sort", single, steps=10, looking=False)
    assert (first.loss, first.right) == (second.loss, second.right)
    _, other = run("sort", single, steps=10, seed=1)
    assert other.loss != first.loss


def test_a_training_leaves_draws_threads_and_gradients_as_they_were() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    threads = torch.get_num_threads()
    with torch.no_grad():
        run("sort", single, steps=2)
        assert not torch.is_grad_enabled()
    assert torch.equal(torch.rand(3), expected) and torch.get_num_threads() == threads


def test_a_slow_layer_is_trained_for_fewer_steps() -> None:
    moments, result = run("sort", single, steps=1000, seconds=0.5)
    assert 0 < result.steps < result.most_steps == 1000
    assert moments[-1].step == result.steps


def test_what_is_said_crosses_as_json_and_comes_back_the_same() -> None:
    moments, result = run("repeat", single, steps=8)
    assert [read_as(Moment, asdict(each)) for each in moments] == moments
    assert read_as(TrainingResult, asdict(result)) == result


# --- layers that are none -----------------------------------------------------------------------


class Gives(nn.Module):
    """A layer that gives whatever it was made with, of x."""

    def __init__(self, of: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        self.of = of

    def forward(self, x: torch.Tensor) -> Any:
        return self.of(x)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda width: None, "of type NoneType came, but a layer"),
        (
            lambda width: Gives(lambda x: x[0]),
            r"gives the shape \(12, 42\), but \(B=2, S=12, C=42\)",
        ),
        (lambda width: Gives(lambda x: None), "gives an object of type NoneType"),
        (lambda width: Gives(lambda x: x.long()), "gives torch.int64, but floating-point"),
    ],
)
def test_what_is_no_layer_is_told_in_a_sentence(make: Any, words: str) -> None:
    with pytest.raises(Unusable, match=words):
        call_once(task_named("sort"), make, causal=False)


def test_numbers_that_are_nan_end_a_training() -> None:
    _, result = run("sort", lambda width: Gives(lambda x: x * math.nan))
    assert result.steps == 1 and math.isnan(result.loss)


# --- attention maps -----------------------------------------------------------------------------


def test_the_maps_are_the_weights_that_the_layer_uses() -> None:
    torch.manual_seed(0)
    layer, x = module("torch_multi_head").MultiHeadAttention(12, 3), torch.randn(2, 5, 12)
    queries, keys, _ = module("torch_multi_head").split_heads(layer.Wqkv(x), 3)
    expected = (queries @ keys.transpose(-2, -1) / 2).softmax(dim=-1)[0].detach().numpy()
    maps = attention_maps(lambda: layer(x), [layer], 5, 2)
    assert [(each.block, each.head, each.heads) for each in maps] == [(0, h, 3) for h in range(3)]
    np.testing.assert_allclose([each.weights for each in maps], expected, atol=1e-6)


def test_pytorchs_own_attention_shows_its_weights_too() -> None:
    class Own(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return nn.functional.scaled_dot_product_attention(x, x, x)

    layer, x = Own(), torch.randn(2, 5, 12)
    (found,) = attention_maps(lambda: layer(x), [layer], 5, 2)
    expected = (x @ x.transpose(-2, -1) / math.sqrt(12)).softmax(dim=-1)[0]
    np.testing.assert_allclose(found.weights, expected, atol=1e-6)


def test_a_layer_without_weights_has_no_map() -> None:
    layer, x = Uniform(12), torch.randn(2, 5, 12)
    assert attention_maps(lambda: layer(x), [layer], 5, 2) == []
    assert sharpest([], slice(None)) is None
    moments, _ = run("sort", Uniform, steps=8)
    assert moments[-1].drawings == ()


# --- the data -----------------------------------------------------------------------------------


def test_no_size_of_a_task_is_another_size() -> None:
    for task in TASKS.values():
        sizes = (WIDTH, WIDTH // 4, WIDTH // 3, task.tokens)
        assert len(set(sizes)) == len(sizes), task.name


@pytest.mark.parametrize("name", TASKS)
def test_a_batch_has_an_answer_for_each_input(name: str) -> None:
    task = task_named(name)
    batch = task.batch(7, np.random.default_rng(0))
    logits = TaskModel(task, single, causal=False)(batch.inputs)
    assert logits.shape == (7, task.answers, CLASSES)
    assert batch.expected.shape == (7, task.answers)


@pytest.mark.parametrize("name", ["repeat", "sort"])
def test_a_model_that_reads_is_given_digits_and_blanks(name: str) -> None:
    batch = task_named(name).batch(3, np.random.default_rng(0))
    given, after = batch.inputs[:, :GIVEN], batch.inputs[:, GIVEN:]
    assert not torch.equal(given, given.sort(dim=1).values) and (after == CLASSES).all()
    assert torch.equal(batch.expected, given.sort(dim=1).values if name == "sort" else given)


def test_what_a_writing_model_reads_is_the_answer_one_place_late() -> None:
    batch = task_named("write").batch(3, np.random.default_rng(0))
    given, late = batch.inputs[:, :GIVEN], batch.inputs[:, GIVEN:]
    assert torch.equal(batch.expected, given.sort(dim=1).values)
    assert torch.equal(late[:, 1:], batch.expected[:, :-1]) and (late[:, 0] == CLASSES).all()


def test_pictures_are_drawn_from_a_seed_and_cut_row_by_row() -> None:
    pictures, digits = drawn_digits(500, np.random.default_rng(0))
    again, _ = drawn_digits(500, np.random.default_rng(0))
    assert (pictures == again).all() and set(digits) == set(range(CLASSES))
    numbered = np.arange(SIDE * SIDE).reshape(1, SIDE, SIDE)
    assert patches_of(numbered)[0, 1].tolist() == [3, 4, 5, 15, 16, 17, 27, 28, 29]


def test_a_picture_is_nearest_to_the_middle_one_of_its_own_digit() -> None:
    """So a picture shows its digit: that alone tells more than two of three, and not all."""
    rng = np.random.default_rng(0)
    pictures, digits = drawn_digits(2000, rng)
    middle = np.stack([pictures[digits == digit].mean(axis=0) for digit in range(CLASSES)])
    new, expected = drawn_digits(500, rng)
    far = ((new[:, np.newaxis] - middle) ** 2).sum(axis=(2, 3))
    assert 0.6 < (far.argmin(axis=1) == expected).mean() < 0.98
