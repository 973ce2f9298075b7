"""What to say about the errors of NumPy, PyTorch and Python that are met most often.

Each sentence is true wherever its message appears. It names the tool, and leaves the line to the
student.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # it needs NumPy, which need not work where this is read
    from autograder.values.request import ExceptionReport

    Words = str | Callable[[ExceptionReport, re.Match[str]], str]
    Meaning = tuple[str, Words] | tuple[str, str, Words]

# What is said of an exception is a table. A row is a pattern of its message, and the sentence for
# it, with the pattern's groups in brackets; or a function that makes the sentence, or none. Before
# the pattern may stand the type of the exception, where that counts.


def said(table: Iterable[Meaning], exception: ExceptionReport) -> str:
    """Return what the first row says that fits an exception and has something to say, or ""."""
    for row in table:
        kind, pattern, words = row if len(row) == 3 else (exception.type_name, *row)
        found = re.search(pattern, exception.message) if kind == exception.type_name else None
        if found and (told := _worded(words, exception, found)):
            return told
    return ""


def _worded(words: Words, exception: ExceptionReport, found: re.Match[str]) -> str:
    if not isinstance(words, str):
        return words(exception, found)
    # A list of shapes as NumPy writes it, without those of plain numbers.
    groups = {
        name: (text or "").replace("()", " ").split() for name, text in found.groupdict().items()
    }
    return words.format(**{name: " ".join(parts) for name, parts in groups.items()})


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


def _not_in_module(_: ExceptionReport, found: re.Match[str]) -> str:
    module, name = found[1], found[2]
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


def _not_in_array(_: ExceptionReport, found: re.Match[str]) -> str:
    kind, name = found[1], found[2]
    module = {"numpy.ndarray": "numpy", "Tensor": "torch"}.get(kind, "")
    twin = _ARRAY_METHODS.get(kind, {}).get(name, "")
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


def _shown(module: str) -> str:
    return _NICKNAMES.get(module, module)


# What to say about a call whose arguments do not fit.
#
# The wrong call is the check's own, where the student changed the `def`, or it stands in a line
# of the student's: only there does the report of the exception name a line.

HANDED_OUT = "Keep the parameters as they were handed out: the check calls your code with those."
_FUNCTION = r"(?P<function>[\w.<>]+)\(\) "
# What PyTorch calls an argument, and what NumPy calls it.
_IN_NUMPY = {"keepdim": "keepdims", "dim": "axis", "diagonal": "k"}
# A call of what the library has, and the words for how it wants its arguments.
_AXES = {
    "transpose": "In PyTorch, `transpose` exchanges two axes, so it takes two numbers. `permute` "
    "takes the new order of all axes.",
    "permute": "`torch.permute` takes the new order of the axes as one tuple.",
}
_CALLS = re.compile(r"([A-Za-z_][\w.]*)\(")
_UNNAMED = ("__init__", "__call__", "__new__", "forward", "<lambda>")
_NUMPY_AXES = "`np.transpose` takes the new order of the axes as one tuple."


def _is_own(function: str, code: str) -> bool:
    """Whether a line calls a function by its bare name, and not one of a module or an array."""
    return re.search(rf"(?<![\w.]){re.escape(function.split('.')[0])}\(", code) is not None


def _too_many(exception: ExceptionReport, found: re.Match[str]) -> str:
    function, code = found["function"], exception.code
    if function in _AXES:
        return _NUMPY_AXES if "np." in code else _AXES[function]
    if function.endswith(".forward"):
        return "Whoever calls the layer gives it more values than its `forward` takes."
    if _is_own(function, code):
        return f"This call gives `{function}` more values than its `def` has parameters."
    if not _is_named(function, code):
        return _fails_inside(function, code)
    return f"This call gives `{function}` more values than it takes."


def _too_few(exception: ExceptionReport, found: re.Match[str]) -> str:
    function, code = found["function"], exception.code
    names = re.findall(r"['\"](\w+)['\"]", found["names"])
    quoted = [f"`{name}`" for name in names]
    listed = " and ".join(filter(None, (", ".join(quoted[:-1]), quoted[-1])))
    if _is_own(function, code):
        return f"This call of `{function}` leaves out {listed}. Its `def` names what it takes."
    if names == ["dim"]:
        return f"PyTorch has to be told the axis that `{function}` goes along: give `dim`."
    if not _is_named(function, code):
        return _fails_inside(function, code)
    return f"`{function}` also needs {listed}, which this call leaves out."


def _unknown(exception: ExceptionReport, found: re.Match[str]) -> str:
    function, name, code = found["function"], found["name"], exception.code
    if _is_own(function, code):
        if function in ("sum", "max", "min", "abs"):
            return f"This is Python's own `{function}`, which knows no axes. The arrays' own does."
        return f"`{function}` has no parameter `{name}`: its `def` names those that it takes."
    other = _IN_NUMPY.get(name)
    if other and (function.startswith("_") or re.search(rf"\bnp\.{function}\(", code)):
        return f"`{name}` is PyTorch's word: NumPy calls it `{other}`."
    if name == "axis" and "nn." in code:
        return "This function of PyTorch knows no `axis`: it calls it `dim`."
    return ""


def _twice(exception: ExceptionReport, found: re.Match[str]) -> str:
    return _layer_made(exception, found) or (
        f"The call gives `{found[2]}` by its name, and by its place too. Which one is meant?"
    )


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


def layer_made(name: str) -> str:
    """Return the words for a layer of PyTorch that is made where its result is meant."""
    return (
        f"`nn.{name}(...)` only makes a layer, from settings such as sizes or `dim`. The layer is "
        "then called with the tensor."
    )


def _layer_made(exception: ExceptionReport, _: re.Match[str]) -> str:
    made = re.search(r"\bnn\.([A-Z]\w*)\(", exception.code)
    return layer_made(made[1]) if made else ""


# Every call that does not fit; the functions say more of one in the student's own lines.
OF_CALLS: tuple[Meaning, ...] = (
    (
        "TypeError",
        r"[\w.<>]\(\) (?:takes .*positional argument|missing \d+ required|got an unexpected keyword"
        r"|got multiple values)|is an invalid keyword argument for",
        lambda exception, _: "" if exception.line else HANDED_OUT,
    ),
    ("TypeError", _FUNCTION + r"takes .*positional argument", _too_many),
    (
        "TypeError",
        _FUNCTION + r"missing \d+ required (?:positional|keyword-only) arguments?: (?P<names>.+)",
        _too_few,
    ),
    ("TypeError", _FUNCTION + r"got an unexpected keyword argument '(?P<name>\w+)'", _unknown),
    (
        "TypeError",
        r"'(?P<name>\w+)' is an invalid keyword argument for (?P<function>\w+)\(\)",
        _unknown,
    ),
    ("TypeError", _FUNCTION + r"got multiple values for argument '(\w+)'", _twice),
)


def _unpacked(exception: ExceptionReport, found: re.Match[str]) -> str:
    more = "more" if found[1] == "too many" else "fewer"
    if re.search(r"\.(?:shape|size\(\))\s*(?:#|$)", exception.code):
        return (
            f"A shape has one number for each axis. There are {more} axes than names on the left."
        )
    return f"There are {more} values on the right of `=` than the {found[2]} names on the left."


# About axes: the shapes at the line are told after it.
OF_AXES: tuple[Meaning, ...] = (
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
    (r"(too many|not enough) values to unpack \(expected (\d+)", _unpacked),
)


# What to say about how something is written or called, where the line tells more.

# A choice of Python's own among values, and the method of an array that makes it.
_METHODS = {"max": "max", "min": "min", "sorted": "sort"}
_PLAIN_CHOICE = re.compile(rf"(?<![\w.])({'|'.join(_METHODS)})\(")
# `if lengths:`, `while not mask:`, `x = mask or other`, `if mask == None:`
_WHETHER = re.compile(
    r"\b(?:(?:el)?if|while|not|and|or)\s+(?:not\s+)?(?P<name>[A-Za-z_][\w.]*)\s*"
    r"(?::|\)|$|#|\b(?:and|or|else)\b)|(?P<compared>[A-Za-z_][\w.]*)\s*[!=]=\s*None\b"
    r"|(?:=|\(|\breturn\b)\s*(?P<first>[A-Za-z_][\w.]*)\s+(?:and|or)\b"
)
_OPERATION = re.compile(r"([\w.]+)\s*([@*+/-])\s*([\w.]+)")
_IN_MATH = ("sqrt", "exp", "log", "log2", "sin", "cos", "tanh", "floor", "ceil")
_IN_MATH_CALL = re.compile(rf"(?:\bmath\.|(?<![\w.]))({'|'.join(_IN_MATH)})\(")
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


def _no_bias(exception: ExceptionReport, _: re.Match[str]) -> str:
    if not re.search(r"\.bias\b", exception.code):
        return ""
    return (
        "A layer that is made with `bias=False` has None in place of its bias. What does calling "
        "the layer do that this line does by hand?"
    )


def _truth(exception: ExceptionReport, _: re.Match[str]) -> str:
    """Say what stands in the place of one True or False: an array, or a question about None."""
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


def _layer_as_array(exception: ExceptionReport, _: re.Match[str]) -> str:
    kinds = re.search(r"for (\S+): '(\w+)' and '(\w+)'", exception.message)
    products = [
        found for found in _OPERATION.finditer(exception.code) if kinds and found[2] == kinds[1]
    ]
    if kinds and len(products) == 1:  # which of several, nobody knows
        name = products[0][1 if kinds[2] == "Linear" else 3]
        return f"`{name}` is a layer, and a layer is called: `{name}(...)`. The product is inside."
    return "A linear layer stands there. A layer is called with its input, as a function is."


def _plain_number(_: ExceptionReport, found: re.Match[str]) -> str:
    instead = f" For a plain number there is `math.{found[1]}`." if found[1] in _IN_MATH else ""
    return f"`torch.{found[1]}` takes a tensor, and a plain number stands there.{instead}"


def _of_math(exception: ExceptionReport, _: re.Match[str]) -> str:
    called = set(_IN_MATH_CALL.findall(exception.code))
    if len(called) != 1:
        return ""
    name, of_torch = called.pop(), "ensor" in exception.message
    home, what = ("torch", "a tensor") if of_torch else ("np", "an array")
    return f"`{name}` of the module `math` takes one number; `{home}.{name}` takes {what}."


def _without_brackets(exception: ExceptionReport, _: re.Match[str]) -> str:
    names = {name for name in _ATTRIBUTE.findall(exception.code) if name not in _READ}
    if len(names) != 1:
        return "A method is called by the round brackets after its name. Which name lacks them?"
    return f"`{names.pop()}` is a method: it is called by round brackets after its name."


def _not_callable(exception: ExceptionReport, found: re.Match[str]) -> str:
    for name in _UNCALLED.get(found[1], ()):
        if re.search(rf"\.{name}\s*\(", exception.code):
            return f"`{name}` is no method: it is read without round brackets."
    if found[1] in ("int", "float", "numpy.ndarray", "Tensor", "numpy.float64"):
        what = "an array" if found[1] in ("numpy.ndarray", "Tensor") else "a number"
        return f"Round brackets call a function, but {what} stands before them."
    return ""


# About how something is written or called.
OF_WRITING: tuple[Meaning, ...] = (
    (r"NoneType", _no_bias),
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
    (r"truth value of an array|Boolean value of Tensor", _truth),
    (r"unsupported operand.*'Linear'|must be Tensor, not Linear|'Linear' object", _layer_as_array),
    (r"(\w+)\(\): argument 'input' .*must be Tensor, not (?:int|float)", _plain_number),
    (
        r"only (?:0-dimensional|length-1|size-1) arrays can be converted"
        r"|only one element tensors can be converted|elements cannot be converted to Scalar",
        _of_math,
    ),
    (
        r"'(?:builtin_function_or_method|method|function)' object"
        r"|non-iterable (?:builtin_)?(?:function|method)",
        _without_brackets,
    ),
    (r"'([\w.]+)' object is not callable", _not_callable),
    (r"must be int, not Tensor|but got Tensor", _layer_made),
    (r"module '([\w.]+)' has no attribute '(\w+)'", _not_in_module),
    (r"'([\w.]+)' object has no attribute '(\w+)'", _not_in_array),
)


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
