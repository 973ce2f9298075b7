"""Hidden inputs differ from hand-in to hand-in, and stay the same for the same code.

What one hand-in was asked says nothing of what another is asked, and what a worker finds in its
generators says nothing of either.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from autograder.checks.marks import Draw
from autograder.checks.reference import Reference, read_reference
from autograder.grading.journal import SHARED_SEEDS, input_seed, shared_seed, worker_seed
from autograder.judging.inprocess import InProcess
from autograder.values.exercise import read_exercise
from autograder.values.request import Failed, Reply, Request
from autograder.values.verdict import Outcome, Verdict
from autograder.worker import arrays
from support.graded_texts import graded as graded_texts
from support.judged_steps import judged_by

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"
NUMPY, TORCH = SOLUTIONS / "numpy_single_head", SOLUTIONS / "torch_single_head"
EXERCISES = sorted(path.parent.name for path in SOLUTIONS.glob("*/exercise.toml"))
EXERCISE = read_exercise(NUMPY)
SECRET = hashlib.sha256(b"a course").digest()


def graded(code: str, folder: Path = NUMPY, secret: bytes = SECRET) -> Verdict:
    (verdict,) = graded_texts(folder.name, code, secret=secret)
    return verdict


# --- the seeds ------------------------------------------------------------------------------------


def test_a_seed_depends_on_secret_code_exercise_and_purpose_and_on_nothing_else() -> None:
    other = replace(EXERCISE, grading=replace(EXERCISE.grading, seed=EXERCISE.grading.seed + 1))
    places = [
        (secret, exercise)
        for secret in (SECRET, b"", b"another")
        for exercise in (EXERCISE, other, read_exercise(TORCH))
    ]
    own = [input_seed(*place, code) for place in places for code in ("0" * 64, "f" * 64)]
    groups = range(SHARED_SEEDS)
    shared = [
        seed(*place, group)
        for seed in (shared_seed, worker_seed)
        for place in places
        for group in groups
    ]
    assert len({*own, *shared}) == len(own) + len(shared)
    assert input_seed(SECRET, EXERCISE, "0" * 64) == own[0]


def test_right_code_draws_what_others_have_drawn_before_it() -> None:
    """So its draws need not be read again. The generators of a class have few seeds."""
    drawn = [worker_seed(SECRET, EXERCISE, seed) for seed in range(40)]
    assert len(set(drawn)) == SHARED_SEEDS
    assert drawn[:SHARED_SEEDS] == drawn[SHARED_SEEDS : 2 * SHARED_SEEDS]


def test_a_seed_is_large_and_goes_through_json_unchanged() -> None:
    seeds = [input_seed(SECRET, EXERCISE, str(number)) for number in range(2000)]
    assert all(0 <= seed < 1 << 63 for seed in seeds)
    assert max(seeds).bit_length() == 63 and len(set(seeds)) == len(seeds)
    assert [int(json.loads(json.dumps(seed))) for seed in seeds] == seeds
    set_bits = np.mean([[seed >> bit & 1 for bit in range(63)] for seed in seeds], axis=0)
    assert (abs(set_bits - 0.5) < 0.06).all()


def test_the_verdict_holds_the_seed_of_its_inputs_and_a_regrade_has_the_same() -> None:
    code = "def softmax(scores): return scores"
    first, second = graded(code), graded(code)
    assert first.seed == second.seed == input_seed(SECRET, EXERCISE, first.code_hash)
    assert [step.checks for step in first.steps] == [step.checks for step in second.steps]
    assert graded(code, secret=b"another").seed != first.seed
    assert graded(f"{code}\n").seed != first.seed


# --- what a worker can see ------------------------------------------------------------------------

LOOKS = """
import hashlib, random, sys
import numpy as np

def looks(*_):
    states = [np.random.get_state()[1].tolist(), random.getstate()[1]]
    if "torch" in sys.modules:
        states.append(sys.modules["torch"].initial_seed())
    shown = [hashlib.sha256(repr(state).encode()).hexdigest()[:16] for state in states]
    raise ValueError(" ".join(shown))
"""


def seen(folder: Path, code: str) -> tuple[str, int]:
    """Return what a worker's generators show, as digests, and the seed of its inputs."""
    step = read_exercise(folder).steps[0].name
    verdict = graded(f"{code}\n{step} = looks", folder)
    finding = verdict.steps[0].finding
    assert finding and finding.outcome is Outcome.RAISED
    return " ".join(re.findall(r"\b[0-9a-f]{16}\b", finding.fact)), verdict.seed


def shown_by(seed: int, library: str) -> list[str]:
    """Return the digests of generators that are seeded with `seed`."""
    in_numpy, in_python = np.random.RandomState(seed % (1 << 32)), random.Random(seed)
    (
        in_numpy.random_sample(),
        in_python.random(),
    )  # drawn before each call, to see a seed that is set
    states: list[object] = [
        in_numpy.get_state(legacy=False)["state"]["key"].tolist(),
        in_python.getstate()[1],
    ]
    states += [seed] if library == "torch" else []
    return [hashlib.sha256(repr(state).encode()).hexdigest()[:16] for state in states]


@pytest.mark.parametrize(
    "folder",
    [NUMPY, pytest.param(TORCH, marks=pytest.mark.slow)],
    ids=lambda folder: folder.name,
)
def test_the_generators_of_a_worker_tell_nothing_of_the_inputs(folder: Path) -> None:
    exercise = read_exercise(folder)
    shown, seed = seen(folder, LOOKS)
    again, _ = seen(folder, LOOKS)
    assert shown == again, "a regrade draws other numbers"
    for possible in (seed, seed % (1 << 32), exercise.grading.seed):
        for digest in shown_by(possible, exercise.library):
            assert digest not in shown
    # The control: the digests are those of the seed that the worker was given.
    assert shown.split() == shown_by(worker_seed(SECRET, exercise, seed), exercise.library)


def test_a_worker_seeds_the_generator_of_pytorch_too(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []
    generator = SimpleNamespace(manual_seed=seeds.append)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(default_generator=generator))
    arrays.seed(5)
    assert seeds == [5]


# --- what one hand-in learns ----------------------------------------------------------------------


@dataclass(frozen=True)
class Remembering:
    """The reference, that keeps what it is asked and what it answers."""

    reference: Reference
    known: dict[bytes, list[Reply]] = field(default_factory=dict)

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        """Answer as the reference does; asked the same again, it may draw anew."""
        replies = self.known.setdefault(request.key, [])
        replies.append(self.reference.ask(request))
        return replies[-1]


@dataclass(frozen=True)
class Replaying:
    """Has nothing written, and gives back the answers that somebody else has got."""

    known: Mapping[bytes, list[Reply]]
    given: dict[bytes, int] = field(default_factory=dict)

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        """Answer what is known; nothing else is written."""
        replies = self.known.get(request.key)
        if not replies:
            return Failed(Outcome.NOT_WRITTEN, f"`{request.target}` is not written yet.")
        turn = self.given.get(request.key, 0)
        self.given[request.key] = turn + 1
        return replies[turn % len(replies)]


@pytest.mark.parametrize(
    "name",
    [
        NUMPY.name,
        *(pytest.param(name, marks=pytest.mark.slow) for name in EXERCISES if name != NUMPY.name),
    ],
)
def test_all_the_right_answers_of_one_hand_in_are_worth_nothing_to_another(name: str) -> None:
    reference = read_reference(SOLUTIONS / name)
    one, two = (input_seed(SECRET, reference.exercise, code) for code in ("one", "two"))
    remembering = Remembering(reference)
    right, same, other = judged_by(
        reference,
        (remembering, one),
        (Replaying(remembering.known), one),
        (Replaying(remembering.known), two),
    )
    full = reference.exercise.points
    assert sum(step.points for step in right.steps) == full
    assert sum(step.points for step in same.steps) == full, "the control: for itself they are"
    earned = {step.name for step in other.steps if step.points}
    # What takes no random input is asked alike in every hand-in: a size, and nothing else.
    assert earned <= {"create_causal_mask", "create_projections"}


def test_without_a_seed_the_inputs_are_the_exercises_own() -> None:
    reference = read_reference(NUMPY)
    asked = Remembering(reference)
    judged_by(reference, (asked, None))
    again = Remembering(reference)
    judged_by(reference, (again, EXERCISE.grading.seed))
    assert asked.known.keys() == again.known.keys()


def test_two_checks_never_share_inputs_whatever_the_seed() -> None:
    seeds = [input_seed(SECRET, EXERCISE, str(number)) for number in range(50)]
    first = [
        float(Draw.hidden(EXERCISE, check, {}, seed)("B S D")[0, 0, 0])
        for check in ("test_one", "test_two")
        for seed in seeds
    ]
    assert len(set(first)) == len(first)


@pytest.mark.slow
def test_what_is_expected_is_not_kept_for_hand_ins_that_are_done() -> None:
    """A class may be of any size: what the trusted process keeps of each is bounded."""
    reference = read_reference(NUMPY)
    wrong = InProcess({**vars(reference.module), "softmax": lambda scores: scores * 2.0})

    def kept() -> int:
        own = reference.memories.own
        return sum(len(each) for each in (own.expected, own.drawn, own.singles, own.pairs))

    sizes = []
    for number in range(3):
        judged_by(reference, (wrong, input_seed(SECRET, EXERCISE, str(number))))
        sizes.append(kept())
    assert sizes[0] > 0 and sizes[1:] == sizes[:1] * 2
    judged_by(reference, *((wrong, seed) for seed in range(5)))
    assert kept() == sizes[0]
