"""A wrong layer in a notebook, where every step and the class are in cells of their own."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Iterator

import pytest

from support.kernel import Kernel, running_kernel
from support.learner_workspace import ROOT

NAME = "numpy_single_head"
SETUP = f"from autograder import open_exercise\n\ncheck = open_exercise({NAME!r})"


def cells() -> list[str]:
    """The imports, the steps and the class of the reference, one text each."""
    text = (ROOT / "solutions" / NAME / "solution.py").read_text(encoding="utf-8")
    kinds = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef
    nodes = [node for node in ast.parse(text).body if isinstance(node, kinds)]
    return [str(ast.get_source_segment(text, node)) for node in nodes]


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("lab") / NAME
    shutil.copytree(ROOT / "assignments" / NAME, folder)
    with running_kernel(folder) as kernel:
        kernel.run(SETUP, "setup")
        for number, text in enumerate(cells()[:-1]):
            kernel.run(text, f"cell-{number}")
        yield kernel


def told(kernel: Kernel, old: str, new: str) -> str:
    layer = cells()[-1]
    assert old in layer
    assert not kernel.run(layer.replace(old, new), "layer")
    return " ".join(kernel.run("check(SingleHeadAttention)", "check-layer").split())


def test_a_misspelt_keyword_ends_no_check_in_a_traceback(kernel: Kernel) -> None:
    shown = told(
        kernel, "(attention_weights, values)", "(weights=attention_weights, values=values)"
    )
    assert "`apply_attention` has no parameter `weights`" in shown
    assert "Traceback" not in shown and "StopIteration" not in shown


def test_the_line_of_the_cell_that_unpacks_in_another_order_is_told(kernel: Kernel) -> None:
    shown = told(kernel, "queries, keys, values = project", "queries, values, keys = project")
    assert "unpacks the results of `project_qkv` as `queries`, `values`, `keys`." in shown


def test_a_right_layer_passes_beside_them(kernel: Kernel) -> None:
    assert "8 of 8 public checks pass" in told(kernel, "causal: bool", "causal: bool")
