"""A remark on what a hand-in calls is about the steps, and never about cells of the kit."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.grading.batch import remarks_on
from autograder.submission.reading import Submission, read_submission
from autograder.values.exercise import Exercise, read_exercise
from support.attack_range import right_answer

ROOT = Path(__file__).resolve().parents[2]
NAMES = sorted(path.parent.name for path in (ROOT / "solutions").glob("*/exercise.toml"))
WORDS = "The layer calls PyTorch's own attention."
CALL = "nn.functional.scaled_dot_product_attention(q, k, v)"


def remarks(exercise: Exercise, *cells: str) -> str:
    return " ".join(remarks_on(Submission("x", exercise.name, cells, Path("x.py")), exercise))


@pytest.mark.parametrize("name", NAMES)
def test_neither_an_untouched_notebook_nor_a_right_one_gets_a_remark(name: str) -> None:
    exercise = read_exercise(ROOT / "solutions" / name)
    notebook = ROOT / "assignments" / name / f"{name}.ipynb"
    untouched = read_submission(notebook, exercise, "x")
    assert untouched.cells and remarks_on(untouched, exercise) == ()
    assert remarks(exercise, *untouched.cells, right_answer(name)) == ""


@pytest.mark.parametrize(
    ("code", "is_told"),
    [
        (f"class SingleHeadAttention:\n    def forward(self, x):\n        return {CALL}", True),
        (f"def attend(q, k, v): return {CALL}\ndef apply_attention(w, v): return attend", True),
        ("attend = F.scaled_dot_product_attention", True),
        ("from torch.nn.functional import scaled_dot_product_attention", True),
        (f"def compared(q, k, v): return {CALL}", False),
        (f"def compared(q, k, v): return {CALL}\ndef unused(): return compared", False),
    ],
)
def test_what_no_step_comes_to_says_nothing_of_the_steps(code: str, is_told: bool) -> None:
    told = remarks(read_exercise(ROOT / "solutions" / "torch_single_head"), code)
    assert told.startswith(WORDS) is is_told and bool(told) is is_told
    assert "right" not in told, "nothing has been judged here"
