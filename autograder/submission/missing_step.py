"""Where a step is when it is not where it is expected.

A student may have written `softmax` under another name, inside a class or in a Markdown
cell; "not written yet" alone would send them looking in vain.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable, Mapping, Sequence

from autograder.judging.explanation import keyword_meant
from autograder.submission.cells import (
    DefinitionNode,
    definitions_in,
    find_in_piece,
    lines_of,
    names_in_prose,
    parsed,
    top_level,
)
from autograder.submission.syntax_tree import (
    is_text,
    methods_of,
    names_bound_by,
    names_used_in,
    nodes_in,
    parameters_of,
)
from autograder.values.exercise import Definition, Exercise
from autograder.values.sanitize import clean_line

_ALIKE, _LONGEST_NAME, _LONGEST_LINE = 0.7, 60, 100
_OTHERS_DEF = ("function", "func", "fun", "fn", "sub", "define")  # what other languages write


def written(cells: Iterable[str], exercise: Exercise) -> frozenset[str]:
    """Return the steps whose function or class is there and is more than a stub."""
    found: set[str] = set()
    for cell in cells:
        tree = parsed(cell)
        if tree is None:
            found |= {each.name for each in find_in_piece(cell)}
        else:
            found |= {node.name for node in top_level(tree) if not is_stub(node)}
    return frozenset(found.intersection(step.name for step in exercise.steps))


def worked_on(cells: Sequence[str], exercise: Exercise, given: str) -> frozenset[str]:
    """Return the steps that somebody works on, be it where or how they do not count.

    Those that are written, those whose name is given to something else that can be called, such as
    a `lambda`, and those that stand under a similar name or inside something else. `given` is the
    text that was handed out.
    """
    trees = [tree for cell in cells if (tree := parsed(cell))]
    bound = {name for tree in trees for node in tree.body for name in _assigned(node)}
    known = bound.intersection(step.name for step in exercise.steps)
    elsewhere = misplaced(cells, exercise, definitions_in(given))
    return written(cells, exercise) | known | elsewhere.keys()


def _assigned(node: ast.stmt) -> set[str]:
    """Return the names that a statement outside functions sets or imports."""
    match node:
        case ast.Assign() | ast.AnnAssign(value=ast.expr()) | ast.ImportFrom():
            return names_bound_by(each for each in nodes_in(node) if not isinstance(each, ast.arg))
    return set()


def is_stub(node: DefinitionNode) -> bool:
    """Whether a definition does nothing yet."""
    if isinstance(node, ast.ClassDef):
        return all(is_stub(item) for item in node.body if isinstance(item, Definition))
    body = [item for item in node.body if not (is_text(item) or _calls_parent(item))]
    return all(isinstance(item, ast.Pass) or raises_not_implemented(item) for item in body)


def _calls_parent(node: ast.stmt) -> bool:
    """Whether it is `super().__init__()`, which stands above the student's part of a module."""
    match node:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(
                    value=ast.Call(func=ast.Name(id="super"), args=[], keywords=[]),
                    attr="__init__",
                ),
                args=[],
                keywords=[],
            )
        ):
            return True
    return False


def raises_not_implemented(node: ast.stmt) -> bool:
    """Whether it is the line of a stub, `raise NotImplementedError(...)`."""
    raised = node.exc if isinstance(node, ast.Raise) else None
    name = raised.func if isinstance(raised, ast.Call) else raised
    return isinstance(name, ast.Name) and name.id == "NotImplementedError"


def without_copied_stubs(
    cells: Sequence[str], exercise: Exercise
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the cells without stubs below the same step's written code, and a remark about it.

    Otherwise a copied cell that was never filled in would undo the answer above it.
    """
    names = {step.name for step in exercise.steps}
    known: set[str] = set()
    kept: list[str] = []
    copied: list[str] = []
    for cell in cells:
        tree = parsed(cell)
        if tree is None:
            known |= written([cell], exercise)
        left_out: list[DefinitionNode] = []
        for node in top_level(tree) if tree else ():
            if not is_stub(node):
                known |= names.intersection([node.name])
            elif node.name in known:
                left_out.append(node)
        copied += [f"`{node.name}`" for node in left_out]
        kept.append(_without(cell, left_out))
    if not copied:
        return tuple(kept), ()
    listed = ", ".join(dict.fromkeys(copied))
    there = f"{listed} {'is' if len(set(copied)) == 1 else 'are'} there more than once"
    words = f"Your code counts. But {there}, and the last copy is not written: delete it."
    return tuple(kept), (words,)


def repeated(cells: Iterable[str], exercise: Exercise) -> dict[str, str]:
    """Return a sentence for every step that is set more than once, and not alike: which counts."""
    names = {step.name for step in exercise.steps}
    texts: dict[str, list[list[str]]] = {name: [] for name in names}
    for cell in cells:
        tree = parsed(cell)
        for node in tree.body if tree else ():
            if isinstance(node, DefinitionNode):
                own = set[str]() if is_stub(node) else {node.name}
            else:
                own = _replaced(node)
            if found := names & own:
                first, last = lines_of(node)
                lines = [line.strip() for line in cell.split("\n")[first - 1 : last]]
                for name in found:
                    texts[name].append([line for line in lines if line])
    return {
        name: _repeated(name, found)
        for name, found in texts.items()
        if any(one != found[0] for one in found)
    }


def _replaced(node: ast.stmt) -> set[str]:
    """Return the names that a statement sets without using what they stood for."""
    if isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
        return _assigned(node) - names_used_in(node.value)
    return _assigned(node)


def _repeated(name: str, texts: Sequence[Sequence[str]]) -> str:
    before = {line for text in texts[:-1] for line in text}
    lines = [line for line in texts[-1] if line not in before]
    inside = [line for line in lines if not line.startswith(("def ", "class ", "@"))]
    own = next(iter((*inside, *lines)), "")
    which = f", the one with the line `{clean_line(own, _LONGEST_LINE)}`" if own else ""
    return (
        f"`{name}` is there {len(texts)} times, and the last one counts{which}. Keep the one that "
        "you want, and delete the others."
    )


def _without(cell: str, nodes: Sequence[DefinitionNode]) -> str:
    """Return a cell with empty lines in place of these of its definitions."""
    lines = cell.split("\n") if nodes else []
    for node in nodes:
        start, end = lines_of(node)
        lines[start - 1 : end] = [""] * (end - start + 1)
    return "\n".join(lines) if nodes else cell


def not_run(unread: Iterable[tuple[str, str]], exercise: Exercise) -> tuple[tuple[str, str], ...]:
    """Return the steps that stand in text that is not run, each with a sentence about it.

    `unread` pairs the place of such a text, for example "a Markdown cell", with the text. When
    a step stands in several of them, the sentence is about the last.
    """
    names = {step.name for step in exercise.steps}
    last = {
        name: place for place, text in unread for name in names.intersection(names_in_prose(text))
    }
    return tuple(
        (name, f"The one in {last[name]} is not run: put it into a code cell of its own.")
        for name in sorted(last)
    )


def misplaced(
    cells: Sequence[str], exercise: Exercise, given: Mapping[str, DefinitionNode] | None = None
) -> dict[str, str]:
    """Return, for steps that are not written, a sentence on where in the code they seem to be.

    `given` are the definitions that were handed out: a step is known by its parameters too.
    """
    names = [step.name for step in exercise.steps]
    done = written(cells, exercise)
    missing = [name for name in names if name not in done]
    if not missing:
        return {}
    trees = [tree for cell in cells if (tree := parsed(cell))]
    found: dict[str, str] = {}
    for tree in trees:
        found |= _nested(tree, missing)
    unread = [cell for cell in cells if parsed(cell) is None]
    found |= {name: words for name in missing if (words := _begun_wrongly(name, unread))}
    own = [node for tree in trees for node in top_level(tree) if node.name not in names]
    own = [node for node in own if node.name not in (given or ()) and not is_stub(node)][:1000]
    others = [node.name for node in own]
    for name in missing:
        alike = difflib.get_close_matches(name, others, n=1, cutoff=_ALIKE)
        alike = alike or _with_parameters_of((given or {}).get(name), own)
        if alike:
            other = clean_line(alike[0], _LONGEST_NAME)
            found.setdefault(name, f"There is a `{other}`: did you rename it?")
    return found


def _begun_wrongly(name: str, unread: Iterable[str]) -> str:
    """Return what to say about a line that would define `name` if its first word were Python's."""
    begin = re.compile(rf"^(\w+)[ \t]+{re.escape(name)}[ \t]*[(:]", re.MULTILINE)
    for word in (found[1] for text in unread for found in begin.finditer(text)):
        meant = "def" if word.lower() in _OTHERS_DEF else keyword_meant(word)
        if meant in ("def", "class"):
            return f"Its line begins with `{word}`: Python writes `{meant}` there."
    return ""


def _with_parameters_of(given: DefinitionNode | None, own: Sequence[DefinitionNode]) -> list[str]:
    """Return the names of functions that take what was handed out, or of classes with its methods.

    A function without parameters is like many others, so it is not taken for any.
    """
    if given is None or not _form(given):
        return []
    return [node.name for node in own if type(node) is type(given) and _form(node) == _form(given)]


def _form(node: DefinitionNode) -> list[str]:
    return [*methods_of(node)] if isinstance(node, ast.ClassDef) else parameters_of(node)


def _nested(tree: ast.Module, names: Sequence[str]) -> dict[str, str]:
    """Return the sentences about definitions that stand inside something else."""
    found = {}
    waiting: list[tuple[ast.AST, str]] = [(tree, "")]
    while waiting:
        node, place = waiting.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, DefinitionNode):
                if place and child.name in names and not is_stub(child):
                    found[child.name] = (
                        f"The one inside {place} does not count: move it to the left margin."
                    )
                kind = "class" if isinstance(child, ast.ClassDef) else "function"
                name = clean_line(child.name, _LONGEST_NAME)
                waiting.append((child, f"the {kind} `{name}`"))
            elif isinstance(child, ast.If):
                waiting.append((child, place or "an `if`"))
            elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                waiting.append((child, place or "another statement"))
    return found
