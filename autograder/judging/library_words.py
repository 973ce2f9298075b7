"""What to say about the errors of NumPy, PyTorch and Python that are met most often.

Each sentence is true wherever its message appears. It names the tool, and leaves the line to the
student.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autograder.model.request import ExceptionReport


# What a module or an array has in place of a name that it lacks.
#
# Many names differ between NumPy and PyTorch, or in one capital letter.

_NICKNAMES = {"numpy": "np", "torch.nn": "nn", "torch.nn.functional": "nn.functional"}
# What is used here of each module; enough to tell a slip of the keyboard.
_MODULES = {
    "numpy": "arange array concatenate copy empty exp expand_dims eye full inf log matmul max mean "
    "min ndarray newaxis ones ones_like random reshape sqrt stack sum swapaxes transpose tril triu "
    "where zeros zeros_like".split(),
    "torch": "Tensor arange cat chunk empty exp eye full inf log matmul max mean nn ones ones_like "
    "permute randn reshape softmax sqrt stack sum tensor transpose tril triu unbind where "
    "zeros zeros_like".split(),
    "torch.nn": "Dropout LayerNorm Linear Module ModuleList Parameter Sequential Softmax "
    "functional".split(),
    "torch.nn.functional": "dropout linear pad scaled_dot_product_attention softmax".split(),
    "math": "ceil exp floor inf log pi pow sqrt".split(),
}
# Names of one library, with what the other one has for them.
_TWINS = {
    "numpy": {
        "cat": "np.concatenate",
        "tensor": "np.array",
        "masked_fill": "np.where",
        "permute": "np.transpose",
        "unsqueeze": "np.expand_dims",
        "bmm": "np.matmul",
        "rand": "np.random",
        "randn": "np.random",
        "view": "np.reshape",
    },
    "torch": {
        "array": "torch.tensor",
        "expand_dims": "torch.unsqueeze",
        "random": "torch.randn",
        "Linear": "nn.Linear",
        "Softmax": "torch.softmax",
        "Module": "nn.Module",
        "ModuleList": "nn.ModuleList",
        "Parameter": "nn.Parameter",
    },
    "torch.nn": {"softmax": "torch.softmax"},
}
# What NumPy leaves to others, and no other name of its own does.
_NOT_IN_NUMPY = ("softmax", "log_softmax", "relu", "gelu", "sigmoid", "layer_norm", "dropout")
_ARRAY_METHODS = {
    "numpy.ndarray": _TWINS["numpy"]
    | {"contiguous": "np.ascontiguousarray", "clone": "copy", "dim": "ndim", "float": "astype"}
    | {"amax": "max", "amin": "min", "numel": "size", "to": "astype", "double": "astype"}
    | {"expand": "np.broadcast_to", "mm": "np.matmul", "add": "np.add", "pow": "np.power"}
    | {"sub": "np.subtract", "mul": "np.multiply", "div": "np.divide", "masked_fill_": "np.where"},
    "Tensor": {"astype": "to", "copy": "clone", "concatenate": "torch.cat"},
    "numpy.random._generator.Generator": {
        "randn": "standard_normal",
        "rand": "random",
        "randint": "integers",
    },
}
_OWNERS = {
    "numpy.ndarray": "An array of NumPy",
    "Tensor": "A tensor",
    "numpy.random._generator.Generator": "A random generator",
}
_NO_NAME = re.compile(r"module '([\w.]+)' has no attribute '(\w+)'")
_NO_METHOD = re.compile(r"'([\w.]+)' object has no attribute '(\w+)'")


def attribute_words(message: str) -> str:
    """Return what a module or an array has in place of a name that it lacks, or ""."""
    if found := _NO_NAME.search(message):
        return _not_in_module(found[1], found[2])
    found = _NO_METHOD.search(message)
    if not found or found[1] not in _ARRAY_METHODS:
        return ""
    kind, name = found[1], found[2]
    module = {"numpy.ndarray": "numpy", "Tensor": "torch"}.get(kind, "")
    twin = _ARRAY_METHODS[kind].get(name, "")
    if twin:
        return f"{_OWNERS[kind]} has no `{name}`; `{twin}` does that."
    if name in _MODULES.get(module, ()):
        return f"{_OWNERS[kind]} has no `{name}` of its own: it is `{_shown(module)}.{name}`."
    return ""


def home_of(name: str, modules: tuple[str, ...]) -> str:
    """Return a name with the module that has it, such as `np.sqrt`, or ""; the first one wins."""
    for nickname in modules:
        module = {each: full for full, each in _NICKNAMES.items()}.get(nickname, nickname)
        if name in _MODULES.get(module, ()):
            return f"{nickname}.{name}"
    return ""


def _not_in_module(module: str, name: str) -> str:
    twin = _TWINS.get(module, {}).get(name)
    if twin:
        return f"`{_shown(module)}` has no `{name}`; `{twin}` does that."
    if module == "numpy" and name in _NOT_IN_NUMPY:
        return f"NumPy has no `{name}`: it is put together from smaller functions."
    known = _MODULES.get(module, [])
    same = [each for each in known if each.lower() == name.lower()]
    close = same or difflib.get_close_matches(name, known, n=1, cutoff=0.7)
    capital = " Capital and small letters are different." if same else ""
    return f"Did you mean `{_shown(module)}.{close[0]}`?{capital}" if close else ""


def _shown(module: str) -> str:
    return _NICKNAMES.get(module, module)


# What to say about a call whose arguments do not fit.
#
# The wrong call is the check's own, where the student changed the `def`, or it stands in a line
# of the student's: only there does the report of the exception name a line.

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


# About axes: the shapes at the line are told after it.
OF_AXES = (
    (
        r"1D tensors expected",
        "`torch.dot` takes two single vectors, with one axis each. Here are matrices, several at "
        "once: which product takes them?",
    ),
    (
        r"self must be a matrix|mat2 must be a matrix",
        "`torch.mm` takes two single matrices, with two axes each. Which product takes several at "
        "once, with more axes in front?",
    ),
    (
        r"batch[12] must be a 3D tensor",
        "`torch.bmm` takes three axes: a matrix, and one axis in front of it. Which product takes "
        "any number of them?",
    ),
    (
        r"not aligned: (?P<left>\d+) \(dim \d+\) != (?P<right>\d+)",
        "The sum of the products runs over two axes, which must be equally long. Here they have "
        "{left} and {right}.",
    ),
    (
        r"axes don't match array",
        "In NumPy, `transpose` takes the new order of all axes. `swapaxes` exchanges two.",
    ),
    (
        r"permute\(.*input\.dim\(\) = (?P<axes>\d+)",
        "`permute` takes the new order of all axes, and there are {axes}. `transpose` exchanges "
        "two.",
    ),
    (
        r"repeated axis in transpose|duplicate dims are not allowed",
        "The new order names one axis twice. Each axis has to stand there once.",
    ),
    (
        r"expected to be in range of \[-(?P<axes>\d+), (?P<last>\d+)\]",
        "There are {axes} axes, counted from 0 to {last}, or from -1 backwards.",
    ),
    (
        r"axis -?\d+ is out of bounds for array of dimension (?P<axes>\d+)",
        "The array has {axes} axes, counted from 0, or from -1 backwards.",
    ),
    (
        r"boolean index did not match|The shape of the mask .* does not match",
        "A mask in square brackets is laid on from the first axis on, so its first axis must be as "
        "long as the array's. `where` lays it on from the last axis.",
    ),
    (
        r"too many indices for (?:array|tensor)",
        "There are more numbers in the square brackets than the array has axes.",
    ),
    (
        r"index (?P<index>-?\d+) is out of bounds for (?:axis|dimension) \d+ "
        r"with size (?P<size>\d+)",
        "An axis of size {size} is counted from 0, so {index} lies beyond its end.",
    ),
    (r"only one dimension can be inferred", "Only one size can be left open with -1."),
)
# About how something is written or called.
OF_WRITING = (
    (
        r"Cannot interpret '.*' as a data type",
        "A shape is one tuple, in round brackets of its own. What stands after it is taken for the "
        "dtype.",
    ),
    (
        r"operator\.invert|ufunc 'invert' not supported|bad operand type for unary ~",
        "`~` turns True and False over, and the mask there holds other numbers. A comparison such "
        "as `== 0` makes True and False of them, and so does `.bool()` or `.astype(bool)`.",
    ),
    (
        r"not compiled with CUDA|No CUDA GPUs|NVIDIA driver|only supports CPU|PyTorch is not linked"
        r"|Invalid device|Cannot access accelerator",
        "There is no GPU where this code runs. Leave the tensors on the device that they come on.",
    ),
    (
        r"(?:underflow|overflow|divide by zero|invalid value) encountered in",
        "NumPy only warns of that, unless a setting such as `np.seterr` makes it an error.",
    ),
    (
        r"bitwise_xor|for \^:",
        "In Python, a power is written `**`. The sign `^` is something else.",
    ),
    (
        r"Can't call numpy\(\) on Tensor",
        "Stay in PyTorch: it has what this line needs. With `detach`, which PyTorch's own message "
        "names, no gradient would flow back.",
    ),
    (
        r"descriptor '__init__' of 'super' object",
        "`super` is a function too: it is called before its `__init__` is.",
    ),
    (
        r"maximum recursion depth",
        "A function calls itself again and again, by itself or by way of another one.",
    ),
    (
        r"return arrays must be of ArrayType",
        "The second value is not what NumPy takes there. Give it by its name, as in "
        "`keepdims=True`.",
    ),
    (
        r"only supports boolean masks",
        "`masked_fill` takes a mask of True and False. A comparison makes one.",
    ),
    (
        r"must be tuple of Tensors, not Tensor",
        "The tensors go in as one list or tuple, in brackets of their own.",
    ),
    (
        r"must be Tensor, not numpy\.ndarray|'numpy\.ndarray' and 'Tensor'"
        r"|'Tensor' and 'numpy\.ndarray'",
        "An array of NumPy and a tensor of PyTorch meet there. Which line makes the array?",
    ),
    (
        r"'NoneType'",
        "A None stands there. Is it from a function without a `return`, or from one that gives "
        "nothing back?",
    ),
)
# A choice of Python's own among values, and the method of an array that makes it.
_METHODS = {"max": "max", "min": "min", "sorted": "sort"}
_PLAIN_CHOICE = re.compile(rf"(?<![\w.])({'|'.join(_METHODS)})\(")
_TRUTH = re.compile(r"truth value of an array|Boolean value of Tensor")
# `if lengths:`, `while not mask:`, `x = mask or other`, `if mask == None:`
_WHETHER = re.compile(
    r"\b(?:(?:el)?if|while|not|and|or)\s+(?:not\s+)?(?P<name>[A-Za-z_][\w.]*)\s*"
    r"(?::|\)|$|#|\b(?:and|or|else)\b)|(?P<compared>[A-Za-z_][\w.]*)\s*[!=]=\s*None\b"
    r"|(?:=|\(|\breturn\b)\s*(?P<first>[A-Za-z_][\w.]*)\s+(?:and|or)\b"
)
_OPERAND = re.compile(r"unsupported operand.*'Linear'|must be Tensor, not Linear|'Linear' object")
_OPERATION = re.compile(r"([\w.]+)\s*([@*+/-])\s*([\w.]+)")
_NUMBER = re.compile(r"(\w+)\(\): argument 'input' .*must be Tensor, not (?:int|float)")
_IN_MATH = ("sqrt", "exp", "log", "log2", "sin", "cos", "tanh", "floor", "ceil")
_ONE_NUMBER = re.compile(
    r"only (?:0-dimensional|length-1|size-1) arrays can be converted"
    r"|only one element tensors can be converted|elements cannot be converted to Scalar"
)
_IN_MATH_CALL = re.compile(rf"(?:\bmath\.|(?<![\w.]))({'|'.join(_IN_MATH)})\(")
_UNPACKED = re.compile(r"(too many|not enough) values to unpack \(expected (\d+)")
_BARE = re.compile(
    r"'(?:builtin_function_or_method|method|function)' object"
    r"|non-iterable (?:builtin_)?(?:function|method)"
)
_ATTRIBUTE = re.compile(r"\.([a-z_]\w*)\b(?!\s*\()")
_READ = ("shape", "dtype", "ndim", "device", "data", "real", "grad", "weight", "bias", "functional")
# Types that are not callable, and the attributes that have such a value.
_UNCALLED = {
    "tuple": ("shape",),
    "torch.Size": ("shape",),
    "int": ("size", "ndim"),
    "numpy.ndarray": ("T", "mT"),
    "Tensor": ("T", "mT", "H"),
}
_CALLED = re.compile(r"'([\w.]+)' object is not callable")


def of_axes(exception: ExceptionReport) -> str:
    """Return the sentence for a message about axes, "" when the message is another."""
    return _from(OF_AXES, exception.message) or _unpacked(exception)


def of_writing(exception: ExceptionReport) -> str:
    """Return the sentence for a message about how something is written, or ""."""
    return (
        _no_bias(exception)
        or _from(OF_WRITING, exception.message)
        or _truth(exception)
        or _layer_as_array(exception)
        or _plain_number(exception)
        or _of_math(exception)
        or _without_brackets(exception)
        or _not_callable(exception)
        or _made_from_tensor(exception)
        or attribute_words(exception.message)
    )


def _from(table: tuple[tuple[str, str], ...], message: str) -> str:
    for pattern, sentence in table:
        found = re.search(pattern, message)
        if found:
            return sentence.format(**found.groupdict())
    return ""


def _unpacked(exception: ExceptionReport) -> str:
    found = _UNPACKED.search(exception.message)
    if not found:
        return ""
    more = "more" if found[1] == "too many" else "fewer"
    if re.search(r"\.(?:shape|size\(\))\s*(?:#|$)", exception.code):
        return (
            f"A shape has one number for each axis. There are {more} axes than names on the left."
        )
    return f"There are {more} values on the right of `=` than the {found[2]} names on the left."


def _truth(exception: ExceptionReport) -> str:
    """Say what stands in the place of one True or False: an array, or a question about None."""
    if not _TRUTH.search(exception.message):
        return ""
    fact = "One True or False is needed there, and an array has one for each number."
    plain = _PLAIN_CHOICE.search(exception.code)
    if plain:
        return (
            f"Python's own `{plain[1]}` compares one number with another. An array has a method "
            f"`{_METHODS[plain[1]]}` of its own, which goes along an axis."
        )
    asked = _WHETHER.search(exception.code)
    if asked:
        name = asked["name"] or asked["compared"] or asked["first"]
        return f"{fact} Whether `{name}` was given at all is asked by `is None` or `is not None`."
    return f"{fact} `where` chooses number by number."


def _layer_as_array(exception: ExceptionReport) -> str:
    """Say that a layer is called, where it is multiplied."""
    if not _OPERAND.search(exception.message):
        return ""
    kinds = re.search(r"for (\S+): '(\w+)' and '(\w+)'", exception.message)
    products = [
        found for found in _OPERATION.finditer(exception.code) if kinds and found[2] == kinds[1]
    ]
    if kinds and len(products) == 1:  # which of several, nobody knows
        name = products[0][1 if kinds[2] == "Linear" else 3]
        return f"`{name}` is a layer, and a layer is called: `{name}(...)`. The product is inside."
    return "A linear layer stands there. A layer is called with its input, as a function is."


def _no_bias(exception: ExceptionReport) -> str:
    """Say what the bias of a layer is that was made without one."""
    if "NoneType" not in exception.message or not re.search(r"\.bias\b", exception.code):
        return ""
    return (
        "A layer that is made with `bias=False` has None in place of its bias. What does calling "
        "the layer do that this line does by hand?"
    )


def _plain_number(exception: ExceptionReport) -> str:
    found = _NUMBER.search(exception.message)
    if not found:
        return ""
    instead = f" For a plain number there is `math.{found[1]}`." if found[1] in _IN_MATH else ""
    return f"`torch.{found[1]}` takes a tensor, and a plain number stands there.{instead}"


def _of_math(exception: ExceptionReport) -> str:
    """Say that a function of the module `math` takes a plain number, and who takes an array."""
    if not _ONE_NUMBER.search(exception.message):
        return ""
    called = set(_IN_MATH_CALL.findall(exception.code))
    if len(called) != 1:
        return ""
    name, of_torch = called.pop(), "ensor" in exception.message
    home, what = ("torch", "a tensor") if of_torch else ("np", "an array")
    return f"`{name}` of the module `math` takes one number; `{home}.{name}` takes {what}."


def _without_brackets(exception: ExceptionReport) -> str:
    """Say which method lacks its brackets."""
    if not _BARE.search(exception.message):
        return ""
    names = {name for name in _ATTRIBUTE.findall(exception.code) if name not in _READ}
    if len(names) != 1:
        return "A method is called by the round brackets after its name. Which name lacks them?"
    return f"`{names.pop()}` is a method: it is called by round brackets after its name."


def _not_callable(exception: ExceptionReport) -> str:
    found = _CALLED.search(exception.message)
    if not found:
        return ""
    for name in _UNCALLED.get(found[1], ()):
        if re.search(rf"\.{name}\s*\(", exception.code):
            return f"`{name}` is no method: it is read without round brackets."
    if found[1] in ("int", "float", "numpy.ndarray", "Tensor", "numpy.float64"):
        what = "an array" if found[1] in ("numpy.ndarray", "Tensor") else "a number"
        return f"Round brackets call a function, but {what} stands before them."
    return ""


def _made_from_tensor(exception: ExceptionReport) -> str:
    """Say that a layer was made from a tensor, where it should be called with it."""
    made = re.search(r"\bnn\.([A-Z]\w*)\(", exception.code)
    inside = re.search(r"must be int, not Tensor|but got Tensor", exception.message)
    return layer_made(made[1]) if made and inside else ""
