"""Broken, not hostile: nobody is lost, and every submission is graded as far as it can be.

The set in tests/support/broken, where some work is right, is handed in as one class through `attn
grade` on a course. `nbgrader autograde` on the same course and `attn grade` on a folder of files
get one of each kind, and all of them in the slow tests.
"""

from __future__ import annotations

import csv
import html
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from autograder.course.creation import Course
from autograder.grading.journal import JOURNAL
from autograder.reports.feedback import page_name
from autograder.reports.grades_csv import read_verdicts
from autograder.values.verdict import Outcome, Verdict
from support.broken.case import EXERCISE, NAME, NOTEBOOK, ROOT, STEPS, Broken, Work
from support.broken.cases import EVERYBODY
from support.gradebook_scores import scores
from support.released_course import copied, released_course
from support.typed_commands import Run, attn, nbgrader

pytestmark = (
    pytest.mark.slow
)  # a course of many hand-ins; tests/grading/test_class.py has a few of every kind

POINTS = {step.name: step.points for step in EXERCISE.steps}
# Not a folder where a folder belongs: nothing that a builder could write into one.
MISPLACED = {
    "link_in_place_of_the_folder": "is a link: hand in the file itself",
    "file_in_place_of_the_folder": "is neither a notebook nor a .py file",
}
ALONE = "word_processor_file_alone"  # in a folder of files, a file of a wrong kind by itself
ALL_GRADED, NOT_ALL = 0, 1
UNREAD = tuple(case.student for case in EVERYBODY if case.rejected)


@dataclass(frozen=True)
class Door:
    """What came of the class behind one door: how the run ended, and what each student reads."""

    run: Run
    points: dict[str, dict[str, float]]
    pages: dict[str, str]
    verdicts: dict[str, Verdict]


def each(cases: tuple[Broken, ...] = EVERYBODY) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.student)


def due(case: Broken) -> dict[str, float]:
    """The points in the gradebook: none at all for what cannot be read, which is not a zero."""
    return {} if case.rejected else earned(case)


def earned(case: Broken) -> dict[str, float]:
    return {name: 0.0 if name in case.loses else points for name, points in POINTS.items()}


# --- the class, and the doors -------------------------------------------------------------------


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A released course in which the whole class has handed in; nothing is graded yet."""
    course = released_course(tmp_path_factory.mktemp("broken") / "course")
    for case in EVERYBODY:
        case.build(Work(_folder(course, case.student)))
    link, file = (course.submitted(NAME, student) for student in MISPLACED)
    for path in (link, file):
        path.parent.mkdir(parents=True)
    link.symlink_to(course.submitted(NAME, "script_in_place_of_the_notebook"))
    file.write_text("my homework", encoding="utf-8")
    return course


def _folder(course: Course, student: str) -> Path:
    folder = course.submitted(NAME, student)
    folder.mkdir(parents=True)
    return folder


@pytest.fixture(scope="module")
def graded(handed_in: Course, tmp_path_factory: pytest.TempPathFactory) -> Course:
    return copied(handed_in, tmp_path_factory.mktemp("fast") / "course")


@pytest.fixture(scope="module")
def fast(graded: Course) -> Door:
    """`attn grade` on the course."""
    run = attn("grade", graded.directory, folder=ROOT)
    return _door(run, graded.graded(NAME), _points(graded))


@pytest.fixture(scope="module")
def stock(handed_in: Course, tmp_path_factory: pytest.TempPathFactory) -> Door:
    """`nbgrader autograde` on a course of its own."""
    course = copied(handed_in, tmp_path_factory.mktemp("stock") / "course")
    run = nbgrader("autograde", NAME, folder=course.directory)
    notebooks = (course.directory / "autograded").glob(f"*/{NAME}/{NOTEBOOK}")
    pages = {path.parent.parent.name: _outputs(path) for path in notebooks}
    return Door(run, _points(course), pages, {})


@dataclass(frozen=True)
class Flat:
    """A folder of files named by student, and where its results go."""

    folder: Path
    output: Path

    def grade(self) -> Door:
        where = ("--output", self.output, "--solutions", ROOT / "solutions")
        run = attn("grade", self.folder, "--exercise", NAME, *where, folder=ROOT)
        with (self.output / "grades.csv").open(encoding="utf-8", newline="") as file:
            rows = {row["student"]: row for row in csv.DictReader(file)}
        points = {
            student: {step: float(row[step]) for step in STEPS if row[step]}
            for student, row in rows.items()
        }
        return _door(run, self.output, points)


@pytest.fixture(scope="module")
def flat_folder(
    graded: Course,
    fast: Door,
    tmp_path_factory: pytest.TempPathFactory,
) -> Flat:
    """The same students in a folder; who handed in one file is that file.

    The journal of the course comes along: what is read the same is not judged again.
    """
    root = tmp_path_factory.mktemp("flat")
    flat = Flat(root / "class", root / "graded")
    flat.folder.mkdir()
    flat.output.mkdir()
    shutil.copy(graded.graded(NAME) / JOURNAL, flat.output / JOURNAL)
    for student in (case.student for case in EVERYBODY):
        folder = graded.submitted(NAME, student)
        files = list(folder.iterdir())
        if len(files) == 1 and files[0].is_file() and not files[0].is_symlink():
            suffix = "".join(files[0].suffixes)
            shutil.copy(files[0], flat.folder / f"{student}{suffix}")
        else:
            shutil.copytree(folder, flat.folder / student, symlinks=True)
    (flat.folder / f"{ALONE}.docx").write_bytes(b"PK")
    (flat.folder / "class list.csv").write_text("nobody's work", encoding="utf-8")
    return flat


@pytest.fixture(scope="module")
def flat(flat_folder: Flat) -> Door:
    """`attn grade` on the folder."""
    return flat_folder.grade()


def _door(run: Run, graded: Path, points: dict[str, dict[str, float]]) -> Door:
    assert (graded / "verdicts").is_dir(), run.said
    verdicts = {verdict.student: verdict for verdict in read_verdicts(graded / "verdicts")}
    pages = {
        student: _text((graded / "feedback" / page_name(student)).read_text(encoding="utf-8"))
        for student in verdicts
    }
    return Door(run, points, pages, verdicts)


def _points(course: Course) -> dict[str, dict[str, float]]:
    return {
        student: {cell.removeprefix("check_"): score for cell, score in cells.items()}
        for student, cells in scores(course, NAME).items()
    }


def _text(page: str) -> str:
    """A page as a person reads it: code between backticks, no other tags."""
    return html.unescape(re.sub(r"<[^>]+>", "", re.sub(r"</?code>", "`", page)))


def _outputs(notebook: Path) -> str:
    """The words that stand in a graded notebook."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    outputs = (output for cell in cells for output in cell.get("outputs", ()))
    return "\n".join(str(output["data"]["text/plain"]) for output in outputs)


# --- the set ------------------------------------------------------------------------------------


def test_the_set_is_large_and_of_all_kinds() -> None:
    assert len(EVERYBODY) >= 70
    ends = {case.ends for case in EVERYBODY}
    assert {None, Outcome.REJECTED, Outcome.NOT_WRITTEN, Outcome.RAISED} <= ends
    whole = [case for case in EVERYBODY if not case.loses]
    assert len(whole) > len(EVERYBODY) / 2


def test_what_is_lost_is_told_why() -> None:
    silent = [case.student for case in EVERYBODY if case.rejected and not case.says]
    assert silent == []


# --- attn grade on a course ---------------------------------------------------------------------


def test_nobody_is_lost(fast: Door) -> None:
    everybody = {*(case.student for case in EVERYBODY), *MISPLACED}
    assert set(fast.verdicts) == everybody
    assert set(fast.points) == everybody - {*MISPLACED, *UNREAD}


@each()
def test_every_step_that_can_be_graded_is_and_the_gradebook_has_its_points(
    case: Broken, fast: Door
) -> None:
    verdict = fast.verdicts[case.student]
    assert {step.name: step.points for step in verdict.steps} == earned(case)
    assert {step.name: step.max_points for step in verdict.steps} == POINTS
    if case.ends:
        ends = {step.outcome for step in verdict.steps if step.name in case.loses}
        assert ends == {case.ends}
    assert fast.points.get(case.student, {}) == due(case)


@each()
def test_the_students_page_says_what_is_to_be_known(case: Broken, fast: Door) -> None:
    page = fast.pages[case.student]
    assert [words for words in (*case.says, *case.says_of_folder) if words not in page] == []


# Whether a plotting library is installed is the machine's business.
SILENT = [
    case
    for case in EVERYBODY
    if not (case.says or case.says_of_folder or case.loses or case.student == "plots")
]


@each(tuple(SILENT))
def test_what_makes_no_difference_is_not_remarked_on(case: Broken, fast: Door) -> None:
    assert fast.verdicts[case.student].remarks == ()


@pytest.mark.parametrize("student", MISPLACED)
def test_what_is_no_folder_is_rejected_in_words(student: str, fast: Door) -> None:
    assert student not in fast.points
    assert MISPLACED[student] in fast.pages[student]


def test_the_run_says_who_could_not_be_read_and_that_not_all_could(fast: Door) -> None:
    assert fast.run.code == NOT_ALL, fast.run.said
    assert "Traceback" not in fast.run.said
    named = re.findall(r"^not graded: (.*?): ", fast.run.said, re.MULTILINE)
    rejected = [case.student for case in EVERYBODY if case.rejected]
    assert sorted(named) == sorted([*rejected, *MISPLACED])


@pytest.mark.parametrize("student", ["link_to_the_solution", "link_in_place_of_the_folder"])
def test_nothing_that_a_link_points_at_gets_into_the_graded_folder(
    student: str, graded: Course, fast: Door
) -> None:
    folder = graded.autograded(NAME, student)
    assert [file.name for file in folder.iterdir()] == [NOTEBOOK]
    assert "np.exp" not in (folder / NOTEBOOK).read_text(encoding="utf-8")
    assert "np.exp" not in fast.pages[student]


# --- nbgrader autograde -------------------------------------------------------------------------


def test_nbgrader_loses_nobody_either(stock: Door) -> None:
    assert stock.run.code == ALL_GRADED, stock.run.said[-4000:]
    everybody = {*(case.student for case in EVERYBODY), *MISPLACED}
    assert set(stock.pages) == everybody
    assert set(stock.points) == everybody - {*MISPLACED, *UNREAD}


def test_both_doors_give_the_same_points(stock: Door, fast: Door) -> None:
    differ = {student for student in stock.points if stock.points[student] != fast.points[student]}
    assert differ == set()


def test_the_graded_notebook_says_the_same(stock: Door) -> None:
    wanted = {case.student: (*case.says, *case.says_of_folder) for case in EVERYBODY}
    assert not_said(wanted, stock) == {}


def not_said(wanted: dict[str, tuple[str, ...]], door: Door) -> dict[str, list[str]]:
    """The words that do not stand on the page of whoever should read them."""
    missing = {
        student: [said for said in words if said not in door.pages[student]]
        for student, words in wanted.items()
    }
    return {student: words for student, words in missing.items() if words}


def test_what_was_handed_in_is_as_it_was(handed_in: Course, graded: Course, fast: Door) -> None:
    before, after = (dict(_content(course.hand_ins)) for course in (handed_in, graded))
    assert len(before) > len(EVERYBODY) and after == before


def _content(folder: Path) -> Iterator[tuple[str, bytes | None]]:
    for path in folder.rglob("*"):
        plain = path.is_file() and not path.is_symlink()
        yield str(path.relative_to(folder)), path.read_bytes() if plain else None


# --- a folder of files --------------------------------------------------------------------------


def test_in_a_folder_of_files_nobody_is_lost(flat: Door) -> None:
    everybody = {*(case.student for case in EVERYBODY), ALONE}
    assert flat.run.code == NOT_ALL, flat.run.said
    assert set(flat.verdicts) == set(flat.points) == everybody
    assert f"{ALONE}.docx is neither a notebook nor a .py file" in flat.pages[ALONE]


def test_in_a_folder_of_files_all_have_the_same_points_and_words(flat: Door) -> None:
    assert {case.student: flat.points[case.student] for case in EVERYBODY} == {
        case.student: due(case) for case in EVERYBODY
    }
    # A file is called there as its student is.
    wanted = {
        case.student: tuple(say for say in case.says if NAME not in say) for case in EVERYBODY
    }
    assert not_said(wanted, flat) == {}


def test_without_those_that_cannot_be_read_all_is_well(flat_folder: Flat, flat: Door) -> None:
    for student in (*(case.student for case in EVERYBODY if case.rejected), ALONE):
        for path in flat_folder.folder.glob(f"{student}*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    again = flat_folder.grade()
    assert again.run.code == ALL_GRADED, again.run.said
    assert "not graded: " not in again.run.said
