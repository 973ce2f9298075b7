"""A notebook's check knows the text of the cells: slips of writing, and cells that changed."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
NAME = "numpy_single_head"
OPEN = f"""
import numpy as np
from autograder.notebook.check import open_exercise
check = open_exercise({NAME!r})
"""
RIGHT = """
def softmax(scores):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)
"""
WRONG = RIGHT.replace("axis=-1", "axis=0")
BODY = RIGHT.replace("return", "weights =")
ABOVE = BODY + "    raise NotImplementedError\n"
BELOW = RIGHT.replace("(scores):\n", "(scores):\n    raise NotImplementedError\n")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a notebook, and nothing written to the home directory."""
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    made = shutil.copytree(ROOT / "assignments" / NAME, tmp_path / NAME)
    monkeypatch.setenv("JPY_SESSION_NAME", str(made / f"{NAME}.ipynb"))
    return made


def notebook(*cells: str) -> nbformat.NotebookNode:
    code = [nbformat.v4.new_code_cell(cell) for cell in cells]
    made: nbformat.NotebookNode = nbformat.v4.new_notebook(cells=code)
    return made


def save(folder: Path, *cells: str) -> None:
    """Save a notebook with these cells, as an editor does a moment after they ran."""
    path = folder / f"{NAME}.ipynb"
    nbformat.write(notebook(*cells), path)
    os.utime(path, (time.time() + 60,) * 2)


def said(folder: Path, cells: Sequence[str]) -> str:
    """What the last cell says, be it an error or not."""
    ran = notebook(*cells)
    client: Any = nbclient.NotebookClient(
        ran,
        timeout=120,
        kernel_name="python3",
        allow_errors=True,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()
    told = [output.get("evalue", output.get("text", "")) for output in ran.cells[-1].outputs]
    shown = [output.get("data", {}).get("text/plain", "") for output in ran.cells[-1].outputs]
    return "\n".join((*told, *shown))


@pytest.mark.parametrize("cell", [ABOVE, BELOW], ids=["above", "below"])
def test_code_beside_a_line_of_the_stub_is_told_by_that_line(folder: Path, cell: str) -> None:
    told = said(folder, (OPEN, cell, "check(softmax)"))
    assert "still raises" in told and "not written" not in told.split("Hint")[0], told


def test_a_cell_that_was_changed_since_it_ran_is_told_so(folder: Path) -> None:
    save(folder, OPEN, RIGHT, "check(softmax)")
    told = said(folder, (OPEN, WRONG, "check(softmax)"))
    assert "changed since it ran" in told and "run that cell again" in told


def test_a_cell_that_is_saved_as_it_ran_is_checked(folder: Path) -> None:
    save(folder, OPEN, WRONG, "check(softmax)")
    told = said(folder, (OPEN, WRONG, "check(softmax)"))
    assert "changed since" not in told and "public checks pass" in told


def test_a_notebook_that_is_not_saved_yet_is_checked_as_it_ran(folder: Path) -> None:
    save(folder, OPEN, RIGHT, "check(softmax)")
    os.utime(folder / f"{NAME}.ipynb", (0, 0))
    assert "changed since" not in said(folder, (OPEN, WRONG, "check(softmax)"))


BROKEN = RIGHT.replace("keepdims=True))\n", "keepdims=True)\n", 1)
CALLS = "def compute_attention_weights(scaled_scores):\n    return softmax(scaled_scores)"
UNREADABLE = "Python cannot read the cell of `softmax`"


def test_a_step_whose_cell_is_not_python_is_told_by_its_line(folder: Path) -> None:
    told = said(folder, (OPEN, BROKEN, "check(softmax)"))
    assert f"{UNREADABLE}, so there is no `softmax` yet" in told
    assert "cell [2], line 3: `exponentials = np.exp(" in told and "was never closed" in told
    assert "count the brackets" in told and "Then run that cell again" in told


def test_old_code_is_not_checked_after_a_cell_that_is_not_python(folder: Path) -> None:
    told = said(folder, (OPEN, RIGHT, BROKEN, "check(softmax)"))
    assert f"{UNREADABLE}, so the old `softmax` is still there" in told and "cell [3]" in told


def test_a_step_that_uses_a_cell_that_is_not_python_is_not_checked(folder: Path) -> None:
    told = said(folder, (OPEN, RIGHT, CALLS, BROKEN, "check(compute_attention_weights)"))
    assert f"{UNREADABLE}, which `compute_attention_weights` uses, so the old" in told
    imports = "import numpy as np\nimport math as\nfrom numpy import exp"
    told = said(folder, (OPEN, imports, RIGHT, "check(softmax)"))
    assert "the cell with the imports, so the old `np` is still there" in told


def test_once_a_cell_is_corrected_its_error_is_forgotten(folder: Path) -> None:
    told = said(folder, (OPEN, BROKEN, RIGHT, "check(softmax)"))
    assert "7 of 7 public checks pass" in told


def test_what_is_not_python_elsewhere_is_in_nobodys_way(folder: Path) -> None:
    told = said(folder, (OPEN, RIGHT, "def of_mine(:\n    pass", "check(softmax)"))
    assert "7 of 7 public checks pass" in told


def test_a_step_whose_cell_has_not_run_is_told_so(folder: Path) -> None:
    told = said(folder, (OPEN, "check(softmax)"))
    assert "no cell that defines it has run since the kernel started" in told


def test_a_step_that_is_deleted_in_the_cell_of_the_check_is_told_so(folder: Path) -> None:
    told = said(folder, (OPEN, RIGHT, "del softmax\ncheck(softmax)"))
    assert "a cell has deleted it" in told and "where: your cell" in told


def test_other_missing_names_are_python_s_own_error(folder: Path) -> None:
    told = said(folder, (OPEN, RIGHT, "softmux(1)"))
    assert re.search(r"name '\w+' is not defined", told) and "has run since" not in told


def test_a_cell_that_was_changed_to_what_is_not_python_is_told_so(folder: Path) -> None:
    save(folder, OPEN, BROKEN, "check(softmax)")
    assert "changed since it ran" in said(folder, (OPEN, RIGHT, "check(softmax)"))
