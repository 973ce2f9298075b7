"""The nbgrader course: stock commands and the fast way give the same gradebook.

nbgrader's real commands run on a toy exercise of three steps. The judge is a double
for the grading engine: it looks for the right line in what was handed in.
"""

from __future__ import annotations

import copy
import json
import logging
import os
import re
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import nbformat
import pytest
from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader.converters import NbGraderException
from nbgrader.utils import compute_checksum

from autograder.course import create_course, read_course
from autograder.course.autograde import CourseAutograde, HarmlessRecord
from autograder.course.creation import Course, grade_command
from autograder.course.gradebook import write_gradebook
from autograder.course.graded_attempts import AttemptRules
from autograder.course.graded_notebook import finished, with_verdict
from autograder.course.intake import (
    Skeleton,
    from_script,
    is_untouched,
    notebook_of,
    onto_skeleton,
    release_notebook,
)
from autograder.course.page import clean_markdown
from autograder.course.preprocessors import KeepStubs
from autograder.course.settings import course_directory, read_settings
from autograder.errors import KitError
from autograder.grading.classroom import JudgedClass
from autograder.submission.reading import read_submission
from autograder.values.exercise import Exercise, read_exercise
from autograder.values.verdict import (
    ChainVerdict,
    CheckVerdict,
    Finding,
    Outcome,
    StepVerdict,
    Verdict,
)
from course.changing_course import (
    cell_facts,
    done,
    formgrader,
    nbgrader,
    release,
    step_cell,
)
from demo.run import release as release_by_command
from support import released_course
from support.gradebook_scores import scores

TOY = "toy_chain"
STEPS = ("double", "shift", "Chain")
POINTS = {"double": 2.0, "shift": 1.5, "Chain": 4.0}
STUBS = {
    "double": "def double(x):\n    # YOUR CODE HERE\n    raise NotImplementedError('not yet')",
    "shift": "def shift(x):\n    # YOUR CODE HERE\n    raise NotImplementedError('not yet')",
    "Chain": "class Chain:\n"
    "    def forward(self, x):\n        raise NotImplementedError('not yet')",
}
RIGHT = {
    "double": "def double(x):\n    return 2 * x",
    "shift": "def shift(x):\n    return x + 1",
    "Chain": "class Chain:\n    def forward(self, x):\n        return shift(double(x))",
}
FULL = {f"check_{step}": POINTS[step] for step in STEPS}
NONE = {f"check_{step}": 0.0 for step in STEPS}
ATTACK = "<script>alert('stolen')</script>"

# A page takes nbgrader a while, and these are the ones that are read.
WITH_PAGES = ("flipped_metadata", "not_json", "script_only")

# What `nbgrader autograde` was run on, and what it printed; who `fast` left out.
Stock = tuple[Course, str]
Fast = tuple[Course, tuple[str, ...]]

WHOLE = "\n\n\n".join(("import numpy as np", *RIGHT.values())) + "\n"


# --- the toy: an exercise, submissions, and a double for the engine ---------------------------


def toy_judge(course: Course, exercise: Exercise, student: str, folder: Path) -> Verdict:
    """A step passes when its right last line is in what was handed in."""
    submission = read_submission(folder, exercise, student)
    text = "\n".join(submission.cells)
    return Verdict(
        exercise=exercise.name,
        student=student,
        steps=tuple(toy_step(step, text, submission.rejected) for step in STEPS),
        chain=ChainVerdict(Outcome.PASSED) if WHOLE_LINE in text else BROKEN_CHAIN,
        code_hash=submission.code_hash,
        exercise_hash="toy",
        seed=0,
        protection="none",
        seconds=0.0,
        remarks=submission.remarks,
    )


def toy_step(name: str, text: str, rejected: Finding | None) -> StepVerdict:
    outcome, finding = Outcome.PASSED, None
    if rejected:
        outcome, finding = rejected.outcome, rejected
    elif "our machine fails" in text:
        outcome = Outcome.INFRASTRUCTURE
        finding = Finding(outcome, "It could not be judged.")
    elif RIGHT[name].split("\n")[-1] not in text:
        outcome = Outcome.WRONG_VALUES
        finding = Finding(
            outcome,
            f"values differ {ATTACK}",
            right="The shape is right.",
            details=(f"a < b {ATTACK}",),
        )
    passed = outcome is Outcome.PASSED
    check = CheckVerdict(f"test_{name}", "the values are right", outcome, finding)
    points = POINTS[name] if passed else 0.0
    return StepVerdict(name, name.title(), outcome, points, POINTS[name], (check,))


WHOLE_LINE = "return shift(double(x))"
BROKEN_CHAIN = ChainVerdict(Outcome.WRONG_VALUES, breaks_at="double")


def toy_notebook() -> NotebookNode:
    cells = [
        new_markdown_cell("# A toy", id="prose"),
        new_code_cell("import numpy as np", id="given"),
        new_code_cell("check = print", id="setup", metadata=cell_facts("setup", locked=True)),
    ]
    for step in STEPS:
        facts = cell_facts(step, solution=True)
        cells.append(new_code_cell(STUBS[step], id=step, metadata=facts))
        checked = cell_facts(f"check_{step}", locked=True, grade=True, points=POINTS[step])
        cells.append(new_code_cell(f"check({step})", id=f"check-{step}", metadata=checked))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook: NotebookNode = new_notebook(cells=cells, metadata={"kernelspec": kernel})
    return notebook


def write_exercise(folder: Path) -> Path:
    folder.mkdir(parents=True)
    steps = "".join(
        f'[[steps]]\nname = "{step}"\ntitle = "{step}"\npoints = {POINTS[step]}\nminutes = 1\n'
        f'hints = ["a", "b", "c"]\n'
        for step in STEPS
    )
    (folder / "exercise.toml").write_text(
        f'format_version = 1\nname = "{TOY}"\ntitle = "Toy"\nlibrary = "numpy"\ndifficulty = 1\n'
        + steps
    )
    return folder


def write_assignment(folder: Path) -> None:
    write_exercise(folder)
    (folder / f"{TOY}.ipynb").write_text(nbformat.writes(toy_notebook()))
    (folder / f"{TOY}.py").write_text("\n\n\n".join(STUBS.values()) + "\n")
    (folder / "README.md").write_text("The checklist.\n")


def write_toy(root: Path) -> None:
    write_exercise(root / "solutions" / TOY)
    write_assignment(root / "assignments" / TOY)


def created(root: Path, name: str = "course", solutions: Path | None = None) -> Course:
    """Make a course of what lies in `root`."""
    return create_course(
        root / name,
        solutions=solutions or root / "solutions",
        assignments=root / "assignments",
        exercises=(TOY,),
    )


def make_course(root: Path) -> Course:
    write_toy(root)
    course = created(root)
    beside = [str(Path(__file__).parents[n]) for n in (0, 1)]
    with (course.directory / "nbgrader_config.py").open("a") as config:
        config.write(f"\nimport sys\nsys.path += [it for it in {beside} if it not in sys.path]\n")
        config.write('c.WriteVerdict.judge = "test_course.toy_judge"\n')
    return course


def hand_in_all(course: Course) -> None:
    """One student per way of handing in; return nothing, the names are told in SCORES."""
    released = release_notebook(course, TOY)

    def folder(student: str) -> Path:
        path = course.submitted(TOY, student)
        path.mkdir(parents=True)
        return path

    def write(student: str, notebook: NotebookNode, name: str = f"{TOY}.ipynb") -> None:
        (folder(student) / name).write_text(nbformat.writes(notebook))

    write("all_right", filled(released, RIGHT))
    (folder("script_only") / f"{TOY}.py").write_text(WHOLE.replace("x + 1", "x + 2"))
    (folder("notebook_and_script") / f"{TOY}.py").write_text(WHOLE)
    shutil.copy(course.release(TOY) / f"{TOY}.ipynb", course.submitted(TOY, "notebook_and_script"))
    write("flipped_metadata", hostile(filled(released, RIGHT | {"shift": STUBS["shift"]})))
    write("deleted_cells", without(filled(released, RIGHT), "shift", "check_shift"))
    write("future_schema", with_schema(filled(released, RIGHT), 99))
    write("copied_cells", with_copies(filled(released, RIGHT)))
    (folder("not_json") / f"{TOY}.ipynb").write_text('{"cells": [')
    write("renamed", filled(released, RIGHT), f"{TOY} (1).ipynb")
    write("our_fault", filled(released, RIGHT | {"shift": "# our machine fails"}))
    write("untouched", released)
    stamp = course.submitted(TOY, "all_right") / "timestamp.txt"
    stamp.write_text("2025-03-01 12:00:00.000000 UTC\n")
    (course.submitted(TOY, "script_only") / "timestamp.txt").write_text("yesterday, I think\n")
    # A secret of nbgrader's own kind, and one that would stop `nbgrader release_feedback`.
    (course.submitted(TOY, "all_right") / "submission_secret.txt").write_text("5ec2e7" * 21)
    (course.submitted(TOY, "script_only") / "submission_secret.txt").write_bytes(b"\xff\xfe")


SCORES = {
    "all_right": FULL,
    "script_only": FULL | {"check_shift": 0.0},
    "notebook_and_script": FULL,
    "flipped_metadata": FULL | {"check_shift": 0.0},
    "deleted_cells": FULL | {"check_shift": 0.0},
    "future_schema": FULL,
    "copied_cells": FULL,
    "renamed": FULL,
    "untouched": NONE,
}


UNREAD = "not_json"  # it has no mark, and waits for a person


def filled(released: NotebookNode, sources: dict[str, str]) -> NotebookNode:
    notebook = copy.deepcopy(released)
    for step, source in sources.items():
        step_cell(notebook, step).source = source
    return notebook


def hostile(notebook: NotebookNode) -> NotebookNode:
    for step in STEPS:
        checked = step_cell(notebook, f"check_{step}")
        checked.metadata.nbgrader.update(grade=False, points=99, locked=False)
        checked.source = "4.0"
        html = {"text/html": ATTACK, "text/plain": "4.0"}
        checked.outputs = [
            nbformat.v4.new_output("execute_result", data={"text/plain": "99"}),
            nbformat.v4.new_output("display_data", data=html),
        ]
        step_cell(notebook, step).metadata.nbgrader.update(grade=True, solution=False, points=99)
    notebook.cells.append(new_markdown_cell(f"My notes {ATTACK}"))
    return notebook


def without(notebook: NotebookNode, *grade_ids: str) -> NotebookNode:
    gone = [step_cell(notebook, grade_id) for grade_id in grade_ids]
    notebook.cells = [cell for cell in notebook.cells if cell not in gone]
    return notebook


def with_schema(notebook: NotebookNode, version: int) -> NotebookNode:
    step_cell(notebook, "double").metadata.nbgrader["schema_version"] = version
    return notebook


def with_copies(notebook: NotebookNode) -> NotebookNode:
    first = copy.deepcopy(step_cell(notebook, "double"))
    first.source, first.id = "def double(x):\n    return 3 * x", "copy"
    notebook.cells.insert(0, first)
    return notebook


def graded(course: Course, student: str) -> NotebookNode:
    path = course.autograded(TOY, student) / f"{TOY}.ipynb"
    notebook: NotebookNode = nbformat.read(path, as_version=4)
    return notebook


def feedback_of(course: Course, student: str) -> str:
    return (course.feedback(TOY, student) / f"{TOY}.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A course that is released, and in which everybody has handed in."""
    course = make_course(tmp_path_factory.mktemp("toy"))
    release(course)
    hand_in_all(course)
    return course


@pytest.fixture(scope="module")
def stock(handed_in: Course) -> Stock:
    """The course graded by `nbgrader autograde`, with its feedback."""
    course = copied(handed_in, "stock")
    before = contents(course.directory / "submitted")
    log = nbgrader("autograde", TOY, folder=course.directory, code=1)  # a fault of ours
    assert contents(course.directory / "submitted") == before
    for student in WITH_PAGES:
        done(formgrader(course).generate_feedback(TOY, student_id=student))
    return course, log


@pytest.fixture(scope="module")
def fast(handed_in: Course) -> Fast:
    """The course with its grades written by `write_gradebook`."""
    course = copied(handed_in, "fast")
    return course, write_gradebook(course, TOY, judged(course))


def copied(course: Course, name: str) -> Course:
    """A copy beside the course, to be changed at will."""
    return released_course.copied(course, course.directory.with_name(name))


def judged(course: Course, *students: str) -> JudgedClass:
    exercise = course.exercise(TOY)
    names = students or course.students(TOY)
    folders = {name: course.submitted(TOY, name) for name in names}
    submissions = [read_submission(folder, exercise, name) for name, folder in folders.items()]
    verdicts = [toy_judge(course, exercise, name, folder) for name, folder in folders.items()]
    return JudgedClass.in_memory(submissions, verdicts)


def contents(directory: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}


# --- the stock commands -------------------------------------------------------------------------


def test_a_release_leaves_the_stubs_as_they_are(stock: Stock) -> None:
    course, _ = stock
    released = nbformat.read(course.release(TOY) / f"{TOY}.ipynb", as_version=4)
    assert [cell.source for cell in released.cells] == [c.source for c in toy_notebook().cells]


def test_autograde_gives_every_kind_of_submission_its_score(stock: Stock) -> None:
    course, log = stock
    assert scores(course, TOY) == SCORES, log


def test_a_fault_of_ours_is_an_error_for_that_student_alone_and_no_grade(stock: Stock) -> None:
    course, log = stock
    assert f"There was an error processing assignment '{TOY}' for student 'our_fault'" in log
    assert log.count("There was an error processing assignment 'toy_chain' for") == 1
    assert "our_fault" not in scores(course, TOY)
    assert not course.autograded(TOY, "our_fault").exists()


def test_no_name_and_no_error_of_a_student_moves_the_terminal(handed_in: Course) -> None:
    course = copied(handed_in, "names")
    shutil.rmtree(course.hand_ins)
    names = ("\x1b[31mred", "\x9b2J::error::x", "\x1b]0;title\x07")
    for name, source in zip(names, (RIGHT, RIGHT | {"shift": "# our machine fails"}, RIGHT)):
        folder = course.hand_ins / name / TOY
        folder.mkdir(parents=True)
        notebook = filled(release_notebook(course, TOY), source)
        (folder / f"{TOY}.ipynb").write_text(nbformat.writes(notebook))
    log = nbgrader("autograde", TOY, folder=course.directory, code=1)
    assert log.count("Converting notebook") == 2 * len(names)
    assert "red" in log and "title" not in log
    assert "There was an error processing assignment" in log
    assert "\x1b" not in log and "\x9b" not in log and "::error" not in log


def test_a_traceback_in_the_log_is_harmless_too() -> None:
    try:
        raise ValueError("\x1b[2J##[error]")
    except ValueError:
        found = sys.exc_info()
    record = HarmlessRecord("x", logging.ERROR, "x.py", 1, "a %s", ("\x1b[1mb",), found)
    said = logging.Formatter().format(record)
    assert "\x1b" not in said and "##[" not in said
    assert said.startswith("a b\n") and "ValueError" in said


def test_autograde_leaves_no_copies_behind(stock: Stock) -> None:
    course, _ = stock
    assert not list(course.directory.glob(".submissions-*"))


def test_the_script_that_was_handed_in_is_what_lies_in_autograded(stock: Stock) -> None:
    course, _ = stock
    kept = (course.autograded(TOY, "script_only") / f"{TOY}.py").read_text()
    assert "x + 2" in kept
    assert step_cell(graded(course, "script_only"), "shift").source.endswith("return x + 2")


def test_what_releasing_feedback_rests_on_lies_beside_the_graded_notebook(
    stock: Stock, fast: Fast
) -> None:
    for course in (stock[0], fast[0]):
        secret = course.autograded(TOY, "all_right") / "submission_secret.txt"
        assert secret.read_text() == "5ec2e7" * 21
        assert not (course.autograded(TOY, "script_only") / "submission_secret.txt").exists()


def test_a_check_cell_holds_the_words_and_then_one_number(stock: Stock) -> None:
    course, _ = stock
    for student in SCORES:
        notebook = graded(course, student)
        for step in STEPS:
            words, result = step_cell(notebook, f"check_{step}").outputs
            assert words.output_type == "display_data"
            assert set(words.data) == {"text/plain", "text/html"}
            assert result.output_type == "execute_result"
            assert float(result.data["text/plain"]) == SCORES[student][f"check_{step}"]


def test_autograde_names_who_is_not_graded_and_a_command_that_works(stock: Stock) -> None:
    _, log = stock
    assert f"{UNREAD} is not graded: {TOY}.ipynb is not a notebook" in log
    several = grade_command(Path("my course"), TOY, (TOY, "another"))
    assert several == f"attn grade 'my course' --exercise {TOY}"
    assert grade_command(Path("course"), TOY, (TOY,)) == "attn grade course"


def test_a_broken_notebook_is_told_in_words(stock: Stock) -> None:
    course, _ = stock
    assert "not valid JSON" in feedback_of(course, "not_json")


def test_no_script_of_a_student_reaches_the_feedback(stock: Stock) -> None:
    page = feedback_of(stock[0], "flipped_metadata")
    assert "values differ &lt;script&gt;" in page
    assert "My notes" in page
    assert ATTACK not in page
    assert "<script>alert" not in page


def test_the_details_are_folded_not_shown_as_tags(stock: Stock) -> None:
    course, _ = stock
    page = feedback_of(course, "script_only")
    assert "<details>" in page
    assert "&lt;details&gt;" not in page


@pytest.mark.parametrize(
    "source",
    [
        ATTACK,
        "<img src=x onerror=alert(1)>",
        "<b onclick='alert(1)'>b</b>",
        "[look](javascript:alert(1))",
        "<iframe src='https://example.org'></iframe>",
        "$x <script>alert(1)</script>$",
    ],
)
def test_prose_cannot_run_anything_in_the_pages_that_nbgrader_makes(source: str) -> None:
    page = clean_markdown({}, source)
    assert not re.search(r"<(?!/?(p|b|a|em)\b)", page)
    assert not re.search(r"<[^>]*(onclick|onerror|javascript:)", page)


def test_prose_and_formulas_are_shown_as_they_were_meant() -> None:
    page = clean_markdown(
        {}, "## Title\n\nA **bold** word, `code`, $a < b$\n\n- [x](https://a.org)\n"
    )
    for part in ("<h2>Title", "<strong>bold</strong>", "<code>code</code>", "$a &lt; b$", "<li>"):
        assert part in page


def test_a_half_graded_submission_is_graded_again(fast: Fast) -> None:
    course = copied(fast[0], "half_graded")
    path = course.autograded(TOY, "renamed") / f"{TOY}.ipynb"
    notebook = graded(course, "renamed")
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    path.chmod(0o644)
    path.write_text(nbformat.writes(notebook))
    in_gradebook(course, "UPDATE grade SET auto_score = NULL")
    assert not finished(path)
    done(formgrader(course).autograde(TOY, "renamed", force=False))
    assert scores(course, TOY) == {"renamed": FULL}


def in_gradebook(course: Course, *statements: str) -> None:
    with closing(sqlite3.connect(course.directory / "gradebook.db")) as book, book:
        for statement in statements:
            book.execute(statement)


def test_autograde_without_running_code_is_refused_and_loses_nothing(fast: Fast) -> None:
    course, _ = fast
    before = contents(course.directory / "autograded")
    settings = read_settings(course)
    settings.Execute.enabled = False  # which is what `--no-execute` sets
    command = CourseAutograde(course_directory(course, settings), config=settings)
    with pytest.raises(NbGraderException, match="leave out --no-execute"):
        command.start()
    assert contents(course.directory / "autograded") == before


# --- the fast way -------------------------------------------------------------------------------


def test_the_fast_way_gives_the_scores_of_the_stock_commands(stock: Stock, fast: Fast) -> None:
    assert scores(fast[0], TOY) == scores(stock[0], TOY)
    assert gradebook_rows(fast[0]) == gradebook_rows(stock[0])


def gradebook_rows(course: Course) -> list[tuple[object, ...]]:
    query = """
        SELECT s.student_id, s.timestamp, c.name, g.auto_score, g.needs_manual_grade, k.auto_comment
        FROM submitted_assignment s JOIN submitted_notebook n ON n.assignment_id = s.id
        JOIN grade g ON g.notebook_id = n.id JOIN base_cell c ON c.id = g.cell_id
        JOIN base_cell b ON 'check_' || b.name = c.name
        JOIN comment k ON k.cell_id = b.id AND k.notebook_id = n.id
        WHERE s.student_id != 'our_fault' ORDER BY s.student_id, c.name
    """
    with closing(sqlite3.connect(course.directory / "gradebook.db")) as book:
        rows = book.execute(query).fetchall()
    assert len(rows) == (len(SCORES) + 1) * len(STEPS)
    assert {row[3:5] for row in rows if row[0] == UNREAD} == {(None, 1)}
    return rows


def test_the_fast_way_lays_out_the_notebooks_of_the_stock_commands(
    stock: Stock, fast: Fast
) -> None:
    for student in (*SCORES, UNREAD):
        assert shown(graded(fast[0], student)) == shown(graded(stock[0], student))


def shown(notebook: NotebookNode) -> list[tuple[object, ...]]:
    return [(cell.cell_type, cell.source, cell.get("outputs")) for cell in notebook.cells]


@pytest.mark.slow
def test_autograde_finds_nothing_left_to_do_after_the_fast_way(fast: Fast) -> None:
    course, _ = fast
    before = contents(course.directory / "autograded")
    said = nbgrader("autograde", TOY, "--student=[a-n]*", folder=course.directory)
    assert "Skipping existing assignment" in said
    assert contents(course.directory / "autograded") == before


def test_the_fast_way_writes_no_grade_for_a_fault_of_ours_and_names_the_student(fast: Fast) -> None:
    course, left_out = fast
    assert left_out == ("our_fault",)
    assert not course.autograded(TOY, "our_fault").exists()
    assert "our_fault" not in scores(course, TOY)


def test_a_score_given_by_hand_survives_both_ways(fast: Fast) -> None:
    course = copied(fast[0], "by_hand")
    given = "UPDATE grade SET manual_score = {} WHERE cell_id IN (SELECT id FROM base_cell "
    given += "WHERE name = 'check_shift')"
    in_gradebook(course, given.format(1.25))
    write_gradebook(course, TOY, judged(course, "all_right", "script_only"))
    assert {row["check_shift"] for row in scores(course, TOY).values()} == {1.25}
    done(formgrader(course).autograde(TOY, "all_right"))
    assert scores(course, TOY)["all_right"] == FULL | {"check_shift": 1.25}
    in_gradebook(course, given.format("NULL"))
    assert scores(course, TOY) == SCORES


# nbgrader does this whenever it sees a student for the first time.
@pytest.mark.filterwarnings("ignore:Object of type <Submitted.*> not in session")
def test_the_button_in_formgrader_grades_as_the_command_does(handed_in: Course) -> None:
    course = copied(handed_in, "button")
    button = formgrader(course)
    done(button.autograde(TOY, "script_only"))
    assert scores(course, TOY) == {"script_only": SCORES["script_only"]}
    failed = button.autograde(TOY, "our_fault")
    assert not failed["success"] and "a fault of ours" in failed["log"], failed
    assert button.coursedir.submitted_directory == "submitted"


# --- what is refused, in words ------------------------------------------------------------------


def test_grades_before_a_release_are_refused_and_no_gradebook_is_made(tmp_path: Path) -> None:
    course = make_course(tmp_path)
    course.submitted(TOY, "early").mkdir(parents=True)
    with pytest.raises(KitError, match="not in the gradebook"):
        write_gradebook(course, TOY, judged(course, "early"))
    assert not (course.directory / "gradebook.db").exists()


@pytest.mark.slow
def test_a_release_that_fails_is_told_in_nbgraders_words(tmp_path: Path) -> None:
    course = make_course(tmp_path)
    notebook = toy_notebook()
    notebook.cells[1].source = "### BEGIN SOLUTION\nsecret = 1\n### END SOLUTION"
    (course.source(TOY) / f"{TOY}.ipynb").write_text(nbformat.writes(notebook))
    with pytest.raises(KitError, match="Solution region detected in a non-solution cell"):
        release_by_command(course, TOY)


def test_a_solution_region_is_still_cleared() -> None:
    notebook = filled(
        toy_notebook(),
        {"double": "def double(x):\n    ### BEGIN SOLUTION\n    secret\n    ### END SOLUTION"},
    )
    cleared, _ = KeepStubs().preprocess(notebook, ResourcesDict())
    assert "secret" not in step_cell(cleared, "double").source
    assert "YOUR CODE HERE" in step_cell(cleared, "double").source
    assert step_cell(cleared, "shift").source == STUBS["shift"]


def test_a_course_is_never_overwritten_and_what_lies_there_is_kept(tmp_path: Path) -> None:
    (tmp_path / "course").mkdir()
    (tmp_path / "course" / "notes.txt").write_text("mine")
    course = make_course(tmp_path)
    before = contents(course.directory)
    assert course.directory / "notes.txt" in before
    with pytest.raises(KitError, match="holds a course"):
        created(tmp_path)
    assert contents(course.directory) == before


def test_a_course_holds_only_the_public_folder(tmp_path: Path) -> None:
    write_toy(tmp_path)
    (tmp_path / "solutions" / TOY / "solution.py").write_text("secret")
    course = created(tmp_path)
    copied = {path.name for path in course.source(TOY).iterdir()}
    assert copied == {f"{TOY}.ipynb", f"{TOY}.py", "README.md", "exercise.toml"}


def test_a_course_reads_back_as_it_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    course = make_course(tmp_path)
    assert read_course(course.directory) == course
    monkeypatch.chdir(tmp_path)
    moved = created(Path(), "second")
    assert 'solutions = "../solutions"' in (moved.directory / "attn.toml").read_text()
    assert read_course(tmp_path / "second") == moved
    assert moved.solutions == course.solutions


FACTS = "format_version = 1\nsolutions = '../s'\nexercises = []\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("format_version = 9\n", "format_version or solutions"),
        ("format_version = 1\nsolutions = 'x'\nexercises = 'toy'\n", "not a list of names"),
        ("format_version =\n", "not valid TOML"),
        (f"{FACTS}layer_earns_steps = 1\n", "layer_earns_steps is neither true nor false"),
        (f'{FACTS}[attempts]\ncounts = "first"\n', "neither 'last' nor 'best'"),
        (f"{FACTS}[attempts]\nmost = 0\n", "not a whole number from 1 on"),
        (f"{FACTS}[attempts]\nmost = true\n", "not a whole number from 1 on"),
        (f"{FACTS}[attempts]\nleast = 1\n", "something else than counts and most"),
        (None, "not a course"),
    ],
)
def test_a_course_that_does_not_read_says_why(tmp_path: Path, text: str | None, words: str) -> None:
    if text is not None:
        (tmp_path / "attn.toml").write_text(text)
    with pytest.raises(KitError, match=words):
        read_course(tmp_path)


@pytest.mark.parametrize(
    ("lines", "layer_earns", "attempts"),
    [
        ("", True, AttemptRules("last", None)),
        ("layer_earns_steps = true\n", True, AttemptRules()),
        ("layer_earns_steps = false\n", False, AttemptRules()),
        ('[attempts]\ncounts = "best"\nmost = 3\n', True, AttemptRules("best", 3)),
    ],
)
def test_a_course_says_what_a_right_layer_earns_and_which_attempt_counts(
    tmp_path: Path, lines: str, layer_earns: bool, attempts: AttemptRules
) -> None:
    (tmp_path / "attn.toml").write_text(FACTS + lines)
    course = read_course(tmp_path)
    assert (course.rules.layer_earns_steps, course.attempts) == (layer_earns, attempts)


@pytest.mark.parametrize(
    "name", [b'"quoted" \\ #1', b"tab\there\nand a line", b"delete \x7f", "ünïcode \u2028".encode()]
)
def test_a_course_finds_its_solutions_whatever_their_folder_is_called(
    tmp_path: Path, name: bytes
) -> None:
    assert read_course(with_solutions_in(tmp_path, name).directory).solutions == (
        tmp_path / "solutions"
    )


def test_solutions_whose_path_is_no_text_are_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    with pytest.raises(KitError, match="not UTF-8"):
        with_solutions_in(tmp_path, b"s\xe9")
    assert not (tmp_path / "course").exists()


def with_solutions_in(root: Path, name: bytes) -> Course:
    """A course that was told of its solutions by a link of that name."""
    write_toy(root)
    folder = root / os.fsdecode(name)
    folder.symlink_to(root / "solutions")
    return created(root, solutions=folder)


def test_an_exercise_that_is_not_built_makes_no_course(tmp_path: Path) -> None:
    write_exercise(tmp_path / "solutions" / TOY)
    write_exercise(tmp_path / "assignments" / TOY)
    with pytest.raises(KitError, match=f"{TOY} has no {TOY}.ipynb"):
        created(tmp_path)
    assert not (tmp_path / "course").exists()


def test_a_configuration_that_does_not_run_is_told(fast: Fast) -> None:
    course = copied(fast[0], "misconfigured")
    (course.directory / "nbgrader_config.py").write_text("c = get_confg()\n")
    with pytest.raises(KitError, match="get_confg"):
        scores(course, TOY)


# --- the pure functions -------------------------------------------------------------------------


def test_code_moves_onto_the_skeleton_by_its_grade_id() -> None:
    submitted = filled(toy_notebook(), RIGHT)
    submitted.cells.reverse()
    result = onto_skeleton(toy_notebook(), submitted)
    assert [cell.source for cell in result.cells] == [
        cell.source for cell in filled(toy_notebook(), RIGHT).cells
    ]


def test_of_two_copies_the_last_counts_and_the_first_stays_to_be_seen() -> None:
    result = onto_skeleton(toy_notebook(), with_copies(filled(toy_notebook(), RIGHT)))
    assert step_cell(result, "double").source == RIGHT["double"]
    assert "nbgrader" not in result.cells[0].metadata
    assert result.cells[0].source.endswith("return 3 * x")


def test_extra_cells_follow_the_cell_they_followed_without_metadata_and_outputs() -> None:
    submitted = filled(toy_notebook(), RIGHT)
    output = nbformat.v4.new_output("stream", text="noise")
    extra = new_code_cell("mine = 1", metadata={"tags": ["x"]}, outputs=[output])
    after = submitted.cells.index(step_cell(submitted, "shift")) + 1
    submitted.cells.insert(after, extra)
    result = onto_skeleton(toy_notebook(), submitted)
    cell = result.cells[after]
    assert (cell.source, cell.metadata, cell.outputs) == ("mine = 1", {}, [])
    nbformat.validate(result)


def test_a_skeleton_of_a_skeleton_is_the_same() -> None:
    submitted = with_copies(hostile(filled(toy_notebook(), RIGHT)))
    once = onto_skeleton(toy_notebook(), submitted)
    assert onto_skeleton(toy_notebook(), once) == once


def test_the_arguments_of_the_skeleton_are_not_changed() -> None:
    release_cells, submitted = toy_notebook(), hostile(filled(toy_notebook(), RIGHT))
    before = json.dumps([release_cells, submitted])
    onto_skeleton(release_cells, submitted)
    assert json.dumps([release_cells, submitted]) == before


def test_a_cell_that_lost_its_metadata_is_found_by_what_it_defines() -> None:
    submitted = filled(toy_notebook(), RIGHT)
    for cell in submitted.cells:
        cell.metadata = NotebookNode()
    result = onto_skeleton(toy_notebook(), submitted)
    assert [step_cell(result, step).source for step in STEPS] == list(RIGHT.values())


@pytest.mark.parametrize(
    "cell",
    [
        {},
        {"cell_type": 3, "source": 4, "metadata": 5},
        {"cell_type": "code", "source": [1, None], "metadata": {"nbgrader": []}},
        {"cell_type": "code", "source": "\ud800", "metadata": {"nbgrader": {"grade_id": []}}},
    ],
)
def test_a_cell_may_be_any_json_object(cell: dict[str, object]) -> None:
    result = onto_skeleton(toy_notebook(), NotebookNode(cells=[cell]))
    nbformat.validate(result)
    nbformat.writes(result).encode("utf-8")


@pytest.mark.parametrize("text", [STUBS["double"], STUBS["double"] + "\n", "", RIGHT["double"]])
def test_an_answer_is_untouched_when_nbgraders_checksum_says_so(text: str) -> None:
    cell = step_cell(toy_notebook(), "double")
    cell.metadata.nbgrader["checksum"] = compute_checksum(cell)
    cell.source = text
    same = cell.metadata.nbgrader.checksum == compute_checksum(cell)
    assert is_untouched(cell) == same == (text == STUBS["double"])
    del cell.metadata.nbgrader["checksum"]
    assert not is_untouched(cell), "nobody knows"


def test_a_plain_script_is_cut_into_its_steps() -> None:
    cells = from_script(WHOLE, STEPS).cells
    assert [cell.source for cell in cells] == ["import numpy as np", *RIGHT.values()]


def test_a_percent_script_keeps_its_cells_and_prose() -> None:
    head = "# ---\n# jupyter: x\n# ---\n"
    text = f"{head}# %% [markdown]\n# # Title\n# text\n# %%\nimport numpy\na = 1\n"
    cells = from_script(text, STEPS).cells
    assert [(cell.cell_type, cell.source) for cell in cells] == [
        ("markdown", "# Title\ntext"),
        ("code", "import numpy\na = 1"),
    ]


def test_a_link_in_a_submission_is_not_followed_into_the_graded_notebook(tmp_path: Path) -> None:
    exercise = read_exercise(write_exercise(tmp_path / TOY))
    (tmp_path / "secret.py").write_text(WHOLE)
    folder = tmp_path / "student"
    folder.mkdir()
    os.symlink(tmp_path / "secret.py", folder / f"{TOY}.py")
    submission = read_submission(folder, exercise, "student")
    result = notebook_of(Skeleton.of(toy_notebook()), submission)
    assert step_cell(result, "double").source == STUBS["double"]


def verdict_with(
    points: float, outcome: Outcome = Outcome.PASSED, steps: tuple[str, ...] = STEPS
) -> Verdict:
    step_verdicts = tuple(StepVerdict(s, s, outcome, points, POINTS[s], ()) for s in steps)
    chain = ChainVerdict(Outcome.PASSED)
    return Verdict(TOY, "student", step_verdicts, chain, "", "", 0, "none", 0.0)


@pytest.fixture
def exercise(tmp_path: Path) -> Exercise:
    return read_exercise(write_exercise(tmp_path / TOY))


@pytest.mark.parametrize(("points", "text"), [(99.0, "2.0"), (-1.0, "0.0"), (0.5, "0.5")])
def test_a_score_is_a_number_between_none_and_the_cells_points(
    exercise: Exercise, points: float, text: str
) -> None:
    result = with_verdict(toy_notebook(), verdict_with(points), exercise)
    assert step_cell(result, "check_double").outputs[-1].data["text/plain"] == text


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (verdict_with(0.0, Outcome.INFRASTRUCTURE), "a fault of ours"),
        (verdict_with(float("nan")), "not a number"),
        (verdict_with(1.0, steps=STEPS[:2]), "does not check the steps"),
    ],
)
def test_a_verdict_that_is_no_grade_is_not_written(
    exercise: Exercise, verdict: Verdict, words: str
) -> None:
    with pytest.raises(KitError, match=words):
        with_verdict(toy_notebook(), verdict, exercise)


def test_a_verdict_leaves_no_output_of_anybody_else(exercise: Exercise) -> None:
    notebook = toy_notebook()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [nbformat.v4.new_output("stream", name="stderr", text="noise")]
    result = with_verdict(notebook, verdict_with(1.0), exercise)
    assert "noise" not in json.dumps(result)
    assert "noise" in json.dumps(notebook)


def test_a_graded_cell_that_checks_no_step_is_refused(exercise: Exercise) -> None:
    notebook = toy_notebook()
    step_cell(notebook, "check_double").metadata.nbgrader.grade_id = "bonus"
    with pytest.raises(KitError, match="checks no step"):
        with_verdict(notebook, verdict_with(1.0), exercise)


def test_the_words_of_a_verdict_are_escaped(exercise: Exercise) -> None:
    verdict = toy_judge_of_nothing()
    cell = step_cell(with_verdict(toy_notebook(), verdict, exercise), "check_double")
    page = cell.outputs[0].data["text/html"]
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    assert "The shape is right.\n\nvalues differ" in cell.outputs[0].data["text/plain"]


def toy_judge_of_nothing() -> Verdict:
    steps = tuple(toy_step(step, "", None) for step in STEPS)
    return Verdict(TOY, "student", steps, BROKEN_CHAIN, "", "", 0, "none", 0.0)
