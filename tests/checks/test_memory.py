"""What was computed for inputs that hand-ins share serves all of them; the rest is forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from autograder.checks.memory import InputSeeds
from autograder.checks.plugin import GradingPlugin, run_graders
from autograder.checks.reference import Reference, read_reference
from autograder.grading.journal import SHARED_SEEDS, input_seed, shared_seed
from autograder.judging.inprocess import InProcess
from autograder.values.request import Reply, Request

NUMPY = Path(__file__).resolve().parents[2] / "solutions" / "numpy_single_head"
SECRET = b"a secret of this test"


class Listening:
    """The reference as a student, that keeps the keys of what it is asked with arrays."""

    def __init__(self, reference: Reference) -> None:
        self._student = InProcess(vars(reference.module))
        self.drawn: set[bytes] = set()

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        given = (*request.arguments, *request.method_arguments)
        if any(isinstance(value, np.ndarray) for value in given):
            self.drawn.add(request.key)
        return self._student.ask(request)


class Counting(Reference):
    """A reference that counts how often it had to compute."""

    count = 0

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        type(self).count += 1
        return super().ask(request, leaning_on)


def asked(*seeds: InputSeeds) -> Iterator[tuple[set[bytes], int]]:
    """For each hand-in what it is asked, and how much the reference computed."""
    own = read_reference(NUMPY)
    reference = Counting(own.exercise, own.module, own.misconceptions)
    found: list[tuple[set[bytes], int]] = []

    def judge(plugin: GradingPlugin) -> None:
        for each in seeds:
            student, before = Listening(own), Counting.count
            judged = plugin.judged_by(student, seeds=each)
            assert all(step.passes for step in judged.steps)
            found.append((student.drawn, Counting.count - before))

    run_graders(GradingPlugin(reference, judge))
    return iter(found)


def test_hand_ins_share_the_inputs_of_standing_checks_and_nothing_else() -> None:
    shared, other = InputSeeds(1, 7), InputSeeds(2, 7)
    (first, before), (second, after) = asked(shared, other)
    standing = len(first & second)
    assert standing and first - second and second - first
    assert after < before, "what was computed for the first is not computed again"
    assert standing < len(first)


def test_with_seeds_of_their_own_hand_ins_share_nothing() -> None:
    (first, _), (second, _) = asked(InputSeeds(1, 7), InputSeeds(2, 8))
    assert not first & second


def test_what_is_computed_depends_on_no_hand_in_before() -> None:
    (alone, _) = next(asked(InputSeeds(2, 7)))
    *_, (after, _) = asked(InputSeeds(1, 7), InputSeeds(3, 8), InputSeeds(2, 7))
    assert alone == after


def test_a_class_has_few_shared_seeds_and_another_secret_has_others() -> None:
    exercise = read_reference(NUMPY).exercise
    seeds = [input_seed(SECRET, exercise, str(number)) for number in range(200)]
    drawn = {shared_seed(SECRET, exercise, seed) for seed in seeds}
    assert len(drawn) == SHARED_SEEDS and not drawn & set(seeds)
    assert not drawn & {shared_seed(b"another", exercise, seed) for seed in seeds}


def test_the_same_hand_in_is_asked_the_same() -> None:
    keys = [key for key, _ in asked(*[InputSeeds(5, 7)] * 3)]
    assert all(each == keys[0] for each in keys)
