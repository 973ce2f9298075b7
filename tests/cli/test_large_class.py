"""A class that is too large for a table in a terminal, or for one folder of results."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.console import Console

from autograder.cli import class_results
from autograder.cli.class_results import GradedClass
from autograder.cli.grade import grade_path
from autograder.grading.class_task import GradingOptions
from autograder.model import student_folders
from autograder.reports.verdict_files import find_verdict, read_verdicts

ROOT = Path(__file__).resolve().parents[2]
EXERCISE = "numpy_single_head"


def hand_in(folder: Path, *students: str) -> Path:
    folder.mkdir(exist_ok=True)
    for student in students:
        code = f"def softmax(scores):\n    return scores  # {student}\n"
        (folder / f"{student}.py").write_text(code, encoding="utf-8")
    return folder


def graded(folder: Path, console: Console) -> GradedClass:
    return grade_path(
        folder,
        exercise=EXERCISE,
        solutions=ROOT / "solutions",
        output=None,
        options=GradingOptions(processes=1),
        console=console,
    )


@pytest.mark.parametrize(("most", "seen"), [(1, False), (2, True)])
def test_a_large_class_has_its_table_on_the_page_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, seen: bool
) -> None:
    monkeypatch.setattr(class_results, "MOST_PRINTED", most)
    console = Console(record=True, width=100)
    results = graded(hand_in(tmp_path / "homework", "anna", "ben"), console)
    printed = console.export_text()
    assert ("ben" in printed) == seen
    assert ("2 students: the table is on the class page." in printed) != seen
    assert "2 students graded" in printed
    assert "ben" in (results.output / "feedback" / "index.html").read_text(encoding="utf-8")


def test_files_move_into_folders_when_the_class_outgrows_one_and_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(student_folders, "FILES_IN_A_FOLDER", 2)
    console = Console(record=True, width=100)
    homework = hand_in(tmp_path / "homework", "anna", "ben")
    output = graded(homework, console).output
    small = {"anna": "anna", "ben": "ben"}
    assert files_of(output) == small
    hand_in(homework, "aaron")
    graded(homework, console)
    assert files_of(output) == {
        "aaron": "0001-0002/aaron",
        "anna": "0001-0002/anna",
        "ben": "0003-0004/ben",
    }
    (homework / "aaron.py").unlink()
    graded(homework, console)
    assert files_of(output) == small
    assert not any((output / "feedback").glob("*/")) and not any((output / "verdicts").glob("*/"))


def files_of(output: Path) -> dict[str, str]:
    """Where the files of each student are: verdict, page and text alike, and links lead there."""
    verdicts = {
        path.stem: path.relative_to(output / "verdicts").with_suffix("").as_posix()
        for path in (output / "verdicts").rglob("*.json")
    }
    for ending in ("html", "txt"):
        feedback = [
            path.relative_to(output / "feedback").with_suffix("").as_posix()
            for path in (output / "feedback").rglob(f"*.{ending}")
            if path.stem != "index"
        ]
        assert sorted(feedback) == sorted(verdicts.values())
    page = (output / "feedback" / "index.html").read_text(encoding="utf-8")
    links = set(re.findall(r'href="([^"#]+)\.html"', page))
    assert links == set(verdicts.values())
    assert [each.student for each in read_verdicts(output / "verdicts")] == sorted(verdicts)
    assert all(find_verdict(output / "verdicts", student) for student in verdicts)
    return verdicts
