"""A graded notebook is written as JSON has it, and looked at as nbgrader looks at it."""

from __future__ import annotations

import json

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader.utils import compute_checksum

from autograder.course.intake import Skeleton, cell_texts, is_untouched, notebook_text

TEXTS = ("# Prose", "", 'a "quote" \\ and\n\ttab', "∑ 学生 \u2028 \x00 </script>")
RELEASED = "def double(x):\n    raise NotImplementedError"


def notebook_of(*cells: NotebookNode) -> NotebookNode:
    notebook: NotebookNode = new_notebook(cells=list(cells), metadata={"b": [1, 2.5], "a": None})
    return notebook


def in_turn() -> list[NotebookNode]:
    """Prose and code one after the other, prose twice at each end."""
    prose = [new_markdown_cell(text, id=f"p{place}") for place, text in enumerate(TEXTS)]
    code = [new_code_cell(text, id=f"c{place}") for place, text in enumerate(TEXTS[:3])]
    return [prose[0], prose[1], code[0], code[1], prose[2], code[2], prose[3]]


@pytest.mark.parametrize("known", [(), (0,), (1, 4), (0, 1, 4, 6), range(7)])
def test_the_text_is_that_of_json_whichever_cells_are_known(known: tuple[int, ...]) -> None:
    cells = in_turn()
    notebook = notebook_of(*cells) | {"of_our_own": {"z": 1, "y": [True]}}
    texts = cell_texts(cells[place] for place in known)
    expected = json.dumps(notebook, ensure_ascii=False, sort_keys=True)
    assert notebook_text(NotebookNode(notebook), texts) == expected


def test_a_notebook_without_cells_has_a_text_too() -> None:
    notebook = notebook_of()
    expected = json.dumps(notebook, ensure_ascii=False, sort_keys=True)
    assert notebook_text(notebook) == expected


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
    skeleton = Skeleton.of(notebook_of(answer(RELEASED, RELEASED)))
    assert is_untouched(cell) == (skeleton.unanswered["double"] == text) == same


def test_a_release_that_was_changed_by_hand_is_no_measure_of_what_is_untouched() -> None:
    assert Skeleton.of(notebook_of(answer(RELEASED, "changed"))).unanswered == {}


def test_an_answer_without_a_checksum_is_never_untouched() -> None:
    cell = answer(RELEASED, RELEASED)
    del cell.metadata.nbgrader["checksum"]
    assert not is_untouched(cell)
