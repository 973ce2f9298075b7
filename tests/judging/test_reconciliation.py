"""One name for all findings of a step, or what is true of them; and which is read first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from autograder.checks.student import CheckQuestion
from autograder.judging.asking import reconciled
from autograder.judging.compare import ResultSpec
from autograder.judging.diagnosis import PAIR, Candidate, diagnose
from autograder.judging.expectation import Agrees, judge
from autograder.values.exercise import Step
from autograder.values.request import ExceptionReport, Failed, Reply, Request, Returned
from autograder.values.value_file import read_as
from autograder.values.verdict import (
    CheckVerdict,
    Finding,
    Outcome,
    StepVerdict,
    check_facts,
    telling,
)

FORM = ResultSpec(("result",), ("B S S",))
WORDS = "You divide by the width.\n\nWhat is expected?"
Scaling = Callable[[np.ndarray, int], Any]


def right(scores: np.ndarray, width: int) -> np.ndarray:
    return np.asarray(scores / np.sqrt(width))


def by_the_width(scores: np.ndarray, width: int) -> np.ndarray:
    return scores / width


def question(width: int, seed: int = 1) -> Request:
    scores = np.random.default_rng(seed).standard_normal((2, 5, 5))
    return Request("scale_scores", (scores, width))


def reply(step: Scaling, request: Request) -> Reply:
    try:
        return Returned(step(*request.arguments))
    except ValueError as error:
        return Failed(Outcome.RAISED, exception=ExceptionReport("ValueError", str(error)))


def found(step: Scaling, width: int, **known: Scaling) -> Finding | None:
    """What a check with this width finds; `known` are the known mistakes."""
    request = question(width)
    candidates = [
        Candidate(name.replace("_AND_", PAIR), WORDS, reply(mistake, request))
        for name, mistake in known.items()
    ]
    return diagnose(reply(step, request), right(*request.arguments), FORM, candidates, request)


def by_eight(scores: np.ndarray, width: int) -> np.ndarray:
    return scores / 8.0


def told(step: Scaling, *widths: int, **known: Scaling) -> list[Finding]:
    findings = reconciled([found(step, width, **known) for width in widths])
    assert all(findings)
    return [finding for finding in findings if finding]


def test_a_name_that_explains_every_check_is_told_in_each() -> None:
    findings = told(by_the_width, 8, 6, by_the_width=by_the_width)
    assert [finding.misconception for finding in findings] == ["by_the_width"] * 2
    assert all(finding.fact == "You divide by the width." for finding in findings)


def test_a_name_that_explains_one_check_of_two_is_not_told() -> None:
    one = found(by_eight, 8, by_the_width=by_the_width)
    assert one and one.misconception == "by_the_width"  # as long as nothing else is known
    findings = told(by_eight, 8, 6, by_the_width=by_the_width)
    assert [finding.misconception for finding in findings] == [None, None]
    assert "the square root of argument number 2, divided by 8" in findings[0].fact
    assert "fixed number" in findings[0].look


def test_a_name_that_would_have_failed_a_check_that_passed_is_not_told() -> None:
    findings = [found(by_the_width, 8, by_the_width=by_the_width)]
    (kept,) = reconciled(findings)
    (dropped,) = reconciled(findings, ruled_out={"by_the_width"}.__contains__)
    assert kept and kept.misconception and dropped and dropped.misconception is None
    assert not dropped.vague and "times what is expected" in dropped.fact


def raising(message: str) -> Scaling:
    def step(scores: np.ndarray, width: int) -> Any:
        if width == 6:
            raise ValueError(message)
        return scores / width

    return step


def test_an_exception_of_the_same_type_bears_a_name_out_and_another_answer_does_not() -> None:
    findings = told(raising("mine"), 8, 6, known=raising("other words"))
    assert findings[0].misconception == "known"
    assert findings[1].misconception is None and "`ValueError: mine`" in findings[1].fact
    findings = told(raising("mine"), 8, 6, known=by_the_width)
    assert [finding.misconception for finding in findings] == [None, None]


def test_an_exception_names_no_mistake_and_is_told_by_the_name_that_numbers_give() -> None:
    findings = told(raising("one and the same"), 6, known=raising("one and the same"))
    assert [finding.misconception for finding in findings] == [None]
    assert "`ValueError: one and the same`" in findings[0].fact
    findings = told(raising("one and the same"), 8, 6, known=raising("one and the same"))
    assert [finding.misconception for finding in findings] == ["known", "known"]
    assert "`ValueError: one and the same`" in findings[1].details[-1]


def test_of_two_mistakes_one_may_show_alone() -> None:
    def two(scores: np.ndarray, width: int) -> Any:
        return scores / width + (width == 6)

    known = {"first": by_the_width, "first_AND_second": two}
    request = question(8)
    alone = diagnose(
        reply(two, request),
        right(*request.arguments),
        FORM,
        [Candidate("first", WORDS, reply(by_the_width, request))],
    )
    both = found(two, 6, **known)
    assert both and [name for name, _ in both.matches] == ["first and second"]
    findings = reconciled([alone, both])
    assert [finding and finding.misconception for finding in findings] == [
        "first",
        "first and second",
    ]


def test_nan_of_a_second_mistake_does_not_hide_the_name_that_the_numbers_give() -> None:
    def two(scores: np.ndarray, width: int) -> Any:
        return by_the_width(scores, width) * (np.nan if width == 6 else 1)

    def nan(scores: np.ndarray, width: int) -> Any:
        return right(scores, width) * (np.nan if width == 6 else 1)

    findings = told(two, 8, 6, 7, by_width=by_the_width)
    assert [finding.misconception for finding in findings] == ["by_width", None, "by_width"]
    assert "NaN" in findings[1].fact
    findings = told(two, 6, 8, by_width=by_the_width, nan=nan)
    assert [finding.misconception for finding in findings] == ["nan", "by_width"]
    findings = told(two, 6, 8, nan=nan)
    assert [finding.misconception for finding in findings] == [None, None]


def test_an_argument_that_is_overwritten_does_not_hide_the_name_of_a_wrong_result() -> None:
    request = question(8)
    expected = right(*request.arguments)
    changed = Returned(expected, (np.zeros((2, 5, 5)), 8))
    overwritten = judge(Agrees(expected, FORM), request, changed, ())
    named, bare = reconciled([found(by_the_width, 8, known=by_the_width), overwritten])
    assert named and named.misconception == "known"
    assert bare and bare.misconception is None and "overwrites" in bare.fact


def test_an_expression_holds_at_every_size_also_where_the_result_is_right() -> None:
    findings = told(by_the_width, 6, 8)
    end = "That is 1 divided by the square root of argument number 2."
    assert all(each.fact.endswith(end) for each in findings)

    def fixed(scores: np.ndarray, width: int) -> Any:
        return scores / np.sqrt(6)

    one = [found(fixed, 3)]
    passed = question(6)
    known = CheckQuestion(passed, lambda: Agrees(right(*passed.arguments), FORM))
    (finding,) = reconciled(one, [known])
    assert finding and "argument number 2, divided by the square root of 6" in finding.fact


def test_a_factor_that_may_be_a_number_or_a_size_is_told_as_a_number() -> None:
    (finding,) = told(lambda scores, width: 2 * scores / np.sqrt(width), 8)  # the batch is 2
    assert "2 times" in finding.fact and "That is" not in finding.fact


@pytest.mark.parametrize("seed", range(5))
def test_random_factors_are_no_expression(seed: int) -> None:
    factors = dict(zip((6, 8, 11), np.random.default_rng(seed).uniform(0.1, 5, 3)))
    findings = told(lambda scores, width: factors[width] * scores, *factors)
    assert not [finding for finding in findings if "That is" in finding.fact]


# --- which finding is read first ----------------------------------------------------------------

BARE = Finding(Outcome.WRONG_VALUES, "Numbers differ.", vague=True)
SHAPE = Finding(Outcome.WRONG_SHAPE, "Another shape.")
NAMED = Finding(Outcome.RAISED, "You do this.", misconception="this")


@pytest.mark.parametrize(
    ("findings", "first"),
    [
        ([None, BARE, SHAPE, NAMED], 3),
        ([None, BARE, SHAPE, SHAPE], 2),
        ([None, BARE, BARE], 1),
        ([None, None], None),
        ([], None),
    ],
)
def test_the_named_finding_is_read_first_then_one_that_says_more(
    findings: list[Finding | None], first: int | None
) -> None:
    assert telling(findings) == first


def test_a_step_ends_as_the_check_that_is_told() -> None:
    checks = tuple(
        CheckVerdict.of(str(place), "title", finding)
        for place, finding in enumerate([None, BARE, NAMED])
    )
    step = StepVerdict.of(Step("step", "Step", 2.0, 5, ()), checks)
    assert step.failing is checks[2] and step.finding is NAMED
    assert step.outcome is Outcome.RAISED and step.points == 0
    assert read_as(CheckVerdict, check_facts(checks[1])) == checks[1]  # a file keeps what is vague


def test_evidence_stays_out_of_json() -> None:
    finding = found(by_the_width, 8, known=by_the_width)
    assert finding and finding.evidence
    check = CheckVerdict.of("check", "title", finding)
    assert "evidence" not in check_facts(check)["finding"]
    assert read_as(CheckVerdict, check_facts(check)).finding == replace(finding, matches=())
