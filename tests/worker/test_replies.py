"""What comes back from a student, of whatever kind, ends in an outcome of the student's.

Every expectation of the exercises' real graders is given values that no honest code gives:
nothing of ours raises, nothing passes that is not right, and nothing is called a fault of ours.
"""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from autograder.checks.reference import Reference, read_reference
from autograder.checks.submission_judge import JudgedSteps
from autograder.grading.batch import grade_batch
from autograder.judging.compare import ResultSpec
from autograder.judging.diagnosis import Candidate, diagnose
from autograder.judging.examples import read_examples
from autograder.judging.expectation import Agrees, judge
from autograder.judging.value_words import type_words
from autograder.learning.notebook_check import report_on
from autograder.submission.reading import Submission
from autograder.values.request import Reply, Request, Returned
from autograder.values.verdict import Finding, Outcome, StepVerdict
from autograder.worker.wire import Opaque
from support.judged_steps import judged as judged_in_process
from support.judged_steps import judged_by
from support.toy_exercise import GRADERS, RIGHT, toy
from worker.hostile_replies import Liar

ROOT = Path(__file__).resolve().parents[2]
NUMPY = "numpy_single_head"
EXERCISES = sorted(path.parent.name for path in (ROOT / "solutions").glob("*/exercise.toml"))
MANNERS = ("spoiled", "any", "failed")
SEED = 1706_03762
# Two draws that differ, of the right form, are what it asks for; it alone passes by lies.
DIFFERS = "test_weights_differ_from_call_to_call"


@cache
def reference(name: str) -> Reference:
    return read_reference(ROOT / "solutions" / name)


def judged(name: str, manner: str, seeds: range) -> Iterator[tuple[int, JudgedSteps]]:
    """Judge a liar for every seed, in one run of pytest."""
    liars = ((Liar(reference(name), manner, SEED + seed), None) for seed in seeds)
    return zip(seeds, judged_by(reference(name), *liars), strict=True)


def findings(verdict: JudgedSteps) -> Iterator[tuple[str, Finding | None]]:
    """What every check says, and the chain."""
    for step in verdict.steps:
        for check in step.checks:
            yield check.name, check.finding
    yield "the chain", verdict.chain.finding


def wrongs(verdict: JudgedSteps) -> Iterator[str]:
    """Say what is wrong with the verdict on a liar."""
    for check, finding in findings(verdict):
        if finding is None:
            if not check.startswith(DIFFERS):
                yield f"{check} passes"
        elif finding.outcome in (Outcome.INFRASTRUCTURE, Outcome.PASSED):
            yield f"{check} ends as {finding.outcome}: {finding.details}"
        elif "cannot be compared" in finding.fact or "cannot go on" in finding.fact:
            yield f"{check} raises: {finding.details}"
        else:
            json.dumps(asdict(finding), allow_nan=False)
            assert finding.fact, check
    if any(step.points for step in verdict.steps):
        yield "it gets points"


def lie(name: str, manner: str, seeds: range) -> None:
    for seed, verdict in judged(name, manner, seeds):
        told = list(wrongs(verdict))
        assert not told, f"{name}, {manner}, seed {seed}: {told}"


@pytest.mark.parametrize("manner", MANNERS)
def test_every_kind_of_reply_ends_in_an_outcome_of_the_students(manner: str) -> None:
    lie(NUMPY, manner, range(1))


@pytest.mark.slow
@pytest.mark.parametrize("manner", MANNERS)
@pytest.mark.parametrize("name", EXERCISES)
def test_many_liars_of_every_manner_do_too(name: str, manner: str) -> None:
    lie(name, manner, range(10))


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name == NUMPY else pytest.mark.slow) for name in EXERCISES],
)
def test_a_learners_own_checks_say_something_of_every_kind_of_reply(name: str) -> None:
    examples = read_examples(ROOT / "assignments" / name)
    for manner, seed in product(MANNERS, range(4)):
        liar = Liar(reference(name), manner, SEED + seed)
        for step in reference(name).exercise.steps:
            report = report_on(step, examples, liar)
            for check in report.verdict.checks:
                where = f"{step.name}: {check.title}, {manner}, seed {seed}"
                assert check.finding and not check.passes, where
            assert report.lines() and report._repr_html_()


# --- what is quoted, and what it costs ----------------------------------------------------------


def test_of_the_attributes_that_are_there_only_names_are_told() -> None:
    listed = ("W_q", "no name", "x" * 4000, 5, "`", *(f"name{number}" for number in range(60)))
    asked = Request("Layer", read=("weights", "*"), method="")
    expectation = Agrees(np.ones(3), ResultSpec(("weights",), (None,)))
    reply = Returned(None, (), {"*": listed})
    finding = judge(expectation, asked, reply, ())
    assert finding and "Yours are `W_q`, `name0`" in finding.look
    assert "no name" not in finding.look and len(finding.look) < 400


def test_the_name_of_a_type_is_told_in_one_clean_line() -> None:
    assert type_words(Opaque("\x1b[2Jmine\n##[error]")) == "an object of type mine ##[error]"
    assert type_words(Opaque("\n")) == "an object"


def test_a_reply_of_another_shape_costs_no_more_than_a_look_at_its_shape() -> None:
    """Sixty-four million booleans as floating-point numbers would be half a gigabyte."""
    due, huge = np.ones((4, 4)), np.zeros((1 << 13, 1 << 13), bool)
    mistake = Candidate("zero", "You give zeros.\n\nWhy?", Returned(np.zeros((4, 4), bool)))
    tracemalloc.start()
    try:
        finding = diagnose(
            Returned(huge), due, ResultSpec(("mask",), ("S S",), "numbers"), (mistake,)
        )
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
    assert finding and finding.outcome is Outcome.WRONG_SHAPE


def test_a_result_of_booleans_is_set_beside_a_mistake_of_booleans() -> None:
    due = np.tril(np.ones((4, 4)))
    mistake = Candidate("upper", "You hide the past.\n\nWhy?", Returned(due.T > 0))
    for mode in ("numbers", "values"):
        finding = diagnose(
            Returned(due.T > 0), due, ResultSpec(("mask",), ("S S",), mode), (mistake,)
        )
        assert finding and finding.misconception == "upper"


# --- a check that raises: whose doing it is -----------------------------------------------------

# A check that looks into the reply by itself, as no check of ours does.
CARELESS = "    answer = student(draw('B D'))\n    {}\n    answer.agrees()"


def careless(folder: Path, line: str, double: object) -> StepVerdict:
    """The first step of the toy, judged by a check with a line that may raise."""
    graders = GRADERS.replace('    student(draw("B D")).agrees()', CARELESS.format(line), 1)
    (verdict,) = judged_in_process(toy(folder, graders), {**RIGHT, "double": double})
    assert verdict.steps[1].outcome is Outcome.PASSED
    return verdict.steps[0]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "Your code gives back None, which cannot be compared"),
        ({}, "an object of type dict"),
        ((1, 2), "a list or tuple of 2"),
        ("text", "a single value of type str"),
    ],
)
def test_what_only_the_students_value_makes_a_check_raise_is_the_students(
    tmp_path: Path, value: object, words: str
) -> None:
    step = careless(tmp_path, "answer.reply.value.sum()", lambda x: value)
    assert step.outcome is Outcome.WRONG_TYPE and step.points == 0
    assert step.finding and words in step.finding.fact
    assert "AttributeError" in step.finding.details[0] and "test_double" in step.finding.details[0]


@pytest.mark.parametrize(
    "line",
    [
        "1 / 0",
        "answer.reply.value.no_such",
        "assert answer.reply.value is None",
        "if answer.reply.value is None: raise OSError('no disk')",
        "from autograder.errors import KitError\n"
        "    if answer.reply.value is None: raise KitError('it', place='is', cure='broken')",
        "student(draw('B D'), 1).agrees()",
    ],
    ids="division attribute assertion disk kit reference".split(),
)
def test_what_the_reference_makes_raise_too_or_no_value_can_is_ours(
    tmp_path: Path, line: str
) -> None:
    def wrong_then_more(x: object, *more: object) -> object:
        return 3 * x if "None: raise" not in line else None  # type: ignore[operator]

    step = careless(tmp_path, line, wrong_then_more)
    assert step.outcome is Outcome.INFRASTRUCTURE
    assert step.finding and "no fault of yours" in step.finding.fact and step.finding.details


def test_what_happens_once_and_not_again_is_ours(tmp_path: Path) -> None:
    once = "if counted.count(True) == 1: raise KeyError('once')"
    line = f"counted.append(student.conversation.judging)\n    {once}"
    graders = GRADERS.replace('    student(draw("B D")).agrees()', CARELESS.format(line), 1)
    reference = toy(tmp_path, graders + "\n\ncounted = []\n")
    (verdict,) = judged_in_process(reference, {**RIGHT, "double": lambda x: None})
    assert verdict.steps[0].outcome is Outcome.INFRASTRUCTURE


def test_a_respondent_that_raises_is_ours(tmp_path: Path) -> None:
    class Broken:
        def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
            raise RuntimeError("the sandbox is gone")

    (verdict,) = judged_by(reference(NUMPY), (Broken(), None))
    assert {step.outcome for step in verdict.steps} == {Outcome.INFRASTRUCTURE}
    assert verdict.chain.outcome is Outcome.INFRASTRUCTURE


# --- through the sandbox ------------------------------------------------------------------------

PATCHED = """\
import importlib
wire = importlib.import_module("autograder.worker.wire")
right = wire.encode
ODD = {odd}

def odd(value, payload, depth=0):
    kind = type(value).__name__
    return ODD[kind] if depth == 0 and kind in ODD else right(value, payload, depth)

class SingleHeadAttention:
    def __init__(self, embedding_dimension, rng):
        wire.encode = odd
        {keep}

    def forward(self, x, causal=False):
        wire.encode = odd
        return x

def softmax(scores):
    wire.encode = odd
    return scores
"""
KEEP = (
    "self.query_weights = self.key_weights = self.value_weights = self.output_weights = "
    "rng.normal(0, 0.02, (embedding_dimension,) * 2)"
)
NESTED = (
    '{"kind": "sequence", "items": [{"kind": "seed", "seed": 1}, {"kind": "opaque", "type": ""}]}'
)
LAYER = (
    '{"kind": "linear", "items": [{"kind": "array", "dtype": "b1", "shape": [0, 0]}, '
    '{"kind": "plain", "value": None}]}'
)
ENCODERS = {
    "names that are a number": ("{'list': {'kind': 'plain', 'value': 5}}", "pass"),
    "names that are an object": ("{'list': {'kind': 'opaque', 'type': 'x'}}", "pass"),
    "names that are a float": ("{'list': {'kind': 'float', 'value': 'nan'}}", "pass"),
    "names that are a layer": (f"{{'list': {LAYER}}}", "pass"),
    "arrays that are layers": (f"{{'ndarray': {LAYER}}}", KEEP),
    "arrays that are nested": (f"{{'ndarray': {NESTED}, 'list': {NESTED}}}", KEEP),
    "arrays that are seeds": ("{'ndarray': {'kind': 'seed', 'seed': 7}}", KEEP),
}


@pytest.mark.slow
def test_a_patched_encoder_that_gives_another_kind_of_value_is_graded() -> None:
    folder = ROOT / "solutions" / "numpy_single_head"
    solution = (folder / "solution.py").read_text(encoding="utf-8")
    submissions = [
        Submission(
            f"s{number}",
            folder.name,
            (solution, PATCHED.replace("{odd}", odd).replace("{keep}", keep)),
            Path("s.py"),
        )
        for number, (odd, keep) in enumerate(ENCODERS.values())
    ]
    for name, verdict in zip(ENCODERS, grade_batch(folder, submissions), strict=True):
        told = [(step.name, step.outcome, step.finding) for step in verdict.steps]
        assert not verdict.infrastructure, f"{name}: {told}"
        assert verdict.chain.outcome is not Outcome.INFRASTRUCTURE, f"{name}: {verdict.chain}"
        lost = {step.name for step in verdict.steps if step.outcome is not Outcome.PASSED}
        assert lost >= {"softmax", "SingleHeadAttention"}, f"{name}: {told}"
