"""What an exception of the student's code means, in the words of this subject.

NumPy and PyTorch speak of gufunc signatures and non-singleton dimensions. A student who
multiplies two arrays wants to know which two axes do not fit.
"""

from __future__ import annotations

import difflib
import keyword
import re
import sys
from typing import TYPE_CHECKING

from autograder.judging.library_words import (
    OF_AXES,
    OF_CALLS,
    OF_WRITING,
    lost_axis_words,
    said,
)
from autograder.values.verdict import Finding, Outcome

if TYPE_CHECKING:  # it needs NumPy, which need not work where this is read
    from autograder.judging.library_words import Meaning
    from autograder.values.request import ExceptionReport


IMPORTS = {
    "math": "import math",
    "np": "import numpy as np",
    "numpy": "import numpy",
    "torch": "import torch",
    "nn": "from torch import nn",
    "Tensor": "from torch import Tensor",
    "F": "import torch.nn.functional as F",
}
# Messages that speak of how the library works inside.
CRYPTIC = re.compile(
    r"gufunc|mat1 and mat2|batch2|remapped shapes|broadcast together|non-singleton|bitwise_xor"
    r"|sparse_coo|Cannot interpret|Can't call numpy|truth value of an array"
)
MISSING_NAME = re.compile(r"name '(\w+)' is not defined")
FROM_BASE = "Every layer of PyTorch gets that from `nn.Module`."
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


def missing_name(exception: ExceptionReport) -> str | None:
    """Return the name that is not defined, when that is what the exception says."""
    found = MISSING_NAME.search(exception.message)
    return found[1] if found else None


def meaning(exception: ExceptionReport) -> str:
    """Return where to look for an exception; failing that, the shapes of the arrays at the line."""
    missing = missing_name(exception)
    if missing:
        return _missing_name(missing, exception)
    if own := said(OF_OWN, exception):
        return own
    if sentence := said((*MEANINGS, *OF_AXES), exception):
        words = ""
        if "line up" in sentence:
            words = lost_axis_words(exception.code, exception.shapes)
            words = words or (PRODUCT if TIMES.search(exception.code) else "")
        return " ".join(filter(None, (sentence, words, shapes(exception))))
    return cause(exception) or said(OF_WRITING, exception) or shapes(exception)


def is_cryptic(exception: ExceptionReport) -> bool:
    """Whether the message is in the library's own terms, and a sentence says the same in words."""
    cryptic = CRYPTIC.search(exception.message)
    return bool(cryptic and said((*MEANINGS, *OF_AXES, *OF_WRITING), exception))


def cause(exception: ExceptionReport) -> str:
    """Return what to do about an exception that comes from where the code is run."""
    return said((*CAUSES, *_UNREADABLE), exception)


def not_python(error: ExceptionReport) -> Finding:
    """Return the finding on a file or a cell that Python cannot read."""
    quoted = f" `{error.code}`" if error.code else ""
    kind = f"{error.type_name}, line {error.line}:{quoted} ({error.message})"
    fact = f"Python cannot read this yet: {kind}."
    look = cause(error) or "Is a bracket, a quote or a colon missing there, or on the line before?"
    return Finding(Outcome.RAISED, fact, look=look)


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


# What the student's own code has: its names, lists, layers and classes.


def _own_name(exception: ExceptionReport, found: re.Match[str]) -> str:
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


def _list_words(_: ExceptionReport, found: re.Match[str]) -> str:
    kind = found[1] or found[2] or found[3]
    what = "several arrays at once" if kind == "tuple" else "no array: it has no axes"
    return f"A {kind} stands there, which is {what}. Which line makes it?"


def _layer_precision(exception: ExceptionReport, _: re.Match[str]) -> str:
    layer = re.search(r"(self\.\w+)\(\w+\)", exception.code)
    if not layer:
        return ""
    return (
        f"The weights of `{layer[1]}` and what goes in have different precisions. Is the input "
        "made into another one before? Or do several instances share these weights, so that what "
        "is done to one is done to all?"
    )


def _bias_words(exception: ExceptionReport, _: re.Match[str]) -> str:
    bias = re.search(r"\b((?:self\.)?\w+)\.bias\b", exception.code)
    if not bias:
        return ""
    return (
        f"`{bias[0]}` is None where the layer is made with `bias=False`. What adds a bias only "
        "where there is one?"
    )


OF_OWN: tuple[Meaning, ...] = (
    (r"cannot access local variable '(\w+)'", _own_name),
    (
        r"'(list|tuple)' object has no attribute|unsupported operand type.*'(list|tuple)'"
        r"|must be Tensor, not (list|tuple)",
        _list_words,
    ),
    (r"mat1 and mat2 must have the same dtype|expected .*same dtype", _layer_precision),
    *OF_CALLS,
    (
        "AttributeError",
        r"'(\w+)' object has no attribute '(?:eval|train|parameters|to|double|float)'",
        # Nothing of the learner's asks for these.
        lambda exception, found: (
            "" if exception.line else f"{FROM_BASE} Which class does `{found[1]}` build on?"
        ),
    ),
    (r"NoneType", _bias_words),
)
# About shapes, and about how a library works inside.
MEANINGS: tuple[Meaning, ...] = (
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


# Why a line outside the steps cannot be run: the exception's type, a pattern of its message, and
# what to tell the student.
def _whole_numbers(exception: ExceptionReport, found: re.Match[str]) -> str:
    if sys.maxsize > 2**32:  # only in a browser has Python addresses of 32 bits
        return ""
    return (
        "In a browser, the whole numbers of an array have 32 bits, up to 2,147,483,647; in a "
        "terminal they have 64. Does the step need a whole number as large as that?"
    )


def _threads(exception: ExceptionReport, found: re.Match[str]) -> str:
    """Return what to say where a browser's Python runs: it has no threads."""
    return "A browser's Python has no threads. A terminal's has." if sys.maxsize < 2**32 else ""


CAUSES = (
    ("RuntimeError", r"can't start new thread", _threads),
    ("OverflowError", r"int too large to convert", _whole_numbers),
    (
        "ModuleNotFoundError",
        r"",
        "Only Python's own modules and what the exercise imports are there.",
    ),
    ("EOFError", r"EOF when reading a line", "No one answers `input()` while your code is graded."),
    (
        "FileNotFoundError",
        r"",
        "During grading your code runs alone: there are no other files.",
    ),
)


# What to look at in text that Python cannot read.
#
# Python names the place where it gave up. The slip is one of a few: a capital letter, a word of
# another language, a character that no keyboard types, a bracket.

CONFLICT = re.compile(r"<{7}|={7}|>{7}")
_FIRST_WORD = re.compile(r"[^\W\d]\w*")
# Marks that look like those of a keyboard; they come with text that was copied.
_COPIED = "It may come from a web page or a word processor"
_ALIKE = {
    "-": "\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d",
    "*": "\u00d7\u2217\u22c5\u00b7\u2022\u2a2f",
    "/": "\u00f7\u2044\u2215",
    "**": "\u00b2\u00b3\u02c6",
    "<=": "\u2264\u2a7d",
    ">=": "\u2265\u2a7e",
    "!=": "\u2260",
    "->": "\u2192",
    "(": "\uff08",
    ")": "\uff09",
    ",": "\uff0c",
    ":": "\uff1a",
}
_QUOTES = "\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb\u00b4"
_SPACES = "\u00a0\u2007\u2009\u202f\u200b\u200c\u200d\u2060\u3000\ufeff"
# Words of other languages, with those of Python. Each begins a line or stands between two names.
_FOREIGN = (
    (r"^(?:function|func|fn|sub)\s", "A function begins with `def` in Python."),
    (r"^(?:else\s+if|elseif|elsif)\b", "In Python, `else if` is one word: `elif`."),
    (r"^(?:var|let|const)\s", "In Python, a name needs no `var` or `let` before it."),
    (r"&&", "Python writes `and` for `&&`."),
    (r"\|\|", "Python writes `or` for `||`."),
    (r"\+\+\s*$|--\s*$", "Python has no `++` and no `--`: `+= 1` adds one."),
    (r"(?:^|\s)!\s*[\w(]", "Python writes `not` for `!`."),
)


def keyword_meant(word: str) -> str:
    """Return the word of Python that differs from `word` in capital letters only, or ""."""
    meant = {each.lower(): each for each in keyword.kwlist}.get(word.lower(), "")
    return "" if meant == word else meant


def _character(_: ExceptionReport, found: re.Match[str]) -> str:
    """Say what stands in the place of a mark of the keyboard."""
    character = chr(int(found[1], 16))
    if character in _QUOTES:
        return "A curly quote comes from a word processor: type it again as a plain one."
    if character in _SPACES:
        return f"That space is not the one of the keyboard. {_COPIED}: type it again."
    for plain, others in _ALIKE.items():
        if character in others:
            return f"That is not the `{plain}` of the keyboard. {_COPIED}: type `{plain}` there."
    return f"Python cannot use that character there. {_COPIED}."


def _written(exception: ExceptionReport, _: re.Match[str]) -> str:
    """Say which word of the line is not one of Python's."""
    code = exception.code
    if CONFLICT.match(code):
        return "That line is a mark that git leaves where two versions differ: choose one of them."
    if not exception.message.startswith(("invalid syntax", "expected", "illegal")):
        return ""
    first = _FIRST_WORD.match(code)
    meant = keyword_meant(first[0]) if first else ""
    if first and meant and not re.match(r"\s*[=.\[]", code[first.end() :]):
        return (
            f"Python writes `{meant}` and not `{first[0]}`: capital and small letters are "
            "different."
        )
    return next((words for pattern, words in _FOREIGN if re.search(pattern, code)), "")


_UNREADABLE: tuple[Meaning, ...] = (
    ("SyntaxError", r"invalid (?:non-printable )?character.*U\+([0-9A-F]{4,6})", _character),
    ("SyntaxError", r"", _written),
    (
        "IndentationError",
        r"unexpected indent",
        "That line begins further right than the one above it. All lines of a block begin in the "
        "same column.",
    ),
    (
        "IndentationError",
        r"unindent does not match",
        "That line begins in a column in which no line above it begins.",
    ),
    (
        "IndentationError",
        r"expected an indented block",
        "What belongs to the line with the colon has to begin further right than that line.",
    ),
    ("TabError", r"", "Tabs and spaces are mixed there: use spaces only."),
    ("SyntaxError", r"expected ':'", "A colon is missing at the end of that line."),
    (
        "SyntaxError",
        r"was never closed",
        "That bracket is opened and never closed: count the brackets from there on.",
    ),
    (
        "SyntaxError",
        r"unmatched|does not match opening",
        "That bracket closes none that is open: count the brackets up to there.",
    ),
    ("SyntaxError", r"unterminated", "A quote is opened there and never closed."),
    (
        "SyntaxError",
        r"outside function",
        "That line stands outside the function. How far is it indented?",
    ),
    (
        "SyntaxError",
        r"cannot assign to",
        "Only a name can stand on the left of `=`, or a part of an array such as `a[0]`.",
    ),
    (
        "SyntaxError",
        r"meant '=='",
        "`=` sets a name, and `==` compares. Which one is meant there?",
    ),
    (
        "SyntaxError",
        r"forgot a comma",
        "Two things stand side by side there: is a comma or a sign such as `*` missing?",
    ),
    (
        "SyntaxError",
        r"invalid decimal literal",
        "A name cannot begin with a digit, and a product needs its `*`.",
    ),
    (
        "SyntaxError",
        r"positional argument follows keyword",
        "In a call, values with a name such as `axis=0` stand behind those without one.",
    ),
    ("SyntaxError", r"keyword argument repeated", "One name is given two values in that call."),
    (
        "SyntaxError",
        r"^invalid syntax",
        "Look at the line above it too: is a bracket, a comma or a colon missing?",
    ),
)
