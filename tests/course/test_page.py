"""What nbgrader's own pages and formgrader show of a graded notebook."""

from __future__ import annotations

from typing import Any

from nbformat.v4 import new_code_cell, new_notebook, new_output

from autograder.course.page import PlainText

CHECK = {"grade": True, "solution": False, "grade_id": "check_softmax"}
ANSWER = {"grade": False, "solution": True, "grade_id": "softmax"}


def cell(facts: dict[str, object], *outputs: Any) -> Any:
    return new_code_cell("check(softmax)", metadata={"nbgrader": facts}, outputs=list(outputs))


def result(text: str) -> Any:
    return new_output("execute_result", {"text/plain": text})


def shown(cell: Any) -> list[str]:
    notebook, _ = PlainText().preprocess(  # type: ignore[no-untyped-call]
        new_notebook(cells=[cell]), {}
    )
    return [output.data["text/plain"] for output in notebook.cells[0].outputs]


def test_the_number_that_nbgrader_reads_stands_only_in_the_score_beside_it() -> None:
    words = new_output("display_data", {"text/plain": "softmax: right."})
    assert shown(cell(CHECK, words, result("2.0"))) == ["softmax: right."]


def test_what_is_no_score_stays() -> None:
    assert shown(cell(CHECK, result("array([1.0])"))) == ["array([1.0])"]
    assert shown(cell(ANSWER, result("2.0"))) == ["2.0"]
    assert shown(cell(ANSWER | {"grade": True}, result("2.0"))) == ["2.0"]
