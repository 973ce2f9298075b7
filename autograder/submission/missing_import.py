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
import unicodedata
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import ModuleType

from autograder.judging.explanation import IMPORTS
from autograder.model.exercise import Exercise
from autograder.model.sanitize import LONGEST_NAME, clean_line
from autograder.submission.cells import UNREADABLE, DefinitionNode, lines_of, parsed, top_level
from autograder.submission.code import CallRoots

# Names that code uses as global ones, and that none of its cells sets.
#
# Python's own table of symbols tells that. It takes half of a millisecond, so it is asked only
# where a look at the text leaves something open: nearly every hand-in begins with its imports.

_MOST_LINES = 100  # at the top of a cell that are looked at
# No part of a pattern is tried twice: a line may be as long as a text.
_END = r"[ \t]*+(?:#[^\r\n]*+)?+(?:\n|\Z)"
_NOTHING = re.compile(r"(?:[ \t]*+(?:#[^\r\n]*+)?+\n)*+")
_IMPORT = re.compile(rf"(?:from[ \t]++[\w.]++[ \t]++)?+import[ \t]++([\w., \t]++){_END}", re.ASCII)
_DOCSTRING = re.compile(rf'"""[^"\\]*+"""{_END}')
_FOREIGN = re.compile(r"[^\0-\x7f]")


def unset_names(cells: Sequence[str], names: frozenset[str]) -> set[str]:
    """Return those of `names` that cells use outside functions, or as global, and that none sets.

    A cell that Python cannot read uses and sets nothing.
    """
    looks = [(cell, *_look(cell, names)) for cell in cells]
    # Be it Python or not, a cell needs no other one for what its own imports set.
    left = {name for _, its_set, its_used in looks for name in its_used - its_set}
    used = set[str]()
    # First those whose imports may set what the other cells use: that leaves little to ask.
    for cell, its_set, its_used in sorted(looks, key=lambda look: left.isdisjoint(look[1])):
        if not left.isdisjoint(its_set | its_used):
            really_used, really_set = _used_and_set(cell, left)
            used |= really_used
            left -= really_set
    return used & left


def _look(cell: str, names: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return which of `names` the imports at the top of a cell set, and which stand below them.

    If Python can read the cell, it sets the former. It uses and sets none but these.
    """
    imported, end = _top(cell)
    return names & imported, _written(cell[end:], names)


def _used_and_set(cell: str, names: set[str]) -> tuple[set[str], set[str]]:
    """Return which of `names` a cell uses as global ones, and which it sets."""
    used, bound = set[str](), set[str]()
    for table in _tables(cell):
        top = table.get_type() == "module"
        for name in names.intersection(table.get_identifiers()):
            symbol = table.lookup(name)
            if (top or symbol.is_declared_global()) and _is_set(symbol):
                bound.add(name)
            if symbol.is_referenced() and (top or symbol.is_global()):
                used.add(name)
    return used, bound


def _is_set(symbol: symtable.Symbol) -> bool:
    return symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()


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


def _written(text: str, names: frozenset[str]) -> frozenset[str]:
    """Return the names that stand in a text as words, be it in a comment."""
    if not text.isascii() and any(map(_is_read_as_ascii, set(_FOREIGN.findall(text)))):
        return names
    return frozenset(name for name in names if _is_hidden(name) or _stands_in(name, text))


def _is_read_as_ascii(sign: str) -> bool:
    """Whether Python reads a sign of another script, in a name, as plain letters."""
    return f"_{sign}".isidentifier() and unicodedata.normalize("NFKC", sign).isascii()


def _is_hidden(name: str) -> bool:
    """Whether code can use a name that does not stand in it: classes rename what begins with _."""
    return name.startswith("_") or not name.isascii()


def _stands_in(name: str, text: str) -> bool:
    return name in text and _word(name).search(text) is not None


@lru_cache(maxsize=64)  # names of an exercise
def _word(name: str) -> re.Pattern[str]:
    # It begins with the letters themselves: those are found quickly.
    return re.compile(rf"{re.escape(name)}(?!\w)(?<!\w{re.escape(name)})")


def _top(cell: str) -> tuple[frozenset[str], int]:
    """Return the names that the imports at the top of a cell set, and where the rest begins."""
    found: list[str] = []
    place = 0
    for _ in range(_MOST_LINES):
        if nothing := _NOTHING.match(cell, place):
            place = nothing.end()
        if line := _IMPORT.match(cell, place):
            found += map(_set_by, line[1].split(","))
        elif not (line := _DOCSTRING.match(cell, place)):
            break
        place = line.end()
    return frozenset(found), place


def _set_by(imported: str) -> str:
    """Return the name that a part of an import sets: `np` for `numpy as np`, `a` for `a.b`."""
    words = imported.split()
    return words[-1] if "as" in words else imported.split(".")[0].strip()


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
    modules = {name for node in tree.body for name in _bound(node)}
    lines = cell.split("\n")
    kept = [""] * len(lines)
    for node in tree.body:
        if _defines(node, modules):
            first, last = lines_of(node)
            kept[first - 1 : last] = lines[first - 1 : last]
    return "\n".join(kept)


def _bound(node: ast.stmt) -> list[str]:
    """Return the names that an import binds."""
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return []
    return [(name.asname or name.name).split(".")[0] for name in node.names]


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
    used = {name for name, load in _names(cells) if load}
    bound = {name for name, load in _names(before) if not load}
    return imports_of(used - bound, solution)


def imports_of(names: Container[str], text: str) -> tuple[str, ...]:
    """Return the lines of import in a text, as far as they bind these names."""
    offered = parsed(text)
    found = []
    for node in offered.body if offered else ():
        if isinstance(node, ast.Import | ast.ImportFrom):
            kept = [
                each for each in node.names if (each.asname or each.name).split(".")[0] in names
            ]
            if kept:
                found.append(ast.unparse(_importing(node, kept)))
    return tuple(found)


def _importing(node: ast.Import | ast.ImportFrom, names: list[ast.alias]) -> ast.stmt:
    """Return the same import of fewer names."""
    if isinstance(node, ast.Import):
        return ast.Import(names)
    return ast.ImportFrom(node.module, names, node.level)


def bound_names(cell: str) -> set[str]:
    """Return the names that a cell binds anywhere in it."""
    return {name for name, load in _names([cell]) if not load}


def _names(cells: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield every name that is used (True) or bound (False)."""
    trees = (parsed(cell.lstrip("\n")) for cell in cells)  # a piece begins with blank lines
    for node in (node for tree in trees if tree for node in ast.walk(tree)):
        match node:
            case ast.Name(id=name, ctx=context):
                yield name, isinstance(context, ast.Load)
            case ast.Import() | ast.ImportFrom():
                yield from ((name, False) for name in _bound(node))
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, False


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
