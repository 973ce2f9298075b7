"""Slips of precision: a new tensor that does not take its dtype from the inputs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autograder.model.verdict import Outcome
from autograder.submission.slip import Slip, WrittenStep, capitalized

_MAKERS = ("zeros", "ones", "full", "empty", "eye", "tensor", "linspace", "rand", "randn")
_RETURNED = r"is float32, but the inputs"
_RAISED = r"of different precision"
_MEETS = "Two tensors of different precision meet: the check does not use float32 only."


def precision_slips(step: WrittenStep) -> Iterator[Slip]:
    """Yield the first line of a step that makes a tensor of PyTorch without a dtype."""
    for _, function in step.functions:
        for node in step.own_nodes(function):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="torch"), attr=maker), keywords=named
                ) if maker in _MAKERS and all(each.arg not in ("dtype", None) for each in named):
                    look = (
                        f"{capitalized(step.line(node))} makes a tensor with `torch.{maker}`, and "
                        "its dtype is not taken from the inputs. `dtype=`, `torch.zeros_like` or "
                        "`x.new_zeros` can do that."
                    )
                    yield Slip((Outcome.WRONG_TYPE,), _RETURNED, "", look)
                    yield Slip((Outcome.RAISED,), _RAISED, "", f"{_MEETS} {look}")
                    return
