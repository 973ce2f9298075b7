"""What to say about a call whose arguments do not fit.

The wrong call is the check's own, where the student changed the `def`, or it stands in a line of
the student's: only there does the report of the exception name a line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # it needs NumPy, which need not work where this is read
    from autograder.model.request import ExceptionReport

HANDED_OUT = "Keep the parameters as they were handed out: the check calls your code with those."
_FUNCTION = r"(?P<function>[\w.<>]+)\(\) "
_MANY = re.compile(_FUNCTION + r"takes .*positional argument")
_FEW = re.compile(_FUNCTION + r"missing \d+ required (?:positional|keyword-only) arguments?: (.+)")
_UNKNOWN = re.compile(
    _FUNCTION + r"got an unexpected keyword argument '(\w+)'"
    r"|'(\w+)' is an invalid keyword argument for (\w+)\(\)"
)
_TWICE = re.compile(_FUNCTION + r"got multiple values for argument '(\w+)'")
_NAMES = re.compile(r"['\"](\w+)['\"]")
# A call of what the library has, and the words for how it wants its arguments.
_LAYER = re.compile(r"\bnn\.([A-Z]\w*)\(")
# What PyTorch calls an argument, and what NumPy calls it.
_IN_NUMPY = {"keepdim": "keepdims", "dim": "axis", "diagonal": "k"}
_AXES = {
    "transpose": "In PyTorch, `transpose` exchanges two axes, so it takes two numbers. `permute` "
    "takes the new order of all axes.",
    "permute": "`torch.permute` takes the new order of the axes as one tuple.",
}
_CALLS = re.compile(r"([A-Za-z_][\w.]*)\(")
_UNNAMED = ("__init__", "__call__", "__new__", "forward", "<lambda>")
_NUMPY_AXES = "`np.transpose` takes the new order of the axes as one tuple."


def call_words(exception: ExceptionReport) -> str:
    """Return what to say about a call that does not fit, "" when the exception is another."""
    if exception.type_name != "TypeError":
        return ""
    matches = (pattern.search(exception.message) for pattern in (_MANY, _FEW, _UNKNOWN, _TWICE))
    found = next((match for match in matches if match), None)
    if found is None:
        return ""
    if not exception.line:
        return HANDED_OUT
    function = found["function"] or found[4]
    if found.re is _FEW:
        return _too_few(function, _NAMES.findall(found[2]), exception.code)
    if found.re is _UNKNOWN:
        return _unknown(function, found[2] or found[3], exception.code)
    if found.re is _TWICE:
        return _layer(exception.code) or (
            f"The call gives `{found[2]}` by its name, and by its place too. Which one is meant?"
        )
    return _too_many(function, exception)


def _is_own(function: str, code: str) -> bool:
    """Whether a line calls a function by its bare name, and not one of a module or an array."""
    return re.search(rf"(?<![\w.]){re.escape(function.split('.')[0])}\(", code) is not None


def _too_few(function: str, names: list[str], code: str) -> str:
    listed = " and ".join(filter(None, (", ".join(map(_code, names[:-1])), _code(names[-1]))))
    if _is_own(function, code):
        return f"This call of `{function}` leaves out {listed}. Its `def` names what it takes."
    if names == ["dim"]:
        return f"PyTorch has to be told the axis that `{function}` goes along: give `dim`."
    if not _is_named(function, code):
        return _fails_inside(function, code)
    return f"`{function}` also needs {listed}, which this call leaves out."


def _unknown(function: str, name: str, code: str) -> str:
    if _is_own(function, code):
        if function in ("sum", "max", "min", "abs"):
            return f"This is Python's own `{function}`, which knows no axes. The arrays' own does."
        return f"`{function}` has no parameter `{name}`: its `def` names those that it takes."
    other = _IN_NUMPY.get(name)
    if other and (function.startswith("_") or re.search(rf"\bnp\.{function}\(", code)):
        return f"`{name}` is PyTorch's word: NumPy calls it `{other}`."
    if name == "axis":
        return (
            "This function of PyTorch knows no `axis`: it calls it `dim`." if "nn." in code else ""
        )
    return ""


def _too_many(function: str, exception: ExceptionReport) -> str:
    code = exception.code
    if function in _AXES:
        return _NUMPY_AXES if "np." in code else _AXES[function]
    if function.endswith(".forward"):
        return "Whoever calls the layer gives it more values than its `forward` takes."
    if _is_own(function, code):
        return f"This call gives `{function}` more values than its `def` has parameters."
    if not _is_named(function, code):
        return _fails_inside(function, code)
    return f"This call gives `{function}` more values than it takes."


def _is_named(function: str, code: str) -> bool:
    """Whether a line names a function, or calls a method that is called without its name."""
    last = function.split(".")[-1]
    return last in _UNNAMED or re.search(rf"\b_*{re.escape(last.lstrip('_'))}\b", code) is not None


def _fails_inside(function: str, code: str) -> str:
    """Say that a function of the library fails inside itself, by the name that the line calls."""
    called = set(_CALLS.findall(code))
    outer = called.pop() if len(called) == 1 else ""
    if function == "tri" and outer.split(".")[-1] in ("tril", "triu"):
        return f"`{outer}` takes a matrix, and keeps one half of it. A plain number stands there."
    if not outer:
        return "A function of the library fails inside itself: what it is given does not fit."
    return f"`{outer}` fails inside itself: what it is given does not fit."


def _layer(code: str) -> str:
    found = _LAYER.search(code)
    return layer_made(found[1]) if found else ""


def layer_made(name: str) -> str:
    """Return the words for a layer of PyTorch that is made where its result is meant."""
    return (
        f"`nn.{name}(...)` only makes a layer, from settings such as sizes or `dim`. The layer is "
        "then called with the tensor."
    )


def _code(name: str) -> str:
    return f"`{name}`"
