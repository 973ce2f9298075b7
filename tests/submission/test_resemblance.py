"""Similar code: no pair among people who never met, and copies are found as far as they show."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from autograder.cli.report import given_fingerprints
from autograder.submission.syntax_tree import (
    FEWEST_HAND_INS,
    Fingerprints,
    fingerprints,
    resemblances,
)
from autograder.values.exercise import read_exercise
from support.honest_class import DISGUISES, copied, honest_class

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"
SEEDS = range(20)


def drawn(count: int, seed: int = 1) -> list[Fingerprints]:
    """Hand-ins of five steps, each with 20 fingerprints that nobody else has."""
    chance = random.Random(seed)
    return [
        {f"step{n}": frozenset(chance.getrandbits(60) for _ in range(20)) for n in range(5)}
        for _ in range(count)
    ]


def test_who_has_all_the_rare_code_of_another_is_found() -> None:
    hand_ins = drawn(30)
    hand_ins[7] = hand_ins[3]
    (found,) = resemblances(hand_ins, ())
    assert (found.first, found.second, found.part) == (3, 7, 1.0)
    assert set(found.steps) == {f"step{n}" for n in range(5)}


def test_what_everybody_was_given_or_many_have_weighs_nothing() -> None:
    hand_ins = drawn(30)
    hand_ins[7] = hand_ins[3]
    given = [value for values in hand_ins[3].values() for value in values]
    assert resemblances(hand_ins, given) == ()
    for place in range(12, 24):
        hand_ins[place] = hand_ins[3]
    assert resemblances(hand_ins, ()) == ()


def test_one_or_two_steps_that_are_alike_are_not_enough() -> None:
    for steps, pairs in ((1, 0), (2, 0), (5, 1)):
        hand_ins = drawn(30)
        alike = {f"step{n}": hand_ins[3][f"step{n}"] for n in range(steps)}
        hand_ins[7] = {**hand_ins[7], **alike}
        assert len(resemblances(hand_ins, ())) == pairs


def test_the_same_lines_at_the_head_of_every_step_are_one_likeness_and_not_five() -> None:
    hand_ins = drawn(30)
    lecture = frozenset(range(40))  # such as what a tutor told two of them to check first
    for place in (3, 7):
        hand_ins[place] = {step: mine | lecture for step, mine in hand_ins[place].items()}
    assert resemblances(hand_ins, ()) == ()


def test_in_a_small_class_nobody_can_say_what_is_rare() -> None:
    for count, pairs in ((FEWEST_HAND_INS - 1, 0), (FEWEST_HAND_INS, 1)):
        hand_ins = drawn(count)
        hand_ins[1] = hand_ins[0]
        assert len(resemblances(hand_ins, ())) == pairs


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["numpy_single_head", "torch_single_head", "torch_multi_head", "vit_multi_head"]
)
def test_among_people_who_never_met_no_pair_is_shown_and_copies_are(name: str) -> None:
    exercise = read_exercise(SOLUTIONS / name)
    steps = frozenset(step.name for step in exercise.steps)
    given = given_fingerprints(exercise, steps)
    found = 0
    for seed in SEEDS:
        texts = honest_class(exercise, 30, seed)
        hand_ins: list[Fingerprints] = [fingerprints([text], steps) for text in texts]
        assert resemblances(hand_ins, given) == (), f"seed {seed}"
        chance = random.Random(seed)
        place = chance.randrange(29)
        copy = copied(texts[place], chance, ["renamed variables", "other comments"])
        hand_ins[place + 1] = fingerprints([copy], steps)
        pairs = {(each.first, each.second) for each in resemblances(hand_ins, given)}
        assert pairs <= {(place, place + 1)}, f"seed {seed}"
        found += bool(pairs)
    assert found >= len(SEEDS) // 5, found


def test_each_disguise_changes_the_text() -> None:
    (text,) = honest_class(read_exercise(SOLUTIONS / "numpy_single_head"), 1, 5)
    for way in DISGUISES:
        assert copied(text, random.Random(1), [way]) != text, way
