"""What is said about a class from outlines of its verdicts is what whole verdicts say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.cli.follow_ups import find_follow_ups
from autograder.grading.batch import grade_batch
from autograder.grading.journal import infrastructure, unfinished
from autograder.reports.class_page import ClassContext, class_table
from autograder.reports.class_summary import class_summary
from autograder.reports.grades_csv import grades_csv
from autograder.reports.misunderstandings import misunderstandings
from autograder.reports.roll import ClassGradebook
from autograder.submission.reading import Submission, read_submission
from autograder.values.symbols import MarkingRules
from autograder.values.verdict import (
    ChainVerdict,
    CheckVerdict,
    Finding,
    Outcome,
    Verdict,
    VerdictOutlines,
)
from support.mixed_class import mixed_class
from support.shown import printed
from support.verdicts import EXERCISE, class_page, verdict

BROKEN = "def softmax(scores:\n    return scores\n"
Said = Callable[[Sequence[Verdict]], object]


@pytest.fixture(scope="module")
def submissions(tmp_path_factory: pytest.TempPathFactory) -> list[Submission]:
    folder = tmp_path_factory.mktemp("class")
    texts = [*mixed_class(EXERCISE, 7, mistakes=0.4), BROKEN, "x = 1\n"]
    files = [folder / f"s{number}.py" for number in range(len(texts))]
    for file, text in zip(files, texts):
        file.write_text(text, encoding="utf-8")
    (folder / "rejected.ipynb").write_text("no JSON", encoding="utf-8")
    return [
        read_submission(file, EXERCISE, file.stem) for file in (*files, folder / "rejected.ipynb")
    ]


@pytest.fixture(scope="module")
def verdicts(submissions: list[Submission]) -> list[Verdict]:
    cut = Finding(Outcome.TIMED_OUT, "Judging was stopped.")
    first, second, *rest = submissions
    judged = grade_batch(EXERCISE.folder, rest)
    assert {"s2", "rejected"} < {verdict.student for verdict in judged}
    odd = (infrastructure(EXERCISE, first, "a fault"), unfinished(EXERCISE, second, cut, seed=1))
    return [*odd, *judged, replace(judged[0], student="twin")]


def said(submissions: Sequence[Submission]) -> dict[str, Said]:
    def page(verdicts: Sequence[Verdict]) -> str:
        found = misunderstandings(EXERCISE, verdicts)
        return class_page(
            EXERCISE, verdicts, ClassContext(mistakes=[(each, "x = 1") for each in found])
        )

    return {
        "class page": page,
        "table": lambda verdicts: printed(class_table(EXERCISE, verdicts), width=200),
        "CSV": lambda verdicts: grades_csv(EXERCISE, verdicts),
        "summary": lambda verdicts: class_summary(EXERCISE, verdicts),
        "mistakes": lambda verdicts: misunderstandings(EXERCISE, verdicts),
        "follow-ups": lambda verdicts: find_follow_ups(
            EXERCISE, verdicts, submissions, ClassGradebook()
        ),
    }


@pytest.mark.parametrize("rules", [MarkingRules(), MarkingRules(partial_points=True)])
def test_outlines_say_of_a_class_what_whole_verdicts_say(
    submissions: list[Submission], verdicts: list[Verdict], rules: MarkingRules
) -> None:
    whole, outline_of = list(map(rules.marked, verdicts)), VerdictOutlines().of
    outlines = [outline_of(verdict) for verdict in whole]
    for what, say in said(submissions).items():
        assert say(outlines) == say(whole), what
    assert not any(
        check.finding and (check.finding.right or check.finding.look)
        for outline in outlines
        for step in outline.steps
        for check in step.checks
    )


def test_what_outlines_have_in_common_is_held_once(verdicts: list[Verdict]) -> None:
    outline_of = VerdictOutlines().of
    one, same = outline_of(verdicts[-2]), outline_of(Verdict.from_json(verdicts[-2].to_json()))
    assert one == same and one.steps is same.steps and one.chain is same.chain
    assert Path(one.exercise).name == EXERCISE.name


def test_a_finding_that_says_little_does_so_in_an_outline_too(verdicts: list[Verdict]) -> None:
    """A later check that says more is told in its place."""
    whole = verdicts[-1]
    step = next(step for step in whole.steps if len(step.checks) > 1)
    vague = Finding(Outcome.WRONG_VALUES, "Some numbers are not as expected.", vague=True)
    plain = Finding(Outcome.WRONG_VALUES, "The sum of each row is 2.")
    first, second, *others = step.checks
    failed = (
        replace(first, outcome=vague.outcome, finding=vague),
        replace(second, outcome=plain.outcome, finding=plain),
        *others,
    )
    steps = tuple(replace(each, checks=failed) if each is step else each for each in whole.steps)
    outline = VerdictOutlines().of(replace(whole, steps=steps))
    told = next(each for each in outline.steps if each.name == step.name).failing
    assert told is not None and told.finding is not None
    assert told.finding.message == plain.message


def test_an_outline_has_the_fact_of_what_is_told_or_named_and_no_other_text() -> None:
    findings = {
        "told": Finding(Outcome.WRONG_VALUES, "First.", look="Look.", misconception="a"),
        "named": Finding(Outcome.WRONG_VALUES, "Second.", look="Look.", misconception="b"),
        "other": Finding(Outcome.WRONG_VALUES, "Third.", look="Look.", details=("More.",)),
    }
    made = verdict("ada")
    checks = tuple(CheckVerdict.of(name, name, each) for name, each in findings.items())
    chain = ChainVerdict(Outcome.WRONG_VALUES, made.steps[0].name, findings["named"])
    whole = replace(made, steps=(replace(made.steps[0], checks=checks),), chain=chain)
    outline = VerdictOutlines().of(whole)
    told, named, other = (check.finding for check in outline.steps[0].checks)
    assert told == Finding(Outcome.WRONG_VALUES, "First.", misconception="a")
    assert named == Finding(Outcome.WRONG_VALUES, "Second.", misconception="b")
    assert other == Finding(Outcome.WRONG_VALUES, "")
    assert outline.chain.finding == named and outline.chain.breaks_at == chain.breaks_at
