"""What an exception of the student's code means, in the words of this subject.

NumPy and PyTorch speak of gufunc signatures and non-singleton dimensions. A student who
multiplies two arrays wants to know which two axes do not fit.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from autograder.judging.library_words import call_words, of_axes, of_writing
from autograder.judging.lost_axis import lost_axis_words
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
    ("ModuleNotFoundError", r"", "Only what the exercise itself imports is there."),
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
