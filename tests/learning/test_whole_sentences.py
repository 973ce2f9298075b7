"""On the screen of a watch, in a terminal of the usual size, no sentence is cut before its point.

Every known mistake of every exercise is asked as a save would be, and drawn without a terminal.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console, RenderableType
from rich.text import Text

from autograder.checks.reference import Reference, read_reference
from autograder.judging.asking import ask_examples, public_checks
from autograder.judging.examples import Example, read_examples
from autograder.judging.inprocess import InProcess
from autograder.learning.climbing import give_hint
from autograder.learning.once import answer_lines, lesson_lines
from autograder.learning.progress import open_session
from autograder.learning.results import CheckRun, Checkup, StepRun
from autograder.learning.screen import Indented, drawn
from autograder.learning.step_lesson import lesson_of
from autograder.learning.step_pictures import check_picture
from autograder.learning.watch_screen import View, pages, piece_of, rows, screen
from autograder.reports.finding import sentences, step_text
from autograder.reports.picture import picture_of
from autograder.tracing.home import LayerBlame
from autograder.values.exercise import Step
from support.learner_workspace import ROOT, start

EXERCISES = sorted(path.parent.name for path in (ROOT / "solutions").glob("*/exercise.toml"))
# One exercise of each library is quick.
QUICK = ("numpy_single_head", "torch_single_head")
ASKED = [
    each if each in QUICK else pytest.param(each, marks=pytest.mark.slow) for each in EXERCISES
]
WIDTH, HEIGHT = 80, 24


@cache
def reference(name: str) -> Reference:
    return read_reference(ROOT / "solutions" / name)


@cache
def examples_of(name: str) -> tuple[Example, ...]:
    return read_examples(ROOT / "assignments" / name)


def run_of(name: str, step: Step, code: Any) -> StepRun:
    """What a check of one step finds, where all other steps are right."""
    examples, library = examples_of(name), reference(name).exercise.library
    names = {**vars(reference(name).module), step.name: code}
    asked = InProcess(names, library)
    blame = LayerBlame(names, library, examples, lambda step: asked)
    told = ask_examples(step, examples, asked, blame.told).asked
    checks = tuple(
        CheckRun(each.verdict, drawn=asdict(picture) if picture else {})
        for each, picture in ((each, check_picture(each, ())) for each in told)
    )
    total, picture = public_checks(step.name, examples), asdict(picture_of(told))
    return StepRun.of(step, checks, total, picture=picture)


@pytest.fixture
def terminal() -> Console:
    return Console(file=io.StringIO(), width=WIDTH, height=HEIGHT, force_terminal=True)


def view_of(workspace: Path, run: StepRun) -> View:
    session = open_session(workspace, pytest.fail)
    exercise = session.current
    steps = (*(StepRun.of(each, ()) for each in exercise.steps if each.name != run.step.name), run)
    ordered = sorted(steps, key=lambda each: exercise.steps.index(exercise.step(each.step.name)))
    checkup = Checkup(exercise, exercise.folder / f"{exercise.name}.py", (), tuple(ordered))
    news = ("✓ softmax passes.",)  # as much above the step as there may be
    return View(session, exercise, checkup, run.step.name, "checked: your save of 12:00:00", news)


def page_of(console: Console, view: View, page: int = 0) -> str:
    """What a page of a screen says, with single spaces."""
    lines = screen(console, replace(view, page=page), keys=True)
    assert rows(lines, WIDTH) < HEIGHT
    return " ".join(" ".join(Text.from_ansi(line).plain for line in lines).split())


def all_pages(console: Console, view: View) -> Iterator[str]:
    """Give every page of a screen until the first one comes again."""
    yield (first := page_of(console, view))
    for page in range(1, 40):
        if (words := page_of(console, view, page)) == first:
            return
        yield words
    raise AssertionError("the pages have no end")


def said(run: StepRun) -> list[str]:
    """The sentences of what is to be looked at, with single spaces."""
    parts = step_text(run.verdict).finding.parts
    return [" ".join(part[slice(*each)].split()) for part in parts for each in sentences(part)]


@pytest.mark.parametrize("name", ASKED)
def test_every_known_mistake_is_told_in_whole_sentences_and_its_picture_comes_first_when_asked_for(
    name: str, terminal: Console, tmp_path: Path
) -> None:
    workspace = start(tmp_path / "work", name)
    seen = 0
    for known in reference(name).misconceptions:
        run = run_of(name, reference(name).exercise.step(known.step), known.wrong)
        if run.verdict.passes:  # what only other inputs show
            continue
        seen += 1
        view, told = view_of(workspace, run), said(run)
        first = page_of(terminal, view)
        assert all(each in first for each in told), (known.name, first)
        picture, shown = drawn(run), view.showing(*drawn(run), leads=True)
        top = picture[: 3 if run.token else 2]  # with the row of one token
        assert words_of(terminal, top) in page_of(terminal, shown), known.name
        every = " ".join(all_pages(terminal, shown))
        assert all(each in every for each in told), (known.name, every)
    assert seen > 5


@pytest.mark.parametrize("size", [(24, 80), (24, 40), (14, 60)])
def test_a_diagnosis_longer_than_the_screen_ends_at_a_point_and_goes_on_with_a_key(
    size: tuple[int, int],
) -> None:
    height, width = size
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=True)
    draw = np.random.default_rng(0)
    texts = [
        f"Sentence {number} of `softmax(x. y)` says {' '.join(['more'] * draw.integers(1, 15))}."
        for number in range(60)
    ]
    pieces = [
        piece_of(console, Indented(Text(" ".join(texts[at : at + 7])))) for at in range(0, 60, 7)
    ]
    found = pages(pieces, height - 8, width)
    left = list(texts)
    for page in found:
        *body, last = [Text.from_ansi(line).plain for line in page]
        assert rows(page, width) <= height - 8 and "key m" in last
        words = " ".join(" ".join(body).split())
        held = [each for each in left if each in words]
        assert words == " ".join(held) and held == left[: len(held)]
        left = left[len(held) :]
    assert not left and len(found) > 2


def test_a_picture_is_shown_whole_and_comes_on_a_page_of_its_own_where_it_does_not_fit(
    terminal: Console, tmp_path: Path
) -> None:
    name = "numpy_single_head"
    step = reference(name).exercise.steps[0]
    run = run_of(name, step, lambda scores: np.full_like(scores, 0.5))
    view = view_of(start(tmp_path / "work"), run).showing(*drawn(run))
    assert "the cat slept because it yours" in " ".join(all_pages(terminal, view))
    rows_before = [Text(f"Row {number}.") for number in range(9)]
    lines = pages([piece_of(terminal, each) for each in (*rows_before, *drawn(run))], 15, WIDTH)
    assert "key →" not in "".join(lines[0]) and "difference" in "".join(lines[1])


@pytest.mark.parametrize("name", EXERCISES)
def test_hints_lessons_and_answers_are_read_to_their_end_in_the_watch(
    name: str, terminal: Console, tmp_path: Path
) -> None:
    workspace = start(tmp_path / "work", name)
    for step in reference(name).exercise.steps[:4]:
        view = view_of(workspace, StepRun.of(step, ()))
        lesson = lesson_of(view.exercise, step.name)
        hints = give_hint(view.session, view.exercise, step)[1]
        for extra in (hints, lesson_lines(lesson), answer_lines(lesson)):
            whole = words_of(terminal, extra)
            assert whole[-40:] in " ".join(all_pages(terminal, view.showing(*extra)))


def words_of(console: Console, pieces: tuple[RenderableType, ...]) -> str:
    with console.capture() as captured:
        for piece in pieces:
            console.print(piece, crop=False)
    return " ".join(Text.from_ansi(captured.get()).plain.split())
