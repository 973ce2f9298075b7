"""A finding reads the same on the page, in a notebook, in a terminal and in nbgrader's cells."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from autograder.course.graded_notebook import with_verdict
from autograder.learning.notebook_check import StepReport
from autograder.learning.results import CheckRun, Checkup, StepRun
from autograder.learning.screen import (
    finding_pieces,
    show,
    show_checkup,
    step_line,
    trouble_words,
)
from autograder.learning.workspace import Task
from autograder.reports.finding import LONGEST, MOST_DETAILS, html, step_text
from autograder.reports.picture import Picture
from autograder.values.exercise import CHECK_PREFIX, Exercise, Grading, Limits, Step
from autograder.values.symbols import HIDDEN, OUR_FAULT, mark, our_fault
from autograder.values.verdict import (
    ChainVerdict,
    CheckVerdict,
    Finding,
    Outcome,
    StepVerdict,
    Verdict,
)
from support.shown import console_of, text_on
from support.verdicts import feedback_page

PACKAGE = Path(__file__).resolve().parents[2] / "autograder"
STEP = Step("softmax", "Softmax", 2.0, 5, ("Why?", "What shape?", "How?"))
EXERCISE = Exercise("toy", "Toy", "numpy", 1, (STEP,), Limits(), Grading(), Path("toy"))
QUERIES = Finding(
    Outcome.WRONG_VALUES,
    "Your softmax runs over `axis=1`.",
    right="The shape (B, S, S) is right.",
    look="Along which axis do the keys lie?",
    misconception="softmax_over_the_queries",
    details=("Row sums: 0.6 and 1.4.",),
)
ALONE = Finding(Outcome.RAISED, "Line 3 raises ValueError.", look="Which axes do not fit?")
# What a student may have written, as it must not be shown.
HOSTILE = "<b onclick=x>b</b> \x1b[31mred\x1b[0m \u202eback\u202c `<i>` one\r\ntwo"


def step(*findings: Finding | None) -> StepVerdict:
    """A step with a check for each of these: what it found, or None when it passed."""
    checks = tuple(
        CheckVerdict.of(f"check_{number}", f"check number {number}", finding)
        for number, finding in enumerate(findings, start=1)
    )
    return StepVerdict.of(STEP, checks)


def verdict(judged: StepVerdict) -> Verdict:
    chain = ChainVerdict(Outcome.PASSED)
    return Verdict(EXERCISE.name, "ada", (judged,), chain, "", "", 0, "full", 0.0)


def page(judged: StepVerdict) -> str:
    whole = feedback_page(EXERCISE, verdict(judged))
    return whole.partition('id="steps"')[2].partition("<footer")[0]


def card(judged: StepVerdict) -> str:
    return StepReport(STEP, judged, Picture(), len(judged.checks))._repr_html_()


def cell(judged: StepVerdict) -> str:
    facts = {"grade": True, "solution": False, "grade_id": f"{CHECK_PREFIX}softmax", "points": 2}
    check = new_code_cell("check(softmax)", metadata={"nbgrader": facts})
    notebook = with_verdict(new_notebook(cells=[check]), verdict(judged), EXERCISE)
    found: str = notebook.cells[0].outputs[0].data["text/html"]
    return found


def run_of(judged: StepVerdict) -> StepRun:
    return StepRun.of(STEP, tuple(CheckRun(check) for check in judged.checks))


def terminal(judged: StepVerdict) -> str:
    console, run = console_of(200), run_of(judged)
    console.print(step_line(run))
    show(console, finding_pieces(run))
    return text_on(console)


def plain(text: str) -> str:
    """The text of a page or of lines, without tags, each run of white space as one space."""
    code = re.sub(r"</?code[^>]*>", "`", text)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", code)).split())


PAGES: tuple[Callable[[StepVerdict], str], ...] = (page, card, cell)
MEDIA = (*PAGES, terminal)


@pytest.mark.parametrize("medium", MEDIA)
def test_each_medium_tells_what_is_right_the_one_fact_and_where_to_look_in_this_order(
    medium: Callable[[StepVerdict], str],
) -> None:
    text = plain(medium(step(QUERIES, ALONE)))
    places = [text.index(part) for part in (QUERIES.right, QUERIES.fact, QUERIES.look)]
    assert places == sorted(places)


@pytest.mark.parametrize("medium", PAGES)
def test_the_details_and_what_other_checks_found_are_folded_away(
    medium: Callable[[StepVerdict], str],
) -> None:
    shown = medium(step(QUERIES, None, ALONE))
    folded = plain(shown.rpartition("<details>")[2])
    assert QUERIES.details[0] in folded and ALONE.message in folded
    assert "<details open" not in shown
    for once in (ALONE.fact, QUERIES.details[0]):
        assert plain(shown).count(once) == 1


@pytest.mark.parametrize("medium", MEDIA)
def test_a_reason_that_several_checks_have_is_told_once(
    medium: Callable[[StepVerdict], str],
) -> None:
    again = Finding(QUERIES.outcome, QUERIES.fact, right="The shape (B, 9, 9) is right.")
    text = plain(medium(step(QUERIES, again, ALONE)))
    assert text.count(QUERIES.fact) == 1 and "(B, 9, 9)" not in text
    if medium in (page, card):
        assert "check number 2 (for the same reason)" in text
        assert "check number 3 (for the same reason)" not in text


# What is not accepted has no steps on the page; for a fault of ours there is no cell.
JUDGED = [o for o in Outcome if o not in (Outcome.REJECTED, Outcome.INFRASTRUCTURE)]


def test_a_check_at_several_sizes_is_right_once_and_only_if_it_is_at_all_of_them() -> None:
    wrong = Finding(Outcome.WRONG_VALUES, "They differ.")
    checks = (("two sizes", None), ("two sizes", None), ("one of two", None), ("one of two", wrong))
    verdicts = tuple(CheckVerdict.of(f"check{n}", *each) for n, each in enumerate(checks))
    step = StepVerdict("step", "Step", Outcome.WRONG_VALUES, 0, 1, verdicts)
    assert step_text(step).passed == "Two sizes."


@pytest.mark.parametrize("medium", MEDIA)
@pytest.mark.parametrize("outcome", JUDGED)
def test_an_outcome_has_the_same_sign_for_the_class_and_for_a_learner(
    outcome: Outcome, medium: Callable[[StepVerdict], str]
) -> None:
    finding = None if outcome is Outcome.PASSED else Finding(outcome, "So it ended.")
    text = plain(medium(step(finding)))
    assert mark(outcome).sign in text
    others = {mark(other).sign for other in Outcome} - {mark(outcome).sign, "!", "?"}
    assert not others & set(text.replace("· 0 of", "").replace("· 2 of", ""))


@pytest.mark.parametrize("medium", MEDIA)
def test_what_a_student_wrote_is_cleaned_and_cannot_be_a_tag(
    medium: Callable[[StepVerdict], str],
) -> None:
    hostile = Finding(Outcome.RAISED, HOSTILE, HOSTILE, HOSTILE, None, (HOSTILE,))
    shown = medium(step(hostile, Finding(Outcome.WRONG_TYPE, f"Other {HOSTILE}")))
    assert "\x1b" not in shown and "\u202e" not in shown and "\r" not in shown
    if medium is terminal:
        assert "<b onclick=x>b</b> red back `<i>` one\n  two" in shown
    else:
        assert "<b onclick" not in shown and "<code>&lt;i&gt;</code> one<br>two" in shown
        assert "<b onclick=x>b</b> red back `<i>` one two" in plain(shown)


@pytest.mark.parametrize("medium", MEDIA)
def test_long_text_is_cut_and_there_are_only_so_many_details(
    medium: Callable[[StepVerdict], str],
) -> None:
    details = tuple(f"{number} {'d' * 10**4}" for number in range(99))
    flood = Finding(Outcome.CRASHED, "a" * 10**5, "b" * 10**5, "c" * 10**5, None, details)
    most = (3 + MOST_DETAILS) * LONGEST
    assert most / 2 < len(plain(medium(step(flood)))) < most + 3000


def test_a_backtick_without_its_partner_is_plain_text() -> None:
    assert html("use `a` or `b") == "use `a` or `b"
    assert html("use `a` or <b>") == "use <code>a</code> or &lt;b&gt;"


def test_the_terminal_shows_what_the_system_says_of_a_crash_and_no_other_details() -> None:
    crash = Finding(Outcome.CRASHED, "`softmax` ended Python.", details=("signal SIGSEGV",))
    assert "signal SIGSEGV" in terminal(step(crash))
    assert QUERIES.details[0] not in terminal(step(QUERIES))
    console = console_of(200)
    show(console, trouble_words(crash))
    assert "signal SIGSEGV" in text_on(console)


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (Outcome.TIMED_OUT, "∞ too slow"),
        (Outcome.RAISED, "! error"),
        (Outcome.WRONG_SHAPE, "Next: softmax"),
    ],
)
def test_a_sign_that_is_not_plain_has_its_words_below_the_steps(
    outcome: Outcome, told: str
) -> None:
    console, run = console_of(200), run_of(step(Finding(outcome, "So it ended.")))
    checkup = Checkup(EXERCISE, Path("toy.py"), (), (run,))
    show_checkup(console, checkup, Task(EXERCISE, STEP), "")
    assert text_on(console).splitlines()[3] == told


def test_what_failed_on_our_side_is_no_finding_for_the_student() -> None:
    text = step_text(step(our_fault(("worker 7 did not answer",))))
    assert text.finding.parts == () and text.finding.details == ()


@pytest.mark.parametrize(
    "sentence",
    [
        HIDDEN,
        OUR_FAULT,
        "through no fault of yours",
        "Your instructor has been told.",
        "for the same reason",
        "  where: ",
    ],
)
def test_a_sentence_that_several_places_say_is_written_once(sentence: str) -> None:
    found = [
        path.relative_to(PACKAGE)
        for path in (*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.j2"))
        for _ in range(path.read_text(encoding="utf-8").count(sentence))
    ]
    assert len(found) == 1, found


def test_who_imports_the_words_of_a_finding_loads_no_templates_and_no_arrays() -> None:
    code = (
        "import sys, autograder.reports.finding\n"
        "print({'jinja2', 'rich', 'numpy', 'pytest', 'torch'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"
