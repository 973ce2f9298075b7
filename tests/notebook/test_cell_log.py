"""What only a kernel can get wrong: cells that did not run, or do not say any more what ran."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from support.kernel import Kernel, running_kernel

ROOT = Path(__file__).resolve().parents[2]
NAME = "numpy_single_head"
SETUP = f"from autograder import open_exercise\n\ncheck = open_exercise({NAME!r})"
IMPORTS = "import numpy as np\nfrom jaxtyping import Float, Real"
RIGHT = """
def softmax(scores: Float[np.ndarray, "B S S"]):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)
"""
OTHER_NAME = RIGHT.replace("def softmax", "def Softmax").replace("axis=-1", "axis=0")
STEP, CHECK, OWN = "step-softmax", "check-softmax", "own-cell"
PASSES, SAME = "7 of 7 public checks pass", "has not run since the last check"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a notebook, and nothing written to the home directory."""
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    made = shutil.copytree(ROOT / "assignments" / NAME, tmp_path / NAME)
    monkeypatch.setenv("JPY_SESSION_NAME", str(made / f"{NAME}.ipynb"))
    return made


@pytest.fixture
def kernel(folder: Path) -> Iterator[Kernel]:
    """A kernel in which the first cell has run."""
    with running_kernel(folder) as kernel:
        kernel.run(SETUP, "setup")
        yield kernel


def checked(kernel: Kernel) -> str:
    return kernel.run("check(softmax)", CHECK)


@pytest.fixture
def passed(kernel: Kernel) -> Kernel:
    """The same kernel, once softmax has passed its check."""
    kernel.run(IMPORTS, "given-001")
    kernel.run(RIGHT, STEP)
    assert PASSES in checked(kernel)
    return kernel


def test_a_cell_that_gives_its_step_another_name_does_not_pass_by_the_old_one(
    passed: Kernel,
) -> None:
    passed.run(OTHER_NAME, STEP)
    told = checked(passed)
    assert "your cell defines `Softmax`, not `softmax`, so the old `softmax` is still" in told
    passed.run(RIGHT, STEP)
    assert PASSES in checked(passed)


def test_in_a_new_kernel_the_cell_with_the_other_name_is_told_too(kernel: Kernel) -> None:
    kernel.run(IMPORTS, "given-001")
    kernel.run(OTHER_NAME, STEP)
    assert "defines `Softmax`, not `softmax`, so there is no `softmax` yet" in checked(kernel)


def test_a_cell_that_was_emptied_does_not_pass_by_what_it_said_before(passed: Kernel) -> None:
    passed.run("# later", STEP)
    assert "your cell does not define `softmax`, so the old" in checked(passed)


def test_a_step_that_moved_to_another_cell_is_checked(passed: Kernel) -> None:
    passed.run(RIGHT, OWN)
    passed.run("mine = 1", STEP)
    assert PASSES in checked(passed)


def test_cells_of_the_learners_own_are_in_nobodys_way(passed: Kernel) -> None:
    passed.run("def softplus(x):\n    return x", OWN)
    passed.run("exponentials = undefined", "another")
    assert PASSES in checked(passed)


@pytest.mark.parametrize("imports", ["", "import numpy as numpy\nfrom jaxtyping import Float"])
def test_a_step_cell_that_stopped_for_want_of_an_import_is_told_so(
    kernel: Kernel, imports: str
) -> None:
    kernel.run(imports, "given-001")
    kernel.run(RIGHT, STEP)
    told = checked(kernel)
    assert "the cell of `softmax` stopped with NameError, so there is no `softmax` yet" in told
    assert "is not defined)" in told and "Did the cell with the imports run?" in told
    kernel.run(IMPORTS, "given-001")
    kernel.run(RIGHT, STEP)
    assert PASSES in checked(kernel)


@pytest.mark.parametrize("imports", ["import numpy as", f"{IMPORTS},", f"{IMPORTS}\nimport !"])
def test_imports_that_are_not_python_are_told_as_the_cell_with_the_imports(
    kernel: Kernel, imports: str
) -> None:
    kernel.run(imports, "given-001")
    in_step = kernel.run(RIGHT, STEP)
    for told in (in_step, checked(kernel)) if "NameError" not in in_step else (checked(kernel),):
        assert "Python cannot read the cell with the imports, so there is no `" in told
        assert "run that cell again, and the cells below it" in told
        assert "check(Float)" not in told and "cell [2]" in told


def test_an_old_step_is_not_checked_after_its_cell_stopped(passed: Kernel) -> None:
    passed.run(f"@undefined{RIGHT}", STEP)
    assert "stopped with NameError, so the old `softmax` is still there" in checked(passed)


def test_a_step_that_was_deleted_is_told_with_the_cell_that_did_it(passed: Kernel) -> None:
    passed.run("del softmax", OWN)
    told = checked(passed)
    assert "is not there any more: a cell has deleted it" in told and "cell [5]" in told
    passed.run(RIGHT, STEP)
    assert PASSES in checked(passed)


def test_a_step_whose_name_was_given_to_a_result_is_told_so(passed: Kernel) -> None:
    passed.run("softmax = softmax(np.ones((2, 3, 3)))", OWN)
    told = checked(passed)
    assert "`softmax` is now an array of shape (2, 3, 3): a cell has overwritten it" in told
    assert "cell [5]" in told and "run the cell of `softmax` again" in told


def test_a_lambda_is_the_step_whose_name_it_has(passed: Kernel) -> None:
    passed.run("softmax = lambda scores: scores", STEP)
    assert "softmax: 0 of 7 " in checked(passed)


def test_a_step_that_is_another_step_is_checked_under_the_name_that_was_typed(
    passed: Kernel,
) -> None:
    passed.run("compute_attention_weights = softmax", "step-compute_attention_weights")
    told = passed.run("check(compute_attention_weights)", "check-compute_attention_weights")
    assert "compute_attention_weights: " in told


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("check('softmax')", "leave out the quotes: check(softmax)"),
        ("check(softmax(np.ones((2, 3, 3))))", "an array of shape (2, 3, 3) is not a step"),
        ("check(np.exp)", "`exp` is not a step of numpy_single_head"),
        (
            "class SingleHeadAttention:\n    pass\ncheck(SingleHeadAttention())",
            "give it the class itself: check(SingleHeadAttention)",
        ),
    ],
)
def test_what_is_no_step_is_told_by_what_it_is(passed: Kernel, cell: str, words: str) -> None:
    assert words in passed.run(cell, OWN)


def test_a_second_check_of_the_same_code_says_that_nothing_ran_in_between(
    passed: Kernel,
) -> None:
    assert SAME in checked(passed)
    passed.run(RIGHT, STEP)
    assert SAME not in checked(passed)


def test_a_check_after_an_earlier_step_ran_again_says_nothing_of_the_kind(passed: Kernel) -> None:
    own = "def compute_attention_weights(scores):\n    return softmax(scores)"
    passed.run(own, "step-compute_attention_weights")
    again = "check(compute_attention_weights)"
    assert SAME not in passed.run(again, OWN)
    passed.run(RIGHT, STEP)
    assert SAME not in passed.run(again, OWN)
    assert SAME in passed.run(again, OWN)


def test_a_cell_that_changed_is_told_after_the_notebook_was_renamed(
    passed: Kernel, folder: Path
) -> None:
    (folder / f"{NAME}.ipynb").unlink()
    changed = nbformat.v4.new_code_cell(OTHER_NAME.replace("Softmax", "softmax"), id=STEP)
    path = folder / "mine.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[changed]), path)
    os.utime(path, (time.time() + 60,) * 2)
    assert "changed since it ran" in checked(passed)


def test_opening_the_exercise_again_keeps_what_passed(passed: Kernel) -> None:
    passed.run(SETUP, "setup")
    told = passed.run("check.finish()", OWN)
    assert "Left: check(initialize_weights)" in told
    passed.run("del softmax", OWN)
    assert "a cell has deleted it" in checked(passed)


@pytest.mark.parametrize("cell", ["check = 3", "x = 1\ncheck = np.ones(3)", "check, x = 1, 2"])
def test_a_check_whose_name_was_taken_is_told_with_the_cell_that_did_it(
    passed: Kernel, cell: str
) -> None:
    passed.run(cell, OWN)
    told = checked(passed)
    line = 1 + cell.count("\n")
    assert "`check` is a value of yours now" in told and f"cell [5], line {line}: `check" in told
    assert "not callable" not in told
    passed.run(
        f'from autograder import open_exercise\ncheck = open_exercise("{NAME}")', "given-002"
    )
    assert PASSES in checked(passed)


def test_a_module_whose_name_was_taken_is_told_with_the_cell_that_did_it(passed: Kernel) -> None:
    passed.run("\nnp = 3", OWN)
    assert "Cell [5], line 2 gives the name `np` to a value." in checked(passed)
    passed.run(IMPORTS, "given-001")
    assert PASSES in checked(passed)


def test_an_error_that_has_nothing_to_do_with_the_check_is_shown_as_it_is(passed: Kernel) -> None:
    passed.run("check = 3", OWN)
    told = passed.run("x = 3\nx(softmax)", "another")
    assert "'int' object is not callable" in told and "value of yours" not in told


@pytest.mark.parametrize("line", ["import sympy", "plotting.__name__"])
def test_a_package_that_is_not_there_in_class_is_told_where_a_step_uses_it(
    kernel: Kernel, line: str
) -> None:
    kernel.run(f"{IMPORTS}\nimport matplotlib as plotting", "given-001")
    kernel.run(RIGHT, STEP)
    assert "is not there" not in checked(kernel)
    kernel.run(RIGHT.replace("    return", f"    {line}\n    return"), STEP)
    told = checked(kernel)
    assert PASSES in told and "is not there when your code is graded" in told
