"""Imports that code uses and does not have: those that every student takes for granted.

They are found in the text, so a name that only a function's body uses counts too. A session in a
notebook may still know a module that the file never imports. Of a package that is not there in
class, decorators and annotations are left out: they are no part of what a step computes.
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


def without_absent(
    cells: Sequence[str], library: str, given: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return cells without the decorators and annotations that need modules which are not there.

    Lines keep their numbers. The remarks tell of decorators; annotations are not missed.
    """
    trees = [parsed(cell) for cell in cells]
    absent = _absent_names([tree for tree in trees if tree], library, given)
    if not absent:
        return tuple(cells), ()
    kept: list[str] = []
    remarks: list[str] = []
    for cell, tree in zip(cells, trees):
        found = _decorators_and_annotations(tree) if tree else ()
        needing = [(node, own) for node, own in found if _names_in(node) & absent.keys()]
        kept.append(_cut(cell, needing) if needing else cell)
        for node, is_decorator in needing:
            if is_decorator:
                module = absent[min(_names_in(node) & absent.keys())]
                remarks.append(_remark_on_decorator(cell.split("\n")[node.lineno - 1], module))
    return tuple(kept), tuple(dict.fromkeys(remarks))[:_MOST_MODULES]


def _absent_names(trees: Sequence[ast.Module], library: str, given: str) -> dict[str, str]:
    """Return the names that come from absent modules, and those that are set with their help."""
    found = absent_modules(trees, library, given)
    if not found:
        return found
    for node in (node for tree in trees for node in tree.body):
        if isinstance(node, ast.Assign) and (used := _names_in(node.value) & found.keys()):
            names = (each.id for each in node.targets if isinstance(each, ast.Name))
            found |= dict.fromkeys(names, found[min(used)])
    defined = {node.name for tree in trees for node in top_level(tree)}
    return {name: module for name, module in found.items() if name not in defined}


def _decorators_and_annotations(tree: ast.Module) -> Iterator[tuple[ast.expr, bool]]:
    """Yield every decorator (True) and every annotation (False), none inside another."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from ((each, True) for each in node.decorator_list)
                arguments = node.args
                every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
                every += tuple(filter(None, (arguments.vararg, arguments.kwarg)))
                yield from ((each.annotation, False) for each in every if each.annotation)
                if node.returns:
                    yield node.returns, False
            case ast.ClassDef():
                yield from ((each, True) for each in node.decorator_list)
            case ast.AnnAssign():
                yield node.annotation, False


def _names_in(node: ast.expr) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _cut(cell: str, nodes: Iterable[tuple[ast.expr, bool]]) -> str:
    """Return a cell without these decorators, and with `...` in place of these annotations."""
    lines = [line.encode() for line in cell.split("\n")]
    for node, is_decorator in sorted(nodes, key=_place, reverse=True):
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        if is_decorator:  # it begins its line
            lines[first : last + 1] = [b""] * (last + 1 - first)
            continue
        before, after = lines[first][: node.col_offset], lines[last][node.end_col_offset :]
        text = before + b"(..." + b"\n" * (last - first) + b")" + after
        lines[first : last + 1] = text.split(b"\n")
    return b"\n".join(lines).decode()


def _place(found: tuple[ast.expr, bool]) -> tuple[int, int]:
    return found[0].lineno, found[0].col_offset


def _remark_on_decorator(line: str, module: str) -> str:
    decorator, needed = clean_line(line.strip(), LONGEST_NAME), clean_line(module, LONGEST_NAME)
    return (
        f"`{decorator}` needs `{needed}`, which is not there when your code is graded: what it "
        "decorates was judged without it."
    )


def remarks_on_absent(cells: Iterable[str], exercise: Exercise, given: str) -> tuple[str, ...]:
    """Return a remark on every module that a step uses and that is not there in class.

    The cells are those that `without_absent` gives.
    """
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
