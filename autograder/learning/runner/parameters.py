"""The parameters of the steps as they were handed out: their names, and the axes of each."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from autograder.model.signature import Definition, signature_in
from autograder.submission.cells import parsed
from autograder.submission.definitions import top_level
from autograder.submission.slip import methods_of

Parameters = Sequence[tuple[str, str | None]]


def parameters_handed_out(given: str) -> dict[str, Parameters]:
    """Return the parameters of the functions and methods in the text that was handed out, by name.

    A class has those of its `__init__`, a method a name such as "Layer.forward".
    """
    tree, found = parsed(given), dict[str, Parameters]()
    for node in top_level(tree) if tree else ():
        if isinstance(node, ast.ClassDef):
            methods = methods_of(node).items()
            found |= {f"{node.name}.{name}": _of(method) for name, method in methods}
            found[node.name] = found.pop(f"{node.name}.__init__", ())
        else:
            found[node.name] = _of(node)
    return found


def _of(node: Definition) -> Parameters:
    try:
        return signature_in(node).parameters
    except SyntaxError:  # an annotation in quotes that is no Python
        return ()
