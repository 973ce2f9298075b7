"""What an exception of the student's code means, in the words of this subject.

NumPy and PyTorch speak of gufunc signatures and non-singleton dimensions. A student who
multiplies two arrays wants to know which two axes do not fit.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from autograder.judging.library_words import call_words, of_axes, of_writing
from autograder.judging.syntax_words import syntax_words

if TYPE_CHECKING:  # it needs NumPy, which need not work where this is read
    from autograder.model.request import ExceptionReport


IMPORTS = {
    "math": "import math",
    "np": "import numpy as np",
    "numpy": "import numpy",
    "torch": "import torch",
    "nn": "from torch import nn",
    "Tensor": "from torch import Tensor",
    "F": "import torch.nn.functional as F",
}
UNSET = re.compile(r"cannot access local variable '(\w+)'")
NO_ARRAY = re.compile(
    r"'(list|tuple)' object has no attribute|unsupported operand type.*'(list|tuple)'"
    r"|must be Tensor, not (list|tuple)"
)
# Messages that speak of how the library works inside.
CRYPTIC = re.compile(
    r"gufunc|mat1 and mat2|batch2|remapped shapes|broadcast together|non-singleton|bitwise_xor"
    r"|sparse_coo|Cannot interpret|Can't call numpy|truth value of an array"
)
# A layer that the class keeps, called, and the messages when precisions differ there.
LAYER = re.compile(r"(self\.\w+)\(\w+\)")
PRECISION = re.compile(r"mat1 and mat2 must have the same dtype|expected .*same dtype")
MISSING_NAME = re.compile(r"name '(\w+)' is not defined")
# A class of PyTorch without its base; nothing of the learner's own asks for these.
NO_BASE = re.compile(r"'(\w+)' object has no attribute '(?:eval|train|parameters|to|double|float)'")
FROM_BASE = "Every layer of PyTorch gets that from `nn.Module`."
# A bias in a line of code, with the layer that it belongs to.
BIAS = re.compile(r"\b((?:self\.)?\w+)\.bias\b")
MEET = (
    "In a matrix product, the last axis of the left factor must be as long as the second-to-last "
    "axis of the right one. Here they have {left} and {right}."
)
TIMES = re.compile(r"(?<!\*)\*(?![*=])")
PRODUCT = "`*` multiplies number by number. Is a matrix product meant?"
# For where a tensor has another precision than the inputs.
NEW_TENSORS = (
    "`torch.zeros`, `torch.ones` and `torch.tensor` make float32, unless their `dtype` says "
    "otherwise; `torch.zeros_like` takes it from another tensor."
)
# A pattern of the library's message, and the sentence for it; groups are named for the sentence.
MEANINGS = (
    (
        r"nobody answers while a check runs|EOF when reading a line",
        "`input()` waits until somebody types. A check gives everything as arguments: which of "
        "them is meant?",
    ),
    (r"matmul: .*core dimension 0.*\(size (?P<right>\d+) is different from (?P<left>\d+)\)", MEET),
    (
        r"mat1 and mat2 shapes cannot be multiplied "
        r"\(\d+x(?P<left>\d+) and (?P<right>\d+)x\d+\)",
        MEET,
    ),
    (
        r"Expected size for first two dimensions of batch2 tensor to be: \[\d+, (?P<left>\d+)\] "
        r"but got: \[\d+, (?P<right>\d+)\]",
        MEET,
    ),
    (
        r"could not be broadcast together with (?:remapped )?shapes (?P<shapes>[^\[]+\))",
        "The shapes {shapes} do not line up. From the last axis on, two axes must be equal, or one "
        "of them must be 1.",
    ),
    (
        r"size of tensor a \((?P<left>\d+)\) must match the size of tensor b \((?P<right>\d+)\) "
        r"at non-singleton dimension (?P<axis>\d+)",
        "The shapes do not line up: at axis {axis} one has {left} and the other {right}. They must "
        "be equal, or one of them must be 1.",
    ),
    (
        r"cannot reshape array of size (?P<size>\d+) into shape|"
        r"shape '.*' is invalid for input of size (?P<torch_size>\d+)",
        "A reshape keeps all the numbers, so the sizes of the new axes must multiply to as many as "
        "there are.",
    ),
    (
        r"view size is not compatible with input tensor's size and stride",
        "The numbers do not lie in memory in the order of the axes, as after a transpose, permute "
        "or chunk. A view copies nothing. What makes a copy in that order?",
    ),
    (
        r"modified by an inplace operation|used in an in-place operation",
        "A tensor is changed in place that the backward pass still needs. `x += y` and functions "
        "whose names end in `_` do that, while `x = x + y` makes a new one.",
    ),
    (
        r"before Module\.__init__\(\) call",
        "Is `super().__init__()` the first line of `__init__`?",
    ),
    (
        r"tuple of ints|'float' object cannot be interpreted as an integer",
        "A size is a whole number, and `/` gives a float even where it comes out whole.",
    ),
    (
        r"torch\.return_types\.(?:max|min)",
        "With a dimension, `max` and `min` give two tensors: the numbers, and their places.",
    ),
    (
        r"does not require grad and does not have a grad_fn",
        "The result has lost its connection to the parameters, so nothing can be trained.",
    ),
    (
        r"expected .*same dtype|must have the same dtype|expected scalar type"
        r"|Input dtypes must be the same|require the source and destination dtypes match",
        f"Two tensors of different precision meet: keep to the dtype of the input. {NEW_TENSORS}",
    ),
)


def missing_name(exception: ExceptionReport) -> str | None:
    """Return the name that is not defined, when that is what the exception says."""
    found = MISSING_NAME.search(exception.message)
    return found[1] if found else None


def meaning(exception: ExceptionReport) -> str:
    """Return where to look for an exception; failing that, the shapes of the arrays at the line."""
    missing = missing_name(exception)
    if missing:
        return _missing_name(missing, exception)
    own = _own_name(exception) or _list_words(exception) or _layer_precision(exception)
    own = own or call_words(exception) or _base_words(exception) or _bias_words(exception)
    if own:
        return own
    sentence = of_shapes(exception) or of_axes(exception)
    if sentence:
        words = ""
        if "line up" in sentence:
            words = lost_axis_words(exception.code, exception.shapes)
            words = words or (PRODUCT if TIMES.search(exception.code) else "")
        return " ".join(filter(None, (sentence, words, shapes(exception))))
    return cause(exception) or of_writing(exception) or shapes(exception)


def of_shapes(exception: ExceptionReport) -> str:
    """Return the sentence for a message of the library's, "" when the message is another."""
    for pattern, sentence in MEANINGS:
        found = re.search(pattern, exception.message)
        if found:
            words = {name: _arrays_only(text) for name, text in found.groupdict().items()}
            return sentence.format(**words)
    return ""


def _arrays_only(text: str | None) -> str:
    """Return a list of shapes as NumPy writes it, without those of plain numbers."""
    return " ".join((text or "").replace("()", " ").split())


def is_cryptic(exception: ExceptionReport) -> bool:
    """Whether the message is in the library's own terms, and a sentence says the same in words."""
    if not CRYPTIC.search(exception.message):
        return False
    return bool(of_shapes(exception) or of_axes(exception) or of_writing(exception))


def _base_words(exception: ExceptionReport) -> str:
    """Return what to say where a class lacks what every layer of PyTorch has, or ""."""
    found = NO_BASE.search(exception.message)
    if exception.line or exception.type_name != "AttributeError" or not found:
        return ""
    return f"{FROM_BASE} Which class does `{found[1]}` build on?"


def _bias_words(exception: ExceptionReport) -> str:
    """Return what to say where a layer may have no bias."""
    bias = BIAS.search(exception.code)
    if not bias or "NoneType" not in exception.message:
        return ""
    return (
        f"`{bias[0]}` is None where the layer is made with `bias=False`. What adds a bias only "
        "where there is one?"
    )


def _own_name(exception: ExceptionReport) -> str:
    """Return what to say about a variable that is used before it is set."""
    found = UNSET.search(exception.message)
    if not found:
        return ""
    name = found[1]
    if re.search(rf"\b{name}\s*\(", exception.code):
        return (
            f"Here `{name}` is a variable of this function too, so Python does not look for the "
            "function of that name. What else could the variable be called?"
        )
    return (
        f"`{name}` has no value yet at this line. The line that sets it stands further down, or is "
        "not always reached."
    )


def _layer_precision(exception: ExceptionReport) -> str:
    """Return what to say where a layer of the class meets an input of another precision."""
    layer = LAYER.search(exception.code)
    if not layer or not PRECISION.search(exception.message):
        return ""
    return (
        f"The weights of `{layer[1]}` and what goes in have different precisions. Is the input "
        "made into another one before? Or do several instances share these weights, so that what "
        "is done to one is done to all?"
    )


def _list_words(exception: ExceptionReport) -> str:
    """Return what to say where a list or tuple stands in the place of an array."""
    found = NO_ARRAY.search(exception.message)
    if not found:
        return ""
    kind = found[1] or found[2] or found[3]
    what = "several arrays at once" if kind == "tuple" else "no array: it has no axes"
    return f"A {kind} stands there, which is {what}. Which line makes it?"


# Why a line outside the steps cannot be run: the exception's type, a pattern of its message, and
# what to tell the student.
CAUSES = (
    ("ModuleNotFoundError", r"", "The grader has only what the exercise itself imports."),
    ("EOFError", r"EOF when reading a line", "No one answers `input()` while your code is graded."),
    (
        "FileNotFoundError",
        r"",
        "During grading your code runs alone: there are no other files.",
    ),
)


def cause(exception: ExceptionReport) -> str:
    """Return what to do about an exception that comes from where the code is run."""
    for kind, pattern, sentence in CAUSES:
        if exception.type_name == kind and re.search(pattern, exception.message):
            return sentence
    return syntax_words(exception.type_name, exception.message, exception.code)


def shapes(exception: ExceptionReport) -> str:
    """Return the shapes of the arrays at the line, or only of those that the line names."""
    named = {name: shape for name, shape in exception.shapes.items() if name in exception.code}
    shown = named or exception.shapes
    if not shown:
        return ""
    return f"The shapes there: {', '.join(f'`{name}` {tuple(s)}' for name, s in shown.items())}."


def _missing_name(name: str, exception: ExceptionReport) -> str:
    if name in IMPORTS:
        return f"`{name}` is not imported: `{IMPORTS[name]}` is missing at the top."
    close = difflib.get_close_matches(name, list(exception.shapes), n=1)
    return f"Did you mean `{close[0]}`?" if close else ""


# An axis that a sum, a mean or a maximum has lost, where two shapes then do not line up.

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
