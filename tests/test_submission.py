"""Reading what students hand in: every oddity costs its owner only, and is told in a sentence."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.exercise import Exercise, read_exercise
from autograder.submission import (
    LARGEST_NOTEBOOK,
    LARGEST_SOURCE,
    Submission,
    read_submission,
    written,
)
from autograder.verdict import Outcome

ROOT = Path(__file__).resolve().parent.parent
NAME = "numpy_single_head"
STUB = ROOT / "assignments" / NAME
SOLUTION = ROOT / "solutions" / NAME / "solution.py"
SOFTMAX = "def softmax(scores):\n    return scores"
SCALE = "def scale_scores(attention_scores, embedding_dimension):\n    return attention_scores"
ALL_STEPS = 11


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


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + SOFTMAX.encode(),
        SOFTMAX.replace("\n", "\r\n").encode(),
        SOFTMAX.replace("    ", "\t").encode(),
        b"\xef\xbb\xbf" + SOFTMAX.replace("\n", "\r\n").replace("    ", "\t").encode() + b"\r\n",
    ],
    ids=["BOM", "CRLF", "tabs", "all three"],
)
def test_what_an_editor_does_to_a_file_makes_no_difference(
    handed: Handed, exercise: Exercise, content: bytes
) -> None:
    submission = handed(content)
    assert submission.rejected is None and submission.remarks == ()
    assert steps_in(submission, exercise) == {"softmax"}
    for cell in submission.cells:
        compile(cell, "submission", "exec")
        assert "\r" not in cell and "\ufeff" not in cell


def test_a_notebook_may_begin_with_a_byte_order_mark_and_have_crlf_in_its_cells(
    handed: Handed, exercise: Exercise
) -> None:
    text = "\ufeff" + notebook(code(SOFTMAX.replace("\n", "\r\n")), code(SCALE.split("\n")))
    submission = handed(text.replace('"def scale', '"def scale'), f"{NAME}.ipynb")
    assert steps_in(submission, exercise) >= {"softmax"}
    assert submission.cells[0] == SOFTMAX


def test_lines_of_a_cell_may_be_one_text_or_a_list(handed: Handed) -> None:
    as_list = [line + "\n" for line in SOFTMAX.split("\n")][:-1] + [SOFTMAX.split("\n")[-1]]
    submission = handed(notebook(code(SOFTMAX), code(as_list)), f"{NAME}.ipynb")
    assert submission.cells == (SOFTMAX, SOFTMAX)


@pytest.mark.parametrize(
    "line",
    ["%matplotlib inline", "!pip install einops", "%%time", "?softmax", "    %timeit 1 + 1"],
)
def test_ipythons_own_lines_cost_nothing_and_lines_keep_their_numbers(
    handed: Handed, exercise: Exercise, line: str
) -> None:
    before = "if True:\n" if line.startswith(" ") else "\n"
    submission = handed(notebook(code(f"{before}{line}\n{SOFTMAX}")), f"{NAME}.ipynb")
    (cell,) = submission.cells
    assert steps_in(submission, exercise) == {"softmax"}
    assert cell.split("\n")[2:] == SOFTMAX.split("\n")
    compile(cell, "submission", "exec")


def test_a_percent_sign_that_is_python_is_left_alone(handed: Handed) -> None:
    cell = "x = (7\n    % 4)\ntext = '''\n!not a command\n'''"
    submission = handed(notebook(code(cell)), f"{NAME}.ipynb")
    assert submission.cells == (cell,)


def test_calls_of_the_kit_are_taken_out_and_lines_keep_their_numbers(handed: Handed) -> None:
    cell = (
        "import numpy as np\n"
        "from autograder import open_exercise\n"
        "import autograder.notebook\n"
        f"check = open_exercise('{NAME}')\n"
        f"{SOFTMAX}\n"
        "check(softmax)\n"
        "check(\n"
        "    softmax\n"
        ")\n"
        "answer = 42"
    )
    (kept,) = handed(notebook(code(cell), code("check(softmax)")), f"{NAME}.ipynb").cells
    lines = kept.split("\n")
    assert len(lines) == len(cell.split("\n"))
    assert lines[0] == "import numpy as np" and lines[-1] == "answer = 42"
    assert "\n".join(lines[4:6]) == SOFTMAX
    assert [line for line in lines if line] == ["import numpy as np", *lines[4:6], "answer = 42"]


def test_a_call_of_the_kit_within_a_function_is_the_students_own_business(handed: Handed) -> None:
    cell = "def softmax(scores):\n    check(scores)\n    return scores"
    assert handed(cell).cells == (cell,)


def test_a_script_with_a_syntax_error_loses_only_the_cell_it_stands_in(
    handed: Handed, exercise: Exercise
) -> None:
    broken = "def project_qkv(x:\n    return x"
    text = "\n# %%\n".join(["# mine", SOFTMAX, broken, SCALE])
    submission = handed(text)
    parses = [cell for cell in submission.cells if "project_qkv" not in cell]
    for cell in parses:
        compile(cell, "submission", "exec")
    assert written(parses, exercise) == {"softmax", "scale_scores"}


def test_lines_of_a_cut_script_keep_their_numbers(handed: Handed) -> None:
    text = f"# mine\n# %%\n{SOFTMAX}\n# %%\ndef broken(:\n# %%\n{SCALE}\n"
    due = text.split("\n").index(SCALE.split("\n")[0])
    last = handed(text).cells[-1].split("\n")
    assert last[due] == SCALE.split("\n")[0]
    assert not any(last[: due - 1])


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
        *("(" * 5_000, "-" * 200_000 + "1", "+".join(["x"] * 100_000), "\0", "x = '\ud800'"),
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


@pytest.mark.parametrize("name", [f"{NAME}.py", "empty.py"])
def test_an_empty_script_is_read_and_holds_nothing(
    handed: Handed, exercise: Exercise, name: str
) -> None:
    submission = handed("", name)
    assert submission.rejected is None and submission.cells == ()


def test_a_notebook_without_cells_is_read_and_holds_nothing(handed: Handed) -> None:
    submission = handed(notebook(), f"{NAME}.ipynb")
    assert submission.rejected is None and submission.cells == ()


# --- what is refused, in a sentence -------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("this is not JSON", "not valid JSON (line 1)"),
        ('{\n  "cells": [\n    oops', "not valid JSON (line 3)"),
        ("", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("<!DOCTYPE html>", "not valid JSON"),
        ("[]", "no list of cells"),
        ('{"cells": 3}', "no list of cells"),
        ('{"nbformat": 4}', "no list of cells"),
        ("null", "no list of cells"),
        (b"\xff\xfe{\x00}\x00", "not UTF-8 text (byte 0)"),
    ],
    ids=["text", "cut off", "empty", "deep", "page", "list", "number", "none", "null", "UTF-16"],
)
def test_what_is_no_notebook_is_told_in_a_sentence(
    handed: Handed, content: bytes | str, words: str
) -> None:
    sentence = told(handed(content, f"{NAME}.ipynb"))
    assert words in sentence and f"{NAME}.ipynb" in sentence


def test_a_script_that_is_not_utf_8_is_told_where(handed: Handed) -> None:
    sentence = told(handed("# caf\u00e9\n".encode("latin-1")))
    assert "not UTF-8 text (byte 5)" in sentence and "save it as UTF-8" in sentence


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (f"{NAME}.py", "#" * (LARGEST_SOURCE + 1)),
        (f"{NAME}.ipynb", " " * (LARGEST_NOTEBOOK + 1)),
        (f"{NAME}.ipynb", notebook(code("#" * LARGEST_SOURCE), code("x"))),
    ],
    ids=["script", "notebook", "code of a notebook"],
)
def test_what_is_too_large_is_told_with_the_limit(handed: Handed, name: str, content: str) -> None:
    sentence = told(handed(content, name))
    assert name in sentence and re.search(r"(larger|more) than \d+ kB", sentence)


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
    assert f"{NAME}.ipynb is not" in remark and f"{NAME}.py was read instead." in remark


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
    assert "my work (1).ipynb was read" in remark and f"{NAME}.ipynb is not there" in remark


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
    two_cells = handed(notebook(code("x = 1"), code("y = 2")), "four.ipynb").code_hash
    assert two_cells != handed(notebook(code("x = 1y = 2")), "five.ipynb").code_hash
