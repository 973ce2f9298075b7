"""Every step teaches before it asks: the same parts in the same order, short enough to be read."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from autograder.authoring.lesson import PLACE, folded_answers, taught
from autograder.authoring.regions import read_solution
from autograder.authoring.stub import Cell, read_cells
from autograder.values.exercise import Exercise, read_exercise

ROOT = Path(__file__).resolve().parents[2]
# Those that everybody does; what the stretch steps say is tested in test_stretch_prose.py.
EXERCISES = [
    exercise
    for path in sorted((ROOT / "solutions").glob("*/exercise.toml"))
    if not (exercise := read_exercise(path.parent)).optional
]
COLUMNS = 80
MOST_LINES = 60  # with text: a screen and a half
FENCE = re.compile(r"^```$.*?^```$", re.MULTILINE | re.DOTALL)
ANSWER = re.compile(r"</summary>.*?</details>", re.DOTALL)
PICTURE = re.compile(r"!\[[^]]*\]\(data:[^)]*\)")
CODE = re.compile(r"`[^`\n]+`")


TRIED = {
    "Look at your own weights.",
    "Write a first test of your own.",
    "Try another choice.",
    "When you have tried.",
}


@dataclass(frozen=True)
class Lesson:
    """What stands above a step and below it, as the author wrote it and as it is read."""

    step: str
    written: str
    above: str
    below: str
    stub: str

    @property
    def by_hand(self) -> str:
        """The example to follow, as it is written."""
        rest = self.written.partition("**By hand.**")[2]
        return re.split(r"\n\n(?:\*\*|<details>)", rest, maxsplit=1)[0]

    @property
    def lines(self) -> int:
        """How many lines with text stand on the screen, with the answer folded."""
        folded = ANSWER.sub("</summary>", PICTURE.sub("a picture", self.above))
        shown = [*folded.split("\n"), *self.stub.split("\n")]
        return sum(len(textwrap.wrap(line, COLUMNS)) for line in shown)


@pytest.fixture
def lesson(exercise: Exercise, step: str) -> Lesson:
    return lessons(exercise.name)[step]


@cache
def lessons(name: str) -> dict[str, Lesson]:
    """The lessons of an exercise, by step."""
    exercise = next(each for each in EXERCISES if each.name == name)
    solution = read_solution(exercise)
    written = read_cells(solution)
    read = taught(exercise, solution, written)
    return {
        cell.step: Lesson(cell.step, written[number - 1].source, *_around(read, number))
        for number, cell in enumerate(read)
        if cell.step
    }


def _around(cells: tuple[Cell, ...], number: int) -> tuple[str, str, str]:
    return cells[number - 1].source, cells[number + 1].source, cells[number].source


every_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda each: each.name)
every_lesson = pytest.mark.parametrize(
    ("exercise", "step"),
    [
        pytest.param(exercise, step.name, id=f"{exercise.name}.{step.name}")
        for exercise in EXERCISES
        for step in exercise.steps
    ],
)


@every_lesson
def test_a_step_has_all_its_parts_in_order(exercise: Exercise, lesson: Lesson) -> None:
    number = [step.name for step in exercise.steps].index(lesson.step) + 1
    parts = (
        rf"\A## {number}\. {re.escape(exercise.steps[number - 1].title)}\n\n\w",
        r"\n\n\{\{ path \}\}\n\n",
        r"\*\*By hand\.\*\* ",
        *[r"\n\n<details>\n<summary><b>In general\.</b> "] * ("In general." in lesson.written),
        r"\n\n<details>\n<summary><b>Before you code\.</b> ",
    )
    found = [re.search(part, lesson.written) for part in parts]
    assert all(found)
    starts = [match.start() for match in found if match]
    assert starts == sorted(starts)


@every_lesson
def test_one_question_is_asked_before_a_step_and_one_after(
    exercise: Exercise, lesson: Lesson
) -> None:
    """The formula is folded as well, where there is one: whoever wants it in general opens it.

    What the learner tries on their own comes last, with its answer, folded too.
    """
    whens = [each.when for each in folded_answers(lesson.above)]
    assert whens in (["In general.", "Before you code."], ["Before you code."])
    after, *tried = [each.when for each in folded_answers(lesson.below)]
    assert after == "After the check." and set(tried) <= TRIED


@every_lesson
def test_no_number_to_follow_by_hand_is_typed(exercise: Exercise, lesson: Lesson) -> None:
    assert PLACE.search(lesson.by_hand), "the reference gives no number"
    assert not re.search(r"\d", CODE.sub("", PLACE.sub("", lesson.by_hand)))


@every_lesson
def test_a_step_is_no_longer_than_a_screen_and_a_half(exercise: Exercise, lesson: Lesson) -> None:
    assert lesson.lines <= MOST_LINES


@every_exercise
def test_the_stub_invites(exercise: Exercise) -> None:
    """The first line to write is in sight, and what is not code is a few lines to each step."""
    file = ROOT / "assignments" / exercise.name / f"{exercise.name}.py"
    lines = file.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 220 and max(map(len, lines)) <= 100
    assert next(n for n, line in enumerate(lines, 1) if "YOUR CODE HERE" in line) <= 30
    comments = [line for line in lines if line.lstrip().startswith("#")]
    assert len(comments) <= 0.45 * len(lines)
    assert "$" not in "".join(comments), "no LaTeX where nothing sets it"


@every_exercise
def test_every_step_has_a_brief_in_the_stub(exercise: Exercise) -> None:
    cells = read_cells(read_solution(exercise))
    assert [cell.step for cell in cells if cell.step and not cell.brief] == []


@every_lesson
def test_no_drawing_and_no_column_of_numbers_is_wider_than_a_terminal(
    exercise: Exercise, lesson: Lesson
) -> None:
    for fence in FENCE.findall(lesson.above):
        assert max(map(len, fence.split("\n"))) <= COLUMNS - len("# ")
