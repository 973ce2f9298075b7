"""A term's marks: whatever people change in the gradebook, every output shows the same mark."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, fields, replace
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_markdown_cell
from nbgrader.utils import parse_utc

from autograder.course.course_records import CourseRecords
from autograder.course.creation import Course, read_course
from autograder.course.gradebook import penalize_late, refuse_stale_release
from autograder.course.gradebook_entries import read_gradebook
from autograder.course.graded_attempts import CountedAttempt
from autograder.course.settings import open_gradebook, read_settings
from autograder.errors import KitError
from autograder.platforms.mark_export import class_marks
from autograder.reports.grades_csv import read_outlines
from course.changing_course import (
    attn,
    by_hand,
    cell_facts,
    delivered,
    exported_by_nbgrader,
    gradebook,
    nbgrader,
    page_of,
    row_of,
)
from course.term_course import (
    ANSWER,
    LATE,
    QUESTION,
    RIGHT,
    WRONG,
    hand_in_of,
    term_course,
    term_said,
)
from demo.run import release
from support.released_course import NAME, ROOT, grade
from support.typed_commands import Run

POLICY = 'c.AssignLatePenalties.plugin_class = "autograder.course.late_policy.LatePolicy"'


@dataclass(frozen=True)
class Shown:
    """The mark of a student, wherever one is shown, as "20/25"."""

    gradebook: str
    csv: str
    student_page: str
    class_page: str
    course_page: str
    terminal: str
    mail: str
    handed_out: str
    nbgrader_export: str
    platform: str


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return term_course(tmp_path / "course")


def shown(course: Course, student: str, said: str) -> Shown:
    def found(pattern: str, text: str) -> str:
        match = re.search(pattern, text, re.MULTILINE)
        assert match, pattern
        return "/".join(match.groups())

    with gradebook(course) as book:
        submission = book.find_submission(NAME, student)
        mark = max(0.0, submission.score - submission.late_submission_penalty)
        entered = f"{mark:g}/{submission.max_score:g}"
    row, theirs = row_of(course, student), exported_by_nbgrader(course)[student]
    points, cell = r"<strong>(\S+) of (\S+) points</strong>", r'</th>\s*<td class="points">'
    name = rf"<bdi>{student}</bdi>"
    all_exercises = (course.graded(NAME).parent / "index.html").read_text()
    return Shown(
        gradebook=entered,
        csv=f"{row['points']}/{row['max_points']}",
        student_page=found(points, page_of(course, student)),
        class_page=found(rf'"row"><a [^>]*>{name}</a>{cell}([^<*]+)', page_of(course, "index")),
        course_page=found(rf'{name}{cell}<a href="{NAME}/feedback/[^"]*">([^<*]+)', all_exercises),
        terminal=found(rf"^{student} .*?(\S+/[\d.]+)", said),
        mail=found(r"^(\S+) of (\S+) points", page_of(course, student, "txt")),
        handed_out=found(points, delivered(course, student).read_text()),
        nbgrader_export=f"{float(theirs['score']):g}/{float(theirs['max_score']):g}",
        platform=exported(course, student, entered),
    )


def exported(course: Course, student: str, waiting: str) -> str:
    """The mark of a student for a platform; `waiting` is what there is while a question is open."""
    known = read_gradebook(course, NAME)
    mark = class_marks(read_outlines(course.graded(NAME) / "verdicts"), known)[student]
    if mark.points is None and known.entries[student].waiting:
        return waiting
    return f"{mark.points:g}/{mark.max_points:g}"


def graded(course: Course) -> str:
    """Grade the course; return what was said."""
    run = grade(course)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def report(course: Course) -> Run:
    return attn("report", course.directory)


def reported(course: Course) -> str:
    """Write the results again; return what was said."""
    run = report(course)
    assert run.code == 0, run.out
    return run.out


def autograde(course: Course, code: int = 0) -> str:
    return nbgrader("autograde", NAME, "--force", folder=course.directory, code=code)


def same(mark: str) -> Shown:
    return Shown(*[mark] * len(fields(Shown)))


def in_words(said: str) -> str:
    return " ".join(said.split())


def append(file: Path, *lines: str) -> None:
    with file.open("a", encoding="utf-8") as config:
        config.write("\n".join(["", *lines, ""]))


def hand_in_late(course: Course) -> None:
    """Have one student hand in most of a day late."""
    (course.submitted(NAME, LATE) / "timestamp.txt").write_text("2026-03-02 12:00:00 UTC")
    with gradebook(course) as book:
        book.find_submission(NAME, LATE).timestamp = parse_utc("2026-03-02 12:00:00 UTC")
        book.update_or_create_assignment(NAME, duedate="2026-03-01 12:30:00 UTC")


def test_before_anybody_changes_a_mark_only_the_open_question_is_told(course: Course) -> None:
    said = term_said()
    assert shown(course, RIGHT, said) == same("22/25")
    # Of the others, nbgrader takes the empty cell for an answer worth nothing.
    for words in (
        f"{LATE}: `{QUESTION}` is not graded yet.",
        f"{RIGHT}: a .py has no place for `{QUESTION}`.",
        f"{WRONG}: the .py counts, and the notebook beside it may answer `{QUESTION}`.",
    ):
        assert f"needs you: {words}" in said
    assert "in the gradebook than" not in said and "*" not in said


def test_a_course_that_was_renamed_is_graded_and_a_copy_says_what_it_shares(
    tmp_path: Path,
) -> None:
    first = term_course(tmp_path / "first")
    attn("report", first.directory)
    (tmp_path / "second").mkdir()
    renamed = Path(shutil.copytree(first.directory, tmp_path / "second" / "renamed"))
    shutil.rmtree(first.directory)
    said = graded(read_course(renamed))
    assert "3 of 3 submissions were judged before" in said and "is a copy" not in said

    copy = Path(shutil.copytree(renamed, tmp_path / "copy"))
    said = graded(read_course(copy))
    assert "3 of 3 submissions were judged before" in said
    plain = " ".join(said.split())
    assert "This class is a copy" in plain and "the same secret" in plain
    assert "is a copy" not in graded(read_course(copy))
    secret = copy / "graded" / "input.secret"
    assert str(secret) in "".join(said.split("\n"))
    secret.unlink()
    run = grade(read_course(copy), "--again")
    assert run.returncode == 0 and "judged before" not in run.stdout
    assert secret.read_bytes() != (renamed / "graded" / "input.secret").read_bytes()
    assert shown(read_course(copy), RIGHT, run.stdout) == same("22/25")


def test_a_course_of_an_earlier_version_is_known_wherever_it_lies(course: Course) -> None:
    note = course.graded(NAME) / "class.json"
    note.write_text(f'{{"class": "/somewhere/else", "exercise": "{NAME}"}}', encoding="utf-8")
    assert "3 of 3 submissions were judged before" in graded(course)


def test_what_cannot_be_read_has_no_mark_until_somebody_enters_one(
    course: Course, tmp_path: Path
) -> None:
    course.submitted(NAME, "empty").mkdir(parents=True)
    assert grade(course).returncode == 1
    canvas = tmp_path / "gradebook.csv"
    head = "Student,ID,SIS Login ID,Section,Attention (7)\r\n    Points Possible,,,,25\r\n"
    canvas.write_text(f'{head}"A",1,empty,A,\r\n', encoding="utf-8")
    export = ("export", "canvas", course.directory, "--into", canvas, "--to", tmp_path / "filled")
    run = attn(*export)
    assert run.code == 1 and "empty: no mark" in run.out and "no notebook and no .py" in run.out
    run = report(course)
    assert run.code == 1, run.out
    for page in (page_of(course, "empty"), delivered(course, "empty").read_text("utf-8")):
        assert "Not graded yet" in page

    cells = [f"check_{step.name}" for step in course.exercise(NAME).steps]
    for cell in (*cells, QUESTION):
        by_hand(course, "empty", cell, 1.0)
    run = report(course)
    assert shown(course, "empty", run.out) == same("12/25")
    assert "empty: no mark" not in attn(*export).out
    assert (tmp_path / "filled").read_text().endswith('"A",1,empty,A,12\n')


def test_points_by_hand_the_late_policy_and_the_best_attempt_count_everywhere(
    course: Course,
) -> None:
    append(course.directory / "attn.toml", "[attempts]", 'counts = "best"')
    hand_in_of(course, RIGHT, WRONG)
    by_hand(course, WRONG, "check_softmax", 1.5)
    by_hand(course, WRONG, "check_scale_scores", None, extra=1)
    by_hand(course, LATE, QUESTION, 2)
    configuration = course.directory / "nbgrader_config.py"
    offered = r"^# (c\.(?:AssignLatePenalties|LatePolicy)\..*)$"
    lines = re.findall(offered, configuration.read_text(), re.MULTILINE)
    assert len(lines) >= 2, "the configuration offers the policy"
    append(configuration, *lines)
    hand_in_late(course)
    said = graded(course)
    assert shown(course, RIGHT, said) == same("22/25")
    assert shown(course, WRONG, said) == same("20.5/25")
    assert shown(course, LATE, said) == same("21.6/25")
    best = "The mark is of another attempt: that one earned 22 points, this one 20."
    for words in (
        f"{RIGHT}: 22 of 25, 20 automatic. {best}",
        f"{WRONG}: 20.5 of 25, 20 automatic. `softmax`: 1.5 of 2 points by hand, in place of 2. "
        f"`scale_scores`: 1 point of extra credit. `{QUESTION}`: 0 of 3 points.",
        "2.4 points off for being late.",
        "Other points in the gradebook than the automatic ones: 3 students.",
    ):
        assert words in in_words(said)
    page = page_of(course, RIGHT)
    assert best in page and "they are not scaled" in page
    page = page_of(course, LATE)
    assert "2.4 points off for being late." in page and "Your code by itself earns 22 of 22" in page


@pytest.mark.slow
def test_a_mark_by_hand_on_work_that_has_changed_is_listed_until_somebody_decides(
    course: Course,
) -> None:
    by_hand(course, WRONG, "check_scale_scores", 0.5)
    by_hand(course, RIGHT, "check_softmax", 1)
    assert "`scale_scores`: 0.5 of 2 points by hand, in place of 0." in graded(course)
    hand_in_of(course, WRONG, RIGHT)
    hand_in_of(course, RIGHT, LATE)  # other work with the same points
    for _ in range(2):
        said = in_words(graded(course))
        for words in ("`scale_scores`: 0.5 of 2", "`softmax`: 1 of 2"):
            assert f"{words} points by hand, in place of 2; to be looked at again." in said
    by_hand(course, WRONG, "check_scale_scores", 2)
    by_hand(course, RIGHT, "check_softmax", 1)
    assert "looked at again" not in graded(course)


@pytest.fixture
def changed(course: Course, tmp_path: Path) -> Course:
    """The course, after a step of the exercise was given other points."""
    shutil.copytree(ROOT / "solutions" / NAME, tmp_path / "solutions" / NAME)
    file = tmp_path / "solutions" / NAME / "exercise.toml"
    file.write_text(file.read_text().replace("points = 2", "points = 3", 1))
    facts = course.directory / "attn.toml"
    text = facts.read_text()
    assert str(course.solutions) in text
    facts.write_text(text.replace(str(course.solutions), str(tmp_path / "solutions")))
    return read_course(course.directory)


@pytest.mark.slow
def test_a_change_of_points_sends_back_the_marks_by_hand_of_that_step_only(course: Course) -> None:
    """The list of steps with its points is another cell then, and the student's is the old one."""
    by_hand(course, LATE, "check_softmax", 1.5)
    by_hand(course, WRONG, "check_scale_scores", 1)
    with (course.directory / "attn.toml").open("a") as facts:
        facts.write(f"\n[points.{NAME}]\ncreate_causal_mask = 3\nscale_scores = 4\n")
    assert attn("course", "update", course.directory, "--yes").code == 0
    release(course, NAME)
    said = in_words(graded(course))
    assert "`scale_scores`: 1 of 4 points by hand, in place of 0; to be looked at again" in said
    assert "`softmax`: 1.5 of 2 points by hand" in said and said.count("looked at again") == 1, said
    made = nbformat.read(course.autograded(NAME, LATE) / f"{NAME}.ipynb", as_version=4).cells
    lists = [cell.id for cell in made if "create_causal_mask` (" in cell.source]
    assert len(lists) == 2, "the older list of the steps is there, too"


STALE = "is worth 3 now, and 2 in the gradebook"


def test_points_that_changed_after_the_release_are_refused_before_anybody_is_judged(
    changed: Course,
) -> None:
    before = read_gradebook(changed, NAME)
    hand_in_of(changed, RIGHT, WRONG)
    run = attn("grade", changed.directory)
    assert run.code == 2 and STALE in run.out
    assert f"nbgrader generate_assignment {NAME} --force" in run.out
    assert read_gradebook(changed, NAME) == before


@pytest.mark.slow
def test_nbgrader_autograde_refuses_them_too(changed: Course) -> None:
    assert STALE in autograde(changed, code=1)


def test_steps_that_changed_after_the_release_are_refused(course: Course) -> None:
    exercise = course.exercise(NAME)
    one_less = replace(exercise, steps=exercise.steps[1:])
    another = replace(exercise.steps[0], name="normalize")
    with open_gradebook(course, read_settings(course), NAME) as (_, notebook):
        refuse_stale_release(course, exercise, notebook)
        with pytest.raises(KitError, match="the gradebook still has softmax"):
            refuse_stale_release(course, one_less, notebook)
        with pytest.raises(KitError, match="the gradebook lacks normalize"):
            refuse_stale_release(
                course, replace(exercise, steps=(another, *exercise.steps)), notebook
            )
        released = course.release(NAME) / f"{NAME}.ipynb"
        text = released.read_text().replace('"points": 2.0', '"points": 1.0', 1)
        released.write_text(text)
        with pytest.raises(KitError, match="and 1 in the released notebook"):
            refuse_stale_release(course, exercise, notebook)


@pytest.mark.slow
def test_damaged_graded_notebooks_are_written_again_and_looked_at_again(course: Course) -> None:
    students = (RIGHT, WRONG, LATE)
    for student in students:
        by_hand(course, student, "check_softmax", 1.5)
    for damages in (("", "{}", '{"cells": ['), ("[]", "[" * 100_000, '{"cells": 3}')):
        files = [course.autograded(NAME, student) / f"{NAME}.ipynb" for student in students]
        for file, damaged in zip(files, damages, strict=True):
            file.unlink()
            file.write_text(damaged)
        said = graded(course)
        for student, file in zip(students, files, strict=True):
            assert re.search(rf"{student}: .*to be looked at again", in_words(said)), student
            assert nbformat.read(file, as_version=4).cells, student
        assert ANSWER in files[-1].read_text()


@pytest.mark.slow
def test_a_task_of_the_instructors_is_graded_by_hand(course: Course) -> None:
    path = course.source(NAME) / f"{NAME}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    facts = cell_facts("project", task=True, locked=True, points=4, cell_type="markdown")
    notebook.cells.append(new_markdown_cell("Describe your layer.", metadata=facts))
    nbformat.write(notebook, path)
    assert attn("course", "update", course.directory, "--yes").code == 0
    release(course, NAME)
    said = graded(course)
    assert shown(course, LATE, said) == same("22/29")
    assert f"{LATE}: `project` is not in this student's release." in said
    by_hand(course, LATE, "project", 3)
    assert shown(course, LATE, graded(course)) == same("25/29")


def test_an_own_question_may_be_called_as_a_check_is(course: Course) -> None:
    with open_gradebook(course, read_settings(course), NAME) as (opened, notebook):
        own = {"name": "check_understanding", "notebook": NAME, "assignment": NAME}
        opened.add_grade_cell(**own, max_score=3, cell_type="markdown")
        opened.add_solution_cell(**own)
        refuse_stale_release(course, course.exercise(NAME), notebook)


def test_without_the_released_notebook_nobody_is_graded(course: Course) -> None:
    (course.release(NAME) / f"{NAME}.ipynb").unlink()
    with pytest.raises(KitError, match=r"the released notebook of .* is missing"):
        CourseRecords.opened(course, course.exercise(NAME))


@pytest.mark.slow
def test_points_for_a_part_of_the_checks_are_the_same_everywhere(course: Course) -> None:
    hand_in_of(course, "part", "mistake_weights_too_large")
    assert shown(course, "part", graded(course)) == same("20/25")
    facts = course.directory / "attn.toml"
    facts.write_text("partial_points = true\n" + facts.read_text())
    early = report(course)
    assert early.code == 2 and "part" in early.out and "attn grade" in early.out
    said = graded(course)
    assert "4 of 4 submissions were judged before" in said
    assert shown(course, "part", said) == same("21/25")
    assert shown(course, RIGHT, said) == same("22/25")
    page = page_of(course, "part")
    assert "in 1 of 2 checks" in page and "1 of 2 points" in page
    assert shown(course, "part", reported(course)) == same("21/25")
    autograde(course)
    assert shown(course, "part", reported(course)) == same("21/25")


def test_how_late_somebody_is_depends_on_the_attempt_that_counts_and_on_the_deadline(
    course: Course,
) -> None:
    hand_in_late(course)
    append(course.directory / "nbgrader_config.py", POLICY)
    settings = read_settings(course)
    with open_gradebook(course, settings, NAME) as (opened, notebook):
        for seconds_before, points in ((24 * 60 * 60, 0), (23 * 60 * 60, 2.2), (0, 2.2)):
            counted = {LATE: CountedAttempt({}, seconds_before=seconds_before)}
            penalize_late(opened, settings, notebook, [RIGHT, LATE], counted)
            opened.db.expire_all()
            penalty = opened.find_submission(NAME, LATE).late_submission_penalty
            assert penalty == pytest.approx(points), seconds_before
        opened.find_assignment(NAME).duedate = None
        opened.db.commit()
        penalize_late(opened, settings, notebook, [LATE], {})
        assert opened.find_submission(NAME, LATE).late_submission_penalty == 0


def test_a_wrong_setting_of_the_late_policy_is_told_with_its_file(course: Course) -> None:
    hand_in_late(course)
    append(course.directory / "nbgrader_config.py", POLICY, "c.LatePolicy.percent_per_day = 200")
    settings = read_settings(course)
    with (
        open_gradebook(course, settings, NAME) as (opened, notebook),
        pytest.raises(KitError, match=r"percent_per_day.* 200") as told,
    ):
        penalize_late(opened, settings, notebook, [RIGHT, LATE], {})
    assert told.value.place == f"nbgrader_config.py, for {LATE} in {NAME}"
    assert " object at " not in told.value.fact


@pytest.mark.slow
def test_the_best_attempt_and_the_penalty_of_that_attempt_are_the_same_by_every_command(
    course: Course,
) -> None:
    append(course.directory / "attn.toml", "[attempts]", 'counts = "best"')
    append(course.directory / "nbgrader_config.py", POLICY)
    with gradebook(course) as book:
        book.update_or_create_assignment(NAME, duedate="2026-03-01 12:00:00 UTC")
    for day, work in ((2, RIGHT), (4, WRONG)):
        hand_in_of(course, RIGHT, work)
        (course.submitted(NAME, RIGHT) / "timestamp.txt").write_text(f"2026-03-0{day} 11:00:00 UTC")
        assert shown(course, RIGHT, graded(course)) == same("19.8/25")
    assert shown(course, RIGHT, reported(course)) == same("19.8/25")
    autograde(course)
    assert shown(course, RIGHT, reported(course)) == same("19.8/25")
    facts = course.directory / "attn.toml"
    facts.write_text(facts.read_text().replace('"best"', '"last"'))
    assert shown(course, RIGHT, graded(course)) == same("14/25")  # three days late, and not scaled
