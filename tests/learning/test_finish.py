"""`attn finish`: what was built, how long, which mistakes, what to read; and the page of it."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from autograder.authoring.harness import read_harness
from autograder.authoring.text_rules import reading_gaps, terms_of, written_texts
from autograder.learning.step_lesson import lesson_of
from autograder.reports.finding import (
    Finish,
    FinishedStep,
    finish_body,
    finish_page,
    html,
    mistake_lines,
    took_words,
)
from autograder.values.exercise import Closing, Exercise, read_exercise
from autograder.values.symbols import LONGEST_PAUSE, WorkTime, read_work_time
from support.learner_workspace import NAME, REFERENCE, ROOT, WRONG_SOFTMAX, solve, start, stub_file
from support.typed_commands import typed

NAMES = [path.parent.name for path in sorted((ROOT / "solutions").glob("*/exercise.toml"))]


def exercise(name: str = NAME) -> Exercise:
    return read_exercise(ROOT / "solutions" / name)


def test_a_mistake_is_filed_under_the_first_step_that_met_it() -> None:
    words = {"columns": "It runs down the columns.\nMore.", "mask": "It hides too much."}
    lines = tuple(mistake_lines([("columns",), (), ("unknown", "columns", "mask")], words))
    assert lines == (("It runs down the columns.",), (), ("It hides too much.",))


def test_before_the_last_step_it_names_the_next_one(workspace: Path) -> None:
    run = typed("finish", folder=workspace)
    assert run.code == 1 and "0 of 11 steps pass" in run.out
    assert f"attn check {NAME}.softmax" in run.out and "What to read" not in run.out


@pytest.mark.parametrize("name", NAMES)
def test_every_exercise_ends_with_what_was_built_what_to_read_and_a_page_that_asks_again(
    name: str, tmp_path: Path
) -> None:
    work = start(tmp_path / "work", name)
    solve(work, name)
    run = typed("finish", name, "--save", "finish.html", folder=work)
    assert run.code == 0 and "saved as finish.html" in run.out, run.out + run.err
    closing, steps = exercise(name).closing, exercise(name).steps
    assert f"all {len(steps)} steps are done." in run.words
    assert " ".join(closing.built.split()) in run.words
    assert len(closing.reading) >= 3
    for each in closing.reading:
        assert f"{each.title} {each.source}. {each.why}" in run.words
    assert "When you worked was not noted." in run.words  # nothing was checked before
    page = (work / "finish.html").read_text(encoding="utf-8")
    asked = [lesson_of(exercise(name), step.name).after for step in steps]
    questions = [each for each in asked if each]
    assert page.count("<details><summary>") == page.count("</details>") == len(questions)
    assert ("Can you still answer?" in page) == bool(questions)
    for question in questions:
        answer = html(question.answer.partition("$")[0])
        assert f"{html(question.question)}</summary><p>{answer}" in page
    assert "$" not in page and "<details open" not in page
    assert html(closing.built) in page


def test_mistakes_hints_and_the_time_of_the_checks_are_told(workspace: Path) -> None:
    right = REFERENCE[REFERENCE.index("    shifted = scores") :].partition("    ### END")[0]
    solve(workspace, old=right, new=f"{WRONG_SOFTMAX}\n")
    assert typed("check", "softmax", folder=workspace).code == 1
    typed("hint", "softmax", folder=workspace)
    solve(workspace)
    assert typed("check", folder=workspace).code == 0
    run = typed("finish", folder=workspace)
    assert "The checks named 1 mistake on your way" in run.words
    assert "1. Softmax: softmax Your softmax runs down the columns" in run.words
    assert "With help: 1 hint." in run.words
    assert "2 checks were noted: the first on 20" in run.words
    again = typed("finish", folder=workspace)
    assert again.words == run.words, "the closing words are no check on the way"


def test_a_page_to_keep_is_written_over_nothing_else(workspace: Path) -> None:
    own = solve(workspace).read_bytes()
    refused = typed("finish", "--save", stub_file(workspace), folder=workspace)
    assert refused.code == 2 and "does not end with .html" in refused.err
    assert stub_file(workspace).read_bytes() == own


def test_without_the_bonus_an_exercise_is_done_and_the_bonus_is_still_open(tmp_path: Path) -> None:
    name = "torch_multi_head"
    bonus = next(step.name for step in exercise(name).steps if not step.points)
    work = start(tmp_path / "work", name)
    stub = stub_file(work, name).read_text(encoding="utf-8")
    own = solve(work, name).read_text(encoding="utf-8")
    without = own[: own.index(f"class {bonus}")] + stub[stub.index(f"class {bonus}") :]
    stub_file(work, name).write_text(without, encoding="utf-8")
    run = typed("finish", name, folder=work)
    assert run.code == 0, run.out
    assert "9 of 10 steps are done, and what is left is a bonus." in run.words
    assert f"{bonus} (still open)" in run.words


def test_a_pause_counts_up_to_a_quarter_of_an_hour() -> None:
    spent = WorkTime().after_check(1000).after_check(1060)
    assert (spent.seconds, spent.checks) == (60, 2)
    longer = spent.after_check(1060 + LONGEST_PAUSE + 1)
    assert (longer.seconds, longer.checks, longer.last) == (60, 3, 1061 + LONGEST_PAUSE)
    assert longer.after_check(0).seconds == 60, "a clock that was put back adds nothing"
    assert read_work_time(json.loads(json.dumps(vars(longer)))) == longer


@pytest.mark.parametrize(
    "facts", [{}, {"first": "early"}, {"first": 1, "last": 2, "seconds": None, "checks": 3}]
)
def test_a_record_of_time_that_cannot_be_read_counts_as_none(facts: dict[str, object]) -> None:
    assert read_work_time(facts) == WorkTime()
    assert took_words(exercise(), WorkTime()) == ("When you worked was not noted.",)
    odd = took_words(exercise(), WorkTime(1e30, 1e30, 60, 2))
    assert "a moment that cannot be read" in odd[0]


class Outline(HTMLParser):
    """The tags of a page, with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_the_page_has_captions_and_scopes_no_script_and_nothing_from_outside() -> None:
    steps = (
        FinishedStep(1, "softmax", "Softmax", ("Your `softmax` <b>sums</b>.",), 2, True),
        FinishedStep(2, "mask", "Mask", (), open=True, question="Why?", answer="So."),
    )
    found = exercise().closing
    finish = Finish("Title", found.built, steps, ("Long.",), ("More.",), found.reading)
    page = finish_page(finish)
    outline = Outline()
    outline.feed(page)
    names = [tag for tag, _ in outline.tags]
    assert names.count("table") == names.count("caption") == 1 and names.count("h1") == 1
    scopes = [attributes["scope"] for tag, attributes in outline.tags if tag == "th"]
    assert scopes == ["col"] * 3 + ["row"] * 2
    assert "script" not in names and not {"src", "href"} & {k for _, a in outline.tags for k in a}
    assert "&lt;b&gt;sums" in page and "2 hints and the solution" in page
    assert "prefers-color-scheme: dark" in page and "@media print" in page
    assert "<details" not in page, "an open step asks nothing"
    assert "1 of 2 steps are done, and what is left is a bonus." in page
    uncounted = finish_body(replace(finish, counts_help=False), "h4")
    assert "2 of 3 hints" not in uncounted and ">help<" not in uncounted


@pytest.mark.parametrize("name", NAMES)
def test_the_closing_words_are_easy_to_read(name: str) -> None:
    harness = read_harness(ROOT / "solutions" / name)
    closing = exercise(name).closing
    texts = [each for each in written_texts(harness) if each.text in own_words(closing)]
    assert len(texts) == 1 + len(closing.reading)
    assert reading_gaps(texts, terms_of(harness.reference)) == ()


def own_words(closing: Closing) -> list[str]:
    return [closing.built, *(each.why for each in closing.reading)]
