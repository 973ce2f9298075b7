"""`attn course update`: a course that changes while students work, with nbgrader's own commands."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest
from nbformat.v4 import new_markdown_cell

from autograder.authoring.build import build
from autograder.checks.plugin import record_examples
from autograder.course.adjustment import write_down
from autograder.course.course_update import plan_update
from autograder.course.creation import Course, read_course, render_configuration
from course.changing_course import (
    FIFTH,
    GIVEN,
    MORE_POINTS,
    OTHER_HINT,
    OTHER_PROSE,
    OTHER_STEP,
    QUESTION,
    RIGHT,
    WRONG,
    add_question,
    attn,
    check,
    contents,
    formgrader,
    grade,
    grade_of,
    gradebook,
    graded_course,
    hand_in,
    marks,
    nbgrader,
    new_course,
    read,
    rebuild,
    release,
    source,
    step_cell,
    update,
    write_source,
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "there"


@pytest.fixture
def course(root: Path) -> Course:
    """A course with a question of the instructor's own; three have handed in and are graded."""
    return graded_course(root)


@pytest.fixture
def fresh(root: Path) -> Course:
    """A course that nobody has worked in."""
    return new_course(root)


def release_and_grade(course: Course) -> str:
    release(course)
    return grade(course)


def test_a_run_that_nobody_agrees_to_announces_the_marks_and_changes_not_a_byte(
    root: Path, course: Course
) -> None:
    with gradebook(course) as book:
        book.find_submission_notebook(FIFTH, FIFTH, RIGHT).late_submission_penalty = 1.0
        book.db.commit()
    rebuild(root, MORE_POINTS)
    before = contents(course)
    for options in (("--dry-run", "--yes"), ()):
        run = attn("course", "update", course.directory, *options)
        assert run.code == 1 and "Nothing was changed." in run.out
        assert "`center` is worth 4, before 2" in run.out
        marks_told = [line.strip() for line in run.out.splitlines() if " -> " in line]
        assert marks_told == [
            f"{RIGHT}: 10 -> 12, with 1 off for being late, which is worked out anew"
        ]
        assert contents(course) == before


@pytest.mark.slow
def test_changed_points_are_taken_in_and_the_marks_are_those_announced(
    root: Path, course: Course
) -> None:
    before = marks(course)
    rebuild(root, MORE_POINTS)
    told = update(course)
    assert f"{RIGHT}: {before[RIGHT]:g} -> {before[RIGHT] + 2:g}\n" in told
    assert WRONG not in told and GIVEN not in told  # nobody's mark moves who has nothing for it
    assert f"nbgrader generate_assignment {FIFTH} --force" in told
    release_and_grade(course)
    assert marks(course) == {**before, RIGHT: before[RIGHT] + 2}
    assert check(course).code == 0


@pytest.mark.slow
def test_with_other_points_another_attempt_may_be_the_best_and_its_mark_is_announced(
    root: Path, course: Course
) -> None:
    facts = course.directory / "attn.toml"
    facts.write_text(facts.read_text() + '\n[attempts]\ncounts = "best"\n')
    shutil.rmtree(course.submitted(FIFTH, WRONG))
    others = ("np.add(x, 1)", "np.add(x, 2)"), ("first * np.sqrt", "3 + first * np.sqrt")
    hand_in(course, WRONG, *others)  # `center` is right now, and two others are wrong
    grade(course)
    before = marks(course)
    title = 'title = "Centering"\npoints = '
    rebuild(root, ("exercise.toml", f"{title}2", f"{title}6"))
    told = update(course)
    assert f"{WRONG}: {before[WRONG]:g} -> {before[WRONG] + 2:g}\n" in told
    release_and_grade(course)
    assert marks(course)[WRONG] == before[WRONG] + 2


@pytest.mark.slow
def test_steps_come_and_go_though_students_have_handed_in(root: Path, course: Course) -> None:
    before = marks(course)
    rebuild(root, *OTHER_STEP)
    told = update(course)
    assert "the step `deviation` is new" in told and "the step `spread` is gone" in told
    assert f"{RIGHT}: {before[RIGHT]:g} -> to be graded again" in told
    names = [name for cell in source(course).cells if (name := grade_of(cell))]
    assert names[1:6] == ["center", "check_center", QUESTION, "deviation", "check_deviation"]
    pages = sorted(course.directory.glob("feedback/*/*/*.html"))
    said = nbgrader("generate_feedback", FIFTH, "--force", folder=course.directory, code=1)
    assert "Traceback" not in said
    assert "the steps have changed since these students were graded" in said
    assert sorted(course.directory.glob("feedback/*/*/*.html")) == pages != []
    printed = release_and_grade(course)
    after = marks(course)
    # The old hand-in has no `deviation`. Points by hand stay, also for the own question.
    assert after[GIVEN] == before[GIVEN] - 2
    assert f"{before[RIGHT]:g} -> to be graded again" in told and "deviation" in printed
    assert step_cell(read(course.autograded(FIFTH, RIGHT) / f"{FIFTH}.ipynb"), "deviation")
    assert check(course).code == 0


@pytest.mark.slow
def test_without_the_update_nbgrader_refuses_other_steps_and_the_update_of_a_source_cures_it(
    course: Course,
) -> None:
    book = source(course)
    book.cells = [cell for cell in book.cells if grade_of(cell) != QUESTION]
    write_source(course, book)
    refused = formgrader(course).generate_assignment(FIFTH)
    assert not refused["success"] and "Cannot add or remove cells" in refused["log"]
    before = marks(course)
    told = update(course)
    assert f"points by hand for `{QUESTION}` go" in told
    kept = next((course.directory / ".course" / "backup").iterdir())
    assert QUESTION in (kept / f"removed-grades-{FIFTH}.json").read_text()
    assert (kept / "gradebook.db").is_file()
    release_and_grade(course)
    assert marks(course)[GIVEN] == before[GIVEN] - 3


def test_new_hints_and_words_come_in_and_the_instructors_own_stay(
    root: Path, fresh: Course
) -> None:
    add_question(fresh, QUESTION)
    book = source(fresh)
    book.cells[0].source = "# Rows, as we do them in Heidelberg"
    book.cells.insert(1, new_markdown_cell("Due on Friday.", id="due"))
    write_source(fresh, book)
    rebuild(root, OTHER_HINT, OTHER_PROSE, MORE_POINTS)
    told = update(fresh)
    assert "hints of `center` have changed" in told
    after = source(fresh)
    texts = [cell.source for cell in after.cells]
    assert texts[:2] == ["# Rows, as we do them in Heidelberg", "Due on Friday."]
    assert any(text.startswith("## Center every row") for text in texts)
    assert [grade_of(cell) for cell in after.cells if grade_of(cell)][3] == QUESTION
    assert step_cell(after, "check_center").metadata.nbgrader["points"] == 4
    hints = (fresh.source(FIFTH) / "exercise.toml").read_text()
    assert "Add the numbers, then divide." in hints
    before = contents(fresh)
    assert "There is nothing to update." in update(fresh)
    assert contents(fresh) == before


def test_where_both_have_changed_the_words_the_instructors_stay_unless_told_otherwise(
    root: Path, fresh: Course
) -> None:
    book = source(fresh)
    cell = next(cell for cell in book.cells if cell.source.startswith("## Center"))
    cell.source = "## Center, as I would say it"
    write_source(fresh, book)
    rebuild(root, OTHER_PROSE)
    told = update(fresh)
    assert "the text before `center` has changed, but you have changed it too" in told
    assert "## Center, as I would say it" in [cell.source for cell in source(fresh).cells]
    assert "There is nothing to update." in update(fresh)
    told = update(fresh, "--replace-text")
    kept = sorted((fresh.directory / ".course" / "backup").iterdir())[-1]
    assert str(kept) in told
    assert "## Center, as I would say it" in (kept / f"source/{FIFTH}/{FIFTH}.ipynb").read_text()
    assert "## Center every row" in [cell.source for cell in source(fresh).cells]


def test_in_a_course_of_an_earlier_kit_nobody_knows_whose_words_they_are_so_they_stay(
    root: Path, fresh: Course
) -> None:
    shutil.rmtree(fresh.directory / ".course")
    rebuild(root, OTHER_PROSE, MORE_POINTS)
    told = update(fresh)
    assert "an earlier version made it" in told
    assert "the text before `center` differs from the kit's; yours stays" in told
    texts = [cell.source for cell in source(fresh).cells]
    assert "## Center" in texts and "## Center every row" not in texts
    assert any("`center` (4 points" in text for text in texts)  # the list is nobody's prose
    assert step_cell(source(fresh), "check_center").metadata.nbgrader["points"] == 4
    assert "There is nothing to update." in update(fresh)


def test_a_configuration_of_an_earlier_kit_is_told_what_it_lacks_gets_it_and_keeps_own_lines(
    fresh: Course,
) -> None:
    config = fresh.directory / "nbgrader_config.py"
    text = config.read_text()
    own = '\n# mine\nc.LateSubmissionPlugin.penalty_method = "zero"\n'
    old = text.replace('c.ExportApp.plugin_class = "autograder.course.export.CleanCsv"\n', "")
    config.write_text(old.replace('course_id = "course"', 'course_id = "ML 2"') + own)
    shutil.rmtree(fresh.directory / ".course")
    stale = check(fresh)
    assert stale.code == 1 and "nbgrader_config.py is stale" in stale.out, stale.out
    note = "the kit has no note of what it wrote here (an earlier version made it)"
    assert f"{FIFTH}: source/ is stale:\n  {note}\n{FIFTH}: not released" in stale.out, "no more"
    for told in (stale.out, update(fresh)):
        assert "c.ExportApp.plugin_class is missing" in told
        assert "an earlier version made it" in told
    after = config.read_text()
    assert after.endswith(own) and 'course_id = "ML 2"' in after
    line = 'c.ExportApp.plugin_class = "autograder.course.export.CleanCsv"'
    assert after.index(line) < after.index("install()\n\n# mine")
    assert "There is nothing to update." in update(fresh)


def test_an_exercise_is_added_with_all_that_belongs_to_it(root: Path, fresh: Course) -> None:
    facts = fresh.directory / "attn.toml"
    facts.write_text("layer_earns_steps = false # we agreed on that\n" + facts.read_text())
    for part in ("solutions", "assignments"):
        shutil.copytree(root / part / FIFTH, root / part / "sixth")
    for path in root.glob("*/sixth/exercise.toml"):
        path.write_text(path.read_text().replace('name = "fifth"', 'name = "sixth"'))
    shutil.rmtree(root / "assignments" / "sixth")
    build(root / "solutions" / "sixth", root / "assignments", record_examples)
    told = update(fresh, "--exercise", "sixth")
    assert "sixth: in source/:" in told and "nbgrader generate_assignment sixth\n" in told
    course = read_course(fresh.directory)
    assert course.exercises == (FIFTH, "sixth") and not course.rules.layer_earns_steps
    assert "# we agreed on that" in facts.read_text()
    assert (course.source("sixth") / "sixth.ipynb").is_file()
    config = (course.directory / "nbgrader_config.py").read_text()
    assert config == render_configuration(
        "course", {name: [f"{name}.py"] for name in (FIFTH, "sixth")}, shared=False
    )
    assert "There is nothing to update." in update(fresh, "--exercise", "sixth")
    run = attn("course", "update", fresh.directory, "--yes", "--exercise", "seventh")
    assert run.code == 2 and "there is no exercise 'seventh'" in run.out


ASKED_TWICE = """\
import sys
from autograder.cli.command_line import attn

for _ in range(2):
    try:
        attn(["course", "update", sys.argv[1]])
    except SystemExit as end:
        print("ended with", end.code)
"""


def test_in_a_terminal_the_update_asks_and_takes_no_for_an_answer(
    root: Path, fresh: Course
) -> None:
    rebuild(root, MORE_POINTS)
    before = contents(fresh)
    words = ["-c", ASKED_TWICE, str(fresh.directory)]
    terminal = pexpect.spawn(sys.executable, words, encoding="utf-8", timeout=60)
    for answer, code in (("n", 1), ("y", 0)):
        terminal.expect("`center` is worth 4, before 2")
        terminal.expect("Do this\\?")
        assert contents(fresh) == before
        terminal.sendline(answer)
        terminal.expect(f"ended with {code}")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert step_cell(source(fresh), "check_center").metadata.nbgrader["points"] == 4


KILLED = """\
import os, signal, sys
from pathlib import Path
from autograder.course import adjustment, course_update
from autograder.course.creation import read_course

left = int(sys.argv[1])

def ended_before(module, name):
    real = getattr(module, name)
    def counted(*given, **named):
        global left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return real(*given, **named)
    setattr(module, name, counted)

course = read_course(Path(sys.argv[2]))
plan = course_update.plan_update(course, course.solutions.parent / "assignments", None)
ended_before(adjustment, "replace_file")
ended_before(adjustment, "_stored")
ended_before(course_update, "fit_cells")
ended_before(os, "rename")
course_update.do_update(plan)
"""


@pytest.mark.slow
def test_an_update_that_is_killed_is_finished_by_the_next(root: Path, course: Course) -> None:
    rebuild(root, *OTHER_STEP, MORE_POINTS)
    whole = Course(root / "whole", course.solutions, (FIFTH,))
    shutil.copytree(course.directory, whole.directory)
    update(whole)
    wanted, moment = contents(whole), 0
    while True:
        killed = Course(root / f"killed-{moment}", course.solutions, (FIFTH,))
        shutil.copytree(course.directory, killed.directory)
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(moment), str(killed.directory)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != -signal.SIGKILL:
            assert done.returncode == 0, done.stderr
            break
        update(killed)
        there = contents(killed)
        for name, content in wanted.items():
            if name.startswith(("source/", f".course/made/{FIFTH}")) or name == "attn.toml":
                assert there[name] == content, (moment, name)
        assert marks(killed) == marks(whole), moment
        assert not (killed.directory / ".course" / "update").exists(), moment
        moment += 3
    assert moment > 20


def test_a_stopped_update_is_told_and_finished_unless_a_file_has_changed_since(
    root: Path, fresh: Course
) -> None:
    rebuild(root, MORE_POINTS)
    plan = plan_update(fresh, root / "assignments", record_examples)
    write_down(fresh.directory, plan.files, ())
    run = check(fresh)
    assert run.code == 1 and "An update of this course was stopped." in run.out
    readme = fresh.source(FIFTH) / "README.md"
    text = readme.read_text()
    readme.write_text("Mine.\n")
    run = attn("course", "update", fresh.directory, "--yes")
    assert run.code == 2 and "has changed since an update of this course was stopped" in run.out
    assert readme.read_text() == "Mine.\n"
    readme.write_text(text)
    assert "Finished an update that was stopped." in update(fresh)
    assert check(fresh).code == 0


@pytest.mark.slow
def test_a_gradebook_that_cannot_be_written_stops_the_update_which_then_goes_on(
    root: Path, course: Course
) -> None:
    rebuild(root, *OTHER_STEP)
    with sqlite3.connect(course.directory / "gradebook.db") as database:
        refusal = "begin select raise(abort, 'no'); end"
        database.execute(f"create trigger no before delete on grade {refusal}")
    run = attn("course", "update", course.directory, "--yes")
    assert run.code == 2 and "the gradebook's cells cannot be changed: no" in run.out
    assert check(course).code == 1
    with sqlite3.connect(course.directory / "gradebook.db") as database:
        database.execute("drop trigger no")
    assert "Finished an update that was stopped." in update(course)
    release_and_grade(course)
