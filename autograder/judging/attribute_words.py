"""What a module or an array has in place of a name that it lacks.

Many names differ between NumPy and PyTorch, or in one capital letter.
"""

from __future__ import annotations

import difflib
import re

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
_METHODS = {
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
    if not found or found[1] not in _METHODS:
        return ""
    kind, name = found[1], found[2]
    module = {"numpy.ndarray": "numpy", "Tensor": "torch"}.get(kind, "")
    twin = _METHODS[kind].get(name, "")
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
