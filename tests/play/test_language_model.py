"""The character model: its attention is the layer of the exercise, with every mistake in it."""

from __future__ import annotations

import math
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from autograder.checks.reference import Reference, read_reference
from autograder.errors import KitError
from autograder.judging.inprocess import Unusable
from autograder.play.language_model import (
    CONTEXT,
    DIMENSION,
    MET,
    OTHERS,
    WEIGHTS,
    MeasuredCosts,
    measured_loss,
    read_costs,
    read_model,
    written,
)
from autograder.play.language_model import spoken_mistake_words as mistake_words
from autograder.values.exercise import MISTAKE_COSTS, generated
from demo.train_character_model import model_logits, trained
from support.cost_measurement import costs_document, main, measured_costs, read_trainings
from support.learner_workspace import ROOT

FOLDER = ROOT / "solutions" / "numpy_single_head"
DOCUMENT = ROOT / "docs" / "mistake-costs.md"


@pytest.fixture
def costs() -> MeasuredCosts:
    found = read_costs(FOLDER)
    assert found is not None, "run `make costs`"
    return found


@cache
def reference() -> Reference:
    return read_reference(FOLDER)


def layer(dimension: int, rng: np.random.Generator) -> Any:
    """The layer of the reference."""
    return reference().module.SingleHeadAttention(dimension, rng)


def test_the_weights_are_small_enough_to_come_with_the_kit() -> None:
    assert WEIGHTS.stat().st_size <= 300_000


def test_no_size_of_the_model_is_one_that_somebody_writes_down_for_all() -> None:
    assert DIMENSION != 64 and CONTEXT == 2 * DIMENSION


def test_with_the_reference_the_model_computes_what_it_was_trained_with() -> None:
    model = read_model()
    tokens = np.random.default_rng(0).integers(0, len(model.characters), (2, 7))
    weights = {name: torch.from_numpy(each) for name, each in model.weights.items()}
    expected = model_logits(weights, torch.from_numpy(tokens)).numpy()
    found = model.logits(tokens, model.layers(layer))
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def test_it_knows_text_that_it_has_not_seen_far_better_than_a_guess() -> None:
    loss = measured_loss(layer, seconds=60)
    assert loss.characters == 16 * CONTEXT
    assert loss.nats < 0.5 * math.log(len(read_model().characters))


def test_it_writes_the_same_text_every_time_in_words_of_english() -> None:
    first = "".join(written(layer, seconds=60))
    again = "".join(written(layer, seconds=60, length=40))
    assert len(first) == 300 and again == first[:40]
    assert sum(word in first.lower().split() for word in ("the", "and", "to", "of", "i", "my")) >= 3


@pytest.mark.parametrize(
    ("gives", "words"),
    [
        (lambda x: x[0], r"gives the shape \(1, 48\), but"),
        (lambda x: x.tolist(), "gives an object of type list"),
        (lambda x: x * np.nan, "NaN or infinite"),
        (lambda x: x.astype(str), "but numbers are expected"),
    ],
)
def test_what_is_no_layer_is_told_in_a_sentence(gives: Any, words: str) -> None:
    class Layer:
        def __init__(self, dimension: int, rng: np.random.Generator) -> None:
            pass

        def forward(self, x: np.ndarray, causal: bool = False) -> Any:
            return gives(x)

    with pytest.raises(Unusable, match=words):
        list(written(Layer, prompt="T"))


def test_a_slow_layer_writes_less_and_not_longer() -> None:
    assert 1 <= len(list(written(layer, seconds=0))) < 3
    assert measured_loss(layer, seconds=0).characters < 16 * CONTEXT


def test_every_known_mistake_has_its_cost(costs: MeasuredCosts) -> None:
    known = [(each.name, each.step) for each in reference().misconceptions]
    assert [(each.name, each.step) for each in costs.mistakes] == known, "run `make costs`"
    silent = [each for each in costs.mistakes if not each.is_heard(costs.right)]
    assert all(each.shown_by for each in costs.mistakes), "exact checks find every one"
    assert 0 < len(silent) < len(known) / 2


@pytest.mark.slow
def test_the_costs_are_those_that_are_measured_now(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    solutions = tmp_path / "solutions"
    for name in (FOLDER.name, "_attention"):
        shutil.copytree(FOLDER.parent / name, solutions / name)
    generated(solutions / FOLDER.name, MISTAKE_COSTS).unlink()
    page = tmp_path / "costs.md"
    main(["--folder", str(solutions / FOLDER.name), "--document", str(page)])
    assert f"{len(reference().misconceptions)} mistakes" in capsys.readouterr().out
    there, now = read_costs(FOLDER), read_costs(solutions / FOLDER.name)
    assert there is not None and now is not None and abs(there.right - now.right) < 0.01
    assert page.read_text(encoding="utf-8").startswith("# What each mistake")
    for before, after in zip(there.mistakes, now.mistakes, strict=True):
        assert (before.name, before.loss is None) == (after.name, after.loss is None)
        if before.loss is not None and after.loss is not None:
            assert abs(before.loss - after.loss) <= 0.01 * before.loss, before.name


def test_the_spread_is_over_five_trainings(costs: MeasuredCosts) -> None:
    assert costs.trainings == 5, "run `make costs`"
    assert costs.spread[0] <= costs.right <= costs.spread[1]
    for each in costs.mistakes:
        assert 0 <= each.heard_in <= costs.trainings
        if each.loss is not None:
            assert each.spread is not None and each.spread[0] <= each.loss <= each.spread[1]


@pytest.fixture
def changed_weights(tmp_path: Path) -> Any:
    """Write the weights in the kit with other arrays in place of some; return the file."""

    def write(name: str, **arrays: np.ndarray) -> Path:
        with np.load(WEIGHTS) as kept, (tmp_path / name).open("wb") as file:
            np.savez(file, allow_pickle=False, **{**kept, **arrays})
        return tmp_path / name

    return write


@pytest.mark.slow
def test_another_training_is_measured_as_another(changed_weights: Any, tmp_path: Path) -> None:
    embeddings = np.load(WEIGHTS)["embeddings"]
    (other,) = read_trainings([changed_weights("other.npz", embeddings=embeddings / 2)])
    right, worse = (measured_loss(layer, model=each).nats for each in (read_model(), other))
    costs = measured_costs(FOLDER, [other])
    assert costs.trainings == 2
    assert costs.spread == (round(min(right, worse), 3), round(max(right, worse), 3))
    assert costs.right == round(right, 3) and abs(right - worse) > 0.1
    stopped = next(each for each in costs.mistakes if each.stops)
    assert stopped.heard_in == 2 and stopped.spread is None


def test_what_is_no_other_training_of_the_same_model_is_refused(
    changed_weights: Any, tmp_path: Path
) -> None:
    no_weights = tmp_path / "notes.npz"
    no_weights.write_text("no weights\n", encoding="utf-8")
    text = np.load(WEIGHTS)["held_out"][::-1].copy()
    for file, words in (
        (no_weights, "holds no weights"),
        (tmp_path / "missing.npz", "holds no weights"),
        (WEIGHTS, "measured already"),
        (changed_weights("text.npz", held_out=text), "another text"),
    ):
        with pytest.raises(KitError, match=words) as refused:
            read_trainings([file])
        assert refused.value.place == str(file)


def test_the_document_has_the_costs_that_students_get(costs: MeasuredCosts) -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == costs_document(reference().exercise.title, costs)
    given = ROOT / "assignments" / FOLDER.name
    assert read_costs(given) == costs


def test_the_mistakes_that_were_met_are_told_and_three_others_on_request(
    costs: MeasuredCosts,
) -> None:
    met = costs.mistakes[0]
    head, (words, *_) = mistake_words(costs, [met.name, "nothing_known"])
    assert head[0] == MET and words == f"“{met.words}”"
    assert list(mistake_words(costs, [])) == []
    (others, measured), *told = mistake_words(costs, [], others=True)
    assert others == OTHERS and len(told) == 3
    loss = measured_loss(layer, seconds=60)
    assert f"on {loss.characters:,} characters" in measured
    assert f"a loss of {loss.nats:.2f}." in measured
    assert list(mistake_words(None, [met.name])) == []


def test_training_makes_what_the_model_reads() -> None:
    text = "To be, or not to be: that is the question.\n" * 2_400
    made = trained(text, seed=0, steps=2)
    assert {*made} == {*np.load(WEIGHTS).files}
    with pytest.raises(KitError, match="at least"):
        trained("too short", seed=0)
