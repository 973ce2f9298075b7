"""Imports that code uses and does not have: those that every student takes for granted.

They are found in the text, so a name that only a function's body uses counts too. A session in a
notebook may still know a module that the file never imports. Of a package that is not there in
class, decorators and annotations are left out: they are no part of what a step computes.
"""

from __future__ import annotations

import ast
import re
import symtable
import sys
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import ModuleType

from autograder.judging.explanation import IMPORTS
from autograder.submission.cells import UNREADABLE, DefinitionNode, lines_of, parsed, top_level
from autograder.submission.code import CallRoots
from autograder.submission.syntax_tree import (
    imported_by,
    name_of,
    names_bound_by,
    names_of_statements,
    names_used_in,
)
from autograder.values.exercise import Exercise
from autograder.values.sanitize import LONGEST_NAME, clean_line

# Names that code uses as global ones, and that none of its cells sets.
#
# Python's own table of symbols tells that. It is asked only where the imports of a cell leave
# something open: nearly every hand-in begins with them.


def unset_names(cells: Sequence[str], names: frozenset[str]) -> set[str]:
    """Return those of `names` that cells use outside functions, or as global, and that none sets.

    A cell that Python cannot read uses and sets nothing.
    """
    looks = [(cell, *_look(tree, names)) for cell in cells if (tree := parsed(cell))]
    # Be it readable or not, a cell needs no other one for what its own imports set.
    left = {name for _, its_set, its_used in looks for name in its_used - its_set}
    used = set[str]()
    # First those whose imports may set what the other cells use: that leaves little to ask.
    for cell, its_set, its_used in sorted(looks, key=lambda look: left.isdisjoint(look[1])):
        if not left.isdisjoint(its_set | its_used):
            really_used, really_set = _used_and_set(cell, left)
            used |= really_used
            left -= really_set
    return used & left


def _look(tree: ast.Module, names: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return which of `names` the imports of a cell set, and which it may use or set elsewhere.

    If Python can make a table of its symbols, it sets the former. Classes rename what begins
    with _, so that code can use such a name without writing it.
    """
    imported, written = set[str](), {name for name in names if name.startswith("_")}
    for node, its in zip(tree.body, names_of_statements(tree), strict=True):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imported |= its.bound
        else:
            written |= its.mentioned | its.bound if its.whole else names
    return names & imported, names & written


def _used_and_set(cell: str, names: set[str]) -> tuple[set[str], set[str]]:
    """Return which of `names` a cell uses as global ones, and which it sets."""
    used, bound = set[str](), set[str]()
    for table in _tables(cell):
        top = table.get_type() == "module"
        for name in names.intersection(table.get_identifiers()):
            symbol = table.lookup(name)
            its_own = symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()
            if (top or symbol.is_declared_global()) and its_own:
                bound.add(name)
            if symbol.is_referenced() and (top or symbol.is_global()):
                used.add(name)
    return used, bound


def _tables(cell: str) -> Iterator[symtable.SymbolTable]:
    """Yield the table of names of a cell, and of every scope within it."""
    try:
        waiting: list[symtable.SymbolTable] = [symtable.symtable(cell, "cell", "exec")]
    except UNREADABLE:
        return
    while waiting:
        table = waiting.pop()
        yield table
        waiting += table.get_children()


# Which parts of a cell count when it cannot be run to its end.
#
# A plot without a display, a missing file or a training loop that takes minutes is the student's
# own business: it is not part of a step and must not cost one.

_MOST_STATEMENTS = 300
_REST_OF_LINE = re.compile(rb"[ \t\f]*(?:#[^\n]*)?(?=\n|\Z)")


def statements(cell: str) -> tuple[str, ...]:
    """Return one cell for each statement of a cell, so that an error costs only that statement.

    Lines keep their numbers. A cell that is not Python, or is too long, stays whole.
    """
    tree = parsed(cell)
    if tree is None or not 1 < len(tree.body) <= _MOST_STATEMENTS:
        return (cell,)
    text = cell.encode()
    lines = [0, *(end.end() for end in re.finditer(b"\n", text))]
    return tuple(_statement(text, lines, node) for node in tree.body)


def _statement(text: bytes, lines: Sequence[int], node: ast.stmt) -> str:
    """Return one statement at its line, cut out of the text: unparsing could nest too deeply.

    `lines` are the offsets in bytes at which the lines of `text` begin.
    """
    first, last = lines_of(node)
    # A decorator begins its line; another statement may follow a semicolon.
    start = lines[first - 1] + (node.col_offset if first == node.lineno else 0)
    end = lines[last - 1] + (node.end_col_offset or 0)
    comment = _REST_OF_LINE.match(text, end)
    return "\n" * (first - 1) + text[start : comment.end() if comment else end].decode()


def definitions_of(cell: str) -> str:
    """Return a cell with nothing but its definitions, imports and plain constants.

    Lines keep their numbers.
    """
    tree = parsed(cell)
    if tree is None:
        return ""
    modules = {name for name, _ in imported_by(tree.body)}
    lines = cell.split("\n")
    kept = [""] * len(lines)
    for node in tree.body:
        if _defines(node, modules):
            first, last = lines_of(node)
            kept[first - 1 : last] = lines[first - 1 : last]
    return "\n".join(kept)


def _defines(node: ast.stmt, modules: set[str]) -> bool:
    if isinstance(node, DefinitionNode | ast.Import | ast.ImportFrom):
        return True
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    # Only calls of a library: a call such as `weights = train()` may be what takes the time.
    calls = [part for part in ast.walk(node.value) if isinstance(part, ast.Call)]
    loops = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    roots = CallRoots()
    return all(roots.of(call) in modules for call in calls) and not any(
        isinstance(part, loops) for part in ast.walk(node.value)
    )


def given_imports(cells: Iterable[str], before: Iterable[str], solution: str) -> tuple[str, ...]:
    """Return the imports of a solution that `cells` use and the cells `before` lack."""
    read = (each for each in _nodes(cells) if isinstance(each, ast.Name))
    used = {each.id for each in read if isinstance(each.ctx, ast.Load)}
    return imports_of(used.difference(*map(bound_names, before)), solution)


def imports_of(names: Container[str], text: str) -> tuple[str, ...]:
    """Return the lines of import in a text, as far as they bind these names."""
    offered = parsed(text)
    found = []
    for node in offered.body if offered else ():
        if isinstance(node, ast.Import | ast.ImportFrom) and (
            kept := [each for each in node.names if name_of(each) in names]
        ):
            found.append(ast.unparse(_importing(node, kept)))
    return tuple(found)


def _importing(node: ast.Import | ast.ImportFrom, names: list[ast.alias]) -> ast.stmt:
    """Return the same import of fewer names."""
    if isinstance(node, ast.Import):
        return ast.Import(names)
    return ast.ImportFrom(node.module, names, node.level)


def bound_names(cell: str) -> set[str]:
    """Return the names that a cell binds anywhere in it, without parameters."""
    local = ast.arg | ast.ExceptHandler
    return names_bound_by(each for each in _nodes([cell]) if not isinstance(each, local))


def _nodes(cells: Iterable[str]) -> Iterator[ast.AST]:
    trees = (parsed(cell.lstrip("\n")) for cell in cells)  # a piece begins with blank lines
    return (node for tree in trees if tree for node in ast.walk(tree))


_MOST_MODULES = 5


def missing_imports(cells: Sequence[str], library: str, given: str) -> tuple[str, ...]:
    """Return the lines of import that `cells` lack.

    Offered are the standard ones for the `library`, and those of `given`, the exercise's text.
    """
    standard, tree = _standard(library), parsed(given)
    offered = (name for name, _ in imported_by(tree.body if tree else ()))
    missing = unset_names(cells, frozenset(offered) | standard.keys())
    if not missing:
        return ()
    lines = imports_of(missing, given)
    left = missing.difference(*map(bound_names, lines))
    return (*lines, *(line for name, line in standard.items() if name in left))


def remarks_on_imports(lines: Sequence[str], cells: Iterable[str]) -> tuple[str, ...]:
    """Return the remark that these imports were added, if they do not stand in these cells.

    A line of import that stands in a cell which Python cannot read is no mistake of its own.
    """
    if not lines:
        return ()
    written = set[str]().union(*map(_lines_of_import, cells))
    missing = [f"`{line}`" for line in lines if not bound_names(line) <= written]
    if not missing:
        return ()
    remark = (
        f"Your code needs {', '.join(missing)} at the top, and that was added for the check. "
        "Write it there yourself: without it, your code stops."
    )
    return (remark,)


def _lines_of_import(cell: str) -> set[str]:
    """Return what the lines of import in a cell bind that Python cannot read as a whole."""
    if next(_tables(cell), None):
        return set()
    lines = (line for line in cell.split("\n") if line.startswith(("import ", "from ")))
    return set[str]().union(*map(bound_names, lines))


@lru_cache(maxsize=8)  # an exercise's text is the same for a whole class
def packages_of(library: str, given: str) -> tuple[str, ...]:
    """Return the packages that an exercise has: those that its text imports, and NumPy."""
    tree = parsed(given)
    roots = (root for _, root in imported_by(tree.body if tree else ()))
    return tuple(dict.fromkeys(("numpy", library, *roots)))


def absent_modules(trees: Iterable[ast.Module], library: str, given: str) -> dict[str, str]:
    """Return the names that come from modules which are not there in class, with the module.

    There are the standard library and what the exercise itself imports.
    """
    packages = packages_of(library, given)
    return {
        name: root
        for name, root in imported_by(node for tree in trees for node in tree.body)
        if root not in packages and root not in sys.stdlib_module_names
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
        needing = [(node, own) for node, own in found if names_used_in(node) & absent.keys()]
        kept.append(_cut(cell, needing) if needing else cell)
        for node, is_decorator in needing:
            if is_decorator:
                module = absent[min(names_used_in(node) & absent.keys())]
                remarks.append(_remark_on_decorator(cell.split("\n")[node.lineno - 1], module))
    return tuple(kept), tuple(dict.fromkeys(remarks))[:_MOST_MODULES]


def _absent_names(trees: Sequence[ast.Module], library: str, given: str) -> dict[str, str]:
    """Return the names that come from absent modules, and those that are set with their help."""
    found = absent_modules(trees, library, given)
    if not found:
        return found
    for node in (node for tree in trees for node in tree.body):
        if isinstance(node, ast.Assign) and (used := names_used_in(node.value) & found.keys()):
            names = (each.id for each in node.targets if isinstance(each, ast.Name))
            found |= dict.fromkeys(names, found[min(used)])
    defined = {node.name for tree in trees for node in top_level(tree)}
    return {name: module for name, module in found.items() if name not in defined}


def _decorators_and_annotations(tree: ast.Module) -> Iterator[tuple[ast.expr, bool]]:
    """Yield every decorator (True) and every annotation (False), none inside another."""
    for node in ast.walk(tree):
        yield from ((each, True) for each in getattr(node, "decorator_list", ()))
        annotations = (getattr(node, "annotation", None), getattr(node, "returns", None))
        yield from ((each, False) for each in annotations if each)


def _cut(cell: str, nodes: Iterable[tuple[ast.expr, bool]]) -> str:
    """Return a cell without these decorators, and with `...` in place of these annotations."""
    lines = [line.encode() for line in cell.split("\n")]
    for node, is_decorator in sorted(nodes, key=lambda each: (each[0].lineno, each[0].col_offset))[
        ::-1
    ]:
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        if is_decorator:  # it begins its line
            lines[first : last + 1] = [b""] * (last + 1 - first)
            continue
        before, after = lines[first][: node.col_offset], lines[last][node.end_col_offset :]
        text = before + b"(..." + b"\n" * (last - first) + b")" + after
        lines[first : last + 1] = text.split(b"\n")
    return b"\n".join(lines).decode()


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
    used = set[str]().union(*map(names_used_in, steps))
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


def _standard(library: str) -> dict[str, str]:
    """Return the usual imports by name; PyTorch's only where the exercise uses it."""
    with_torch = library == "torch"
    return {name: line for name, line in IMPORTS.items() if with_torch or "torch" not in line}
