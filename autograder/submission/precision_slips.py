"""Slips of precision: a dtype that is not taken from the inputs, of a new tensor or by its name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autograder.model.verdict import Outcome
from autograder.submission.slip import Slip, WrittenStep, capitalized

_MAKERS = ("zeros", "ones", "full", "empty", "eye", "tensor", "linspace", "rand", "randn")
# The dtype that a name stands for, as text or as an attribute of the library.
_DTYPES = {"single": "float32", "half": "float16", "double": "float64"} | {
    name: name for name in ("float16", "bfloat16", "float32", "float64")
}
_CASTS = {"float": "float32", "half": "float16", "double": "float64", "bfloat16": "bfloat16"}
_RETURNED = r"is {dtype}, but the inputs"
_RAISED = r"of different precision"
_MEETS = "Two tensors of different precision meet there."


def precision_slips(step: WrittenStep) -> Iterator[Slip]:
    """Yield the lines of a step that make a tensor of PyTorch without a dtype, or name one."""
    for _, function in step.functions:
        for node in step.own_nodes(function):
            place = capitalized(step.line(node))
            if maker := _maker(node):
                dtype = "float32"
                look = (
                    f"{place} makes a tensor with `torch.{maker}`, and its dtype is not taken from "
                    "the inputs. `dtype=`, `torch.zeros_like` or `x.new_zeros` can do that."
                )
            elif dtype := _named_dtype(node):
                look = (
                    f"{place} asks for {dtype}, whatever the inputs are. Where could your code "
                    "read which dtype they have?"
                )
            else:
                continue
            yield Slip((Outcome.WRONG_TYPE,), _RETURNED.format(dtype=dtype), "", look)
            yield Slip((Outcome.RAISED,), _RAISED, "", f"{_MEETS} {look}")


def _maker(node: ast.AST) -> str:
    """Return the function of PyTorch that a call makes a tensor with, if it is given no dtype."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="torch"), attr=maker), keywords=named
        ) if maker in _MAKERS and all(each.arg not in ("dtype", None) for each in named):
            return maker
    return ""


def _named_dtype(node: ast.AST) -> str:
    """Return the dtype that a node asks for by its name, or by a method named after it."""
    match node:
        case ast.Call(func=ast.Attribute(attr=cast), args=[], keywords=[]):
            return _CASTS.get(cast, "")
        case ast.Attribute(value=ast.Name(id="torch"), attr=name):
            return _DTYPES.get(name, "")
        case ast.Constant(value=str(text)):
            return _DTYPES.get(text, "")
    return ""
