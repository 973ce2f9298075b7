"""What was not graded has no mark in any output, and each names it with its reason."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console

from autograder.cli.follow_ups import find_follow_ups
from autograder.errors import KitError
from autograder.grading.class_run import ClassProgress
from autograder.grading.journal import infrastructure, unfinished
from autograder.platforms.csv_table import list_of, read_table
from autograder.platforms.mark_export import (
    canvas_column,
    class_marks,
    fill,
    lti_scores,
    moodle_column,
)
from autograder.platforms.step_result import (
    classroom_facts,
    gradescope_results,
    job_summary,
    junit_report,
)
from autograder.reports.class_page import class_table
from autograder.reports.class_summary import class_summary, mark_distribution
from autograder.reports.grades_csv import grades_csv
from autograder.reports.roll import ClassGradebook, EnteredCell, GradebookEntry
from autograder.submission.reading import Submission, read_submission
from autograder.values.verdict import Verdict
from platforms.platform_downloads import attn
from support.verdicts import EXERCISE, class_page, feedback_page, feedback_text, verdict

CANVAS = "Student,ID,SIS Login ID,Section,Attention (7)\r\n    Points Possible,,,,22\r\n"
GRADESCOPE = ("--format", "gradescope", "--student", "essay")
MOODLE = "Identifier,Full name,ID number,Status,Grade,Maximum Grade\n"


# What somebody hands in (a path is a link to it, None our own fault), and words of the reason.
KINDS: dict[str, tuple[str, bytes | Path | None, str]] = {
    "nothing": ("notes.txt", b"", "There is no notebook and no .py file"),
    "no notebook": ("essay.ipynb", b"no JSON", "is not a notebook"),
    "an empty file": ("essay.ipynb", b"", "essay.ipynb is empty"),
    "a device": ("essay.py", Path("/dev/zero"), "is not a plain file"),
    "too large": ("essay.py", b"#" * (1 << 21), "larger than 1024 kB"),
    "our fault": ("notes.txt", None, "a fault of the grader (no memory is left)"),
}


@pytest.fixture(params=KINDS)
def found(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Submission, Verdict, str]:
    """A hand-in that was not graded, its verdict, and words of the reason."""
    name, content, reason = KINDS[request.param]
    file = tmp_path / "essay" / name
    file.parent.mkdir()
    if isinstance(content, Path):
        file.symlink_to(content)
    else:
        file.write_bytes(content or b"")
    submission = read_submission(file.parent, EXERCISE, "essay")
    if content is None:
        return submission, infrastructure(EXERCISE, submission, "no memory is left"), reason
    assert submission.rejected
    return submission, unfinished(EXERCISE, submission, submission.rejected), reason


def printed(content: object) -> str:
    console = Console(file=io.StringIO(), width=300)
    console.print(content)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_what_was_not_graded_is_no_zero_in_any_report(
    found: tuple[Submission, Verdict, str],
) -> None:
    submission, judged, reason = found
    roll = [judged, verdict("right")]
    (row,) = (line for line in printed(class_table(EXERCISE, roll)).splitlines() if "essay" in line)
    assert "?/22" in row
    rows = {
        each["student"]: each for each in csv.DictReader(io.StringIO(grades_csv(EXERCISE, roll)))
    }
    numbers = ("points", "automatic_points", *(step.name for step in EXERCISE.steps))
    assert {rows["essay"][name] for name in numbers} == {""}
    assert "1 student graded" in class_summary(EXERCISE, roll)[0]
    assert any(": essay." in line for line in class_summary(EXERCISE, roll))
    marks = mark_distribution(roll, {})
    assert marks and marks.not_graded == 1 and sum(each.students for each in marks.ranges) == 1
    assert "<dt>Graded</dt><dd>1 <small>of 2</small>" in class_page(EXERCISE, roll)
    for text in (feedback_page(EXERCISE, judged), feedback_text(EXERCISE, judged)):
        assert "Not graded yet" in text and "0 of 22 points" not in text
    bar = ClassProgress(Console(file=io.StringIO()), EXERCISE.name, 2, roll)
    assert bar._words == "1 all right, 1 not graded"
    (follow_up,) = find_follow_ups(EXERCISE, roll[:1], [submission], ClassGradebook())
    assert follow_up.not_graded and reason in follow_up.reason


def test_what_was_not_graded_goes_to_no_platform_and_is_named(
    found: tuple[Submission, Verdict, str], tmp_path: Path
) -> None:
    _, judged, reason = found
    marks = class_marks([judged, verdict("right")], ClassGradebook())
    assert marks["essay"].points is None
    tables = {
        "canvas": (canvas_column, CANVAS + '"A",1,essay,A,3\r\n"B",2,right,A,\r\n'),
        "moodle": (
            moodle_column,
            MOODLE + "Participant 1,A,essay,-,3,22\nParticipant 2,B,right,-,,22\n",
        ),
    }
    for name, (column, text) in tables.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        table = read_table(tmp_path / name)
        filled = fill(table, column(table, None), marks, list_of(marks))
        assert filled.filled == {"right": "22"}
        assert len(filled.problems) == 1 and reason in filled.problems[0]
        assert "essay: no mark" in filled.problems[0]
    scores = lti_scores(marks, {"essay": "1", "right": "2"}, datetime.now(UTC))
    assert [each["userId"] for each in json.loads(scores.text)] == ["2"]
    assert reason in scores.problems[0]


def test_what_was_not_graded_is_an_error_for_programs_and_no_failure(
    found: tuple[Submission, Verdict, str],
) -> None:
    _, judged, reason = found
    with pytest.raises(KitError, match="no score for Gradescope") as refused:
        gradescope_results(judged)
    assert reason in str(refused.value)
    facts = classroom_facts(judged)
    assert facts["status"] == "error" and facts["max_score"] == 0
    root = ElementTree.fromstring(junit_report(judged))
    assert root.get("failures") == "0" and root.get("errors") == root.get("tests") != "0"
    summary = job_summary(judged)
    assert f"<h2>{EXERCISE.name}: not graded</h2>" in summary and "<td>0/" not in summary
    told = "on our side" if judged.infrastructure else reason
    assert told in summary and told in json.dumps(facts, ensure_ascii=False)


def test_points_by_hand_make_it_a_mark_and_the_reason_stays_true(
    found: tuple[Submission, Verdict, str],
) -> None:
    _, judged, _ = found
    cells = tuple(
        EnteredCell(step.name, step.name, step.points, None, 1.0) for step in EXERCISE.steps
    )
    gradebook = ClassGradebook({"essay": GradebookEntry("essay", cells)})
    assert class_marks([judged], gradebook)["essay"].points == len(cells)
    some = (cells[0], *(EnteredCell(each.name, each.step, each.max_points) for each in cells[1:]))
    gradebook = ClassGradebook({"essay": GradebookEntry("essay", some)})
    mark = class_marks([judged], gradebook)["essay"]
    assert mark.points is None and mark.reason == "10 questions are not graded yet"
    page = feedback_page(EXERCISE, judged, GradebookEntry("essay", cells))
    assert "11 of 22 points" in page and "by itself earns" not in page


def test_a_class_with_one_of_them_is_graded_and_exported_without_a_mark_for_it(
    tmp_path: Path,
) -> None:
    homework = tmp_path / "homework"
    (homework / "essay").mkdir(parents=True)
    (homework / "right.py").write_text("def softmax(x, axis=-1):\n    return x\n", encoding="utf-8")
    run = attn("grade", homework, "--exercise", EXERCISE.name, "--processes", 1)
    assert run.code == 1 and "not graded: essay: There is no notebook" in " ".join(run.out.split())
    table, target = tmp_path / "gradebook.csv", tmp_path / "filled.csv"
    table.write_text(CANVAS + '"A",1,essay,A,\r\n"B",2,right,A,\r\n', encoding="utf-8")
    run = attn("platform", "export", "canvas", homework, "--into", table, "--to", target)
    assert run.code == 1 and "1 of 2 marks filled in" in run.out, run.out + run.err
    assert "essay: no mark, and the cell stays as it is: There is no notebook" in run.out
    assert target.read_text().splitlines()[2:] == ['"A",1,essay,A,', '"B",2,right,A,0']
    run = attn("platform", "result", f"{homework}-graded", *GRADESCOPE)
    assert run.code == 2 and run.out == ""
    assert "no score for Gradescope: There is no notebook and no .py" in run.err
