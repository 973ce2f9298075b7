"""The worked examples are asked in one way: a notebook and a terminal come to the same verdict."""

from __future__ import annotations

import linecache
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder.checks.reference import read_reference
from autograder.judging.asking import ask_examples
from autograder.judging.conditions import STANDING
from autograder.judging.examples import read_examples
from autograder.judging.inprocess import InProcess
from autograder.learning.checking import check_work
from autograder.learning.process import Child
from autograder.values.exercise import read_exercise
from autograder.values.request import Reply, Request, Returned
from autograder.values.value_file import read_as
from autograder.values.verdict import (
    CheckVerdict,
    Finding,
    Outcome,
    StepVerdict,
    check_facts,
    told_once,
)
from support.learner_workspace import NAME, RIGHT_SOFTMAX, ROOT, WRONG_SOFTMAX

EXERCISE = read_exercise(ROOT / "assignments" / NAME)
EXAMPLES = read_examples(EXERCISE.folder)
REFERENCE = read_reference(ROOT / "solutions" / NAME)
BODIES = {
    "right": RIGHT_SOFTMAX,
    "wrong": WRONG_SOFTMAX,
    "raises": "    raise ValueError('axes')",
    "not written": '    raise NotImplementedError("softmax is not written yet")',
    "a library does not have it": "    return memoryview(scores)[0]  # NotImplementedError, in C",
    "right until it is called again": (
        "    if 'first' not in globals():\n"
        "        globals()['first'] = scores.shape\n"
        "    assert scores.shape == globals()['first']\n" + RIGHT_SOFTMAX
    ),
    "wrong in some checks": "    return scores / scores.sum(-1, keepdims=True)",
}


SAID = {
    "def scale_scores(a, D):\n    return a / 1.732": (
        "divided by the square root of 3. Is a fixed number"
    ),
    "def project_qkv(x, q, k, v):\n    return x[0] @ q, x[0] @ k, x[0] @ v": (
        "`queries` holds what is expected for entry 0 along axis 0 (B), but the other entries are "
        "missing."
    ),
    'def apply_mask(a, mask):\n    return np.where(mask == 1, a, "-1e9")': (
        "It returns an array that holds text, not numbers, but an array of shape"
    ),
    "def apply_mask(a, mask):\n    return np.where(mask == 1, a, None)": (
        "It returns an array that holds objects of Python, not numbers, but an array of shape"
    ),
    "def softmax(a):\n    raise ValueError('Use another one.')": (
        "raises `ValueError: Use another one`."
    ),
}


@pytest.mark.parametrize(("source", "words"), SAID.items())
def test_a_finding_says_what_was_seen_in_whole_sentences(source: str, words: str) -> None:
    name = source[4:].partition("(")[0]
    found = in_this_process(source, name).finding
    assert found is not None and words in f"{found.fact} {found.look}"


def test_an_attribute_that_is_missing_is_told_before_what_follows_from_it() -> None:
    source = (ROOT / "solutions" / NAME / "solution.py").read_text(encoding="utf-8")
    other = source.replace("self.query_weights", "self.Wq")
    found = in_this_process(other, "SingleHeadAttention").finding
    assert found is not None and "there is no attribute `query_weights`" in found.fact
    assert "Yours are `Wq`, `key_weights`," in found.look


def in_this_process(source: str, step: str = "softmax") -> StepVerdict:
    names: dict[str, Any] = {"np": np}
    linecache.cache["cell.py"] = (len(source), None, source.splitlines(keepends=True), "cell.py")
    exec(compile(source, "cell.py", "exec"), names)
    with np.errstate(all="ignore"):
        return ask_examples(EXERCISE.step(step), EXAMPLES, InProcess(names)).verdict


def in_a_child(file: Path, source: str) -> StepVerdict:
    file.write_text(source, encoding="utf-8")
    with Child(EXERCISE) as child:
        (run,) = check_work(EXERCISE, [EXERCISE.step("softmax")], child=child, file=file).steps
    return run.verdict


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_notebook_and_a_terminal_come_to_the_same_verdict(body: str, tmp_path: Path) -> None:
    source = f"import numpy as np\n\ndef softmax(scores):\n{body}\n"
    verdict, told = in_this_process(source), in_a_child(tmp_path / f"{NAME}.py", source)
    assert (told.passes, told.points) == (verdict.passes, verdict.points)
    checks = told_once(verdict.checks)  # each is asked in several ways
    assert len(told.checks) == len(checks)
    for check, other in zip(told.checks, checks):
        assert (check.title, check.passes) == (other.title, other.passes)
        assert without_place(check.finding) == without_place(other.finding)


def without_place(finding: Finding | None) -> Finding | None:
    """A finding without the line of code that raises: where it stands differs."""
    if finding is None or finding.outcome is not Outcome.RAISED:
        return finding
    return replace(finding, fact=finding.fact.partition("raises ")[2])


class Refusing:
    """A respondent that notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[Request] = []

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        self.asked.append(request)
        return Returned(None)


class Answering(Refusing):
    """A respondent that notes what it is asked, and is right."""

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        super().ask(request)
        return REFERENCE.ask(request)


def test_every_worked_example_of_the_step_is_asked_once_of_right_code() -> None:
    respondent = Answering()
    answered = ask_examples(EXERCISE.step("softmax"), EXAMPLES, respondent)
    of_the_step = [example for example in EXAMPLES if example.step == "softmax"]
    assert respondent.asked == [example.request for example in of_the_step]
    assert answered.verdict.passes
    assert any(example.check.startswith(STANDING) for example in of_the_step)


def test_of_wrong_code_only_the_authors_examples_of_the_step_are_asked_each_once() -> None:
    respondent = Refusing()
    answered = ask_examples(EXERCISE.step("softmax"), EXAMPLES, respondent)
    of_the_step = [
        example
        for example in EXAMPLES
        if example.step == "softmax" and not example.check.startswith(STANDING)
    ]
    assert respondent.asked == [example.request for example in of_the_step]
    assert [check.name for check in answered.verdict.checks] == [one.check for one in of_the_step]
    assert answered.verdict.outcome is Outcome.WRONG_TYPE and answered.verdict.points == 0
    assert [each.reply for each in answered.asked] == [Returned(None)] * len(of_the_step)


def test_the_verdict_of_a_check_crosses_as_json_and_comes_back() -> None:
    for check in in_this_process(f"def softmax(scores):\n{WRONG_SOFTMAX}\n").checks:
        assert read_as(CheckVerdict, check_facts(check)) == check
        # A verdict file names the matching mistakes as well.
        facts, finding = check_facts(check), check.finding
        if finding:
            facts["finding"]["matches"] = [["a_mistake", "Its words."]]
            with_them = replace(finding, matches=(("a_mistake", "Its words."),))
            assert read_as(CheckVerdict, facts) == replace(check, finding=with_them)


@pytest.mark.parametrize("name", ["torch_single_head", "torch_multi_head", "vit_multi_head"])
def test_layers_of_one_fixed_size_do_not_pass_at_home(name: str) -> None:
    exercise = read_exercise(ROOT / "assignments" / name)
    examples = read_examples(exercise.folder)
    step = exercise.step("create_projections")
    right = read_reference(ROOT / "solutions" / name).module.create_projections

    def fixed(hidden_size: int, **options: bool) -> object:
        return right(8, **options)

    (asked, *_) = [each.request for each in examples if each.step == step.name]
    assert asked.arguments == (8,)
    verdict = ask_examples(step, examples, InProcess({step.name: fixed}, "torch")).verdict
    assert not verdict.passes and "expected to map" in str(verdict.checks)
