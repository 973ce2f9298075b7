"""Students get our page by nbgrader's own commands, whatever they called their notebook."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from nbgrader.utils import notebook_hash

from autograder.cli.student_files import write_student_files
from autograder.course import course_records
from autograder.course.course_records import CourseRecords, PageDelivery, deliver_pages
from autograder.course.creation import Course
from autograder.course.settings import open_gradebook, read_settings
from autograder.errors import KitError
from autograder.grading.classroom import JudgedClass
from autograder.grading.grader_pool import GraderPool
from autograder.grading.journal import unfinished
from autograder.grading.watched_process import Bounds
from autograder.reports.roll import ClassGradebook
from autograder.submission.reading import read_submission
from autograder.values.verdict import Finding, Outcome
from course.changing_course import delivered, done, formgrader, nbgrader, page_of
from course.term_course import (
    COPY,
    LATE,
    RIGHT,
    SECRET,
    WRONG,
    term_course,
    ungraded_term_course,
)
from support.classroom import open_classroom
from support.released_course import NAME, ROOT, grade
from support.typed_commands import ATTN

NOTHING = ClassGradebook()
PLAIN = LATE  # handed in by hand: no time stamp, no secret
OURS = "Where to look first"


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A course that is graded; one student has come through nbgrader, with two notebooks."""
    return term_course(tmp_path / "course")


@pytest.fixture
def ungraded(tmp_path: Path) -> Course:
    return ungraded_term_course(tmp_path / "course")


def page(course: Course, name: str = f"{NAME}.html") -> str:
    return (course.feedback(NAME, WRONG) / name).read_text(encoding="utf-8")


def judged_class(course: Course, *students: str) -> JudgedClass:
    exercise = course.exercise(NAME)
    read = [read_submission(course.submitted(NAME, name), exercise, name) for name in students]
    finding = Finding(Outcome.WRONG_VALUES, "Something is wrong.")
    return JudgedClass.in_memory(read, [unfinished(exercise, each, finding) for each in read])


def test_who_cannot_be_given_a_page_loses_no_other_file_and_nobody_else_loses_theirs(
    ungraded: Course,
) -> None:
    course, output = ungraded, ungraded.graded(NAME)
    in_the_way = course.feedback(NAME, PLAIN)
    in_the_way.parent.mkdir(parents=True)
    in_the_way.write_text("no folder")
    with GraderPool(1) as pool:
        judged, delivery = judged_class(course, WRONG, PLAIN), PageDelivery.into(course, NAME)
        files = write_student_files(
            pool, output, course.exercise(NAME), judged, NOTHING, (), delivery
        )
        assert files.delivered == {WRONG} and not files.lost
        assert page(course) == page_of(course, WRONG)
        for name in (WRONG, PLAIN):
            made = [output / "verdicts" / f"{name}.json", output / "feedback" / f"{name}.txt"]
            assert all(file.is_file() for file in made)
        with pytest.raises(KitError, match="cannot be put where nbgrader looks") as told:
            CourseRecords(course, course.exercise(NAME)).deliver([PLAIN], pool)
    assert told.value.place == str(in_the_way)


def never_delivered(student: str, page: bytes) -> bool:
    """Take too much memory for a page, once it is made."""
    return len(bytearray(1 << 40)) > len(page)


@pytest.mark.slow  # processes end and are replaced
def test_a_page_that_takes_too_much_memory_on_its_way_is_made_and_told_and_not_there_in_part(
    ungraded: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    course, output = ungraded, ungraded.graded(NAME)
    exercise, judged = course.exercise(NAME), judged_class(course, WRONG, PLAIN)
    with GraderPool(1) as pool:
        files = write_student_files(pool, output, exercise, judged, NOTHING, (), never_delivered)
        assert not files.delivered and not files.lost
        made = {file.stem: file for file in (output / "feedback").glob("*.html")}
        assert made.keys() == {WRONG, PLAIN}
        made[WRONG].write_bytes(b"x" * 19_000_000)
        monkeypatch.setattr(course_records, "HANDLING", Bounds(30.0, 120.0, megabytes=8))
        with pytest.raises(KitError, match="8 megabytes") as told:
            CourseRecords(course, exercise).deliver([WRONG], pool)
    assert told.value.place == str(course.feedback(NAME, WRONG))
    assert [file.suffix for file in course.feedback(NAME, WRONG).glob("*")] == []


def by_command(name: str, course: Course, *options: str) -> str:
    return nbgrader(name, NAME, *options, folder=course.directory)


def test_grading_puts_the_page_where_release_feedback_takes_it_under_each_notebooks_name(
    course: Course, tmp_path: Path
) -> None:
    assert OURS in page_of(course, WRONG)
    assert page(course) == page(course, f"{COPY}.html") == page_of(course, WRONG)
    for student in (PLAIN, RIGHT):
        there = delivered(course, student).read_text(encoding="utf-8")
        assert there == page_of(course, student)
    exchange = tmp_path / "exchange"
    exchange.mkdir(mode=0o777)
    by_command("release_feedback", course, f"--Exchange.root={exchange}")
    (folder,) = exchange.glob("*/feedback")
    hashes = {f"{notebook_hash(secret=SECRET, notebook_id=name)}.html" for name in (NAME, COPY)}
    assert {file.name for file in folder.iterdir()} > hashes
    for name in hashes:
        assert (folder / name).read_text(encoding="utf-8") == page(course)
    assert len(list(folder.iterdir())) == 4  # two are of hand-ins without a secret


def test_each_of_a_group_gets_the_own_page_by_the_own_secret(
    course: Course, tmp_path: Path
) -> None:
    mine, members = "0dd5ec" * 21, (WRONG, RIGHT, "dan")
    rows = "".join(f"{each},red\n" for each in members)
    (course.directory / "groups.csv").write_text(f"student_id,group\n{rows}")
    own = course.submitted(NAME, RIGHT)
    (own / "submission_secret.txt").write_text(mine)
    (own / "mine.ipynb").write_text("{}")  # another's counts
    for student, day in ((WRONG, 2), (RIGHT, 1)):
        moment = f"2026-03-0{day} 12:00:00 UTC"
        (course.submitted(NAME, student) / "timestamp.txt").write_text(moment)
    assert grade(course).returncode == 0
    exchange = tmp_path / "exchange"
    exchange.mkdir(mode=0o777)
    by_command("release_feedback", course, f"--Exchange.root={exchange}")
    (folder,) = exchange.glob("*/feedback")
    fetched = {
        (secret, name): folder / f"{notebook_hash(secret=secret, notebook_id=name)}.html"
        for secret, name in ((SECRET, NAME), (SECRET, COPY), (mine, NAME), (mine, "mine"))
    }
    for (secret, _), file in fetched.items():
        student = WRONG if secret == SECRET else RIGHT
        assert file.read_text(encoding="utf-8") == page_of(course, student)
    assert len({page_of(course, student) for student in members}) == 3
    others = {*folder.iterdir()} - {*fetched.values()}
    assert {file.read_text(encoding="utf-8") for file in others} == {
        page_of(course, student) for student in ("dan", PLAIN)
    }
    button = formgrader(course, CourseFeedback={"kit_pages": False})
    for student in members:
        done(button.generate_feedback(NAME, student_id=student, force=True))
        assert OURS not in delivered(course, student).read_text()
    secrets = [course.feedback(NAME, each) / "submission_secret.txt" for each in members]
    assert [file.read_text() for file in secrets[:2]] == [SECRET, mine]
    assert secrets[2].read_text() not in (SECRET, mine)


def test_a_name_as_long_as_a_name_may_be_keeps_nobody_from_a_page(course: Course) -> None:
    folder, name = course.submitted(NAME, WRONG), "n" * 249
    (folder / f"{COPY}.ipynb").rename(folder / f"{name}.ipynb")
    shutil.rmtree(course.directory / "feedback")
    deliver_pages(course, NAME, [WRONG, PLAIN])
    assert page(course, f"{name}.html") == page(course) == page_of(course, WRONG)
    assert delivered(course, PLAIN).is_file()


def generate_feedback(course: Course) -> None:
    """Make a student's pages for nbgrader to hand out, as the button in formgrader does."""
    done(formgrader(course).generate_feedback(NAME, student_id=WRONG))


def test_generate_feedback_shows_the_mark_and_the_comment_of_now(course: Course) -> None:
    with open_gradebook(course, read_settings(course), NAME) as (gradebook, _):
        gradebook.find_grade("check_softmax", NAME, NAME, WRONG).manual_score = 0.25
        comment = gradebook.find_comment("softmax", NAME, NAME, WRONG)
        comment.manual_comment = "Come and see me about `exp` <script>"
        gradebook.db.commit()
    assert "0.25 of 2 points" not in page(course)
    generate_feedback(course)
    assert "0.25 of 2 points" in page(course)
    assert "Come and see me about <code>exp</code> &lt;script&gt;" in page(course)


def test_generate_feedback_finds_the_pages_of_a_class_that_has_folders_of_a_thousand(
    course: Course,
) -> None:
    for folder in (course.graded(NAME) / "verdicts", course.graded(NAME) / "feedback"):
        part = folder / "0001-1000"
        part.mkdir()
        for file in [each for each in folder.glob(f"{WRONG}.*")]:
            file.rename(part / file.name)
    delivered(course, WRONG).unlink()
    (course.graded(NAME) / "feedback" / "0001-1000" / f"{WRONG}.html").write_text("old")
    generate_feedback(course)
    assert OURS in page(course)
    assert list((course.graded(NAME) / "feedback").glob(f"{WRONG}.*")) == []


@pytest.mark.slow  # several of nbgrader's commands
def test_without_a_verdict_of_ours_on_this_work_the_page_is_nbgraders_own(
    ungraded: Course, tmp_path: Path
) -> None:
    course = ungraded
    by_command("autograde", course)
    assert "for the kit's: attn grade" in by_command("generate_feedback", course)
    assert OURS not in page(course)
    exchange = tmp_path / "exchange"
    exchange.mkdir(mode=0o777)
    # Not everybody has handed in through nbgrader.
    by_command("release_feedback", course, f"--Exchange.root={exchange}")
    # nbgrader hands out whatever is HTML, so the lesson beside each page as well.
    assert len(list(exchange.rglob("*.html"))) == 2 * 3
    assert grade(course).returncode == 0
    assert OURS in page(course)
    hand_in_again(course)
    by_command("autograde", course)
    assert "for the kit's: attn grade" in by_command("generate_feedback", course)
    assert OURS not in page(course)


def hand_in_again(course: Course) -> None:
    folder = course.submitted(NAME, WRONG)
    for file in folder.glob("*.ipynb"):
        file.unlink()
    shutil.copy(ROOT / "solutions" / NAME / "solution.py", folder / f"{NAME}.py")
    (folder / "timestamp.txt").write_text("2026-11-21 12:00:00.000000 UTC")


@pytest.mark.slow  # a student and an instructor, with an exchange between them
def test_a_student_fetches_it_under_the_name_that_the_notebook_had(tmp_path: Path) -> None:
    room, kept = open_classroom(tmp_path), "my work.ipynb"
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
    made = room.course / "graded" / NAME / "feedback" / f"{room.name}.html"
    assert fetched.read_text(encoding="utf-8") == made.read_text(encoding="utf-8")
