"""What stays of code when names, comments, formatting and order are gone: its fingerprints.

A definition becomes a row of tokens from its syntax tree. A fingerprint is the hash of some
neighbouring tokens; of those in a window, the smallest is kept (winnowing: Schleimer, Wilkerson and
Aiken, 2003, "Winnowing: local algorithms for document fingerprinting").
"""

from __future__ import annotations

import ast
import builtins
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence

from autograder.submission.cells import parsed
from autograder.submission.definitions import top_level

GRAM = 8  # tokens in a fingerprint: less than a line
WINDOW = 3
MOST_PER_STEP = 150
MOST_NODES = 20_000  # of one hand-in; nobody writes that by hand
_MOST_BITS = 128  # of a number that counts by its value
OTHER_CODE = ""  # in place of a step, for functions that are none
# What differs between two people who write the same: types and marks of the tree itself.
_SKIPPED = frozenset(("annotation", "returns", "ctx", "type_comment", "type_params"))
_BUILTINS = frozenset(dir(builtins))


def fingerprints(cells: Sequence[str], steps: Collection[str]) -> dict[str, frozenset[int]]:
    """Return the fingerprints of each step of a hand-in, and those of all other functions as "".

    Each has 150 at most. What cannot be parsed has none; neither has what nobody writes by hand.
    """
    trees = [tree for cell in cells if (tree := parsed(cell))]
    names = _common_names(trees, steps)
    found: dict[str, set[int]] = {}
    nodes = 0
    for tree in trees:
        for node in top_level(tree):
            step = node.name if node.name in steps else OTHER_CODE
            tokens = []
            for token in _tokens(node, names):
                tokens.append(zlib.crc32(token.encode("utf-8", "backslashreplace")))
                if (nodes := nodes + 1) > MOST_NODES:
                    return {}
            # Of a step that is defined twice, the last one counts.
            mine = found.setdefault(step, set()) if step == OTHER_CODE else set()
            for value in _winnowed(tokens):
                if len(mine) < MOST_PER_STEP:
                    mine.add(value)
            found[step] = mine
    return {step: frozenset(mine) for step, mine in found.items()}


def _common_names(trees: Sequence[ast.Module], steps: Collection[str]) -> dict[str, str]:
    """Return the names that are not a student's own choice, each as everybody would write it."""
    names = {name: name for name in (*_BUILTINS, *steps)}
    for tree in trees:
        for node in tree.body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                names |= {each.asname or each.name: each.name for each in node.names}
    return names


def _tokens(root: ast.AST, names: Mapping[str, str]) -> Iterator[str]:
    """Give the tokens of a tree in the order of reading; names of one's own are all alike."""
    left: list[ast.AST] = [root]
    while left:
        node = left.pop()
        yield _token(node, names)
        below: list[ast.AST] = []
        for field in node._fields:
            if field in _SKIPPED:
                continue
            value = getattr(node, field, None)
            if isinstance(value, list):
                below += [each for each in value if isinstance(each, ast.AST) and _counts(each)]
            elif isinstance(value, ast.AST):
                below.append(value)
        left += reversed(below)


def _counts(node: ast.AST) -> bool:
    """Whether a node is more than prose: a docstring, or a string in place of a comment."""
    return not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def _token(node: ast.AST, names: Mapping[str, str]) -> str:
    match node:
        case ast.Name(id=name):
            return names.get(name, "name")
        case ast.Attribute(value=ast.Name(id="self")):
            return "own attribute"
        case ast.Attribute(attr=name):
            return f".{name}"
        case ast.keyword(arg=name):
            return f"{name}="
        case ast.Constant(value=str(text)):
            return _letters(text)
        case ast.Constant(value=int(number)) if number.bit_length() > _MOST_BITS:
            return "number"  # Python refuses to write one of thousands of digits
        case ast.Constant(value=value):
            return repr(value)[:40]
        case _:
            return type(node).__name__


def _letters(text: str) -> str:
    """Return a formula of einsum with its letters renamed in their order; other text is alike."""
    if "->" not in text:
        return "text"
    names: dict[str, str] = {}
    signs = (sign for sign in text[:80] if not sign.isspace())
    return "".join(
        names.setdefault(sign, chr(97 + len(names) % 26)) if sign.isalpha() else sign
        for sign in signs
    )


def _winnowed(tokens: Sequence[int]) -> Iterator[int]:
    """Give the smallest hash of every window of neighbouring ones."""
    hashes = [hash(tuple(tokens[at : at + GRAM])) for at in range(len(tokens) - GRAM + 1)]
    for at in range(max(1, len(hashes) - WINDOW + 1) if hashes else 0):
        yield min(hashes[at : at + WINDOW])
