"""Reading what students hand in: every oddity costs its owner only, and is told in a sentence."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from autograder.submission.cells import MOST_CELLS, parsed, pieces
from autograder.submission.code import (
    MOST_LINES,
    MOST_MARKS,
    without_kit_calls,
    without_magics,
    without_marimo,
)
from autograder.submission.file_text import (
    LARGEST_FILE,
    LARGEST_NOTEBOOK,
    LARGEST_SOURCE,
    without_outputs,
)
from autograder.submission.missing_step import misplaced, repeated, written
from autograder.submission.reading import Submission, read_submission
from autograder.values.exercise import Exercise, read_exercise
from autograder.values.verdict import Outcome

ROOT = Path(__file__).resolve().parents[2]
NAME = "numpy_single_head"
STUB = ROOT / "assignments" / NAME
SOLUTION = ROOT / "solutions" / NAME / "solution.py"
SOFTMAX = "def softmax(scores):\n    return scores"
SCALE = "def scale_scores(attention_scores, embedding_dimension):\n    return attention_scores"
ALL_STEPS = 11
# A quarter of what is let in, and the seconds of processor time that it may take to read.
MUCH, SLOWEST = LARGEST_SOURCE // 4, 8.0


@pytest.fixture(scope="module")
def exercise() -> Exercise:
    return read_exercise(STUB)


Handed = Callable[..., Submission]


@pytest.fixture
def handed(tmp_path: Path, exercise: Exercise) -> Handed:
    """Writes one file, as bytes or text, and reads it as anna's submission."""

    def read(content: bytes | str, name: str = f"{NAME}.py") -> Submission:
        data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
        (tmp_path / name).write_bytes(data)
        return read_submission(tmp_path / name, exercise, "anna")

    return read


def notebook(*cells: object, **facts: object) -> str:
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells} | facts)


def code(source: object) -> dict[str, object]:
    return {"cell_type": "code", "source": source, "metadata": {}, "outputs": []}


def steps_in(submission: Submission, exercise: Exercise) -> set[str]:
    return set(written(submission.cells, exercise))


def indented(source: str) -> str:
    return source.replace("\n", "\n    ")


def told(submission: Submission) -> str:
    """The sentence of a rejected submission, which has to be one."""
    assert submission.rejected and submission.cells == ()
    assert submission.rejected.outcome is Outcome.REJECTED
    sentence = submission.rejected.fact
    assert is_sentence(sentence), sentence
    return sentence


def is_sentence(text: str) -> bool:
    return bool(re.fullmatch(r"\S.*[.]", text)) and "  " not in text and "Error" not in text


# --- what is read all the same ------------------------------------------------------------------


def test_what_editors_do_to_a_file_makes_no_difference(handed: Handed, exercise: Exercise) -> None:
    text = SOFTMAX.replace("\n", "\r\n").replace("    ", "\t")
    submission = handed(b"\xef\xbb\xbf" + text.encode() + b"\r\n")
    assert submission.rejected is None and submission.remarks == ()
    assert steps_in(submission, exercise) == {"softmax"}
    for cell in submission.cells:
        compile(cell, "submission", "exec")
        assert "\r" not in cell and "\ufeff" not in cell


def test_lines_of_a_cell_may_be_one_text_or_a_list_and_end_with_crlf(handed: Handed) -> None:
    as_text, as_list = SOFTMAX.replace("\n", "\r\n"), SOFTMAX.splitlines(keepends=True)
    text = "\ufeff" + notebook(code(as_text), code(as_list))
    submission = handed(text, f"{NAME}.ipynb")
    assert submission.cells == (SOFTMAX, SOFTMAX)


def test_ipythons_own_lines_cost_nothing_and_what_only_looks_so_is_left_alone(
    handed: Handed,
) -> None:
    cell = "x = (7\n    % 4)\ntext = '''\n!not a command\n'''"
    submission = handed(notebook(code(f"!pip list\n{SOFTMAX}"), code(cell)), f"{NAME}.ipynb")
    first, second = submission.cells
    assert first.split("\n")[1:] == SOFTMAX.split("\n") and second == cell
    compile(first, "submission", "exec")


def test_calls_of_the_kit_are_taken_out_of_a_notebook(handed: Handed) -> None:
    cells = (
        f"from autograder import open_exercise\ncheck = open_exercise('{NAME}')",
        "import autograder.learning.notebook_check\ncheck(\n    softmax\n)\nanswer = 42",
    )
    kept = ("pass\ncheck = True", "pass\n(True\n\n)\nanswer = 42")
    assert handed(notebook(*map(code, cells)), f"{NAME}.ipynb").cells == kept


def test_a_script_with_a_syntax_error_loses_only_its_cell_and_lines_keep_their_numbers(
    handed: Handed,
) -> None:
    text = f"# mine\n# %%\n{SOFTMAX}\n# %%\ndef broken(:\n# %%\n{SCALE}\n"
    first, broken, last = handed(text).cells
    assert SOFTMAX in first and "def broken" in broken
    above = text.split("\n").index(SCALE.split("\n")[0])
    assert last == "\n" * above + f"{SCALE}\n"
    for cell in (first, last):
        compile(cell, "submission", "exec")


def test_a_notebook_of_the_third_format_is_read(handed: Handed, exercise: Exercise) -> None:
    sheets = [
        {"cells": [{"cell_type": "code", "input": [SOFTMAX]}, {"cell_type": "markdown"}]},
        {"cells": [{"cell_type": "code", "input": SCALE}]},
    ]
    text = json.dumps({"nbformat": 3, "metadata": {}, "worksheets": sheets})
    submission = handed(text, f"{NAME}.ipynb")
    assert submission.rejected is None
    assert steps_in(submission, exercise) == {"softmax", "scale_scores"}


@pytest.mark.parametrize(
    "odd",
    [
        *(None, 1, [], "code", {}),
        {"cell_type": 7, "source": SCALE},
        {"cell_type": ["code"], "source": SCALE},
        *(code(source) for source in (None, 5, {"a": 1}, [None, 3, ["x"]])),
    ],
    ids=repr,
)
def test_cells_of_wrong_types_are_passed_over(
    handed: Handed, exercise: Exercise, odd: object
) -> None:
    submission = handed(notebook(odd, code(SOFTMAX)), f"{NAME}.ipynb")
    assert submission.rejected is None
    assert submission.cells == (SOFTMAX,)


@pytest.mark.parametrize("sheets", [[None], [{"cells": 3}], ["x"], []], ids=repr)
def test_sheets_of_wrong_types_hold_nothing(handed: Handed, sheets: list[object]) -> None:
    text = json.dumps({"nbformat": 3, "worksheets": sheets})
    submission = handed(text, f"{NAME}.ipynb")
    assert submission.cells == () and submission.rejected is None


@pytest.mark.parametrize(
    "source",
    [
        *("(" * 5_000, "-" * 50_000 + "1", "+".join(["x"] * 50_000), "\0", "x = '\ud800'"),
        "if x:\n" + "".join(" " * depth + "if x:\n" for depth in range(1, 300)),
    ],
    ids=["brackets", "signs", "sums", "null", "surrogate", "blocks"],
)
def test_code_that_python_cannot_read_is_kept_as_it_is(
    handed: Handed, exercise: Exercise, source: str
) -> None:
    text = notebook(code(source), code(SOFTMAX))
    submission = handed(text, f"{NAME}.ipynb")
    assert submission.rejected is None
    assert steps_in(submission, exercise) == {"softmax"}
    assert submission.cells[-1] == SOFTMAX
    assert len(submission.code_hash) == 64


@pytest.mark.parametrize(("text", "name"), [("", "empty.py"), (notebook(), f"{NAME}.ipynb")])
def test_an_empty_file_is_read_and_holds_nothing(handed: Handed, text: str, name: str) -> None:
    submission = handed(text, name)
    assert submission.rejected is None and submission.cells == ()


# --- what is refused, in a sentence -------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("this is not JSON", "not valid JSON (line 1)"),
        ('{\n  "cells": [\n    oops', "not valid JSON (line 3)"),
        ("", "is empty"),
        ("[" * 100_000, "not valid JSON"),
        ("\n<!DOCTYPE html>", "is a web page and no notebook: download"),
        ("[]", "no list of cells"),
        ('{"cells": 3}', "no list of cells"),
        ('{"nbformat": 4}', "no list of cells"),
        ("null", "no list of cells"),
        ("{}".encode("utf-16"), "no list of cells"),
        (b"PK\x03\x04\x00\xff", "is packed, whatever its name says: unpack it"),
    ],
    ids="text cut empty deep page list number none null UTF-16 zip".split(),
)
def test_what_is_no_notebook_is_told_in_a_sentence(
    handed: Handed, content: bytes | str, words: str
) -> None:
    sentence = told(handed(content, f"{NAME}.ipynb"))
    assert words in sentence and f"{NAME}.ipynb" in sentence


def test_the_notebook_of_another_exercise_is_read_and_a_remark_says_whose_it_is(
    handed: Handed,
) -> None:
    opened = [code(f'check = open_exercise("{name}")') for name in ("vit_multi_head", NAME)]
    (remark,) = handed(notebook(opened[0], code("x = 1")), "work.ipynb").remarks[-1:]
    assert remark == (
        f"work.ipynb is the notebook of `vit_multi_head`: hand in that of `{NAME}`, if you have "
        "done it."
    )
    assert handed(notebook(*opened), f"{NAME}.ipynb").remarks == ()


def test_a_script_that_is_not_utf_8_is_read_and_a_remark_says_where(
    handed: Handed, exercise: Exercise
) -> None:
    submission = handed(f"# caf\u00e9\n{SOFTMAX}".encode("latin-1"))
    (remark,) = submission.remarks
    assert "not UTF-8 text (byte 5)" in remark and "save it as UTF-8" in remark
    assert steps_in(submission, exercise) == {"softmax"}


@pytest.mark.parametrize("cookie", ["latin-1", "iso-8859-15", "cp1252"])
def test_an_encoding_that_a_script_declares_is_used_when_it_is_a_plain_one(
    handed: Handed, cookie: str
) -> None:
    text = f"# -*- coding: {cookie} -*-\nname = 'caf\u00e9'"
    submission = handed(text.encode(cookie))
    assert submission.cells == (text,) and submission.remarks == ()


def test_an_encoding_that_hides_code_is_not_used(handed: Handed) -> None:
    text = "# coding: utf-7\nname = 'x'\n#+AAo-import os"
    assert handed(text.encode()).cells == (text,)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (f"{NAME}.py", "#" * (LARGEST_SOURCE + 1)),
        (f"{NAME}.ipynb", " " * (LARGEST_NOTEBOOK + 1)),
        (f"{NAME}.ipynb", " " * (LARGEST_FILE + 1)),
        (f"{NAME}.ipynb", notebook(code("#" * LARGEST_SOURCE), code("x"))),
    ],
    ids=["script", "notebook", "file", "code of a notebook"],
)
def test_what_is_too_large_is_told_with_the_limit(handed: Handed, name: str, content: str) -> None:
    sentence = told(handed(content, name))
    assert name in sentence and re.search(r"(larger|more) than \d+ kB", sentence)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\n" * (MOST_LINES + 1), f"more than {MOST_LINES} lines of code"),
        (f"x = [{'0,' * MOST_MARKS}]", f"more than {MOST_MARKS} brackets"),
    ],
    ids=["lines", "marks"],
)
def test_what_is_data_and_not_code_is_told_so(handed: Handed, text: str, words: str) -> None:
    sentence = told(handed(text))
    assert words in sentence and "leave data out of it" in sentence


def test_a_large_notebook_with_little_code_is_read(handed: Handed) -> None:
    picture = {"cell_type": "markdown", "source": "#" * (2 * LARGEST_SOURCE)}
    assert handed(notebook(picture, code(SOFTMAX)), f"{NAME}.ipynb").cells == (SOFTMAX,)


def test_a_file_that_is_not_there_is_told_in_a_sentence(tmp_path: Path, exercise: Exercise) -> None:
    submission = read_submission(tmp_path / "gone.py", exercise, "anna")
    assert "gone.py cannot be opened" in told(submission)


@pytest.mark.parametrize("linked", ["file", "file in a folder", "folder"])
def test_a_link_to_somebody_elses_work_is_not_followed(
    tmp_path: Path, exercise: Exercise, linked: str
) -> None:
    """The grader may read what a student may not, such as the solution."""
    link, target = tmp_path / f"{NAME}.py", SOLUTION
    if linked == "folder":
        link, target = tmp_path / "anna", SOLUTION.parent
    link.symlink_to(target)
    sentence = told(
        read_submission(tmp_path if linked == "file in a folder" else link, exercise, "anna")
    )
    assert f"{link.name} is" in sentence and "hand in the file itself" in sentence


# --- folders ------------------------------------------------------------------------------------


def test_an_empty_folder_is_told_what_to_hand_in(tmp_path: Path, exercise: Exercise) -> None:
    (tmp_path / "README.md").write_text("hello", encoding="utf-8")
    sentence = told(read_submission(tmp_path, exercise, "anna"))
    assert "There is no notebook and no .py file" in sentence
    assert f"{NAME}.ipynb or {NAME}.py" in sentence


def test_where_both_files_hold_work_the_notebook_counts_and_a_remark_says_so(
    tmp_path: Path, exercise: Exercise
) -> None:
    (tmp_path / f"{NAME}.ipynb").write_text(notebook(code(SOFTMAX)), encoding="utf-8")
    (tmp_path / f"{NAME}.py").write_text(SCALE, encoding="utf-8")
    submission = read_submission(tmp_path, exercise, "anna")
    assert submission.path.suffix == ".ipynb"
    assert steps_in(submission, exercise) == {"softmax"}
    (remark,) = submission.remarks
    assert is_sentence(remark) and f"{NAME}.py" in remark and "not read" in remark


@pytest.mark.parametrize(("worked", "other"), [(".py", ".ipynb"), (".ipynb", ".py")])
def test_where_one_of_both_files_is_as_released_the_other_counts(
    tmp_path: Path, exercise: Exercise, worked: str, other: str
) -> None:
    work = {".py": SOFTMAX, ".ipynb": notebook(code(SOFTMAX))}
    (tmp_path / f"{NAME}{worked}").write_text(work[worked], encoding="utf-8")
    released = (STUB / f"{NAME}{other}").read_text(encoding="utf-8")
    (tmp_path / f"{NAME}{other}").write_text(released, encoding="utf-8")
    submission = read_submission(tmp_path, exercise, "anna")
    assert submission.path.suffix == worked and submission.remarks == ()
    assert steps_in(submission, exercise) == {"softmax"}


@pytest.mark.parametrize("broken", [b"no JSON", b"\xff\xff", b"{}"], ids=repr)
def test_where_one_of_both_files_cannot_be_read_the_other_counts_and_a_remark_says_so(
    tmp_path: Path, exercise: Exercise, broken: bytes
) -> None:
    (tmp_path / f"{NAME}.ipynb").write_bytes(broken)
    (tmp_path / f"{NAME}.py").write_text(SOFTMAX, encoding="utf-8")
    submission = read_submission(tmp_path, exercise, "anna")
    assert steps_in(submission, exercise) == {"softmax"}
    (remark,) = submission.remarks
    assert f"{NAME}.ipynb is not" in remark and f"Until then, {NAME}.py counts." in remark


@pytest.mark.parametrize("name", sorted(path.parent.name for path in STUB.parent.glob("*/*.py")))
def test_where_a_notebook_cannot_be_read_the_stub_beside_it_is_no_work(
    tmp_path: Path, name: str
) -> None:
    given = STUB.parent / name
    shutil.copy(given / f"{name}.py", tmp_path)
    notebook_there = (given / f"{name}.ipynb").read_text(encoding="utf-8")
    (tmp_path / f"{name}.ipynb").write_text(notebook_there[:5_000], encoding="utf-8")
    exercise = read_exercise(given)
    assert f"{name}.ipynb is not" in told(read_submission(tmp_path, exercise, "anna"))
    (tmp_path / f"{name}.ipynb").write_text(notebook_there, encoding="utf-8")
    assert read_submission(tmp_path, exercise, "anna").rejected is None


def test_where_a_notebook_cannot_be_read_a_step_under_another_name_is_work(
    tmp_path: Path, exercise: Exercise
) -> None:
    (tmp_path / f"{NAME}.ipynb").write_text("no JSON", encoding="utf-8")
    text = SOFTMAX.replace("def softmax", "def soft_max")
    (tmp_path / f"{NAME}.py").write_text(text, encoding="utf-8")
    submission = read_submission(tmp_path, exercise, "anna")
    assert submission.rejected is None and submission.path.suffix == ".py"


def test_where_a_folder_has_a_notebooks_name_the_script_counts(
    tmp_path: Path, exercise: Exercise
) -> None:
    (tmp_path / f"{NAME}.ipynb").mkdir()
    (tmp_path / f"{NAME}.py").write_text(SOFTMAX, encoding="utf-8")
    submission = read_submission(tmp_path, exercise, "anna")
    assert steps_in(submission, exercise) == {"softmax"}


def test_a_renamed_notebook_is_read_and_a_remark_says_so(
    tmp_path: Path, exercise: Exercise
) -> None:
    (tmp_path / "my work (1).ipynb").write_text(notebook(code(SOFTMAX)), encoding="utf-8")
    submission = read_submission(tmp_path, exercise, "anna")
    assert steps_in(submission, exercise) == {"softmax"}
    (remark,) = submission.remarks
    assert is_sentence(remark)
    assert "my work (1).ipynb was read" in remark and f"there is no {NAME}.ipynb" in remark


def test_the_exercises_own_name_goes_before_other_names(tmp_path: Path, exercise: Exercise) -> None:
    (tmp_path / "a.ipynb").write_text(notebook(code(SCALE)), encoding="utf-8")
    (tmp_path / f"{NAME}.py").write_text(SOFTMAX, encoding="utf-8")
    submission = read_submission(tmp_path, exercise, "anna")
    assert submission.path.name == f"{NAME}.py"
    assert "a.ipynb" in submission.remarks[0]


# --- what is work, and what is equal ------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".py", ".ipynb"])
def test_nothing_is_written_in_what_students_get(exercise: Exercise, suffix: str) -> None:
    submission = read_submission(STUB / f"{NAME}{suffix}", exercise, "anna")
    assert submission.rejected is None and submission.cells
    assert steps_in(submission, exercise) == set()


def test_everything_is_written_in_the_reference(exercise: Exercise) -> None:
    submission = read_submission(SOLUTION, exercise, "anna")
    assert steps_in(submission, exercise) == {step.name for step in exercise.steps}
    assert len(exercise.steps) == ALL_STEPS


@pytest.mark.parametrize(
    "body",
    [
        "pass",
        '"""Words."""',
        "raise NotImplementedError",
        "raise NotImplementedError('not yet')",
        '"""Words."""\n    raise NotImplementedError',
        "...",
    ],
)
def test_a_body_that_does_nothing_is_a_stub(exercise: Exercise, body: str) -> None:
    function = f"def softmax(scores):\n    {body}"
    layer = f"class SingleHeadAttention:\n    def forward(self, x):\n        {body}".replace(
        "\n    r", "\n        r"
    )
    assert written((function, layer), exercise) == frozenset()


@pytest.mark.parametrize("body", ["return scores", "raise ValueError", "scores += 1; pass"])
def test_a_body_that_does_something_is_work(exercise: Exercise, body: str) -> None:
    assert written((f"def softmax(scores):\n    {body}",), exercise) == {"softmax"}


def test_a_class_with_one_method_filled_in_is_work(exercise: Exercise) -> None:
    layer = (
        "class SingleHeadAttention:\n"
        "    def __init__(self, d, rng):\n        raise NotImplementedError\n"
        "    def forward(self, x):\n        return x"
    )
    assert written((layer,), exercise) == {"SingleHeadAttention"}


def test_work_that_does_not_parse_is_work(exercise: Exercise) -> None:
    assert written(("def softmax(scores:\n    return 1",), exercise) == {"softmax"}


def test_equal_code_has_one_hash_and_other_code_another(handed: Handed) -> None:
    one = handed(SOFTMAX, "one.py").code_hash
    assert handed("\ufeff" + SOFTMAX, "two.py").code_hash == one
    assert handed(SOFTMAX + "\n# mine", "three.py").code_hash != one


# --- what only IPython understands --------------------------------------------------------------

IPYTHONS_OWN = [
    "%matplotlib inline",
    "!pip install einops",
    "!ls \\\n  -l",
    "?softmax",
    "softmax?",
    "np.exp??",
    "%timeit 1 + 1",
    "files = !ls",
    "a, b = %magic x",
    "names['here'] = !ls",
    "if True:\n    %who\n    !ls",
    "text = '''\n%text\n'''\n%who",
    "x = (7\n    % 4)\n%who",
    "x = 7 \\\n    % 4\n%who",
    "# a comment (\n!ls",
    "word = 'a \\' (' \n!ls",
    "x = [  # [\n]\n%who",
    "x = 'unclosed\n%who",
]


@pytest.mark.parametrize("cell", IPYTHONS_OWN)
def test_the_lines_that_ipython_would_change_are_changed_and_no_others(cell: str) -> None:
    theirs = TransformerManager().transform_cell(cell)
    assert "get_ipython()" in theirs
    before, ours = cell.split("\n"), without_magics(cell).text.split("\n")
    assert len(ours) == len(before)
    changed = {line for line, now in zip(before, ours) if line != now}
    # Of theirs, a line that was joined from several stands as one.
    assert changed == {line for line in before if line not in theirs.split("\n")}
    if "unclosed" not in cell:
        compile("\n".join(ours), "cell", "exec")


def test_what_a_command_would_give_is_there_and_empty() -> None:
    names: dict[str, object] = {}
    exec(without_magics("files = !ls\nx = %magic\n%time y = 2").text, names)
    assert (names["files"], names["x"], names["y"]) == ([], None, 2)


PASTED = [
    ">>> def f(x):\n...     return x\n...\n>>> y = f(2)",
    ">>> def f(x):\n...     return x\n\n>>> y = f(2)",
    "\n>>> def f(x):\n...     '''Twice.'''\n...     return x\n>>> y = f(2)",
    "In [3]: def f(x):\n   ...:     return x\n   ...: \n   ...: y = f(2)",
    "    def f(x):\n        return x\n\n    y = f(2)",
    "  >>> def f(x):\n  ...     return x\n  >>> y = f(2)",
]


@pytest.mark.parametrize("cell", PASTED)
def test_prompts_and_indentation_that_were_pasted_are_no_code_as_in_ipython(cell: str) -> None:
    theirs: dict[str, object] = {}
    exec(TransformerManager().transform_cell(cell), theirs)
    ours: dict[str, object] = {}
    plain = without_magics(cell).text
    exec(plain, ours)
    assert ours["y"] == theirs["y"] == 2 and plain.count("\n") == cell.count("\n")


MARIMO = '''import marimo

__generated_with = "0.17.0"
app = marimo.App(width="medium")

with app.setup:
    import numpy as np


@app.function(hide_code=True)
def softmax(scores):
    return np.exp(scores)


@app.cell
def _(
    mo,
):
    text = """one
    two"""

    def scale_scores(attention_scores, embedding_dimension):
        return attention_scores
    return scale_scores, text


@app.class_definition
class SingleHeadAttention:
    x = 1


if __name__ == "__main__":
    app.run()
'''


def test_a_file_of_marimo_is_read_as_plain_python_and_that_is_told(handed: Handed) -> None:
    submission = handed(MARIMO)
    assert submission.remarks == (
        f"{NAME}.py is a marimo notebook: what its cells hold was read as plain Python.",
    )
    names: dict[str, Any] = {}
    exec("\n".join(submission.cells), names)
    assert names["softmax"](0) == 1 and names["text"] == "one\ntwo"
    assert names["scale_scores"](3, 1) == 3 and names["SingleHeadAttention"].x == 1
    line = MARIMO.split("\n").index("    return np.exp(scores)")
    assert submission.cells[0].split("\n")[line] == "    return np.exp(scores)"


@pytest.mark.parametrize(
    "text", ["import marimo\nx = 1", "@app.cell\ndef f(): pass  # marimo", "x = 'marimo"]
)
def test_what_only_names_marimo_stays_as_it_is(text: str) -> None:
    assert without_marimo(text) == text


@pytest.mark.parametrize("magic", ["%%time", "%%capture out", "%%prun -l 5"])
def test_a_cell_that_is_timed_is_run(handed: Handed, exercise: Exercise, magic: str) -> None:
    submission = handed(notebook(code(f"{magic}\n{SOFTMAX}")), f"{NAME}.ipynb")
    assert submission.cells == (f"\n{SOFTMAX}",)


@pytest.mark.parametrize("magic", ["%%bash", "%%html", "%%writefile a.py", "%%timeit", "%%new"])
def test_a_cell_that_is_for_another_program_is_not_run_and_its_steps_are_told(
    handed: Handed, magic: str
) -> None:
    submission = handed(notebook(code(f"{magic}\n{SOFTMAX}")), f"{NAME}.ipynb")
    assert submission.cells == ()
    ((name, words),) = submission.not_run
    assert name == "softmax" and f"`{magic.split()[0]}`" in words and is_sentence(words)


# --- what is there for the learner's own run only -----------------------------------------------


@pytest.mark.parametrize(
    ("cell", "kept"),
    [
        ("x = 1; check(f)", "x = 1; True"),
        ("import numpy as np, autograder", "import numpy as np"),
        ("result = check(softmax)", "result = True"),
        ("print(check(softmax))", "print(True)"),
        ("if x:\n    check(f)", "if x:\n    True"),
        ("for f in (g, h):\n    check(f)", "for f in (g, h):\n    True"),
        ("try:\n    check(f)\nfinally:\n    x = 1", "try:\n    True\nfinally:\n    x = 1"),
        ("é = 'ü'; check(é); z = 'ö'", "é = 'ü'; True; z = 'ö'"),
        ("from autograder import open_exercise as o\np = o('x')\np(f)", "pass\np = True\nTrue"),
        ("check(\n    softmax\n); y = 2", "(True\n\n); y = 2"),
        ("get_ipython().run_line_magic('a', 'b')", "True"),
        ("def check(x):\n    return 1\ny = check(3)", "def check(x):\n    return 1\ny = check(3)"),
        ("from mine import check\ny = check(3)", "from mine import check\ny = check(3)"),
        ("def f():\n    check(g)", "def f():\n    check(g)"),
    ],
)
def test_only_the_call_of_the_kit_is_taken_out(cell: str, kept: str) -> None:
    assert without_kit_calls([cell], notebook=True) == (kept,)
    compile(kept, "cell", "exec")


def test_a_name_that_one_cell_gives_the_kit_means_it_in_all() -> None:
    cells = ["from autograder import open_exercise as o", "probe = o('x')", "y = probe(f)"]
    assert without_kit_calls(cells, notebook=True) == ("pass", "probe = True", "y = True")


def test_what_a_notebook_runs_as_the_main_program_is_run() -> None:
    cell = "if __name__ == '__main__':\n    x = 1"
    assert without_kit_calls([cell], notebook=True) == ("if True:\n    x = 1",)
    assert without_kit_calls([cell], notebook=False) == (cell,)


def test_what_is_remembered_of_a_cell_holds_for_the_names_of_its_own_hand_in() -> None:
    call = "check(softmax)"
    assert without_kit_calls([call], notebook=True) == ("True",)
    own = "def check(step):\n    return step"
    assert without_kit_calls([own, call], notebook=True) == (own, call)
    assert without_kit_calls([call], notebook=True) == ("True",)


def test_a_call_of_the_kit_is_found_in_letters_that_python_reads_as_latin() -> None:
    assert without_kit_calls(["\uff43heck(softmax)"], notebook=True) == ("True",)


def test_a_call_of_the_kit_is_found_among_very_many_names_for_it() -> None:
    names = "\n".join(f"name_{number} = open_exercise()" for number in range(100))
    cells = [names, "name_99(softmax)", "other(softmax)"]
    assert without_kit_calls(cells, notebook=True)[1:] == ("True", "other(softmax)")


# --- what is cut, and what it costs -------------------------------------------------------------


def test_an_error_costs_its_statement_only_and_lines_keep_their_numbers() -> None:
    text = (
        "import numpy as np\n"
        "def broken(x:\n    return x\n\n"
        "@np.vectorize\ndef right(x):\n    return x\n\n"
        "words = '''\nabc\nclass of words\n'''\n"
        "print 'old'\n"
        "<<<<<<< HEAD\n"
        "last = 1"
    )
    (cut,) = pieces([text])
    lines = text.split("\n")
    for piece in cut:
        for number, line in enumerate(piece.split("\n")):
            assert line in ("", lines[number])
    broken = [piece.strip() for piece in cut if parsed(piece) is None]
    assert broken == ["def broken(x:\n    return x", "print 'old'", "<<<<<<< HEAD"]
    names: dict[str, object] = {}
    for piece in cut:
        if parsed(piece):
            exec(compile(piece, "piece", "exec"), names)
    assert {"np", "right", "words", "last"} <= set(names)
    assert names["words"] == "\nabc\nclass of words\n"


STRAY = ("```", "```\n\n", "- a note", "$ python x.py", "1. text", "]", "\x1a", "? x\n\n1. y\n- z")


@pytest.mark.parametrize("below", ["", "\n\ndef last():\n    return 1\n"])
@pytest.mark.parametrize("stray", [*STRAY, "\n".join(f"- note {n} of x" for n in range(40))])
@pytest.mark.parametrize("gap", ["\n", "\n\n  \n"])
def test_a_stray_line_costs_nothing_above_it(stray: str, gap: str, below: str) -> None:
    right = "import numpy as np\n\nif np:\n    x = 1\nelse:\n    x = 2\n" + SOFTMAX
    (cut,) = pieces([f"{right}{gap}{stray}{below}"])
    names: dict[str, object] = {}
    for piece in cut:
        if parsed(piece):
            exec(compile(piece, "piece", "exec"), names)
    assert {"softmax", "x"} <= names.keys() and ("last" in names) == bool(below)
    assert len([piece for piece in cut if parsed(piece) is None]) == 1


def test_a_stray_line_below_a_text_of_several_lines_costs_nothing_above_it() -> None:
    right = 'def f():\n    """About\n- what\nit does\n    """\n    return 1'
    assert pieces([f"{right}\n```"]) == [(right, "\n" * 6 + "```")]


@pytest.mark.parametrize("stray", ["1. a note", "```", "]\n- a\n\n"])
def test_a_function_is_not_cut_in_two_at_a_stray_line_within_it(stray: str) -> None:
    text = f"def softmax(scores):\n    small = scores\n{stray}\n    return small"
    assert pieces([text]) == [(text,)]


@pytest.mark.parametrize("end", ["\n\x1a", "\x1a"])
@pytest.mark.parametrize("name", [f"{NAME}.py", f"{NAME}.ipynb"])
def test_the_end_mark_of_dos_costs_nothing(handed: Handed, name: str, end: str) -> None:
    content = SOFTMAX if name.endswith(".py") else notebook(code(SOFTMAX))
    assert [cell.strip() for cell in handed(content + end, name).cells] == [SOFTMAX]


def test_outputs_are_left_out_and_all_else_is_kept() -> None:
    tricky = '"outputs": [ in a string \\" ] and [ more'
    cells: list[dict[str, Any]] = [
        code(f"text = {tricky!r}") | {"outputs": [{"text": ["[", '"outputs": ["x"]', "]]"]}]},
        {"cell_type": "markdown", "source": ["outputs", "[", tricky], "metadata": {"outputs": 3}},
        code(SOFTMAX) | {"outputs": [{"data": {"outputs": [[1], [2]]}}]},
    ]
    text = notebook(*cells)
    left = json.loads(without_outputs(text))
    for cell in cells:
        if "outputs" in cell:
            cell["outputs"] = []
    assert left == json.loads(notebook(*cells))


HOSTILE = {
    "a magic on every line": "%who\n" * (MUCH // 5),
    "one long line": "x" * (MUCH - 8) + " = (!",
    "spaces": " " * (MUCH - 8) + "x ?!",
    "escaped quotes": "'\\" * (MUCH // 2),
    "no statement is right": "x y\n" * (MUCH // 4),
    "as many as are cut": "def f(:\n  pass\n" * 2400,
    "as long as is cut": ("x y" + "+1" * 18 + "\n") * 4900,
    "checks": "check(f)\n" * (MUCH // 9),
    "marks of cells": "# %%\n" * (MUCH // 5) + "(",
    "definitions": "def s(): 0\n" * (MUCH // 11),
    "a note below each definition": "def s():\n  0\n- a b\n" * 1600,
    "notes below definitions": ("def s():\n  0\n" + "- a b\n" * 30) * 150,
    "numbers with a note last": "1\n" * 4900 + "- a b",
    "brackets and notes": ("x = (1\n)\n" + "(y)\n" * 25 + "- a b\n") * 170,
}


# As much as is cut at all takes half a second each.
MUCH_TO_CUT = ("as long as is cut", "a note below each definition", "brackets and notes")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(text, id=name, marks=pytest.mark.slow if name in MUCH_TO_CUT else ())
        for name, text in HOSTILE.items()
    ],
)
def test_no_text_takes_the_reader_long_or_grows(handed: Handed, text: str) -> None:
    before = time.process_time()
    submission = handed(text)
    seconds = time.process_time() - before
    assert seconds < SLOWEST, f"{seconds:.1f} s of processor time"
    assert sum(map(len, submission.cells)) <= 2 * LARGEST_SOURCE


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" * 20 * MUCH, marks=pytest.mark.slow),
        '"' + '\\"' * (5 * MUCH - 1),
        pytest.param('"outputs":[' * (2 * MUCH), marks=pytest.mark.slow),
    ],
)
def test_no_notebook_takes_the_reader_long(text: str) -> None:
    before = time.process_time()
    without_outputs(text)
    seconds = time.process_time() - before
    assert seconds < SLOWEST, f"{seconds:.1f} s of processor time"


def test_more_cells_than_anybody_writes_are_refused(handed: Handed) -> None:
    cells = [code("")] * (MOST_CELLS + 1)
    assert f"more than {MOST_CELLS} cells" in told(handed(notebook(*cells), f"{NAME}.ipynb"))


# --- where a step is instead --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("def soft_max(scores):\n    return scores", "There is a `soft_max`"),
        (f"class A:\n    {indented(SOFTMAX)}", "inside the class `A`"),
        (f"def f():\n    {indented(SOFTMAX)}", "inside the function `f`"),
        (f"if x:\n    {indented(SOFTMAX)}", "inside an `if`"),
        (f"for x in y:\n    {indented(SOFTMAX)}", "inside another statement"),
    ],
)
def test_a_step_that_stands_elsewhere_is_told_where(
    exercise: Exercise, cell: str, words: str
) -> None:
    sentence = misplaced([cell], exercise)["softmax"]
    assert words in sentence and re.fullmatch(r".*[.?]", sentence)


def test_a_step_is_not_taken_for_another_one_of_a_similar_name(exercise: Exercise) -> None:
    cell = "def compute_attention_scores(queries, keys):\n    return queries"
    assert "compute_attention_weights" not in misplaced([cell], exercise)


def test_a_step_of_another_kind_at_its_place_is_not_elsewhere(exercise: Exercise) -> None:
    assert misplaced([f"async {SOFTMAX}"], exercise) == {}


def test_a_step_that_is_written_is_nowhere_else(exercise: Exercise) -> None:
    assert misplaced([SOFTMAX, f"class A:\n    {indented(SOFTMAX)}"], exercise) == {}


def test_a_copied_stub_does_not_undo_the_answer_above_it(
    handed: Handed, exercise: Exercise
) -> None:
    stub = "def softmax(scores):\n    raise NotImplementedError"
    submission = handed(notebook(code(SOFTMAX), code(f"x = 1\n{stub}\ny = 2")), f"{NAME}.ipynb")
    assert submission.cells == (SOFTMAX, "x = 1\n\n\ny = 2")
    (remark,) = submission.remarks
    assert "`softmax`" in remark and is_sentence(remark)


def test_an_answer_below_the_stub_is_nothing_to_remark_on(handed: Handed) -> None:
    stub = "def softmax(scores):\n    raise NotImplementedError"
    submission = handed(notebook(code(stub), code(SOFTMAX)), f"{NAME}.ipynb")
    assert submission.cells == (stub, SOFTMAX) and submission.remarks == ()


def test_what_cannot_be_read_is_not_equal_to_what_is_empty(handed: Handed) -> None:
    hashes = {handed(text, f"{NAME}.ipynb").code_hash for text in ("", "{", notebook())}
    assert len(hashes) == 3


# --- a step that is there more than once --------------------------------------------------------


def told_of_softmax(handed: Handed, exercise: Exercise, *texts: str) -> str:
    cells = handed(notebook(*map(code, texts)), f"{NAME}.ipynb").cells
    return repeated(cells, exercise).get("softmax", "")


def test_of_a_step_that_is_there_twice_the_one_that_counts_is_told(
    handed: Handed, exercise: Exercise
) -> None:
    again = "def softmax(scores):\n    return scores / 2"
    assert told_of_softmax(handed, exercise, SOFTMAX, SCALE, again, SCALE) == (
        "`softmax` is there 2 times, and the last one counts, the one with the line "
        "`return scores / 2`. Keep the one that you want, and delete the others."
    )


@pytest.mark.parametrize("other", ["from scipy.special import softmax", "softmax = np.exp"])
def test_a_step_is_also_replaced_by_an_import_or_a_name(
    handed: Handed, exercise: Exercise, other: str
) -> None:
    told = told_of_softmax(handed, exercise, SOFTMAX, other)
    assert f"the last one counts, the one with the line `{other}`" in told and is_sentence(told)


@pytest.mark.parametrize("other", [SOFTMAX, "softmax = jit(softmax)", "x = softmax", "x = 1"])
def test_a_step_that_is_written_once_is_not_told_as_there_twice(
    handed: Handed, exercise: Exercise, other: str
) -> None:
    assert told_of_softmax(handed, exercise, SOFTMAX, other) == ""


# --- where the file lies ------------------------------------------------------------------------


def in_folder(folder: Path, files: dict[str, str], exercise: Exercise) -> Submission:
    for name, text in files.items():
        (folder / "anna" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "anna" / name).write_text(text)
    return read_submission(folder / "anna", exercise, "anna")


def test_a_hand_in_further_down_is_read_where_there_is_none_at_the_top(
    tmp_path: Path, exercise: Exercise
) -> None:
    files = {f"a/b/{NAME}.py": SOFTMAX, "a/b/c/deeper.py": SCALE, ".venv/x.py": "x = 1"}
    submission = in_folder(tmp_path, {**files, "notes.txt": "mine"}, exercise)
    assert submission.cells == (SOFTMAX,) and submission.path.name == f"{NAME}.py"
    assert submission.remarks[0].startswith(f"a/b/{NAME}.py was read, since there is nothing above")
    submission = in_folder(tmp_path, {"top.py": SCALE}, exercise)
    assert submission.cells == (SCALE,)


def test_no_link_is_followed_to_what_lies_further_down(tmp_path: Path, exercise: Exercise) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / f"{NAME}.py").write_text(SOFTMAX)
    (tmp_path / "anna").mkdir()
    (tmp_path / "anna" / "link").symlink_to(tmp_path / "secret")
    submission = read_submission(tmp_path / "anna", exercise, "anna")
    assert submission.rejected and "There is no notebook" in submission.rejected.fact


@pytest.mark.parametrize(
    ("file", "told"),
    [
        (f".ipynb_checkpoints/{NAME}-checkpoint.ipynb", "There is only Jupyter's own copy"),
        ("homework.zip", "homework.zip is packed: unpack it"),
        (f"{NAME}.html", f"{NAME}.html shows a notebook, but is none"),
        ("notes.txt", "There is no notebook and no .py file in anna"),
        ("__MACOSX/x.py", "There is no notebook and no .py file in anna"),
    ],
)
def test_what_was_handed_in_in_place_of_the_file_is_named(
    tmp_path: Path, exercise: Exercise, file: str, told: str
) -> None:
    submission = in_folder(tmp_path, {file: "{}"}, exercise)
    assert submission.rejected is not None and submission.rejected.fact.startswith(told)
    assert f"{NAME}.ipynb" in submission.rejected.fact and is_sentence(submission.rejected.fact)


@pytest.mark.parametrize("name", ["anna.zip", "anna.pdf"])
def test_a_file_that_is_no_hand_in_is_named_for_what_it_is(handed: Handed, name: str) -> None:
    rejected = handed("PK", name).rejected
    assert rejected is not None and rejected.fact.startswith(f"{name} ")
    assert "neither" not in rejected.fact
