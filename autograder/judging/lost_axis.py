"""An axis that a sum, a mean or a maximum has lost, where two shapes then do not line up."""

from __future__ import annotations

import ast
from collections.abc import Mapping

_REDUCING = ("sum", "max", "amax", "min", "amin", "mean", "std", "logsumexp")
_WORDS = {"max": "maximum", "amax": "maximum", "min": "minimum", "amin": "minimum"}
_WORDS |= {"std": "standard deviation", "logsumexp": "logarithm of a sum"}
_LIBRARIES = ("np", "numpy", "torch")
_LOOK = "How can it keep that axis, with size 1?"


def lost_axis_words(code: str, shapes: Mapping[str, tuple[int, ...]]) -> str:
    """Return what to say where a line combines an array with one that has lost an axis, or "".

    `shapes` are those of the arrays at the line, by name.
    """
    for operation in _operations(code):
        for whole, part in ((operation.left, operation.right), (operation.right, operation.left)):
            reduction = _reduction(part)
            if reduction:
                return f"The {reduction} in this line has lost the axis it goes over. {_LOOK}"
            axis = _missing(whole, part, shapes)
            if axis:
                return f"`{ast.unparse(part)}` has lost {axis} of `{ast.unparse(whole)}`. {_LOOK}"
    return ""


def _operations(code: str) -> list[ast.BinOp]:
    try:
        tree = ast.parse(code.strip())
    except (SyntaxError, ValueError):  # the line may be a part of a longer one
        return []
    found = (node for node in ast.walk(tree) if isinstance(node, ast.BinOp))
    return [node for node in found if isinstance(node.op, ast.Sub | ast.Div | ast.Mult | ast.Add)]


def _reduction(node: ast.expr) -> str:
    """Name a reduction over one axis that does not keep it, such as `x.sum(-1)`, or return ""."""
    if isinstance(node, ast.Attribute) and node.attr == "values":  # as after a maximum in PyTorch
        node = node.value
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return ""
    name, keywords = node.func.attr, {each.arg for each in node.keywords}
    of_library = isinstance(node.func.value, ast.Name) and node.func.value.id in _LIBRARIES
    named = [each.value for each in node.keywords if each.arg in ("axis", "dim")]
    axes = [*node.args[of_library:], *named]
    # A name might be another array, of which the larger numbers are taken.
    if name not in _REDUCING or len(axes) != 1 or not _is_number(axes[0]):
        return ""
    if keywords & {"keepdims", "keepdim", None}:
        return ""
    return _WORDS.get(name, name)


def _is_number(node: ast.expr) -> bool:
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)


def _missing(whole: ast.expr, part: ast.expr, shapes: Mapping[str, tuple[int, ...]]) -> str:
    """Name the one axis of an array that is missing in another one, or return ""."""
    if not isinstance(whole, ast.Name) or not isinstance(part, ast.Name):
        return ""
    large, small = shapes.get(whole.id), shapes.get(part.id)
    if large is None or small is None or len(small) != len(large) - 1:
        return ""
    cut = [n for n in range(len(large)) if (*large[:n], *large[n + 1 :]) == tuple(small)]
    if not cut:
        return ""
    last = len(large) - 1
    # Of equal axes, it is not to be seen which one is missing.
    return "an axis" if len(cut) > 1 else "the last axis" if cut == [last] else f"axis {cut[0]}"
