"""Students get our page by nbgrader's own commands, whatever they called their notebook."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from nbgrader.utils import notebook_hash

from autograder.cli.student_files import write_student_files
from autograder.course import delivered_page
from autograder.course.assignment_release import command_environment
from autograder.course.creation import Course
from autograder.course.delivered_page import PageDelivery, deliver_class
from autograder.errors import KitError
from autograder.grading.class_reading import read_class
from autograder.grading.grader_pool import GraderPool
from autograder.grading.judged_class import JudgedClass
from autograder.grading.roster import course_roster
from autograder.grading.unjudged import without_judging
from autograder.grading.watched_process import Bounds
from autograder.model.verdict import Finding, Outcome
from support.classroom import open_classroom
from support.learner_workspace import ATTN
from support.released_course import NAME, ROOT, grade, released_course, sample_class

WRONG = "mistake_not_scaled"
PLAIN = "correct_loops"  # handed in by hand: no time stamp, no secret
SECRET = "5ec2e7" * 21
OURS = "Where to look first"


@pytest.fixture
def course(tmp_path: Path) -> Course:
    made = released_course(tmp_path / "course", sample_class(WRONG, PLAIN))
    folder = made.submitted(NAME, WRONG)
    (folder / "timestamp.txt").write_text("2026-11-20 12:00:00.000000 UTC")
    (folder / "submission_secret.txt").write_text(SECRET)
    # Beside the file that counts: nbgrader asks by the names of notebooks.
    shutil.copy(made.release(NAME) / f"{NAME}.ipynb", folder / "my <b>copy<b>.ipynb")
    return made


def page(course: Course, name: str = f"{NAME}.html") -> str:
    return (course.feedback(NAME, WRONG) / name).read_text(encoding="utf-8")


def test_a_page_that_a_process_cannot_deliver_is_told_and_none_is_there_in_part(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = course.graded(NAME) / "feedback" / f"{WRONG}.html"
    made.parent.mkdir(parents=True)
    made.write_bytes(b"x" * 19_000_000)
    monkeypatch.setattr(delivered_page, "HANDLING", Bounds(30.0, 120.0, megabytes=8))
    with GraderPool(1) as pool, pytest.raises(KitError, match="8 megabytes") as told:
        deliver_class(course, NAME, [WRONG], pool)
    assert told.value.place == str(course.feedback(NAME, WRONG))
    assert [file.suffix for file in course.feedback(NAME, WRONG).glob("*")] == []


def judged_class(course: Course) -> JudgedClass:
    exercise = course.exercise(NAME)
    given = [(name, course.submitted(NAME, name)) for name in (WRONG, PLAIN)]
    with GraderPool(1) as pool:
        read = read_class(pool, exercise, course_roster(given))
    finding = Finding(Outcome.WRONG_VALUES, "Something is wrong.")
    return JudgedClass.in_memory(read, [without_judging(exercise, each, finding) for each in read])


def test_a_page_is_delivered_with_the_files_and_one_that_cannot_be_loses_nobody_theirs(
    course: Course,
) -> None:
    exercise, output = course.exercise(NAME), course.graded(NAME)
    in_the_way = course.feedback(NAME, PLAIN)
    in_the_way.parent.mkdir(parents=True)
    in_the_way.write_text("no folder")
    with GraderPool(1) as pool:
        files = write_student_files(
            pool, output, exercise, judged_class(course), {}, (), PageDelivery.into(course, NAME)
        )
        assert files.delivered == {WRONG} and not files.lost
        assert page(course) == (output / "feedback" / f"{WRONG}.html").read_text(encoding="utf-8")
        for name in (WRONG, PLAIN):
            made = [output / "verdicts" / f"{name}.json", output / "feedback" / f"{name}.txt"]
            assert all(file.is_file() for file in made)
        with pytest.raises(KitError, match="cannot be put where nbgrader looks") as told:
            deliver_class(course, NAME, [PLAIN], pool)
    assert told.value.place == str(in_the_way)


def never_delivered(student: str, page: bytes) -> bool:
    """Take too much memory for a page, once it is made."""
    return len(bytearray(1 << 40)) > len(page)


def test_a_page_that_is_lost_on_its_way_is_made_and_not_delivered(course: Course) -> None:
    exercise, output = course.exercise(NAME), course.graded(NAME)
    with GraderPool(1) as pool:
        files = write_student_files(
            pool, output, exercise, judged_class(course), {}, (), never_delivered
        )
    assert not files.delivered and not files.lost
    assert {file.stem for file in (output / "feedback").glob("*.html")} == {WRONG, PLAIN}


def nbgrader(course: Course, *words: str) -> str:
    run = subprocess.run(
        [sys.executable, "-m", "nbgrader", *words],
        cwd=course.directory,
        env=command_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stderr


def test_grading_puts_the_page_where_nbgrader_looks_for_it_under_each_notebooks_name(
    course: Course,
) -> None:
    assert grade(course).returncode == 0
    ours = (course.graded(NAME) / "feedback" / f"{WRONG}.html").read_text(encoding="utf-8")
    assert OURS in ours
    assert page(course) == page(course, "my <b>copy<b>.html") == ours
    plain = course.feedback(NAME, PLAIN) / f"{NAME}.html"
    assert plain.read_bytes() == (course.graded(NAME) / "feedback" / f"{PLAIN}.html").read_bytes()


@pytest.mark.slow
def test_a_name_as_long_as_a_name_may_be_keeps_nobody_from_a_page(course: Course) -> None:
    folder, name = course.submitted(NAME, WRONG), "n" * 249
    (folder / "my <b>copy<b>.ipynb").rename(folder / f"{name}.ipynb")
    run = grade(course)
    assert run.returncode == 0, run.stderr
    assert page(course, f"{name}.html") == page(course)
    assert (course.feedback(NAME, PLAIN) / f"{NAME}.html").is_file()


def test_release_feedback_hands_it_out_for_each_and_ends_well(
    course: Course, tmp_path: Path
) -> None:
    assert grade(course).returncode == 0
    exchange = tmp_path / "exchange"
    exchange.mkdir(mode=0o777)
    nbgrader(course, "release_feedback", NAME, f"--Exchange.root={exchange}")
    (folder,) = exchange.glob("*/feedback")
    names = [NAME, "my <b>copy<b>"]
    hashes = {f"{notebook_hash(secret=SECRET, notebook_id=name)}.html" for name in names}
    assert {file.name for file in folder.iterdir()} > hashes
    for name in hashes:
        assert (folder / name).read_text(encoding="utf-8") == page(course)
    assert len(list(folder.iterdir())) == 3  # the third is of a hand-in without a secret


@pytest.mark.slow
def test_generate_feedback_shows_the_mark_and_the_comment_of_now(course: Course) -> None:
    assert grade(course).returncode == 0
    with Gradebook(f"sqlite:///{course.directory / 'gradebook.db'}") as gradebook:
        gradebook.find_grade("check_softmax", NAME, NAME, WRONG).manual_score = 0.25
        comment = gradebook.find_comment("softmax", NAME, NAME, WRONG)
        comment.manual_comment = "Come and see me about `exp` <script>"
        gradebook.db.commit()
    assert "0.25 of 2 points" not in page(course)
    nbgrader(course, "generate_feedback", NAME)
    assert "0.25 of 2 points" in page(course)
    assert "Come and see me about <code>exp</code> &lt;script&gt;" in page(course)


@pytest.mark.slow
def test_generate_feedback_finds_the_pages_of_a_class_that_has_folders_of_a_thousand(
    course: Course,
) -> None:
    assert grade(course).returncode == 0
    for folder in (course.graded(NAME) / "verdicts", course.graded(NAME) / "feedback"):
        part = folder / "0001-1000"
        part.mkdir()
        for file in [each for each in folder.glob(f"{WRONG}.*")]:
            file.rename(part / file.name)
    (course.feedback(NAME, WRONG) / f"{NAME}.html").unlink()
    (course.graded(NAME) / "feedback" / "0001-1000" / f"{WRONG}.html").write_text("old")
    nbgrader(course, "generate_feedback", NAME)
    assert OURS in page(course)
    assert list((course.graded(NAME) / "feedback").glob(f"{WRONG}.*")) == []


@pytest.mark.slow  # several of nbgrader's commands
def test_without_our_verdict_the_page_is_nbgraders_own(course: Course) -> None:
    nbgrader(course, "autograde", NAME)
    said = nbgrader(course, "generate_feedback", NAME)
    assert "for the kit's: attn grade" in said
    assert OURS not in page(course)
    exchange = course.directory.parent / "exchange"
    exchange.mkdir(mode=0o777)
    exchange.chmod(0o777)
    # Not everybody has handed in through nbgrader.
    nbgrader(course, "release_feedback", NAME, f"--Exchange.root={exchange}")
    assert len(list(exchange.rglob("*.html"))) == 2
    assert grade(course).returncode == 0
    assert OURS in page(course)


@pytest.mark.slow  # several of nbgrader's commands
def test_whoever_prefers_nbgraders_own_pages_gets_them(course: Course) -> None:
    assert grade(course).returncode == 0
    nbgrader(course, "generate_feedback", NAME, "--force", "--CourseFeedback.kit_pages=False")
    assert OURS not in page(course)


@pytest.mark.slow  # several of nbgrader's commands
def test_a_page_of_an_older_hand_in_is_not_given_out(course: Course) -> None:
    assert grade(course).returncode == 0
    solution = ROOT / "solutions" / NAME / "solution.py"
    folder = course.submitted(NAME, WRONG)
    for file in folder.glob("*.ipynb"):
        file.unlink()
    shutil.copy(solution, folder / f"{NAME}.py")
    (folder / "timestamp.txt").write_text("2026-11-21 12:00:00.000000 UTC")
    nbgrader(course, "autograde", NAME)
    assert "for the kit's: attn grade" in nbgrader(course, "generate_feedback", NAME)
    assert OURS not in page(course)


@pytest.mark.slow  # a student and an instructor, with an exchange between them
@pytest.mark.parametrize("kept", [f"{NAME}.ipynb", "my work.ipynb"])
def test_a_student_fetches_it(tmp_path: Path, kept: str) -> None:
    room = open_classroom(tmp_path)
    home = room.student.folder / "work"
    home.mkdir()

    def by_nbgrader(folder: Path, *words: str) -> None:
        room.student.run("nbgrader", *words, NAME, "--course", "attention", folder=folder)

    by_nbgrader(home, "fetch_assignment")
    (home / NAME / f"{NAME}.ipynb").rename(home / NAME / kept)
    by_nbgrader(home, "submit")
    room.teach("nbgrader", "collect", NAME)
    room.teach(ATTN, "grade", ".")
    room.teach("nbgrader", "release_feedback", NAME)
    by_nbgrader(home, "fetch_feedback")
    (fetched,) = (home / NAME / "feedback").glob("*/*.html")
    assert fetched.stem == Path(kept).stem
    ours = room.course / "graded" / NAME / "feedback" / f"{room.name}.html"
    assert fetched.read_text(encoding="utf-8") == ours.read_text(encoding="utf-8")
