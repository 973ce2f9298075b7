"""What somebody grades by hand keeps its outputs and pictures, as far as they are harmless."""

from __future__ import annotations

import base64
import re
import shutil
import time
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from autograder.course.creation import Course
from autograder.course.page import (
    ELSEWHERE,
    MOST_PICTURES,
    MOST_TEXT,
    PlainText,
    clean_markdown,
    shown_attachments,
    shown_outputs,
)
from course.changing_course import graded_by_hand, nbgrader
from demo.run import release
from support.released_course import NAME, grade, kit_course

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJg"
    "gg=="
)
JPEG = base64.b64encode(b"\xff\xd8\xff\xe0" + bytes(20)).decode()
SVG = "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"


def outputs(*made: Any) -> list[dict[str, Any]]:
    return [dict(each) for each in shown_outputs({"outputs": list(made)})]


def display(**data: Any) -> dict[str, Any]:
    named = {kind.replace("_", "/"): content for kind, content in data.items()}
    return {"output_type": "display_data", "data": named, "metadata": {}}


def test_text_errors_and_two_kinds_of_pictures_are_kept() -> None:
    printed = new_output("stream", name="stdout", text="0.5\n")
    result = new_output("execute_result", {"text/plain": "array([1.0])"})
    error = new_output("error", ename="ValueError", evalue="no", traceback=["a long way"])
    texts = [each["text"] for each in outputs(printed, result, error)]
    assert texts == ["0.5\n", "array([1.0])", "ValueError: no"]
    for kind, content in (("image_png", PNG), ("image_jpeg", JPEG)):
        (shown,) = outputs(display(**{kind: content[:8] + "\n" + content[8:]}))
        assert shown["data"][kind.replace("_", "/")] == content


@pytest.mark.parametrize(
    "output",
    [
        display(**{"text_html": "<script>alert(1)</script>"}),
        display(**{"application_javascript": "alert(1)"}),
        {"output_type": "display_data", "data": {"image/svg+xml": SVG}},
        display(image_png=base64.b64encode(SVG.encode()).decode()),
        display(image_png=PNG + "' onerror='alert(1)"),
        display(image_png=PNG + "A" * MOST_PICTURES),
        display(image_png={"a": 1}),
        {"output_type": "display_data", "data": [1]},
        {"output_type": ["stream"], "text": 7},
    ],
)
def test_nothing_that_could_run_is_kept(output: dict[str, Any]) -> None:
    assert outputs(output) == []


def test_a_result_is_never_taken_for_a_score() -> None:
    result = new_output("execute_result", {"text/plain": "100.0", "image/png": PNG})
    assert [each["output_type"] for each in outputs(result)] == ["display_data"]


def test_endless_outputs_are_cut_in_little_time() -> None:
    long = [{"output_type": "stream", "name": "stdout", "text": "\x1b[1m" * 1_000_000}] * 50
    start = time.process_time()
    shown = outputs(*long, {"output_type": "stream", "text": "x" * 10_000_000})
    assert sum(len(each["text"]) for each in shown) <= MOST_TEXT
    assert time.process_time() - start < 5


def test_pictures_in_prose_are_those_of_the_cell_and_no_others() -> None:
    cell = {"attachments": {"my plot.png": {"image/png": PNG}, "a.svg": {"image/svg+xml": SVG}}}
    shown = re.compile(rf'<img alt="[^"]*" src="data:image/png;base64,{re.escape(PNG)}">')
    for name in ("my%20plot.png", "my plot.png"):
        link = f"![plot](<attachment:{name}>)" if " " in name else f"![plot](attachment:{name})"
        assert shown.search(clean_markdown({"cell": cell}, link)), link
    for source in (
        "![x](attachment:a.svg)",
        "![x](attachment:gone.png)",
        "![x](https://a.org/who-reads-this.png)",
        "<img src=x onerror=alert(1) alt='<b>'>",
        '<img src="data:image/png;base64,999">',
        '<img src="data:image/svg+xml;base64,0">',
    ):
        page = clean_markdown({"cell": cell}, source)
        assert ELSEWHERE in page and "<img" not in page, page


def test_attachments_that_are_none_are_left_out() -> None:
    names = {"\u202egnp.png": {"image/png": PNG}, "a.png": PNG, "b.png": {"image/png": PNG}}
    assert list(shown_attachments({"attachments": names})) == ["b.png"]
    assert shown_attachments({"attachments": [1]}) == {}


def shown(facts: dict[str, object], *outputs: Any) -> list[str]:
    """What nbgrader's own pages and formgrader show below a cell."""
    cell = new_code_cell("check(softmax)", metadata={"nbgrader": facts}, outputs=list(outputs))
    notebook, _ = PlainText().preprocess(  # type: ignore[no-untyped-call]
        new_notebook(cells=[cell]), {}
    )
    return [output.data["text/plain"] for output in notebook.cells[0].outputs]


def test_the_number_that_nbgrader_reads_stands_only_in_the_score_beside_it() -> None:
    words, number, array = (
        new_output(kind, {"text/plain": text})
        for kind, text in (
            ("display_data", "softmax: right."),
            ("execute_result", "2.0"),
            ("execute_result", "array([1.0])"),
        )
    )
    check: dict[str, object] = {"grade": True, "solution": False, "grade_id": "check_softmax"}
    answer = {"grade": False, "solution": True, "grade_id": "softmax"}
    assert shown(check, words, number) == ["softmax: right."]
    assert shown(check, array) == ["array([1.0])"], "it is no score"
    assert shown(answer, number) == shown(answer | {"grade": True}, number) == ["2.0"]


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A course with two questions of the instructor's own; Ada has answered both."""
    made = kit_course(tmp_path / "course")
    path = made.source(NAME) / f"{NAME}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells += [
        new_code_cell("# Draw it.", metadata=graded_by_hand("drawing")),
        new_markdown_cell("Your sketch:", metadata=graded_by_hand("sketch")),
    ]
    nbformat.write(notebook, path)
    release(made, NAME)
    notebook = nbformat.read(made.release(NAME) / f"{NAME}.ipynb", as_version=4)
    drawing, sketch = notebook.cells[-2:]
    drawing.source = "plot(weights)"
    picture = {"image/png": PNG, "text/plain": "<Figure>"}
    drawing.outputs = [
        new_output("stream", name="stdout", text="the rows sum to one\n"),
        new_output("display_data", picture),
        new_output("display_data", {"text/html": "<script>alert(1)</script>"}),
    ]
    sketch.source = "![sketch](attachment:sketch.jpg)\n\n![gone](attachment:gone.png)"
    sketch.attachments = {"sketch.jpg": {"image/jpeg": JPEG}}
    for cell in notebook.cells[:-2]:
        if cell.cell_type == "code":
            cell.outputs = [new_output("stream", name="stdout", text="of no interest\n")]
    made.submitted(NAME, "ada").mkdir(parents=True)
    nbformat.write(notebook, made.submitted(NAME, "ada") / f"{NAME}.ipynb")
    return made


def graded(course: Course) -> tuple[NotebookNode, str]:
    """Ada's graded notebook, and nbgrader's own page of it."""
    path = course.autograded(NAME, "ada") / f"{NAME}.ipynb"
    nbgrader("generate_feedback", NAME, "--force", folder=course.directory)
    page = course.feedback(NAME, "ada") / f"{NAME}.html"
    return nbformat.read(path, as_version=4), page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_who_grades_by_hand_sees_the_outputs_and_the_pictures(course: Course) -> None:
    for command in ("attn", "nbgrader"):
        if command == "attn":
            assert grade(course).returncode == 0
        else:
            nbgrader("autograde", NAME, "--force", folder=course.directory)
        shutil.rmtree(course.graded(NAME))  # so that nbgrader makes its own page
        notebook, page = graded(course)
        drawing, sketch = notebook.cells[-2:]
        printed, picture = drawing.outputs
        assert printed.text == "the rows sum to one\n" and picture.data["image/png"] == PNG
        assert sketch.attachments["sketch.jpg"]["image/jpeg"] == JPEG
        assert "of no interest" not in str(notebook) and "<script>alert" not in str(notebook)
        assert f"data:image/png;base64,{PNG}" in page and "the rows sum to one" in page
        assert f"data:image/jpeg;base64,{JPEG}" in page and ELSEWHERE in page
