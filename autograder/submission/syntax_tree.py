"""What a syntax tree tells: nodes, names; its fingerprints, without names.

Nothing here recurses: a tree can be deeper than Python's own stack.
"""

from __future__ import annotations

import ast
import builtins
import math
import sys
import zlib
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, islice
from weakref import WeakKeyDictionary

from autograder.submission.cells import DefinitionNode, parsed, top_level
from autograder.values.exercise import Definition

MOST_NODES = 20_000  # of one step that are looked at
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SCOPES = (*_DEFINITIONS, ast.Lambda)
# What only marks another node: whether its value is read or set, and which operator it is.
_SIGNS = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)


def nodes_in(node: ast.AST, most: int = sys.maxsize) -> list[ast.AST]:
    """Return a node and all within it, the outer ones first; of a large tree the first `most`."""
    found = [node]
    for each in found:  # it grows meanwhile
        if len(found) >= most:
            return found[:most]
        found += ast.iter_child_nodes(each)
    return found


def own_nodes(node: ast.AST) -> tuple[ast.AST, ...]:
    """Return what belongs to a function itself, in order: nothing inside functions within it.

    Marks are left out.
    """
    found: list[ast.AST] = []
    waiting = [*ast.iter_child_nodes(node)][::-1]
    for _ in range(MOST_NODES):
        if not waiting:
            break
        child = waiting.pop()
        if isinstance(child, _SIGNS):
            continue
        found.append(child)
        if not isinstance(child, _SCOPES):
            waiting += reversed([*ast.iter_child_nodes(child)])
    return tuple(found)


def is_text(node: ast.AST) -> bool:
    """Whether a node is a statement that is only a text: a docstring, or in place of a comment."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def methods_of(node: DefinitionNode | None) -> dict[str, Definition]:
    """Return the methods of a class, by name; of anything else none."""
    body = node.body if isinstance(node, ast.ClassDef) else ()
    return {item.name: item for item in body if isinstance(item, Definition)}


def parameters_of(node: DefinitionNode | None) -> list[str]:
    """Return the names of a function's parameters, in order; of anything else none."""
    if node is None or isinstance(node, ast.ClassDef):
        return []
    arguments = node.args
    plain = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [each.arg for each in plain]


def called_name(node: ast.AST) -> str:
    """Return what a call or a name stands for: `print`, `np.sum`, or `?.sum` of any other value."""
    match node.func if isinstance(node, ast.Call) else node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            return f"{owner}.{name}"
        case ast.Attribute(attr=name):
            return f"?.{name}"
    return ""


# The names that code sets, takes, imports and mentions.

_IMPORTS, _PARTS = (ast.Import, ast.ImportFrom), (ast.Attribute, ast.Subscript)
_NAMED = (*_DEFINITIONS, ast.ExceptHandler)
_BINDING = frozenset((ast.Name, ast.arg, *_IMPORTS, *_NAMED))
# The kinds of nodes that tell more than a name: most are of none of them.
_TELLING = frozenset((ast.Global, ast.Call, *_IMPORTS, *_PARTS))


def imported_by(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """Yield the names that imports among these nodes set, each with the package it comes from."""
    for node in nodes:
        if isinstance(node, _IMPORTS):
            for each in node.names:
                module = node.module if isinstance(node, ast.ImportFrom) else each.name
                yield name_of(each), (module or "").split(".")[0]


def name_of(imported: ast.alias) -> str:
    """Return the name that a part of an import sets: `np` for `numpy as np`, `a` for `a.b`."""
    return (imported.asname or imported.name).split(".")[0]


def names_bound_in(node: ast.AST) -> set[str]:
    """Return the names that a function sets or takes, anywhere in it."""
    return names_bound_by(nodes_in(node))


def names_bound_by(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that these nodes, each by itself, set or take."""
    bound = set()
    for child in nodes:
        if type(child) not in _BINDING:  # as most are
            continue
        if isinstance(child, ast.Name):
            if not isinstance(child.ctx, ast.Load):
                bound.add(child.id)
        elif isinstance(child, ast.arg):
            bound.add(child.arg)
        elif isinstance(child, _IMPORTS):
            bound |= {name_of(each) for each in child.names}
        elif isinstance(child, _NAMED):
            bound.add(child.name or "")
    return bound


def names_used_in(node: ast.AST) -> set[str]:
    """Return the names that a node mentions, whether it reads or sets them."""
    return {each.id for each in nodes_in(node) if isinstance(each, ast.Name)}


@dataclass(frozen=True)
class StatementNames:
    """The names in one statement: those that it sets or takes, and those that it mentions.

    named: of the latter, those that are no attributes and no imports. shared: what it declares
    `global`. stored: what changed attributes and items begin with, and
    these attributes. touched: what calls of methods, and what changed attributes and items begin
    with. Of a statement with too many nodes, only what is named in the first ones is told: it is
    not `whole`.
    """

    bound: frozenset[str] = frozenset()
    mentioned: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()
    stored: frozenset[str] = frozenset()
    touched: frozenset[str] = frozenset()
    whole: bool = True


_READ: WeakKeyDictionary[ast.Module, tuple[StatementNames, ...]] = WeakKeyDictionary()


def names_of_statements(tree: ast.Module) -> tuple[StatementNames, ...]:
    """Return the names in each statement of a tree, in order; they are kept as long as it is.

    They are read once and asked for often: whether a step may call another, which names a hand-in
    makes known, and what it does not import.
    """
    if tree not in _READ:
        _READ[tree] = tuple(map(_names_in, tree.body))
    return _READ[tree]


def _names_in(node: ast.stmt) -> StatementNames:
    inside = nodes_in(node, MOST_NODES)
    named = frozenset(each.id for each in inside if each.__class__ is ast.Name)
    if len(inside) == MOST_NODES:
        return StatementNames(named=named, whole=False)
    mentioned = set(named)
    shared, stored, touched = set[str](), set[str](), set[str]()
    for each in inside:
        if each.__class__ not in _TELLING:
            continue
        if isinstance(each, ast.Call) and isinstance(each.func, _PARTS):
            touched.add(_root(each.func))
        elif isinstance(each, _PARTS):
            names = {each.attr} if isinstance(each, ast.Attribute) else set()
            mentioned |= names
            if not isinstance(each.ctx, ast.Load):
                stored |= {_root(each), *names}
                touched.add(_root(each))
        elif isinstance(each, ast.Global):
            shared.update(each.names)
        elif isinstance(each, _IMPORTS):
            mentioned.update(alias.name for alias in each.names)
    found = (names_bound_by(inside), mentioned, shared, stored, touched)
    bound, mentions, shares, stores, touches = map(frozenset[str], found)
    return StatementNames(bound, mentions, named, shares, stores, touches)


def _root(node: ast.AST) -> str:
    """Return the name that an expression such as `table.entries[0]` begins with, or ""."""
    for _ in range(MOST_NODES):
        if not isinstance(node, _PARTS):
            break
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


# What stays of code when names, comments, formatting and order are gone: its fingerprints.
#
# A definition becomes a row of tokens from its syntax tree. A fingerprint is the hash of some
# neighbouring tokens; of those in a window, the smallest is kept (winnowing: Schleimer, Wilkerson
# and Aiken, 2003, "Winnowing: local algorithms for document fingerprinting").

GRAM = 8  # tokens in a fingerprint: less than a line
WINDOW = 3
MOST_PER_STEP = 150
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
    numbers: dict[str, int] = {}
    left = MOST_NODES
    for tree in trees:
        for node in top_level(tree):
            step = node.name if node.name in steps else OTHER_CODE
            tokens = list(islice(_tokens(node, names), left + 1))
            left -= len(tokens)
            if left < 0:
                return {}
            for token in set(tokens) - numbers.keys():  # most of them come again and again
                numbers[token] = zlib.crc32(token.encode("utf-8", "backslashreplace"))
            # Of a step that is defined twice, the last one counts.
            mine = found.setdefault(step, set()) if step == OTHER_CODE else set()
            for value in _winnowed([numbers[token] for token in tokens]):
                if len(mine) >= MOST_PER_STEP:
                    break
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
    left: list[object] = [root]
    while left:
        node = left.pop()
        # By class, and the most frequent first: `match` tries one pattern after the other.
        if isinstance(node, ast.Name):
            yield names.get(node.id, "name")
        elif isinstance(node, ast.Constant):
            yield _constant(node.value)
        elif isinstance(node, ast.AST) and not is_text(node):  # no name, and no key of `**`
            yield _token(node)
            for field in reversed([name for name in node._fields if name not in _SKIPPED]):
                value = getattr(node, field)
                left += reversed(value) if isinstance(value, list) else [value]


def _token(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        own = isinstance(node.value, ast.Name) and node.value.id == "self"
        return "own attribute" if own else f".{node.attr}"
    return f"{node.arg}=" if isinstance(node, ast.keyword) else node.__class__.__name__


def _constant(value: object) -> str:
    if isinstance(value, str):
        return _letters(value)
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return "number"  # Python refuses to write one of thousands of digits
    return repr(value)[:40]


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
    hashes = list(map(hash, zip(*(tokens[start:] for start in range(GRAM)))))
    if 0 < len(hashes) < WINDOW:
        return iter([min(hashes)])
    return map(min, *(hashes[start:] for start in range(WINDOW)))


# Pairs of hand-ins that share more rare code than people do who never met.
#
# Only fingerprints are compared. What everybody was given, and what many have, weighs nothing;
# the rest weighs more, the fewer have it. Several steps are needed, since one step can often be
# written in one natural way only. The limits were set on classes that were made up
# (docs/decisions/0021-similar-code-is-worth-a-talk.md).

FEWEST_HAND_INS = 12  # in fewer, nobody can say what is rare
SHARE_OF_OWNERS, FEWEST_OWNERS, MOST_OWNERS = 0.2, 3, 12  # more than that, and it is not rare
FEWEST_STEPS = 3
LEAST_PART = 0.45  # of the rare code that the two have together, by weight
LEAST_WEIGHT = 45  # of the shared code times its part

Fingerprints = Mapping[str, frozenset[int]]


@dataclass(frozen=True)
class Resemblance:
    """Two hand-ins by their places, how much rare code they share, and in which steps.

    `part` is the part of the rare code of both that is shared (1: all), by weight. `steps` begin
    with the one that shares most.
    """

    first: int
    second: int
    part: float
    weight: float
    steps: tuple[str, ...]


def resemblances(
    hand_ins: Sequence[Fingerprints], given: Collection[int]
) -> tuple[Resemblance, ...]:
    """Return the pairs that are worth a talk, the most alike first; `given` is what all have."""
    if len(hand_ins) < FEWEST_HAND_INS:
        return ()
    every, names = _numbered(hand_ins, frozenset(given))
    most = min(MOST_OWNERS, max(FEWEST_OWNERS, int(SHARE_OF_OWNERS * len(hand_ins))))
    owners = _rare(every, most)
    unit = math.log(len(hand_ins) + 2)
    # Of what only one has, nobody can say how rare it is: as rare as what two have.
    weights = {names[n]: unit - math.log(max(2, len(places))) for n, places in owners.items()}
    shared: dict[tuple[int, int], list[tuple[str, int]]] = defaultdict(list)
    for number, places in owners.items():
        for pair in combinations(places, 2):
            shared[pair].append(names[number])

    @cache
    def total(place: int) -> float:
        mine = [names[number] for number in every[place] if number in owners]
        return sum(_by_step(mine, weights).values())

    found = []
    for (first, second), alike in shared.items():
        by_step = _by_step(alike, weights)
        weight = sum(by_step.values())
        part = weight / (total(first) + total(second) - weight)
        steps = tuple(sorted(by_step, key=lambda step: -by_step[step]))
        enough = len(steps) >= FEWEST_STEPS and part >= LEAST_PART
        if enough and part * weight >= LEAST_WEIGHT:
            found.append(Resemblance(first, second, part, weight, steps))
    return tuple(sorted(found, key=lambda each: (-each.part * each.weight, each.first)))


def _by_step(
    prints: Iterable[tuple[str, int]], weights: Mapping[tuple[str, int], float]
) -> dict[str, float]:
    """Return the weight of each step's fingerprints; one that several steps have counts once.

    A habit, such as the same test of the arguments in every step, is no more than one likeness.
    """
    heaviest: dict[int, tuple[float, str]] = {}
    for step, value in prints:
        here = (weights[step, value], step)
        heaviest[value] = max(heaviest.get(value, here), here)
    found: dict[str, float] = defaultdict(float)
    for weight, step in heaviest.values():
        found[step] += weight
    return found


def _numbered(
    hand_ins: Iterable[Fingerprints], given: frozenset[int]
) -> tuple[list[array[int]], list[tuple[str, int]]]:
    """Return the fingerprints of each hand-in as numbers, and what each number stands for.

    It is a step and a fingerprint. Of a large class, nothing else fits into memory.
    """
    numbers: dict[tuple[str, int], int] = {}
    every = []
    for mine in hand_ins:
        own = ((step, value) for step, values in mine.items() for value in values - given)
        every.append(array("L", [numbers.setdefault(each, len(numbers)) for each in own]))
    return every, list(numbers)


def _rare(every: Sequence[array[int]], most: int) -> dict[int, list[int]]:
    """Return the places of those who have it, for each number that at most `most` have."""
    count = Counter(number for mine in every for number in mine)
    owners: dict[int, list[int]] = defaultdict(list)
    for place, mine in enumerate(every):
        for number in mine:
            if count[number] <= most:
                owners[number].append(place)
    return owners
