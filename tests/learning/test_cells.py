"""What only a kernel can get wrong: cells that did not run, or do not say any more what ran."""

from __future__ import annotations

import ast
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from autograder.checks.reference import read_reference
from autograder.learning.notebook_check import AGAIN
from autograder.learning.progress import FILE, read_progress
from autograder.learning.workspace import MARK
from support.kernel import Kernel, running_kernel
from support.learner_workspace import NAME, ROOT, WRONG_SOFTMAX, limited, start

SETUP = f"from autograder import open_exercise\n\ncheck = open_exercise({NAME!r})"
IMPORTS = "import numpy as np\nfrom jaxtyping import Float, Real"
RIGHT = """
def softmax(scores: Float[np.ndarray, "B S S"]):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)
"""
WRONG = RIGHT.replace("axis=-1", "axis=0")
OTHER_NAME = WRONG.replace("def softmax", "def Softmax")
BROKEN = RIGHT.replace("keepdims=True))\n", "keepdims=True)\n", 1)
STEP, CHECK, OWN = "step-softmax", "check-softmax", "own-cell"
PASSES, SAME = "9 of 9 checks pass", "has not run since the last check"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a notebook, which the kernel knows by its name."""
    made = shutil.copytree(ROOT / "assignments" / NAME, tmp_path / NAME)
    monkeypatch.setenv("JPY_SESSION_NAME", str(made / f"{NAME}.ipynb"))
    return made


@pytest.fixture
def kernel(folder: Path) -> Iterator[Kernel]:
    """A kernel in which the first cell has run."""
    with running_kernel(folder) as kernel:
        kernel.run(SETUP, "setup")
        yield kernel


@pytest.fixture
def passed(kernel: Kernel) -> Kernel:
    """The same kernel, once softmax has passed its check; four cells have run."""
    kernel.run(IMPORTS, "given-001")
    restored(kernel)
    return kernel


def checked(kernel: Kernel, step: str = "softmax") -> str:
    return " ".join(kernel.run(f"check({step})", f"check-{step}").split())


def restored(kernel: Kernel) -> None:
    """Softmax is right again, and passes: two cells."""
    kernel.run(RIGHT, STEP)
    assert PASSES in checked(kernel)


# --- what a cell did to its step ----------------------------------------------------------------


def test_a_cell_that_does_not_set_its_step_any_more_does_not_pass_by_the_old_one(
    passed: Kernel,
) -> None:
    for cell, words in (
        (OTHER_NAME, "your cell defines `Softmax`, not `softmax`, so the old `softmax` is still"),
        ("# later", "your cell does not define `softmax`, so the old"),
        (f"@undefined{RIGHT}", "stopped with NameError, so the old `softmax` is still there"),
    ):
        passed.run(cell, STEP)
        assert words in checked(passed)
        restored(passed)


def test_a_body_that_is_not_indented_is_told_by_its_first_line(kernel: Kernel) -> None:
    kernel.run(IMPORTS, "given-001")
    text = '    """Turn every row of scores into weights that sum to 1."""\n'
    head, *body = RIGHT.strip().split("\n")
    for inside in (text, text + "    raise NotImplementedError\n"):
        kernel.run(f"{head}\n{inside}" + "\n".join(line.strip() for line in body), STEP)
        line = 2 + inside.count("\n")
        assert f"Line {line} of its cell begins at the left margin, so it is no" in checked(kernel)


def test_a_step_that_a_cell_took_away_is_told_with_that_cell(passed: Kernel) -> None:
    shape = "an array of shape (2, 3, 3): a cell has overwritten it"
    for number, (cell, words) in enumerate(
        (
            ("del softmax", "is not there any more: a cell has deleted it"),
            ("softmax = softmax(np.ones((2, 3, 3)))", f"`softmax` is now {shape}"),
        )
    ):
        passed.run(cell, OWN)
        told = checked(passed)
        assert words in told and f"cell [{5 + 4 * number}]" in told
        assert "run the cell of `softmax` again" in told
        restored(passed)
    told = passed.run("del softmax\ncheck(softmax)", OWN)
    assert "a cell has deleted it" in told and "where: your cell" in told


def test_a_step_is_what_has_its_name_wherever_it_was_written(passed: Kernel) -> None:
    passed.run(RIGHT, OWN)
    passed.run("mine = 1", STEP)
    assert PASSES in checked(passed)
    passed.run("def softplus(x):\n    return x", "another")
    passed.run("exponentials = undefined", "a third")
    assert PASSES in checked(passed)
    passed.run("compute_attention_weights = softmax", "step-compute_attention_weights")
    assert "compute_attention_weights: " in checked(passed, "compute_attention_weights")
    passed.run("softmax = lambda scores: scores", STEP)
    assert "softmax: 0 of 9 " in checked(passed)


def test_what_is_no_step_is_told_by_what_it_is(passed: Kernel) -> None:
    for given, words in (
        ("'softmax'", "leave out the quotes: check(softmax)"),
        ("softmax(np.ones((2, 3, 3)))", "an array of shape (2, 3, 3) is not a step"),
        ("np.exp", "`exp` is not a step of numpy_single_head"),
        ("type('SingleHeadAttention', (), {})()", "the class itself: check(SingleHeadAttention)"),
    ):
        assert words in checked(passed, given)


# --- names that are missing or taken ------------------------------------------------------------


def test_a_step_whose_cell_did_not_run_to_its_end_is_told_so(kernel: Kernel) -> None:
    assert "no cell that defines it has run since the kernel started" in checked(kernel)
    for imports in ("", "import numpy as numpy\nfrom jaxtyping import Float"):
        kernel.run(imports, "given-001")
        kernel.run(RIGHT, STEP)
        told = checked(kernel)
        assert "the cell of `softmax` stopped with NameError, so there is no `softmax` yet" in told
        assert "is not defined)" in told and "Did the cell with the imports run?" in told
    kernel.run(IMPORTS, "given-001")
    kernel.run(OTHER_NAME, STEP)
    assert "defines `Softmax`, not `softmax`, so there is no `softmax` yet" in checked(kernel)
    restored(kernel)


@pytest.mark.parametrize("imports", ["import numpy as", f"{IMPORTS},", f"{IMPORTS}\nimport !"])
def test_imports_that_are_not_python_are_told_as_the_cell_with_the_imports(
    kernel: Kernel, imports: str
) -> None:
    kernel.run(imports, "given-001")
    in_step = " ".join(kernel.run(RIGHT, STEP).split())
    for told in (in_step, checked(kernel)) if "NameError" not in in_step else (checked(kernel),):
        assert "Python cannot read the cell with the imports, so there is no `" in told
        assert "run that cell again, and the cells below it" in told
        assert "check(Float)" not in told and "cell [2]" in told


def test_a_check_whose_name_was_taken_is_told_with_the_cell_that_did_it(passed: Kernel) -> None:
    for number, cell in enumerate(("check = 3", "x = 1\ncheck = np.ones(3)", "check, x = 1, 2")):
        passed.run(cell, OWN)
        told = checked(passed)
        place = f"cell [{5 + 4 * number}], line {1 + cell.count(chr(10))}: `check"
        assert "`check` is a value of yours now" in told and place in told
        assert "not callable" not in told
        passed.run(SETUP, "given-002")
        assert PASSES in checked(passed)


def test_an_error_that_has_nothing_to_do_with_a_check_is_python_s_own(passed: Kernel) -> None:
    passed.run("check = 3", OWN)
    told = passed.run("x = 3\nx(softmax)", "another")
    assert "'int' object is not callable" in told and "value of yours" not in told
    told = passed.run("softmux(1)", "another")
    assert "is not defined" in told and "softmux" in told and "has run since" not in told


def test_a_module_whose_name_was_taken_is_told_with_the_cell_that_did_it(passed: Kernel) -> None:
    passed.run("\nnp = 3", OWN)
    assert "Cell [5], line 2 gives the name `np` to a value." in checked(passed)
    passed.run(IMPORTS, "given-001")
    assert PASSES in checked(passed)


def test_a_package_that_is_not_there_in_class_is_told_where_a_step_uses_it(kernel: Kernel) -> None:
    kernel.run(f"{IMPORTS}\nimport tornado as plotting", "given-001")
    for line in ("import zmq", "plotting.__name__"):
        kernel.run(RIGHT, STEP)
        assert "is not there" not in checked(kernel)
        kernel.run(RIGHT.replace("    return", f"    {line}\n    return"), STEP)
        told = checked(kernel)
        assert PASSES in told and "is not there when your code is graded" in told


# --- cells that are not Python ------------------------------------------------------------------


def test_old_code_is_not_checked_after_a_cell_that_is_not_python(kernel: Kernel) -> None:
    unreadable = "Python cannot read the cell of `softmax`"
    kernel.run(IMPORTS)
    kernel.run(BROKEN)
    told = checked(kernel)
    assert f"{unreadable}, so there is no `softmax` yet" in told
    assert "cell [3], line 3: `exponentials = np.exp(" in told and "was never closed" in told
    assert "count the brackets" in told and "Then run that cell again" in told
    kernel.run(RIGHT)
    kernel.run("def compute_attention_weights(scaled_scores):\n    return softmax(scaled_scores)")
    kernel.run("def of_mine(:\n    pass")
    assert PASSES in checked(kernel)
    kernel.run(BROKEN)
    told = checked(kernel)
    assert f"{unreadable}, so the old `softmax` is still there" in told and "cell [9]" in told
    told = checked(kernel, "compute_attention_weights")
    assert f"{unreadable}, which `compute_attention_weights` uses, so the old" in told
    kernel.run(RIGHT)
    kernel.run("import numpy as np\nimport math as\nfrom numpy import exp")
    assert "the cell with the imports, so the old `np` is still there" in checked(kernel)


def test_code_beside_a_line_of_the_stub_is_told_by_that_line(kernel: Kernel) -> None:
    kernel.run(IMPORTS)
    left = "    raise NotImplementedError\n"
    above = RIGHT.replace("    return", "    weights =") + left
    for cell in (above, RIGHT.replace('S S"]):\n', f'S S"]):\n{left}')):
        kernel.run(cell)
        told = checked(kernel)
        assert "still raises" in told and "not written" not in told.split("Hint")[0], told


# --- cells that were changed, and checks that were asked before ----------------------------------


def test_a_cell_that_was_changed_and_saved_since_it_ran_is_told_so(
    kernel: Kernel, folder: Path
) -> None:
    def save(text: str, *, later: float = 3600, name: str = NAME) -> None:
        cell = nbformat.v4.new_code_cell(text, id=STEP)
        path = folder / f"{name}.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
        os.utime(path, (time.time() + later,) * 2)

    kernel.run(IMPORTS)
    kernel.run(WRONG, STEP)
    save(RIGHT)
    told = checked(kernel)
    assert "changed since it ran" in told and "run that cell again" in told
    save(BROKEN)
    assert "changed since it ran" in checked(kernel)
    for text, later in ((WRONG, 3600), (RIGHT, -3600)):  # as it ran; not saved yet
        save(text, later=later)
        told = checked(kernel)
        assert "changed since" not in told and "checks pass" in told
    (folder / f"{NAME}.ipynb").unlink()
    save(RIGHT, name="renamed")
    assert "changed since it ran" in checked(kernel)


def test_a_second_check_of_the_same_code_says_that_nothing_ran_in_between(passed: Kernel) -> None:
    assert SAME in checked(passed)
    passed.run(RIGHT, STEP)
    assert SAME not in checked(passed)
    again = "compute_attention_weights"
    passed.run(f"def {again}(scores):\n    return softmax(scores)", f"step-{again}")
    assert SAME not in checked(passed, again)
    passed.run(RIGHT, STEP)  # which the other step uses
    assert SAME not in checked(passed, again)
    assert SAME in checked(passed, again)


def test_opening_the_exercise_again_keeps_what_passed(passed: Kernel) -> None:
    passed.run(SETUP, "setup")
    assert "Left: check(initialize_weights)" in passed.run("check.finish()", OWN)
    passed.run("del softmax", OWN)
    assert "a cell has deleted it" in checked(passed)


def test_a_check_is_noted_in_the_workspace_around_the_notebook_or_below_it(
    tmp_path: Path,
) -> None:
    workspace = start(tmp_path / "work")
    for folder in (workspace / NAME, workspace):
        (workspace / MARK / FILE).unlink(missing_ok=True)
        with running_kernel(folder) as kernel:
            for cell in (SETUP, IMPORTS, RIGHT, "check(softmax)"):
                kernel.run(cell)
        assert read_progress(workspace, pytest.fail).step(NAME, "softmax").passed, folder


def test_where_nobody_watches_a_mistake_is_told_whole_in_lines_that_fit_a_dialog(
    kernel: Kernel,
) -> None:
    known = read_reference(ROOT / "solutions" / NAME).misconceptions
    words = next(each.words for each in known if each.name == "softmax_over_the_queries")
    kernel.run(f"{IMPORTS}\n\ndef softmax(scores):\n{WRONG_SOFTMAX}")
    shown = kernel.run("check(softmax)")
    for sentence in words.split("\n\n"):
        assert " ".join(sentence.split()) in " ".join(shown.split())
    assert max(map(len, shown.splitlines())) <= 96  # Validate's dialog cuts off what is longer
    assert "autograder/" not in shown
    watched = kernel.run("check(softmax)", person=True)
    assert AGAIN in watched and "not right yet" not in watched and "checks pass" in watched


# --- a kernel that lives on ---------------------------------------------------------------------


def test_what_would_end_or_block_a_kernel_is_told_and_the_kernel_lives_on(
    folder: Path,
) -> None:
    limited(folder.parent, seconds_per_call=0.2)
    with running_kernel(folder) as kernel:
        for cell in (SETUP, "from autograder import speak", IMPORTS, f"{RIGHT}\nright = softmax"):
            kernel.run(cell)
        for end in ("exit()", "quit()", "import sys; sys.exit(3)"):
            kernel.run(f"def softmax(scores):\n    {end}\n    return right(scores)")
            assert "ended the Python process" in checked(kernel), end
            assert "It cannot speak yet" in kernel.run("speak(softmax)"), end
            assert "ended the Python process" in checked(kernel), end
        kernel.run("def softmax(scores):\n    while True:\n        pass")
        assert "was still running after 0." in checked(kernel)
        assert "42" in kernel.run("6 * 7")
        assert "Exit" in kernel.run("type(exit)"), "it is there again"


# --- a layer, whose steps are in cells of their own ---------------------------------------------


def cells_of_the_reference() -> list[str]:
    """The imports, the steps and the class, one text each."""
    text = (ROOT / "solutions" / NAME / "solution.py").read_text(encoding="utf-8")
    kinds = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef
    nodes = [node for node in ast.parse(text).body if isinstance(node, kinds)]
    return [str(ast.get_source_segment(text, node)) for node in nodes]


def test_what_is_wrong_in_a_layer_is_told_by_the_lines_of_its_cell(kernel: Kernel) -> None:
    *steps, layer = cells_of_the_reference()
    for text in steps:
        kernel.run(text)

    def told(old: str, new: str) -> str:
        assert old in layer
        assert not kernel.run(layer.replace(old, new), "layer")
        return checked(kernel, "SingleHeadAttention")

    shown = told("(attention_weights, values)", "(weights=attention_weights, values=values)")
    assert "`apply_attention` has no parameter `weights`" in shown
    assert "Traceback" not in shown and "StopIteration" not in shown
    shown = told("queries, keys, values = project", "queries, values, keys = project")
    assert "unpacks the results of `project_qkv` as `queries`, `values`, `keys`." in shown
    assert "10 of 10 checks pass" in told("causal: bool", "causal: bool")
