"""Names that a file system takes and nothing else does: of students, and inside their folders.

Latin-1 from an old zip, line breaks, patterns, terminal escapes, names that look alike. Each is
a student of their own, graded as everybody is, and shown safely: by `attn grade` on a folder
and on a course, by `nbgrader autograde` and by `nbgrader generate_feedback`.
"""

from __future__ import annotations

import csv
import io
import os
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from nbgrader.api import MissingEntry
from nbgrader.apps.exportapp import ExportApp
from nbgrader.coursedir import CourseDirectory

from autograder.course.creation import Course, notebook_name, script_name
from autograder.course.export import CleanCsv
from autograder.grading.class_task import flat_roster
from autograder.reports.feedback import page_name
from autograder.reports.grades_csv import read_verdicts
from autograder.reports.roll import shown_names
from autograder.submission.file_text import LONGEST, MOST_BYTES, name_of, student_of
from autograder.values.sanitize import UNSEEN_NAME, clean, file_name
from autograder.values.verdict import Verdict
from support.gradebook_scores import points
from support.released_course import NAME, ROOT, copied, released_course
from support.typed_commands import Run, attn, nbgrader

pytestmark = pytest.mark.slow  # whole classes and courses, once for each name

SOLUTION = (ROOT / "solutions" / NAME / "solution.py").read_bytes()
# One process: it does not matter here which of them makes whose notebook.
GRADE = ("grade", "--processes", "1")
FULL = 22.0
SEED = 1963

# As bytes, since that is what a file system keeps; ada is like everybody else.
RAW = (
    *(b"ada", b"Ada", "ada\u200b".encode(), b"jos\xe9", b"jos\\xe9"),
    *("jos\u00e9".encode(), "jose\u0301".encode(), b"a\nb", b"\x1b[31mred", b"x[1]", b"*"),
    *(b"-rf", b"con", b" ", b"{student}%s", b"n" * 250, b"\xff" * 200, b"a~" + b"0" * 32),
)
ODD_FILE = b"arbeit\xfc.py"  # inside a student's folder


# --- names and students ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "student"),
    [
        (b"ada", "ada"),
        ("Zo\u00eb M\u00fcller-\u674e".encode(), "Zo\u00eb M\u00fcller-\u674e"),
        (b"jos\xe9", "jos\\xe9"),
        (b"jos\\xe9", "jos\\\\xe9"),
        (b"a\\b", "a\\b"),
        (b"a\\b\xff", "a\\\\b\\xff"),
        (b"n" * 128, "n" * 128),
    ],
)
def test_a_student_is_called_as_the_folder_and_bytes_are_written_out(
    name: bytes, student: str
) -> None:
    assert student_of(os.fsdecode(name)) == student


def test_two_names_never_become_one_student_and_the_folder_is_found_again(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    parts = (b"\\", b"x", b"e", b"9", b"\xe9", "\u00e9".encode(), b"~", b"\xff", b"a" * 90)
    students: dict[str, str] = {}
    for number in range(20_000):
        name = os.fsdecode(b"".join(rng.choice(parts) for _ in range(rng.randint(1, 7))))
        student = student_of(name)
        assert students.setdefault(student, name) == name, f"seed {SEED}, name {number}"
        assert len(student) <= LONGEST and len(student.encode()) <= MOST_BYTES
        if "~" not in student:
            assert name_of(student, tmp_path) == name, f"seed {SEED}, name {number}"


@pytest.mark.parametrize("name", [b"n" * 250, b"\xff" * 250, "\u00fc".encode() * 127], ids=len)
def test_a_long_name_is_shortened_and_the_folder_is_found_again(
    tmp_path: Path, name: bytes
) -> None:
    (tmp_path / os.fsdecode(name)).mkdir()
    (tmp_path / "another").mkdir()
    student = student_of(os.fsdecode(name))
    assert student.isprintable() and len(student) <= LONGEST
    assert name_of(student, tmp_path) == os.fsdecode(name)


def test_nobody_takes_the_place_of_somebody_whose_name_is_shortened() -> None:
    shortened = student_of("n" * 250)
    assert student_of(shortened) != shortened


def test_bytes_of_a_name_are_written_out_wherever_text_is_shown() -> None:
    assert clean("jos\udce9", 100) == "jos\\xe9"
    assert file_name(Path("arbeit\udcfc\x1b[31m\n.py")) == "arbeit\\xfc .py"
    assert file_name(Path("\u200b")) == UNSEEN_NAME
    assert len(file_name(Path("n" * 250))) == 80


def test_names_that_look_alike_are_told_apart_and_the_plain_one_stays() -> None:
    alike = ("ada", "ada\u200b", "ada ", "jos\u00e9", "jose\u0301", "\u200b", "\u202e", "zoe ")
    shown = shown_names(alike)
    assert shown["ada"] == "ada" and shown["jos\u00e9"] == "jos\u00e9" and shown["zoe "] == "zoe"
    assert len(set(shown.values())) == len(alike)
    for student in ("ada\u200b", "ada "):
        assert shown[student].startswith("ada~")


def test_nbgraders_export_tells_alike_names_apart_too(tmp_path: Path) -> None:
    people = [
        SimpleNamespace(id=name, last_name=None, first_name="=1", email="")
        for name in ("ada", "ada\u200b")
    ]
    asked: list[str] = []

    def find_submission(_: str, student: str) -> None:
        asked.append(student)
        raise MissingEntry

    one = SimpleNamespace(name=NAME, duedate=None, max_score=22.0)
    gradebook = SimpleNamespace(assignments=[one], students=people, find_submission=find_submission)
    app = ExportApp(coursedir=CourseDirectory(root=str(tmp_path)))
    CleanCsv(parent=app, to=str(tmp_path / "grades.csv")).export(gradebook)
    with (tmp_path / "grades.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["student_id"] == "ada" and rows[1]["student_id"].startswith("ada~")
    assert {row["first_name"] for row in rows} == {"'=1"} and asked == ["ada", "ada\u200b"]
    assert {row["score"] for row in rows} == {"0.0"}


def test_a_folder_without_permission_is_not_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an ordinary user finds it; root would read on."""
    course = Course(tmp_path, tmp_path, (NAME,))
    for student in ("ada", "eve", "nobody"):
        (tmp_path / "submitted" / student).mkdir(parents=True)
    course.submitted(NAME, "ada").mkdir()
    whole = Path.lstat

    def refused(path: Path) -> os.stat_result:
        if path.parent.name == "eve":
            raise PermissionError(13, "Permission denied")
        return whole(path)

    monkeypatch.setattr(Path, "lstat", refused)
    assert course.students(NAME) == ("ada", "eve")


# --- the class, through every door ----------------------------------------------------------------


@dataclass(frozen=True)
class Door:
    """How a run ended, and what came of the class."""

    run: Run
    points: Mapping[str, float]


def of_folder(folder: Path) -> Door:
    where = ("--exercise", NAME, "--solutions", ROOT / "solutions")
    run = attn(*GRADE, folder, *where, folder=folder.parent)
    verdicts = read_verdicts(folder.with_name(f"{folder.name}-graded") / "verdicts")
    return Door(run, {verdict.student: verdict.points for verdict in verdicts})


def of_course(course: Course) -> Door:
    run = attn(*GRADE, ".", folder=course.directory)
    return Door(run, points(course, NAME))


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A released course in which everybody has handed in, every second one under an odd name."""
    course = released_course(tmp_path_factory.mktemp("names") / "course")
    for number, name in enumerate(RAW):
        folder = course.directory / "submitted" / os.fsdecode(name) / NAME
        folder.mkdir(parents=True)
        file = os.fsdecode(ODD_FILE) if number % 2 else script_name(NAME)
        (folder / file).write_bytes(SOLUTION)
    return course


@pytest.fixture(scope="module")
def fast_course(pristine: Course, tmp_path_factory: pytest.TempPathFactory) -> Course:
    return copied(pristine, tmp_path_factory.mktemp("fast") / "course")


@pytest.fixture(scope="module")
def fast(fast_course: Course) -> Door:
    """`attn grade` on the course."""
    return of_course(fast_course)


@pytest.fixture(scope="module")
def stock_course(pristine: Course, tmp_path_factory: pytest.TempPathFactory) -> Course:
    return copied(pristine, tmp_path_factory.mktemp("stock") / "course")


@pytest.fixture(scope="module")
def stock(stock_course: Course) -> Door:
    """`nbgrader autograde` on that course."""
    run = nbgrader("autograde", NAME, folder=stock_course.directory)
    return Door(run, points(stock_course, NAME))


@pytest.fixture(scope="module")
def flat(tmp_path_factory: pytest.TempPathFactory) -> tuple[Door, Path]:
    """`attn grade` on a folder of files, and where its results are."""
    root = tmp_path_factory.mktemp("flat")
    folder = root / "class"
    folder.mkdir()
    for name in RAW:
        (folder / os.fsdecode(name + b".py")).write_bytes(SOLUTION)
    (folder / os.fsdecode(b"folder\xe4")).mkdir()
    (folder / os.fsdecode(b"folder\xe4") / os.fsdecode(ODD_FILE)).write_bytes(SOLUTION)
    (folder / os.fsdecode(b"broken\xe4.ipynb")).write_text("{", encoding="utf-8")
    return of_folder(folder), root / "class-graded"


EVERYBODY = {student_of(os.fsdecode(name)) for name in RAW}


def test_the_names_are_as_many_students() -> None:
    assert len(EVERYBODY) == len(RAW)


def test_a_course_is_graded_whatever_its_students_are_called(
    fast_course: Course, fast: Door
) -> None:
    assert fast.run.code == 0, fast.run.said
    assert dict(fast.points) == dict.fromkeys(EVERYBODY, FULL)
    assert sorted(EVERYBODY) == sorted(with_a_notebook(fast_course))


def test_nbgrader_autograde_grades_them_too(stock_course: Course, stock: Door) -> None:
    assert stock.run.code == 0, stock.run.said[-4000:]
    assert dict(stock.points) == dict.fromkeys(stock_course.students(NAME), FULL)
    assert "Logging error" not in stock.run.said
    assert "\x1b[31mred" not in stock.run.said and "red" in stock.run.said
    assert sorted(stock_course.students(NAME)) == sorted(with_a_notebook(stock_course))


def with_a_notebook(course: Course) -> list[str]:
    """Whose graded notebook there is; all files beside it have plain names."""
    folders = [folder / NAME for folder in (course.directory / "autograded").iterdir()]
    assert all(file.name.isprintable() for folder in folders for file in folder.iterdir())
    return [folder.parent.name for folder in folders if (folder / notebook_name(NAME)).is_file()]


def test_nbgraders_feedback_has_a_page_for_each(stock_course: Course, stock: Door) -> None:
    run = nbgrader("generate_feedback", NAME, folder=stock_course.directory)
    assert run.code == 0, run.said[-4000:]
    pages = {
        student: stock_course.feedback(NAME, student) / f"{NAME}.html"
        for student in stock_course.students(NAME)
    }
    assert [student for student, page in pages.items() if not page.is_file()] == []


def test_a_folder_is_graded_whatever_its_files_are_called(flat: tuple[Door, Path]) -> None:
    door, _ = flat
    assert door.run.code == 1, door.run.said  # one of them cannot be read
    assert dict(door.points) == {
        **dict.fromkeys(EVERYBODY, FULL),
        "folder\\xe4": FULL,
        "broken\\xe4": 0.0,
    }
    assert "not graded: broken\\xe4: broken\\xe4.ipynb is not a notebook" in door.run.said


def test_names_are_shown_safely_in_the_terminal(flat: tuple[Door, Path], fast: Door) -> None:
    for door in (flat[0], fast):
        assert {mark for mark in door.run.said if not mark.isprintable()} <= {"\n"}
        assert "Traceback" not in door.run.said
        assert "jos\\xe9" in door.run.said


def test_the_csv_has_a_row_for_each_and_no_two_are_called_alike(flat: tuple[Door, Path]) -> None:
    door, output = flat
    text = (output / "grades.csv").read_text(encoding="utf-8")
    names = [row["student"] for row in csv.DictReader(io.StringIO(text))]
    assert len(set(names)) == len(names) == len(door.points)
    assert all(name and name.isprintable() for name in names)
    assert {"ada", "Ada", "jos\\xe9", "jos\\\\xe9", "jos\u00e9"} < set(names)


def test_each_has_a_verdict_and_a_page_of_their_own(flat: tuple[Door, Path]) -> None:
    door, output = flat
    verdicts: list[Verdict] = [*read_verdicts(output / "verdicts")]
    assert {verdict.student for verdict in verdicts} == {*door.points}
    pages = {page_name(student) for student in door.points}
    assert len(pages) == len(door.points)
    for page in pages:
        (output / "feedback" / page).read_text(encoding="utf-8")


def test_the_remark_on_an_odd_file_shows_its_name(flat: tuple[Door, Path]) -> None:
    _, output = flat
    (verdict,) = (
        verdict
        for verdict in read_verdicts(output / "verdicts")
        if verdict.student == "folder\\xe4"
    )
    assert any("arbeit\\xfc.py was read" in remark for remark in verdict.remarks)


def test_a_second_run_finds_everybody_judged(flat: tuple[Door, Path]) -> None:
    door, output = flat
    again = of_folder(output.with_name("class"))
    # Whoever cannot be read is read again each time.
    assert f"{len(door.points) - 1} of {len(door.points)} submissions were judged" in again.run.said
    assert again.points == door.points


def test_a_roster_keeps_names_apart_that_differ_in_case_or_form_only(tmp_path: Path) -> None:
    for name in ("ada.py", "Ada.py", "jos\u00e9.py", "jose\u0301.py"):
        (tmp_path / name).write_text("x = 1", encoding="utf-8")
    assert len(flat_roster(tmp_path)) == 4
