"""Errors that Python and the libraries really raise, and what a student is told of them."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard

import numpy as np
import pytest
import torch
from torch import nn

from autograder.authoring.text_rules import StudentText, reading_gaps
from autograder.judging import explanation, library_words
from autograder.judging.diagnosis import failure
from autograder.judging.inprocess import InProcess
from autograder.values.request import ExceptionReport, Failed, Request

X = np.ones((2, 3, 4), np.float32)
HANDED_OUT = "Keep the parameters as they were handed out"
IN_NUMPY = {
    "x.sum(axis=-1, keepdim=True)": "NumPy calls it `keepdims`",
    "x.transpose(1, 2)": "`transpose` takes the new order of all axes",
    "np.ones(3, 3)": "A shape is one tuple",
    "np.random.default_rng(0).normal(0, 0.02, 3, 3)": "This call gives `normal` more values",
    "x / 4 ^ 2": "a power is written `**`",
    "1 if x == 0 else 2": "`where` chooses number by number",
    "1 if x else 2": "Whether `x` was given at all is asked by `is None`",
    "1 if not x else 2": "Whether `x` was given at all is asked by `is None`",
    "(x or 2)": "Whether `x` was given at all is asked by `is None`",
    "1 if x == None else 2": "Whether `x` was given at all is asked by `is None`",
    "np.tril(3)": "`np.tril` takes a matrix, and keeps one half of it",
    "np.triu(3, k=1)": "`np.triu` takes a matrix, and keeps one half of it",
    "x - x.amax(axis=-1)": "`max` does that",
    "x[np.ones((4, 4)) == 1]": "is laid on from the first axis on",
    "np.random.default_rng(0).randn(3)": "`standard_normal` does that",
    "np.softmax(x)": "NumPy has no `softmax`: it is put together from smaller functions",
    "x * ~np.ones(4)": "`~` turns True and False over, and the mask there holds other numbers",
    "math.exp(x)": "`exp` of the module `math` takes one number; `np.exp` takes an array",
    "max(x)": "Python's own `max` compares one number with another",
    "x.masked_fill(x > 0, 0)": "`np.where` does that",
    "f(x)": "calls itself again and again",
    "np.dot(x, x)": "runs over two axes, which must be equally long. Here they have 4 and 3",
    "x.shape()": "is read without round brackets",
    "earlier(x, axis=-1)": "`earlier` has no parameter `axis`",
    "earlier()": "leaves out `scores`",
}
IN_TORCH = {
    "torch.softmax(x)": "give `dim`",
    "x.transpose(0, 2, 1)": "`transpose` exchanges two axes",
    "x.permute(1, 2)": "`permute` takes the new order of all axes",
    "x @ layer": "`layer` is a layer, and a layer is called",
    "torch.sqrt(4)": "For a plain number there is `math.sqrt`",
    "nn.linear(4, 4)": "Did you mean `nn.Linear`?",
    "nn.Softmax(x, dim=-1)": "only makes a layer",
    "~x": "so does `.bool()`",
    "math.exp(x)": "`exp` of the module `math` takes one number; `torch.exp` takes a tensor",
    "x.cuda()": "There is no GPU where this code runs",
    "x.contiguous.view(2, 12)": "`contiguous` is a method",
    "x.requires_grad_().numpy()": "Stay in PyTorch",
    "x.astype(float)": "`to` does that",
    "x + nn.Linear(4, 4, bias=False).bias": "has None in place of its bias",
    "torch.dot(x, x)": "`torch.dot` takes two single vectors",
    "torch.mm(x, x)": "`torch.mm` takes two single matrices",
    "torch.bmm(x[None], x[None])": "`torch.bmm` takes three axes",
}


def told(folder: Path, line: str, given: object, library: str) -> str:
    """What is said of a function that returns what `line` computes."""
    file = folder / "by_a_student.py"
    file.write_text(f"def f(x):\n    return {line}\n", encoding="utf-8")
    names: dict[str, Any] = {
        "np": np,
        "torch": torch,
        "nn": nn,
        "math": math,
        "layer": nn.Linear(4, 4),
    }
    exec("def earlier(scores): return scores", names)
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), names)
    reply = InProcess(names, library).ask(Request("f", (given,)))
    assert isinstance(reply, Failed), f"{line} raises nothing"
    finding = failure(reply)
    return " ".join([finding.fact, finding.look, *finding.details])


@pytest.mark.parametrize(("line", "words"), IN_NUMPY.items(), ids=IN_NUMPY)
def test_an_error_with_arrays_of_numpy_is_told_by_its_cause(
    line: str, words: str, tmp_path: Path
) -> None:
    said = told(tmp_path, line, X, "numpy")
    assert words in said and HANDED_OUT not in said


@pytest.mark.parametrize(("line", "words"), IN_TORCH.items(), ids=IN_TORCH)
def test_an_error_with_tensors_is_told_by_its_cause(line: str, words: str, tmp_path: Path) -> None:
    said = told(tmp_path, line, X, "torch")
    assert words in said and HANDED_OUT not in said


def test_only_a_call_of_the_check_is_answered_with_the_parameters_that_were_handed_out() -> None:
    reply = InProcess({"f": lambda: 1}).ask(Request("f", (X,)))
    assert isinstance(reply, Failed)
    assert HANDED_OUT in str(failure(reply))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("Return x", "`return`"),
        ("return x − 1", "not the `-` of the keyboard"),
        ("return x × 2", "`*`"),
        ("x = 1 && 2", "Python writes `and`"),
        ("else if x:", "`elif`"),
        ("return np.sum(x axis=1)", "comma"),
    ],
)
def test_text_that_is_no_python_is_told_by_its_cause(line: str, words: str) -> None:
    with pytest.raises(SyntaxError) as raised:
        compile(f"def f(x):\n    {line}\n", "cell", "exec")
    error = raised.value
    code = (error.text or line).strip()
    report = ExceptionReport(type(error).__name__, str(error.msg), 2, code)
    assert words in explanation.cause(report)


def sentences(module: ModuleType) -> Iterator[str]:
    """Give every text of a module that reads as a sentence."""
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    documented = {ast.get_docstring(node, clean=False) for node in ast.walk(tree) if has_doc(node)}
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and text not in documented and re.search(r"\w \w.*[.?]$", text):
            yield re.sub(r"\{.*?\}", "x", text)


def has_doc(node: ast.AST) -> TypeGuard[ast.Module | ast.FunctionDef | ast.ClassDef]:
    return isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)


@pytest.mark.parametrize("module", [library_words, explanation])
def test_what_is_said_of_errors_is_easy_to_read(module: ModuleType) -> None:
    # The one is only told behind another sentence, with which it is measured elsewhere.
    alone = (each for each in sentences(module) if each != explanation.NEW_TENSORS)
    found = [StudentText(module.__name__, each) for each in alone]
    assert found and reading_gaps(found, ()) == ()


# --- where shapes do not line up, an axis that a sum has lost is told ----------------------------

SHAPES = {"e": (2, 3, 5, 5), "total": (2, 3, 5), "x": (2, 4, 6), "mean": (4, 6)}
LOST = {
    "return e / e.sum(-1)": "The sum in this line has lost the axis",
    "return e / torch.sum(e, dim=-1)": "The sum in this line",
    "s = s - s.max(axis=-1)": "The maximum in this line",
    "s = s - s.max(-1).values": "The maximum in this line",
    "return e / total": "`total` has lost an axis of `e`",
    "x = x - mean": "`mean` has lost axis 0 of `x`",
}
KEPT = (
    "return e / e.sum(-1, keepdim=True)",
    "return e / e.sum()",
    "return e / np.sum(e)",
    "return e @ e.sum(-1)",
    "return e / x",
    "return e / e.max(x)",
    "return e / np.max(e)",
    "return e / (",
    "return e / e.sum(*axes, **kept)",
)


@pytest.mark.parametrize("code", LOST)
def test_an_axis_that_is_lost_is_told(code: str) -> None:
    words = library_words.lost_axis_words(code, SHAPES)
    assert LOST[code] in words and words.endswith("?")


@pytest.mark.parametrize("code", KEPT)
def test_no_axis_is_said_to_be_lost_that_is_not(code: str) -> None:
    assert library_words.lost_axis_words(code, SHAPES) == ""


def test_the_meaning_of_shapes_that_do_not_line_up_names_the_sum() -> None:
    message = (
        "The size of tensor a (5) must match the size of tensor b (3) at non-singleton dimension 2"
    )
    report = ExceptionReport(
        "RuntimeError", message, 3, "return e / e.sum(-1)", {"e": (2, 3, 5, 5)}
    )
    assert "The sum in this line has lost the axis it goes over." in explanation.meaning(report)
