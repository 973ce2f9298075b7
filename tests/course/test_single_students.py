"""Names, more time, marks that are held back, questions and groups, with nbgrader itself."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from autograder.course.creation import Course
from course.changing_course import (
    attn,
    delivered,
    exported_to_lti,
    grade,
    gradebook,
    nbgrader,
    needs_you,
    page_of,
    row_of,
    table,
)
from course.term_course import LATE, RIGHT, WRONG, hand_in_of, term_course, ungraded_term_course
from support.released_course import NAME
from support.typed_commands import Run

NAMES = {RIGHT: ("Ada", "Lovelace"), WRONG: ("Ben", "Okoro"), LATE: ("Cleo", "D'Or")}
DUE = "2026-03-01 12:30:00 UTC"


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A graded course with a list of students, in which one has handed in most of a day late."""
    made = term_course(tmp_path / "course")
    (made.submitted(NAME, LATE) / "timestamp.txt").write_text("2026-03-02 12:00:00 UTC")
    with gradebook(made) as book:
        for student, (first, last) in NAMES.items():
            book.update_or_create_student(student, first_name=first, last_name=last)
        book.update_or_create_student("dan", first_name="Dan", last_name="Absent")
        book.update_or_create_assignment(NAME, duedate=DUE)
    return made


def of_course(course: Course, *words: str) -> Run:
    return attn("course", *words, "--course", course.directory)


def to_lti(course: Course, place: Path | None = None) -> tuple[Run, dict[str, float]]:
    students = (*NAMES, "dan")
    return exported_to_lti(place or course.directory, students, course.directory)


def graded(course: Course) -> str:
    return " ".join(grade(course).split())


def test_names_stand_beside_ids_and_what_was_graded_stands_on_the_page(course: Course) -> None:
    said = graded(course)
    assert f"{LATE} (Cleo D'Or)" in said
    shown = page_of(course, "index")
    assert f"<bdi>{LATE} (Cleo D&#39;Or)</bdi></a></th>" in shown
    assert f"{LATE}" in shown and "23 h 30 min late</small>" in shown
    row = row_of(course, LATE)
    assert row["name"] == "Cleo D'Or" and row["late"] == str(23 * 3600 + 1800)
    assert row["handed_in"] == "2026-03-02 12:00 UTC" and row["file"].endswith(".ipynb")
    assert row["by"].startswith("attention-kit ") and "Python 3" in row["by"]
    for page in (page_of(course, LATE), page_of(course, LATE, "txt")):
        assert "Feedback for" in page and "Cleo D" in page and row["graded"] in page
        assert "2026-03-02 12:00 UTC, 23 h 30 min late" in page and "2026-03-01 12:30 UTC" in page
        assert row["file"] in page and row["by"] in page
    code = re.search(r'<details id="code">.*?<pre[^>]*>(.*?)</pre>', page_of(course, LATE), re.S)
    assert code and "def softmax" in code[1] and "&#34;&#34;&#34;" in code[1]
    nbgrader("generate_feedback", NAME, "--force", folder=course.directory)
    assert delivered(course, LATE).read_text(encoding="utf-8") == page_of(course, LATE)
    assert code[0] in page_of(course, LATE)


def test_an_extension_is_nbgraders_own_and_late_days_follow_it_everywhere(course: Course) -> None:
    graded(course)
    assert row_of(course, LATE)["points"] == "0"  # as this course is configured
    run = of_course(course, "extend", LATE, NAME, "--until", "2026-03-02")
    assert run.code == 0 and f"{LATE} has time until 2026-03-02 23:59 UTC" in run.out
    graded(course)
    row = row_of(course, LATE)
    assert (row["points"], row["late"]) == ("22", "0")
    assert "2026-03-02 23:59 UTC, extended for you" in page_of(course, LATE)
    with gradebook(course) as book:
        submission = book.find_submission(NAME, LATE)
        assert submission.total_seconds_late == 0 and submission.late_submission_penalty == 0
    assert of_course(course, "extend", LATE, "--remove").code == 0
    assert of_course(course, "extend").out.strip() == ""
    graded(course)
    assert row_of(course, LATE)["points"] == "0"


def test_who_has_more_time_and_has_handed_in_nothing_is_still_told_as_such(course: Course) -> None:
    for _ in range(2):
        assert of_course(course, "extend", "dan", "--until", "2026-04-01 10:00 UTC").code == 0
        said = graded(course)
        assert "dan (Dan Absent): enrolled, and there is no" in said
    assert "dan: no mark." in to_lti(course)[0].out
    assert of_course(course, "extend", "dan", "--remove").code == 0
    with gradebook(course) as book:
        assert {each.student_id for each in book.assignment_submissions(NAME)} == {*NAMES}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("nobody", "--until", "2026-04-01"), "nobody is not in the gradebook's list"),
        ((LATE, "--until", "2026-02-01"), "is not after the deadline"),
        ((LATE, "--until", "soon"), "'soon' is not a time"),
        ((LATE,), "add either --until or --remove"),
    ],
)
def test_an_extension_that_makes_no_sense_is_refused(
    course: Course, words: tuple[str, ...], told: str
) -> None:
    run = of_course(course, "extend", *words)
    assert run.code != 0 and told in run.out


def test_a_mark_that_is_held_back_goes_nowhere_until_it_is_given_out(course: Course) -> None:
    graded(course)
    page = delivered(course, WRONG)
    assert page.is_file()
    run = of_course(course, "hold", WRONG, NAME, "--because", "we talk first")
    assert run.code == 0 and f"{WRONG}: we talk first" in run.out
    assert not list(page.parent.glob("*.html"))
    row = row_of(course, WRONG)
    assert (row["points"], row["automatic_points"]) == ("", "") and "we talk first" in row["reason"]
    assert "Held back: we talk first" in page_of(course, "index")
    to_send = page_of(course, WRONG, "txt")
    assert "Held back: we talk first" in to_send and "point" not in to_send
    (held,) = (each for each in needs_you(course) if each["kind"] == "held")
    assert held["students"] == [WRONG] and f"hold {WRONG} {NAME} --release" in str(held["cure"])
    run, scores = to_lti(course)
    assert run.code == 1 and WRONG not in scores and RIGHT in scores
    for command in (("generate_feedback", NAME, "--force"), ("export",)):
        nbgrader(*command, folder=course.directory)
    assert not list(page.parent.glob("*.html"))
    exported = {each["student_id"]: each for each in table(course.directory / "grades.csv")}
    assert exported[WRONG]["score"] == exported[WRONG]["raw_score"] == ""
    assert float(exported[RIGHT]["score"]) == 22

    assert of_course(course, "hold", WRONG, NAME, "--release").code == 0
    assert page.is_file() and row_of(course, WRONG)["points"] == "20"
    assert "Held back" not in page.read_text(encoding="utf-8")
    assert of_course(course, "hold").out.strip() == ""


def test_a_page_that_was_released_leaves_the_exchange_when_its_mark_is_held_back(
    tmp_path: Path,
) -> None:
    course, exchange = term_course(tmp_path / "course"), tmp_path / "exchange"
    (exchange / "attention" / "outbound" / NAME).mkdir(parents=True)
    exchange.chmod(0o777)
    with (course.directory / "nbgrader_config.py").open("a") as config:
        config.write(
            f'\nc.Exchange.root = "{exchange}"\nc.CourseDirectory.course_id = "attention"\n'
        )
    for command in ("generate_feedback", "release_feedback"):
        nbgrader(command, NAME, folder=course.directory)
    before = {*exchange.rglob("*.html")}
    run = of_course(course, "hold", WRONG, NAME, "--because", "we talk first")
    gone = before - {*exchange.rglob("*.html")}
    assert run.code == 0 and gone and len(gone) < len(before), run.out
    assert all(f"{page}: taken out of the exchange" in run.out for page in gone)
    run = of_course(course, "hold", WRONG, NAME, "--release")
    assert run.code == 0 and f"nbgrader release_feedback {NAME}" in run.out
    nbgrader("release_feedback", NAME, folder=course.directory)
    assert {*exchange.rglob("*.html")} == before


def test_a_mark_that_is_held_back_goes_to_no_other_program_and_a_course_is_enough_to_name(
    course: Course,
) -> None:
    graded(course)
    results, elsewhere = course.graded(NAME), course.directory.parent / "elsewhere"
    assert attn("grade", course.directory, "--output", elsewhere).code == 0
    assert of_course(course, "hold", WRONG, NAME, "--because", "we talk first").code == 0
    for place in (course.directory, results, results / "verdicts", elsewhere):
        of = ("--format", "gradescope", "--student")
        run = attn("platform", "result", place, *of, RIGHT)
        assert run.code == 0 and json.loads(run.out)["score"] == 22, run.out
        for form in ("gradescope", "classroom", "junit", "summary"):
            run = attn("platform", "result", place, "--format", form, "--student", WRONG)
            said = run.words
            assert run.code == 2 and "is held back: we talk first" in said
            assert f"attn course hold {WRONG} {NAME} --release --course {course.directory}" in said
        run, scores = to_lti(course, place)
        assert run.code == 1 and WRONG not in scores, place
    run = attn("platform", "result", results / "verdicts" / f"{WRONG}.json", "--format", "junit")
    assert run.code == 2 and "is held back" in run.out
    run = attn("platform", "result", course.directory, "--format", "junit", "--exercise", "other")
    assert run.code == 2 and "'other' is not an exercise of the kit in this course" in run.out


def test_a_question_about_a_mark_is_listed_answered_and_its_end_is_on_the_page(
    course: Course,
) -> None:
    request = course.submitted(NAME, WRONG) / "regrade-request.txt"
    request.write_bytes(b"Why is <b>step 5</b> wrong?\x1b[31m" + b"\xff" + b"x" * 10_000)
    said = graded(course)
    assert f"{WRONG} (Ben Okoro): asks about the mark: “Why is <b>step 5</b> wrong?" in said
    page = page_of(course, WRONG)
    assert "Why is &lt;b&gt;step 5" in page and "has not answered yet" in page
    (asked,) = (each for each in needs_you(course) if each["kind"] == "question")
    assert not [each for each in needs_you(course) if each["kind"] in ("files", "remark")]
    assert asked["students"] == [WRONG] and "--answer" in str(asked["cure"])

    request.unlink()  # a new hand-in takes its place
    run = of_course(course, "question", WRONG, NAME, "--answer", "The scale is missing.")
    assert run.code == 0, run.out
    for shown in (page_of(course, WRONG), page_of(course, WRONG, "txt")):
        assert "The scale is missing." in shown and "Why is" in shown
    assert "The scale is missing" in delivered(course, WRONG).read_text(encoding="utf-8")
    assert not [each for each in needs_you(course) if each["kind"] == "question"]
    asked_line, answer_line = of_course(course, "question").out.splitlines()
    assert asked_line.startswith(f"{NAME}: {WRONG}, asked on 20") and ": Why is" in asked_line
    assert re.fullmatch("  answered on 20.* UTC: The scale is missing.", answer_line)


def test_the_hand_in_of_one_counts_for_the_group_and_two_are_said_aloud(course: Course) -> None:
    shutil.rmtree(course.submitted(NAME, RIGHT))
    (course.directory / "groups.csv").write_text(
        f"student_id,group\n{RIGHT},red\n{WRONG},red\ndan,red\n{LATE},blue\n"
    )
    said = graded(course)
    assert row_of(course, RIGHT)["points"] == row_of(course, WRONG)["points"] == "20"
    assert row_of(course, "dan")["points"] == "20" and row_of(course, "dan")["group"] == "red"
    assert "same code" not in said
    with gradebook(course) as book:
        assert book.find_submission(NAME, "dan").score == 20
    assert "<dt>Group</dt><dd>red</dd>" in page_of(course, "dan")
    hand_in_of(course, RIGHT)
    said = graded(course)
    assert f"several hand-ins of group red: that of {WRONG} counts for all" in said
    assert row_of(course, RIGHT)["points"] == "20"
    of_course(course, "extend", RIGHT, NAME, "--until", "2026-04-01")
    assert of_course(course, "extend", NAME).code != 0
    assert of_course(course, "extend").out.count("has time until 2026-04-01") == 3


@pytest.mark.slow  # of nbgrader's own commands
def test_nbgrader_autograde_goes_by_extensions_and_groups_too(course: Course) -> None:
    (course.directory / "groups.csv").write_text(f"id;group\n{LATE};blue\ndan;blue\n")
    assert of_course(course, "extend", LATE, "--until", "2026-03-02").code == 0
    nbgrader("autograde", NAME, "--force", folder=course.directory)
    assert attn("report", course.directory).code == 0
    assert row_of(course, LATE)["points"] == row_of(course, "dan")["points"] == "22"
    assert (course.autograded(NAME, "dan") / f"{NAME}.ipynb").is_file()


def test_a_page_to_project_names_nobody(course: Course) -> None:
    graded(course)
    assert attn("report", course.directory, "--anonymous").code == 0
    page = (course.graded(NAME) / "projected" / "index.html").read_text(encoding="utf-8")
    words = [*NAMES, *(word for name in NAMES.values() for word in name), "Absent"]
    assert [word for word in words if word in page] == []
    assert "<bdi>student 1</bdi>" in page and "student 3" in page and "22/25" in page
    assert "it names nobody" in page and "html" not in "".join(re.findall('href="([^"]*)"', page))
    assert of_course(course, "hold", WRONG, NAME, "--because", "we talk first").code == 0
    assert attn("report", course.directory, "--anonymous").code == 0
    page = (course.graded(NAME) / "projected" / "index.html").read_text(encoding="utf-8")
    assert "student 2" in page and "student 3" not in page and "20/25" not in page


def test_what_is_decided_before_the_first_run_holds_for_it(tmp_path: Path) -> None:
    course = ungraded_term_course(tmp_path / "course")
    with gradebook(course) as book:
        book.update_or_create_student(RIGHT)
    assert of_course(course, "hold", RIGHT, "--because", "").code == 0
    assert of_course(course, "question", RIGHT, NAME, "Is the mask right?").code == 0
    graded(course)
    assert "Is the mask right?" in page_of(course, RIGHT) and row_of(course, RIGHT)["points"] == ""
    assert not delivered(course, RIGHT).exists()
    assert of_course(course, "question", RIGHT, "--remove").code == 0
    assert "Is the mask right?" not in page_of(course, RIGHT)
    run = of_course(course, "hold", "nobody", NAME, "--because", "")
    assert run.code != 0 and "nobody is not in the gradebook" in run.out


def test_who_is_not_in_the_gradebook_any_more_has_no_mark_and_is_not_put_back_in_silence(
    course: Course,
) -> None:
    assert of_course(course, "hold", LATE, NAME, "--because", "we talk first").code == 0
    for student in (WRONG, LATE):
        with gradebook(course) as book:
            book.remove_student(student)
    results = course.graded(NAME)
    for verdict in (results, results / "verdicts" / f"{WRONG}.json"):
        run = attn("platform", "result", verdict, "--format", "junit", "--student", WRONG)
        assert run.code == 2 and "is not in the gradebook any more" in run.words
    run, scores = to_lti(course)
    assert WRONG not in scores and LATE not in scores
    assert f"{WRONG}: no mark." in run.out
    for command in ("report", "grade"):
        assert attn(command, course.directory).code == 0
        assert [row["student"] for row in table(results / "grades.csv")] == [RIGHT]
        told = {str(each["students"]): each for each in needs_you(course)}
        gone = told[str([WRONG])]
        assert gone["kind"] == "not_in_gradebook"
        assert f"submitted/{WRONG}/{NAME}" in str(gone["cure"])
        assert f"nbgrader db student add {WRONG}" in str(gone["cure"])
        with gradebook(course) as book:
            assert WRONG not in {each.id for each in book.students}
    assert "we talk first" in page_of(course, "index")
    with gradebook(course) as book:
        for student in (WRONG, LATE):
            book.add_student(student)
    graded(course)
    assert row_of(course, WRONG)["points"] == "20" and row_of(course, LATE)["points"] == ""
