"""An answer is untouched when nbgrader would say so."""

from __future__ import annotations

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell
from nbgrader.utils import compute_checksum

from autograder.course.intake import is_untouched

RELEASED = "def double(x):\n    raise NotImplementedError"


def answer(released: str, now: str) -> NotebookNode:
    """An answer that nbgrader has released as `released`, and that reads `now`."""
    facts = {"grade_id": "double", "solution": True, "grade": False, "locked": False}
    cell = new_code_cell(released, id="double", metadata={"nbgrader": facts})
    facts["checksum"] = compute_checksum(cell)
    cell.metadata.nbgrader, cell.source = facts, now
    result: NotebookNode = cell
    return result


@pytest.mark.parametrize(
    "text", [RELEASED, f"{RELEASED}\n", "", "def double(x):\n    return 2 * x"]
)
def test_an_answer_is_untouched_when_nbgraders_checksum_says_so(text: str) -> None:
    cell = answer(RELEASED, text)
    same = cell.metadata.nbgrader.checksum == compute_checksum(cell)
    assert is_untouched(cell) == same == (text == RELEASED)


def test_an_answer_without_a_checksum_is_never_untouched() -> None:
    cell = answer(RELEASED, RELEASED)
    del cell.metadata.nbgrader["checksum"]
    assert not is_untouched(cell)
