"""One finder of definitions and one splitter of percent cells, however a student spells them."""

from __future__ import annotations

from pathlib import Path

import jupytext
import pytest

from autograder.course.intake import from_script
from autograder.submission.cells import (
    DefinitionSpan,
    cut_before_definitions,
    find_definitions,
    names_anywhere,
    names_in_prose,
    percent_cells,
)
from autograder.submission.missing_step import written
from autograder.values.exercise import read_exercise
from demo.sample_class import read_sample_class

ROOT = Path(__file__).resolve().parents[2]
EXERCISE = read_exercise(ROOT / "solutions" / "numpy_single_head")
BODY = "\n    return 1\n"
THERE = {
    "plain": f"def softmax(x):{BODY}",
    "a space before the bracket": f"def softmax (x):{BODY}",
    "two spaces": f"def  softmax(x):{BODY}",
    "a tab": f"def\tsoftmax(x):{BODY}",
    "async": f"async def softmax(x):{BODY}",
    "async with tabs": f"async\tdef\tsoftmax(x):{BODY}",
    "decorated": f"@cache\n@other(\n    1\n)\ndef softmax(x):{BODY}",
    "a class": "class softmax:\n    def f(self): return 1\n",
    "a class with a parent": "class softmax (Parent):\n    async def f(self): return 1\n",
    "DOS line ends": "x = 1\r\ndef softmax(x):\r\n    return 1\r\n",
    "after a form feed": f"x = 1\n\fdef softmax(x):{BODY}",
    "after spaces and a form feed": f"x = 1\n  \fdef softmax(x):{BODY}",
    "after other definitions": f"def other(x):{BODY}class C: pass\ndef softmax(x):{BODY}",
    "indented with tabs": "def softmax(x):\n\treturn 1\n",
}
NOT_THERE = {
    "in a string": "text = '''\nclass softmax:\n'''\n",
    "in a function": f"def other():\n    def softmax(x):{BODY}",
    "in a class": f"class Other:\n    def softmax(self):{BODY}",
    "in a comment": "# def softmax(x):\nx = 1\n",
    "called": "softmax(1)\nclassify = softmax\n",
    "a longer name": f"def softmax_of(x):{BODY}",
    "nothing": "",
}
BROKEN = "def broken((:\n    return 1\n"


def found(text: str) -> list[str]:
    return [each.name for each in find_definitions(text)]


@pytest.mark.parametrize("text", THERE.values(), ids=THERE)
@pytest.mark.parametrize("beside", ["", BROKEN], ids=["python", "beside what is not Python"])
def test_a_definition_is_found_however_it_is_spelt(text: str, beside: str) -> None:
    assert "softmax" in found(text + beside)
    assert "softmax" in found(beside + text)
    assert written([text], EXERCISE) == {"softmax"}  # who reads a submission sees it, too


@pytest.mark.parametrize("text", NOT_THERE.values(), ids=NOT_THERE)
@pytest.mark.parametrize("beside", ["", BROKEN], ids=["python", "beside what is not Python"])
def test_what_only_looks_like_a_definition_is_none(text: str, beside: str) -> None:
    assert "softmax" not in found(text + beside)
    assert "softmax" not in found(beside + text)
    assert written([text], EXERCISE) == frozenset()


def test_what_stands_in_the_docstring_of_a_file_is_no_definition() -> None:
    assert found('"""\ndef softmax(x):\n    return 1\n"""\nx = 1\n') == []


@pytest.mark.parametrize(
    "line",
    [
        "def softmax((x):",
        "def softmax ((x):",
        "async def softmax((x):",
        "class softmax(:",
        "\fdef softmax(:",
    ],
)
def test_a_definition_that_is_not_python_is_found_by_its_line(line: str) -> None:
    text = f"x = 1\n@cache\n{line}\n    return 1\n"
    assert find_definitions(text)[-1] == DefinitionSpan("softmax", 2, 3, 3, is_python=False)


def test_a_span_reaches_from_the_first_decorator_to_the_last_line() -> None:
    decorated = "@cache\n@other(\n    1\n)\ndef softmax(x):\n    return (\n        1\n    )\n"
    text = f"x = 1\n\n{decorated}\ny = 2\n"
    assert find_definitions(text) == (DefinitionSpan("softmax", 3, 7, 10),)


def test_a_right_definition_beside_a_broken_one_keeps_its_lines() -> None:
    text = f"{BROKEN}\n@cache\ndef softmax(x):\n    return 1\n\n{BROKEN}"
    spans = {each.name: each for each in find_definitions(text)}
    assert spans["softmax"] == DefinitionSpan("softmax", 4, 5, 6)
    assert spans["broken"].is_python is False


def test_names_are_found_at_any_depth_where_that_is_asked() -> None:
    nested = "class A:\n    async def b(self):\n        def c(): pass\nif x:\n    def d(): pass\n"
    assert sorted(names_anywhere(nested)) == ["A", "b", "c", "d"]
    assert names_anywhere("  def softmax(:\n") == ["softmax"]
    assert names_in_prose("My answer:\n> def softmax (x):\n>     return 1\n") == ["softmax"]


def test_a_text_is_cut_before_each_definition_and_nothing_is_lost() -> None:
    text = "import x\n\n# one\n@cache\ndef one(): pass\nx = 1\nclass Two: pass"
    parts = cut_before_definitions(text)
    assert [name for name, _ in parts] == ["", "one", "Two"]
    assert parts[1][1] == "@cache\ndef one(): pass\nx = 1"
    assert "\n".join(part for _, part in parts) == text


# --- everybody uses it --------------------------------------------------------------------------


@pytest.mark.parametrize("text", THERE.values(), ids=THERE)
def test_the_graded_notebook_gives_each_definition_a_cell_however_it_is_spelt(text: str) -> None:
    text = text.replace("\r\n", "\n")  # as a file is read
    script = f"def scale_scores(x):{BODY}{text}"
    *_, last = from_script(script, ["scale_scores", "softmax"]).cells
    assert found(last.source)[0] == "softmax"
    if text.startswith("@"):
        assert last.source.startswith("@cache")


def test_the_sample_class_may_spell_its_changes_in_any_way(tmp_path: Path) -> None:
    head = "# kind: mistake\n# base: reference\n# hands in: script\nimport math\n"
    for name, text in THERE.items():
        (tmp_path / f"{name}.py").write_text(f"{head}{text}", encoding="utf-8")
    for student in read_sample_class(tmp_path):
        assert "softmax" in student.changes, student.name
        assert student.preamble.startswith("import math"), student.name
        assert ("@cache" in student.changes["softmax"]) == (student.name == "decorated")


# --- percent cells ------------------------------------------------------------------------------


def test_cells_begin_at_each_marker_and_together_are_the_text() -> None:
    text = "# head\n#%%\na = 1\n# %% [markdown] tags=1\n# # Prose\n#\n#text\n#  %% last\nb = 2"
    cells = percent_cells(text)
    assert [(cell.marker, cell.text, cell.line, cell.last) for cell in cells] == [
        ("", "# head\n", 0, 1),
        ("#%%", "a = 1\n", 2, 3),
        ("# %% [markdown] tags=1", "# # Prose\n#\n#text\n", 4, 7),
        ("#  %% last", "b = 2", 8, 9),
    ]
    assert [cell.is_prose for cell in cells] == [False, False, True, False]
    assert cells[2].uncommented == "# Prose\n\ntext\n"


@pytest.mark.parametrize("text", ["", "\n", "x = 1", "x = 1\n\n", "\f\n# %%\f\n"])
def test_a_text_of_any_shape_is_its_cells(text: str) -> None:
    cells = percent_cells(text)
    assert (
        "".join(f"{cell.marker}\n{cell.text}" if cell.marker else cell.text for cell in cells)
        == text
    )


def test_a_marker_within_a_string_begins_no_cell_unless_the_file_is_broken() -> None:
    text = 'a = """\n# %%\n"""\n# %%\nb = (\n    """x\n# %%\n"""\n)\n# %%\n'
    assert [cell.line for cell in percent_cells(text)] == [0, 4, 10]
    assert [cell.line for cell in percent_cells(f"{text}(")] == [0, 2, 4, 7, 10]


@pytest.mark.parametrize(
    "file",
    sorted(ROOT.glob("solutions/*/solution.py")) + sorted(ROOT.glob("assignments/*/*.py")),
    ids=lambda file: file.name,
)
def test_the_files_of_the_exercises_are_cut_as_jupytext_cuts_them(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    theirs = jupytext.reads(text, fmt="py:percent").cells
    ours = [cell for cell in percent_cells(text) if cell.text.strip()]
    assert [cell.is_prose for cell in ours] == [cell.cell_type == "markdown" for cell in theirs]
    for mine, cell in zip(ours, theirs, strict=True):
        commented = mine.is_prose or "active" in cell.metadata
        assert (mine.uncommented if commented else mine.text).strip("\n") == cell.source.strip("\n")
