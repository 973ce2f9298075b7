"""The code that stands for a mistake: one student's step, in which nobody can read a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.cli.report import LINES_OF_CODE as MOST_LINES
from autograder.cli.report import code_examples, without_names
from autograder.grading.grader_pool import GraderPool
from autograder.reports.misunderstandings import Misunderstanding
from autograder.submission.reading import Submission

SIGNED = '''
# Ada Lovelace, 12345
def softmax(x):
    """By Ada."""
    y = x  # mine, ada@example.org

    class Inner:
        "Ada's"

    def inner():
        """Ada"""
    if x is None:
        "Ada asks"
    else:
        "Ada tells"
    return y / y.sum()
'''


def test_comments_and_docstrings_are_left_out() -> None:
    text = without_names([SIGNED], "softmax")
    assert "ada" not in text.lower()
    assert text.startswith("def softmax(x):\n    y = x") and text.endswith("return y / y.sum()")


@pytest.mark.parametrize(
    ("cells", "shown"),
    [
        (["def softmax(x): return 1", "def softmax(x): return 2"], "return 2"),
        (["def other(x): return 1"], ""),
        (["def softmax(x:\n"], ""),
        ([], ""),
        (["class softmax:\n    pass"], "class softmax"),
        (["softmax = lambda x: x"], ""),
    ],
)
def test_the_last_definition_is_shown(cells: list[str], shown: str) -> None:
    text = without_names(cells, "softmax")
    assert shown in text and bool(shown) == bool(text)


def test_what_python_itself_cannot_write_again_is_not_shown() -> None:
    written = "1"
    for _ in range(120):  # each gets a second pair of parentheses, and Python takes 200 at most
        written = f"sum({written} for a in x)"
    assert without_names([f"def softmax(x):\n    return {written}"], "softmax") == ""


def test_a_long_step_is_cut() -> None:
    body = "\n".join(f"    x{number} = {number}" for number in range(100))
    text = without_names([f"def softmax(x):\n{body}"], "softmax")
    assert len(text.split("\n")) == MOST_LINES + 1 and text.endswith("...")


def test_code_that_nobody_wrote_by_hand_costs_only_its_example() -> None:
    deep = "def softmax(x): return " + "-" * 20_000 + "x"
    mine = Submission("ada", "e", (SIGNED,), Path("ada.py"))
    theirs = Submission("ben", "e", (deep,), Path("ben.py"))
    found = [
        Misunderstanding("softmax", "", "", "", (name,), name) for name in ("ben", "ada", "nobody")
    ]
    with GraderPool(1) as pool:
        texts = code_examples(pool, [mine, theirs], found)
    assert [bool(text) for text in texts] == [False, True, False]
