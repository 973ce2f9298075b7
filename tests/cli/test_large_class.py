"""A class that is too large for a table in a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from autograder.cli import class_results
from autograder.cli.grade import grade_path
from autograder.grading.class_task import GradingOptions

ROOT = Path(__file__).resolve().parents[2]
EXERCISE = "numpy_single_head"


@pytest.mark.parametrize(("most", "seen"), [(1, False), (2, True)])
def test_a_large_class_has_its_table_on_the_page_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, seen: bool
) -> None:
    handed_in = tmp_path / "homework"
    handed_in.mkdir()
    for student in ("anna", "ben"):
        code = f"def softmax(scores):\n    return scores  # {len(student)}\n"
        (handed_in / f"{student}.py").write_text(code)
    monkeypatch.setattr(class_results, "MOST_PRINTED", most)
    console = Console(record=True, width=100)
    graded = grade_path(
        handed_in,
        exercise=EXERCISE,
        solutions=ROOT / "solutions",
        output=None,
        options=GradingOptions(processes=1),
        console=console,
    )
    printed = console.export_text()
    assert ("ben" in printed) == seen
    assert ("2 students: the table is on the class page." in printed) != seen
    assert "2 students graded" in printed
    assert "ben" in (graded.output / "feedback" / "index.html").read_text(encoding="utf-8")
