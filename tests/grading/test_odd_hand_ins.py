"""One small class in which hardly anything lies where it should: nobody loses in silence."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from autograder.course.intake import handed_in_at
from autograder.submission.reading import read_submission
from support.broken.case import EXERCISE, NAME, ROOT, SCRIPT, Work
from support.typed_commands import Run, typed

NESTED = "def scale_scores(attention_scores, embedding_dimension):\n    print(f'{'a'}')\n"


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Path]:
    """One name begins with a dot, one file lies deep, and one is for Python 3.12."""
    folder = tmp_path_factory.mktemp("odd")
    for student, place in {".hidden": "", "deep": "attention/homework", "newer": ""}.items():
        (folder / "class" / student / place).mkdir(parents=True)
    (folder / "class" / ".git").mkdir()
    for name in ("loose.txt", "Roster.csv", "README.md"):
        (folder / "class" / name).write_text("def softmax(scores):\n    return scores\n")
    for name in (".hidden", ".git", "deep/attention/homework"):
        work = Work(folder / "class" / name)
        work.write(work.script)
    work = Work(folder / "class" / "newer")
    work.write(work.script.replace("def scale_scores(", f"{NESTED}\n\ndef scale_scores("))
    words = ("--exercise", NAME, "--output", folder / "out", "--processes", 1)
    return typed("grade", folder / "class", *words, folder=ROOT), folder / "out"


def test_who_lies_hidden_is_named_and_no_folder_of_a_program_is(graded: tuple[Run, Path]) -> None:
    told = "not graded, since the name begins with a dot: .hidden. Rename it"
    assert told in graded[0].words, graded[0].err


def test_a_file_that_passes_for_a_note_is_named_and_no_list_of_the_kit_is(
    graded: tuple[Run, Path],
) -> None:
    told = "since a list or a note may have such a name: loose.txt. If a student"
    assert told in graded[0].words, graded[0].err


def test_where_only_notes_lie_they_are_named(tmp_path: Path) -> None:
    (tmp_path / "ada.txt").write_text("def softmax(scores):\n    return scores\n")
    run = typed("grade", tmp_path, "--exercise", NAME, folder=ROOT)
    assert run.code == 2 and "these are neither: ada.txt" in " ".join(run.err.split())


def test_a_file_further_down_has_all_of_its_points(graded: tuple[Run, Path]) -> None:
    rows = (graded[1] / "grades.csv").read_text(encoding="utf-8").splitlines()
    assert any(row.startswith("deep,22,22,") for row in rows), rows


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python reads it")
def test_code_for_a_newer_python_gets_no_mark_and_is_told(graded: tuple[Run, Path]) -> None:
    rows = (graded[1] / "grades.csv").read_text(encoding="utf-8").splitlines()
    assert any(row.startswith("newer,,22,,") for row in rows), rows
    told = json.loads((graded[1] / "needs-you.json").read_text(encoding="utf-8"))["needs_you"]
    (why,) = [each["reason"] for each in told if each["students"] == ["newer"]]
    assert why.startswith("it needs Python 3.12") and graded[0].code == 1
    assert "bracket" not in graded[0].words


def test_the_moment_of_a_hand_in_lies_beside_its_folders(tmp_path: Path) -> None:
    """What a student puts further down is no moment."""
    folder = tmp_path / "ada" / NAME
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / SCRIPT).write_text("x = 1")
    (folder / "deep" / "timestamp.txt").write_text("2001-01-01 00:00:00 UTC")
    (folder / "timestamp.txt").write_text("2026-11-03 11:05:00 UTC")
    submission = read_submission(folder, EXERCISE, "ada", tmp_path)
    assert submission.path.parent.name == "deep"
    assert str(handed_in_at(submission)).startswith("2026-11-03 11:05")
