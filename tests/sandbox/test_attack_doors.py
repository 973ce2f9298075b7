"""The whole attack corpus through the doors that an instructor uses.

Every attack is a student of a real nbgrader course, half of them with a notebook and half
with a `.py`. `attn grade` grades them all; `nbgrader autograde`, which takes its time over each
student, those of the group `verdict` that do not wait for a time limit, and of those that try
the same rows of the threat table and end alike, the first. Honest students sit beside them.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest

from autograder.course import create_course
from autograder.course.creation import Course, notebook_name, script_name
from autograder.values.verdict import Outcome, Verdict
from demo.run import release
from support.attack_corpus import Attack, read_corpus, through_stock_nbgrader
from support.attack_range import Range, right_answer
from support.gradebook_scores import scores
from support.typed_commands import Run, attn, nbgrader

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
ATTACKS = read_corpus()
EXERCISES = tuple(sorted({attack.exercise for attack in ATTACKS}))
HONEST = ("honest_notebook", "honest_script")
# Where an attack of the corpus may have hidden something of its own in a page.
LIVE = re.compile(
    r"<script>\s*alert|<img src=x|<svg[^>]*onload|\bonerror=alert\(1\)>", re.IGNORECASE
)
RUNS = re.compile(r"<\s*(?:script|iframe|object|embed|img|svg)\b|<[^>]*\bon\w+\s*=", re.IGNORECASE)
HOSTILE_TEXT = {26, 27, 70}
UNSAFE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069]")


def student_of(attack: Attack) -> str:
    return f"{attack.group}_{attack.name}"


STOCK = through_stock_nbgrader()
BY_STUDENT = {student_of(attack): attack for attack in ATTACKS}


@dataclass(frozen=True)
class Door:
    """A class that was graded: what was printed, and what was so before and after."""

    course: Course
    runs: dict[str, Run]
    before: dict[str, Any]
    after: dict[str, Any]
    files: tuple[dict[str, str], dict[str, str]]
    touched: tuple[str, ...]

    def graded(self, exercise: str) -> dict[str, dict[str, float]]:
        """The gradebook: student to check to score."""
        return scores(self.course, exercise)


@pytest.fixture(scope="module")
def range_() -> Iterator[Range]:
    with Range() as range_:
        for exercise in EXERCISES:
            range_.ground(exercise)
        yield range_


def hand_in(
    course: Course, exercise: str, student: str, first: str, last: str, notebook: bool
) -> None:
    """Write the right answer with code before and after it, as a student's file."""
    folder = course.submitted(exercise, student)
    folder.mkdir(parents=True)
    if not notebook:
        parts = (first, right_answer(exercise), last)
        (folder / script_name(exercise)).write_text("\n\n# %%\n".join(parts), encoding="utf-8")
        return
    released = nbformat.read(course.release(exercise) / notebook_name(exercise), as_version=4)
    right = {
        name: text
        for text in cells_of(exercise)
        for name in re.findall(r"^(?:def|class) (\w+)", text, re.M)
    }
    for cell in released.cells:
        cell.source = right.get(cell.metadata.get("nbgrader", {}).get("grade_id", ""), cell.source)
    released.cells.insert(0, nbformat.v4.new_code_cell(first))
    released.cells.append(nbformat.v4.new_code_cell(last))
    nbformat.write(released, folder / notebook_name(exercise))


def cells_of(exercise: str) -> list[str]:
    return re.split(r"^# %%.*\n", right_answer(exercise), flags=re.MULTILINE)


def make_course(directory: Path, range_: Range, attacks: tuple[Attack, ...]) -> Course:
    """Make a course whose exercises have the range's tight limits, and have everybody hand in."""
    exercises = tuple(sorted({attack.exercise for attack in attacks}))
    course = create_course(
        directory,
        solutions=range_.folder / "solutions",
        assignments=ROOT / "assignments",
        exercises=exercises,
    )
    for exercise in exercises:
        release(course, exercise)
        for student in HONEST:
            hand_in(course, exercise, student, "", f"# {student}", "notebook" in student)
    for number, attack in enumerate(attacks):
        facts = f"FACTS = {range_.facts(attack.exercise)!r}"
        hand_in(course, attack.exercise, student_of(attack), facts, attack.code, number % 2 == 0)
    return course


def contents(course: Course) -> dict[str, str]:
    """The hashes of all that grading reads and never writes."""
    folders = [course.directory / name for name in ("source", "release", "submitted")]
    files = [path for folder in (*folders, course.solutions) for path in folder.rglob("*")]
    files += [course.directory / name for name in ("attn.toml", "nbgrader_config.py")]
    plain = [path for path in files if path.is_file() and path.suffix != ".pyc"]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in plain}


def through(course: Course, range_: Range, command: Callable[[str], Run]) -> Door:
    """Run a command for each exercise, and see what was so before and after."""
    before = {name: range_.state(name) for name in course.exercises}
    files = contents(course)
    range_.listeners.flush()
    runs = {name: command(name) for name in course.exercises}
    after = {name: range_.state(name) for name in course.exercises}
    return Door(course, runs, before, after, (files, contents(course)), range_.listeners.flush())


def of_its_own(course: Course) -> dict[str, str]:
    """The environment of somebody with nobody's settings but ours."""
    names = ("HOME", "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    return {**dict.fromkeys(names, str(course.directory.parent)), "COLUMNS": "200"}


@pytest.fixture(scope="module")
def fast(range_: Range, tmp_path_factory: pytest.TempPathFactory) -> Door:
    """All attacks, through `attn grade`."""
    course = make_course(tmp_path_factory.mktemp("fast") / "course", range_, ATTACKS)
    where: Any = {"folder": course.directory, **of_its_own(course)}
    return through(course, range_, lambda name: attn("grade", ".", "--exercise", name, **where))


@pytest.fixture(scope="module")
def stock(range_: Range, tmp_path_factory: pytest.TempPathFactory) -> Door:
    """Those of `STOCK`, through `nbgrader autograde`."""
    course = make_course(tmp_path_factory.mktemp("stock") / "course", range_, STOCK)
    where: Any = {"folder": course.directory, **of_its_own(course)}
    return through(course, range_, lambda name: nbgrader("autograde", name, **where))


@pytest.fixture(params=["fast", "stock"])
def door(request: pytest.FixtureRequest) -> Door:
    found: Door = request.getfixturevalue(request.param)
    return found


def due(attack: Attack, given: dict[str, float], most: dict[str, float]) -> None:
    """Hold the scores of one attack in the gradebook against what is declared."""
    mine = f"check_{attack.step}"
    assert set(given) == set(most)
    if Outcome.PASSED not in attack.outcomes:
        assert given[mine] == 0.0
    if attack.outcomes == {Outcome.PASSED}:
        assert given[mine] == most[mine]
    if attack.others == "pass":
        lost = {name for name in most if given[name] < most[name]}
        assert lost <= {mine}


DOORS = [("fast", attack) for attack in ATTACKS] + [("stock", attack) for attack in STOCK]


@pytest.mark.parametrize(
    ("which", "attack"), DOORS, ids=[f"{which}-{attack.id}" for which, attack in DOORS]
)
def test_the_gradebook_says_what_is_declared(
    which: str, attack: Attack, range_: Range, request: pytest.FixtureRequest
) -> None:
    door = request.getfixturevalue(which)
    steps = range_.ground(attack.exercise).exercise.steps
    most = {f"check_{step.name}": step.points for step in steps}
    due(attack, door.graded(attack.exercise)[student_of(attack)], most)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.id)
def test_the_verdict_says_what_is_declared_and_what_the_gradebook_says(
    attack: Attack, fast: Door
) -> None:
    student = student_of(attack)
    text = fast.course.graded(attack.exercise) / "verdicts" / f"{student}.json"
    verdict = Verdict.from_json(text.read_text(encoding="utf-8"))
    outcomes = {step.name: step.outcome for step in verdict.steps}
    assert outcomes[attack.step] in attack.outcomes
    assert verdict.points == sum(fast.graded(attack.exercise)[student].values())


def test_honest_students_beside_them_get_full_marks(door: Door, range_: Range) -> None:
    for exercise in door.runs:
        points = range_.ground(exercise).exercise.points
        for student in HONEST:
            assert sum(door.graded(exercise)[student].values()) == points


def test_the_class_is_graded_whole_and_the_command_ends_well(door: Door) -> None:
    for exercise, run in door.runs.items():
        assert run.code == 0, run.out[-2000:] + run.err[-2000:]
        assert "Traceback" not in run.err
        assert set(door.graded(exercise)) == set(door.course.students(exercise))


def test_nothing_is_changed_and_nobody_was_reached(door: Door) -> None:
    for exercise, before in door.before.items():
        changed = {what for what in before if before[what] != door.after[exercise].get(what)}
        assert changed == set()
        assert set(door.after[exercise]) == set(before)
    assert door.files[0] == door.files[1]
    assert door.touched == ()


def test_no_canary_is_in_anything_that_was_written_or_printed(door: Door, range_: Range) -> None:
    for run in door.runs.values():
        assert range_.found_in(run.said.encode()) == ()
    written = [door.course.directory / name for name in ("graded", "autograded", "gradebook.db")]
    files = [path for folder in written for path in (folder, *folder.rglob("*")) if path.is_file()]
    assert files
    for path in files:
        assert range_.found_in(path.read_bytes()) == (), path


def test_what_is_printed_and_written_as_text_is_harmless(door: Door) -> None:
    for run in door.runs.values():
        assert not UNSAFE.search(run.out), UNSAFE.search(run.out)
        assert not re.search(r"^(::|##\[)", run.out, re.MULTILINE)
    for exercise in door.runs:
        for page in (door.course.graded(exercise) / "feedback").glob("*.html"):
            text = page.read_text(encoding="utf-8")
            assert not LIVE.search(text) and not UNSAFE.search(text), page


def test_no_cell_of_the_table_is_a_formula(fast: Door) -> None:
    for exercise in fast.runs:
        table = fast.course.graded(exercise) / "grades.csv"
        cells = re.split(r"[,\n]", table.read_text(encoding="utf-8-sig"))
        assert not [cell for cell in cells if re.match(r'"?[=+@\t\r]', cell)]


def test_the_pages_of_nbgrader_run_nothing_that_an_honest_page_does_not(fast: Door) -> None:
    exercise, course = "numpy_single_head", fast.course
    hostile = {student for student, one in BY_STUDENT.items() if set(one.rows) & HOSTILE_TEXT}
    chosen = (hostile & set(course.students(exercise))) | set(HONEST)
    others = set(course.students(exercise)) - chosen
    left_out = f"--CourseDirectory.student_id_exclude={','.join(others)}"
    words = ("generate_feedback", exercise, left_out, "--CourseFeedback.kit_pages=False", "--force")
    run = nbgrader(*words, folder=course.directory, **of_its_own(course))
    assert run.code == 0, run.err
    pages = {student: course.feedback(exercise, student) for student in chosen}
    live = {
        student: Counter(RUNS.findall((folder / f"{exercise}.html").read_text(encoding="utf-8")))
        for student, folder in pages.items()
    }
    assert len(live) >= 5
    assert {student for student in live if live[student] != live["honest_notebook"]} == set()


def test_the_gradebook_of_the_course_knows_everybody_once(fast: Door) -> None:
    with closing(sqlite3.connect(fast.course.directory / "gradebook.db")) as book:
        names = [name for (name,) in book.execute("SELECT id FROM student")]
    assert sorted(names) == sorted({*BY_STUDENT, *HONEST})
