"""A learner's own spelling of a step: reset finds it and nothing else, watch points at it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.learner_workspace import NAME, WRONG_SOFTMAX, start, stub_file, written
from support.terminal import Terminal, by_rename
from support.typed_commands import ATTN, attn, typed

RIGHT, REFUSED = 0, 2
SPELT = {
    "a space before the bracket": "def softmax (scores):\n    return scores\n",
    "a tab": "def\tsoftmax(scores):\n\treturn scores\n",
    "async": "async def softmax(scores):\n    return scores\n",
    "decorated": "@print\n@max(\n    print\n)\ndef softmax(scores):\n    return scores\n",
    "a class": "class softmax (list):\n    pass\n",
    "after a form feed": "\fdef softmax(scores):\n    return scores\n",
    "no cells": "def other():\n    def softmax(): ...\n\ndef softmax(scores): return scores\n",
}
BROKEN = "\n\ndef broken((:\n    return 1\n"


@pytest.fixture
def workspace(workspace: Path) -> Path:
    """A workspace with the script alone."""
    stub_file(workspace).with_suffix(".ipynb").unlink()
    return workspace


def stub_of_softmax(workspace: Path) -> str:
    """The lines of the step as handed out."""
    lines = stub_file(workspace).read_text(encoding="utf-8").split("\n")
    begin = next(number for number, line in enumerate(lines) if line.startswith("def softmax("))
    end = next(number for number in range(begin, len(lines)) if lines[number].startswith("# %%"))
    return "\n".join(lines[begin:end]).rstrip("\n")


@pytest.mark.parametrize("after", ["", BROKEN], ids=["python", "beside what is not Python"])
@pytest.mark.parametrize("code", SPELT.values(), ids=SPELT)
def test_reset_puts_back_a_step_however_it_is_spelt_and_nothing_else(
    workspace: Path, code: str, after: str
) -> None:
    file, stub = stub_file(workspace), stub_of_softmax(workspace)
    before = 'text = """\ndef softmax(scores):\n    mine\n"""\nx = 1\n\n\n'
    file.write_text(f"{before}{code}\ny = 2{after}", encoding="utf-8")
    run = typed("reset", "softmax", "--yes", folder=workspace)
    assert run.code == RIGHT, run.err
    # What stands above the step, and is not the step, stays: here a function with an inner one.
    above = code.partition("def softmax(scores)")[0] if "other" in code else ""
    assert file.read_text(encoding="utf-8") == f"{before}{above}{stub}\n\ny = 2{after}"


def test_reset_leaves_the_line_ends_of_a_file_as_they_are(workspace: Path) -> None:
    file = stub_file(workspace)
    stub = file.read_text(encoding="utf-8")
    mine = written(stub, softmax=WRONG_SOFTMAX)
    file.write_bytes(mine.replace("\n", "\r\n").encode())
    assert typed("reset", "softmax", "--yes", folder=workspace).code == RIGHT
    assert file.read_bytes() == stub.replace("\n", "\r\n").encode()


def test_reset_of_a_step_that_is_not_python_takes_its_whole_cell_and_no_other_reset_does(
    workspace: Path,
) -> None:
    file = stub_file(workspace)
    stub = file.read_text(encoding="utf-8")
    begin = stub.index("# %%\n# 1 Softmax")
    cell = stub[begin:].replace("# %%", "#%% mine", 1)
    broken = stub[:begin] + cell.replace("def softmax(", "@print\ndef softmax ((")
    file.write_text(broken, encoding="utf-8")
    assert typed("reset", "project_output", "--yes", folder=workspace).code == RIGHT
    assert "@print\ndef softmax ((" in file.read_text(encoding="utf-8")
    assert typed("reset", "softmax", "--yes", folder=workspace).code == RIGHT
    assert file.read_text(encoding="utf-8") == stub
    file.unlink()
    assert typed("reset", NAME, "--yes", folder=workspace).code == RIGHT
    assert file.read_text(encoding="utf-8") == stub


@pytest.mark.parametrize(
    "content",
    [b"def softmax ((:\n    x = 1\n", "é = 1\ndef softmax(x): pass\n".encode("latin-1")],
    ids=["broken and without cells", "not UTF-8"],
)
def test_reset_of_a_step_that_cannot_be_told_from_the_rest_changes_nothing(
    workspace: Path, content: bytes
) -> None:
    stub_file(workspace).write_bytes(content)
    run = typed("reset", "softmax", "--yes", folder=workspace)
    assert run.code == REFUSED and "puts the whole file back" in run.err
    assert stub_file(workspace).read_bytes() == content


def test_reset_changes_nothing_where_no_copy_can_be_kept(workspace: Path) -> None:
    mine = written(stub_file(workspace).read_text(encoding="utf-8"), softmax=WRONG_SOFTMAX)
    stub_file(workspace).write_text(mine, encoding="utf-8")
    small = f'ulimit -f 4; exec "{ATTN}" reset softmax --yes'  # 4 kB: as a disk that is full
    run = attn("-c", small, folder=workspace, command="bash")
    assert run.code == REFUSED and "cannot be copied" in run.err
    assert stub_file(workspace).read_text(encoding="utf-8") == mine
    assert list((workspace / ".attn" / "kept").iterdir()) == []


@pytest.mark.parametrize("lost", [False, True], ids=["as handed out", "without its metadata"])
def test_reset_puts_one_cell_of_a_notebook_back_and_leaves_the_others(
    tmp_path: Path, lost: bool
) -> None:
    workspace = start(tmp_path / "notebook")
    file = stub_file(workspace).with_suffix(".ipynb")
    stub_file(workspace).unlink()
    notebook = json.loads(file.read_text(encoding="utf-8"))
    fresh = {cell["id"]: {**cell} for cell in notebook["cells"]}
    mine = {
        "step-softmax": "%matplotlib inline\ndef softmax (scores):\n    return scores",
        "step-scale_scores": "def mine(): pass",
    }
    for cell in notebook["cells"]:
        if cell["id"] in mine:
            cell.update(source=mine[cell["id"]], outputs=[{"output_type": "stream"}])
            cell.update(metadata={} if lost else cell["metadata"])
    file.write_text(json.dumps(notebook), encoding="utf-8")
    assert typed("reset", "softmax", "--yes", folder=workspace).code == RIGHT
    now = {cell["id"]: cell for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]}
    assert now["step-softmax"]["source"] == fresh["step-softmax"]["source"]
    assert lost or now["step-softmax"] == fresh["step-softmax"]
    assert now["step-scale_scores"]["source"] == mine["step-scale_scores"]


def test_watch_points_at_the_line_of_a_step_however_it_is_spelt(workspace: Path) -> None:
    file = stub_file(workspace)
    lines = written(file.read_text(encoding="utf-8"), softmax=WRONG_SOFTMAX).split("\n")
    place = next(number for number, each in enumerate(lines) if each.startswith("def softmax("))
    assert lines[place].endswith(":")
    lines[place] = "def softmax (scores):"
    file.write_text("\n".join(lines), encoding="utf-8")
    watching = Terminal(workspace, ATTN, "watch")
    watching.sees(f"{NAME}.py:{place + 1}")
    watching.sees("Your softmax runs down the columns")
    watching.sees("q quit")
    lines[place] = "def\tsoftmax(scores):"
    by_rename(file, "\n" + "\n".join(lines))
    watching.sees(f"{NAME}.py:{place + 2}")  # a busy machine draws the line of before once more
    watching.sees("Your softmax runs down the columns")
    watching.press("q")
    assert watching.ends() == 0
