"""Imports that code uses and does not have: those that every student takes for granted.

They are found in the text, so a name that only a function's body uses counts too. A session in a
notebook may still know a module that the file never imports.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import ModuleType

from autograder.judging.explanation import IMPORTS
from autograder.model.exercise import Exercise
from autograder.model.sanitize import LONGEST_NAME, clean_line
from autograder.submission.cells import parsed
from autograder.submission.definitions import top_level
from autograder.submission.global_names import unset_names
from autograder.submission.partial_cell import bound_names, imports_of

_MOST_MODULES = 5


def missing_imports(cells: Sequence[str], library: str, given: str) -> tuple[str, ...]:
    """Return the lines of import that `cells` lack.

    Offered are the standard ones for the `library`, and those of `given`, the exercise's text.
    """
    standard = _standard(library)
    wanted = _offered(given) | standard.keys()
    missing = unset_names(cells, wanted)
    if not missing:
        return ()
    lines = imports_of(missing, given)
    left = missing.difference(*map(bound_names, lines))
    return (*lines, *(line for name, line in standard.items() if name in left))


def remark_on_imports(lines: Iterable[str]) -> str:
    """Return the remark that these imports were added."""
    listed = ", ".join(f"`{line}`" for line in lines)
    return (
        f"Your code needs {listed} at the top, and that was added for the check. "
        "Write it there yourself: without it, your code stops."
    )


@lru_cache(maxsize=8)  # an exercise's text is the same for a whole class
def packages_of(library: str, given: str) -> tuple[str, ...]:
    """Return the packages that an exercise has: those that its text imports, and NumPy."""
    tree = parsed(given)
    roots = (_root(node, each) for node, each in _imports([tree] if tree else []))
    return tuple(dict.fromkeys(("numpy", library, *roots)))


def absent_modules(trees: Iterable[ast.Module], library: str, given: str) -> dict[str, str]:
    """Return the names that come from modules which are not there in class, with the module.

    There are the standard library and what the exercise itself imports.
    """
    packages = packages_of(library, given)
    return {
        (each.asname or each.name).split(".")[0]: root
        for node, each in _imports(trees)
        if (root := _root(node, each)) not in packages and root not in sys.stdlib_module_names
    }


def remarks_on_absent(cells: Iterable[str], exercise: Exercise, given: str) -> tuple[str, ...]:
    """Return a remark on every module that a step uses and that is not there in class."""
    trees = [tree for cell in cells if (tree := parsed(cell))]
    absent = absent_modules(trees, exercise.library, given)
    names = {step.name for step in exercise.steps}
    steps = [node for tree in trees for node in top_level(tree) if node.name in names]
    used = {node.id for step in steps for node in ast.walk(step) if isinstance(node, ast.Name)}
    modules = dict.fromkeys(
        clean_line(absent[name], LONGEST_NAME) for name in absent if name in used
    )
    return tuple(map(remark_on_absent, list(modules)[:_MOST_MODULES]))


def remark_on_absent(module: str) -> str:
    """Return the remark that a module is not there in class."""
    return f"`{module}` is not there when your code is graded: a step that uses it stops there."


def modules_used(step: ast.AST, names: Mapping[str, object]) -> Iterator[str]:
    """Yield the packages that a step uses, where `names` are what the names in it stand for."""
    for node in ast.walk(step):
        match node:
            case ast.Import(names=found):
                yield from (each.name.split(".")[0] for each in found)
            case ast.ImportFrom(module=str(module), level=0):
                yield module.split(".")[0]
            case ast.Name(id=name) if isinstance(names.get(name), ModuleType):
                yield str(getattr(names[name], "__name__", "")).split(".")[0]


@lru_cache(maxsize=8)
def _offered(given: str) -> frozenset[str]:
    """Return the names that the imports of the exercise's text bind."""
    tree = parsed(given)
    imported = (each for _, each in _imports([tree] if tree else []))
    return frozenset((each.asname or each.name).split(".")[0] for each in imported)


def _standard(library: str) -> dict[str, str]:
    """Return the usual imports by name; PyTorch's only where the exercise uses it."""
    with_torch = library == "torch"
    return {name: line for name, line in IMPORTS.items() if with_torch or "torch" not in line}


def _imports(trees: Iterable[ast.Module]) -> Iterator[tuple[ast.stmt, ast.alias]]:
    for tree in trees:
        for node in tree.body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield from ((node, each) for each in node.names)


def _root(node: ast.stmt, each: ast.alias) -> str:
    """Return the package that an import comes from."""
    module = node.module if isinstance(node, ast.ImportFrom) else each.name
    return (module or "").split(".")[0]
