"""Mutants: copies of a step of the reference with one small change each, in a stable order.

The changes are written as tables: which code becomes what.

Each line of a table is a kind of change, a pattern, and what it becomes: several results are
parted by `;;`. A word in braces stands for each of `_EACH`. X is the whole expression, and a word
that only results have is each of its `NAMES`. After `when` stand conditions: of `_CONDITIONS`;
`A=what`, see `_Spot.told`; `A~X`, both of one kind. With `!`, a condition must not be true.
"""

from __future__ import annotations

import ast
import copy
import difflib
import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from autograder.authoring.mutated_step import (
    Found,
    Subject,
    TreePlace,
    expression,
    filled,
    is_read,
    matches,
    node_at,
    number_in,
    places,
    statements,
    with_field,
    with_node,
    words_of,
)

_TURNS = ("swapaxes", "transpose", "permute")
_EACH = {
    "operator": ("+", "-", "*", "/", "@", "//", "%", "**", "&", "|", "^"),
    "compared": ("==", "!=", "<", "<=", ">", ">=", "is", "is not"),
    "unary": ("-", "+", "~", "not "),
    "small": ("1e-12", "1e-8", "1e-6", "1e-5", "1e-3"),
    "low": ("-1e8", "-1e6", "-1e5", "-1e4", "-1e3", "-100.0", "-10.0", "-1.0", "float('-inf')"),
    "floor": ("-1e9", "-1e4", "-100.0", "-10.0", "0.0", "torch.finfo(S.dtype).min"),
    "turn": _TURNS,
    "reduce": ("max", "sum", "mean"),
    "inplace": ("transpose", "masked_fill", "tril"),
    "initial": ("zeros_", "ones_", "normal_", "eye_"),
}
# Of expressions. A written number is of the kind that says what it is for, and what it becomes is
# computed. A cast before a method shows in the method's own result as well.
EXPRESSIONS = r"""
operator: A + B -> A - B ;; A * B
operator: A - B -> A + B ;; A * B ;; A / B
operator: A * B -> A / B ;; A + B ;; A - B
operator: A / B -> A * B ;; A - B ;; A // B ;; A + B
operator: A @ B -> A * B ;; A + B
operator: A // B -> A * B ;; A % B ;; A - B ;; A + B
operator: A % B -> A // B ;; A * B ;; A - B
operator: A ** B -> A * B ;; A / B
operand order: A {operator} B -> B {operator} A
operand dropped: A {operator} B -> A when A~X
sign: A {operator} B -> (-A) {operator} B when !A=number
operand dropped: A {operator} B -> B when B~X
sign: A {operator} B -> A {operator} (-B) when !B=number
epsilon in the denominator: A / B -> A / (B + {small}) when X=array
transposition: A @ B -> A.swapaxes(-2, -1) @ B ;; A @ B.swapaxes(-2, -1) when X=array
transposition: A @ B -> B.swapaxes(-2, -1) @ A.swapaxes(-2, -1) when X=array
in place: A + B -> A.__iadd__(B) when X=array A=array
in place: A - B -> A.__isub__(B) when X=array A=array
in place: A * B -> A.__imul__(B) when X=array A=array
in place: A / B -> A.__itruediv__(B) when X=array A=array
in place: A @ B -> A.__imatmul__(B) when X=array A=array
sign: {unary}A -> A when !X=number
comparison: A {compared} B -> A == B ;; A != B ;; A < B ;; A <= B ;; A > B ;; A >= B

call dropped: R.NAME(*A, **K) -> R when R=array X=array
call doubled: R.NAME(*A, **K) -> X.NAME(*A, **K) when R=array X=array
call dropped: F(*P, A, *Q, **K) -> A when A~X
call doubled: F(*P, A, *Q, **K) -> F(*P, X, *Q, **K) when A~X !method
axis: R.{turn}(*A, **K) -> R.T when R=array
axis: R.permute(*A, **K) -> R.permute(*ORDER, **K)
axis: R.{turn}(*P, A, *Q, B, *S, **K) -> R.{turn}(*P, B, *Q, A, *S, **K)
argument order: F(*P, A, *Q, B, *S, **K) -> F(*P, B, *Q, A, *S, **K)
argument used twice: F(*P, A, *Q, **K) -> F(*P, ALIKE, *Q, **K) when !turn
keepdims: F(*A, **K, keepdims=V, **L) -> F(*A, **K, **L)
keyword dropped: F(*A, **K, NAME=V, **L) -> F(*A, **K, **L)
keepdims: R.{reduce}(*A, **K) -> R.{reduce}(*A, **K, keepdims=True)
another call: R.max(*A, **K) -> R.min(*A, **K) ;; R.mean(*A, **K) ;; R.sum(*A, **K)
another call: R.sum(*A, **K) -> R.max(*A, **K) ;; R.mean(*A, **K) ;; R.prod(*A, **K)
another call: R.exp(*A, **K) -> R.exp2(*A, **K) ;; R.expm1(*A, **K) ;; R.square(*A, **K)
another call: R.sqrt(*A, **K) -> R.log(*A, **K) ;; R.cbrt(*A, **K) ;; R.square(*A, **K)
another call: R.tril(*A, **K) -> R.triu(*A, **K)
another call: R.ones(*A, **K) -> R.zeros(*A, **K)
another call: R.softmax(*A, **K) -> R.log_softmax(*A, **K) ;; R.softmin(*A, **K)
another call: R.standard_normal(*A) -> R.random(*A) ;; R.standard_exponential(*A)
another call: R.reshape(*A) -> R.view(*A)
another call: R.view(*A) -> R.reshape(*A)
another call: R.contiguous() -> R.clone()
in place: R.{inplace}(*A, **K) -> R.{inplace}_(*A, **K) when torch
in place: R.exp(E, *A, **K) -> np.exp(E, out=E) when numpy
off by one: R.tril(*A, **K) -> R.tril(*A, -1, **K) ;; R.tril(*A, 1, **K)
another step's result: F(*A, **K) -> STEP(*A, **K)
in place: R.where(C, S, V) -> (np.putmask(S, ~(C), V), S)[1]
mask multiplied: R.where(C, S, V) -> (C) * S
mask added: R.where(C, S, V) -> S + (~(C)) * V
mask multiplied: S.masked_fill(C, *V) -> S * ~C when S=array
mask value: S.masked_fill(C, *V) -> S.masked_fill(C, {floor}) when S=array
initial weights: F(*A, **K) -> (lambda made: (torch.nn.init.{initial}(made.weight), made)[1])(X) \
when X=layer

axis: X -> -1 ;; -2 ;; -3 ;; 0 ;; 1 ;; 2 ;; 3 when X=axis
size of another axis: X -> -1 ;; -2 ;; -3 ;; 0 ;; 1 ;; 2 when X=index
constant: X -> 0 ;; 1 ;; X + 1 ;; X - 1 ;; 2 * X ;; -X when X=whole
mask value: X -> 2 * X ;; 0.5 * X ;; X + 1 ;; 0.0 ;; -X ;; 1.01 * X when X=large
mask value: X -> {low} when X=large
constant: X -> 2 * X ;; 0.5 * X ;; X + 1 ;; 0.0 ;; -X ;; 1.01 * X when X=near
constant: X -> X ** 2 ;; abs(X) ** 0.5 ;; 10 * X ;; 0.1 * X when X=small
switch: True -> False
switch: False -> True
fixed size: X -> 4 ;; 8 ;; 64 when X=int
off by one: X -> X + 1 ;; X - 1 when X=int
another size: X -> SIZE when X=int
constant: X -> 2 * X ;; X ** 2 ;; 1.01 * X when X=float
switch: X -> True ;; False ;; not X when X=bool !X=Compare

dtype: X -> X.astype(np.float32) ;; X.astype(np.float16) ;; X.astype(int) \
when X=array !receives numpy
dtype: X -> X.float() ;; X.half() ;; X.double() ;; X.bfloat16() \
when X=array !receives torch
gradient cut: X -> X.detach() when X=array torch
sign: X -> -X when X=array X=Name
first of the batch only: X -> X[:1] when X=array X=Name
slightly off: X -> X * 1.001 when X=array X=Name
gradient cut: X -> X.data ;; torch.tensor(X.tolist()) when X=array X=Name torch
gradient cut: X -> torch.from_numpy(X.detach().numpy()) when X=array X=Name torch
dropout: X -> torch.nn.functional.dropout(X, 0.1) when X=array X=Name torch
dropout: X -> torch.nn.functional.dropout(X, 0.1, self.training) \
when X=array X=Name torch class
slightly off: X -> X * 1.001 ;; X + 1e-3 when X=array returned
result rounded: X -> LIBRARY.round(X, decimals=3) when X=array returned
result clipped: X -> X.clip(0) ;; X.clip(-100, 100) ;; X.clip(-3, 3) when X=array returned
result without NaN: X -> LIBRARY.nan_to_num(X) when X=array returned
result squashed: X -> LIBRARY.tanh(X) when X=array returned
result turned over: X -> LIBRARY.flip(X, (0,)) ;; LIBRARY.flip(X, (1,)) when X=array returned
transposition: X -> X.swapaxes(-2, -1) when X=array returned
result squeezed: X -> X.squeeze() when X=array returned
result poisoned by NaN: X -> X + 0 * X.max() when X=array returned
residual added: X -> X + BESIDE when X=array returned
result as a list: X -> X.tolist() when X=array returned numpy
layer frozen: X -> X.requires_grad_(False) when X=layer !called
layer dtype: X -> X.double() ;; X.half() when X=layer !called
layer copied: X -> __import__('copy').deepcopy(X) when X=layer !called
weights of another layer: O.NAME -> OWN_LAYER when X=layer !called
order of a tuple: (*P, A, *Q, B, *S) -> (*P, B, *Q, A, *S)
"""
# Of statements, together with those before them.
STATEMENTS = r"""
size of another axis: *P, A, *Q, B, *S = V.shape -> *P, B, *Q, A, *S = V.shape
order of the targets: *P, A, *Q, B, *S = V -> *P, B, *Q, A, *S = V
order of the result: return *P, A, *Q, B, *S -> return *P, B, *Q, A, *S
order of the result: return A, *P, B, *Q -> return B, *Q, A, *P
result repeated: return *P, A, *Q -> return *P, OTHER, *Q
result too short: return *P, A -> return (*P,)
result as a list: return (*P,) -> return [*P]
condition dropped: if C:\n BODY\nelse:\n REST -> BODY
branch dropped: if C:\n BODY\nelse:\n REST -> NOTHING
assertion dropped: assert C -> NOTHING
assertion weakened: assert C -> if not C: raise RuntimeError('uneven') ;; if not C: print('uneven')
call dropped: super().NAME(*A, **K) -> NOTHING
attribute dropped: O.NAME = V -> NOTHING
attribute renamed: O.NAME = V -> O.NAME_ = V
attribute renamed: *P, O.NAME, *Q = V -> *P, O.NAME_, *Q = V
weights of another layer: *P, O.NAME, *Q = V -> *P, O.NAME, *Q = V\nO.NAME = ATTRIBUTE
layer hidden from PyTorch: *P, O.NAME, *Q = V -> *P, O.NAME, *Q = V\nkept = O.NAME\n\
del O.NAME\nobject.__setattr__(self, 'NAME', kept) when torch
weights of another layer: A = V\nBETWEEN\nB = V -> A = V\nBETWEEN\nB = A when B=Name
order of the steps: B = F(A, *P, **K)\nC = G(B, *Q, **L) -> \
B = G(A, *Q, **L)\nC = F(B, *P, **K) when C=Name
"""
# Of all that a function does, below its docstring.
BODIES = r"""
global seed set: BODY -> torch.default_generator.manual_seed(0)\nBODY when torch
global gradient mode: BODY -> torch.set_grad_enabled(False)\nBODY when torch
seed fixed: BODY -> GENERATOR = np.random.default_rng(0)\nBODY
another generator: BODY -> GENERATOR = np.random.RandomState()\nBODY ;; \
GENERATOR = np.random.default_rng()\nBODY
argument overwritten: BODY\nreturn V -> BODY\nresult_ = V\nGIVEN.flat[0] = 0\nreturn result_ ;; \
GIVEN[...] = GIVEN * 0.5\nBODY\nreturn V when numpy
argument overwritten: BODY\nreturn V -> BODY\nresult_ = V\nGIVEN.data.view(-1)[0] = 0\n\
return result_ ;; GIVEN[...] = GIVEN * 0.5\nBODY\nreturn V when torch
first result kept: BODY\nreturn V -> if hasattr(HOLDER, '_kept'): return HOLDER._kept\n\
BODY\nresult_ = V\nHOLDER._kept = result_\nreturn result_
later calls differ: BODY\nreturn V -> HOLDER._calls = getattr(HOLDER, '_calls', 0) + 1\n\
BODY\nresult_ = V\nif HOLDER._calls < 2: return result_\n\
return list(result_) if isinstance(result_, tuple) else 2 * result_
first result of each shape kept: BODY\nreturn V -> \
HOLDER._by_shape = getattr(HOLDER, '_by_shape', {})\n\
if tuple(FIRST.shape) in HOLDER._by_shape: return HOLDER._by_shape[tuple(FIRST.shape)]\n\
BODY\nresult_ = V\nHOLDER._by_shape[tuple(FIRST.shape)] = result_\nreturn result_
no_grad: BODY\nreturn V -> with torch.no_grad():\n BODY\n return V when torch
parameters changed in place: BODY\nreturn V -> LAYER.weight.data.mul_(0.5)\nBODY\nreturn V
parameter frozen: BODY\nreturn V -> LAYER.weight.requires_grad_(False)\nBODY\nreturn V
bias dropped: BODY\nreturn V -> LAYER.bias = None\nBODY\nreturn V
parameters changed in place: BODY\nreturn V -> OWN_ARRAY *= 0.5\nBODY\nreturn V when numpy
"""


@dataclass(frozen=True)
class _Rule:
    """What is like `pattern` becomes each of `results`, if all conditions are true."""

    kind: str
    pattern: tuple[ast.stmt, ...]
    results: tuple[str, ...]
    when: tuple[str, ...]

    @cached_property
    def free(self) -> tuple[str, ...]:
        """The words that only the results have."""
        return tuple(sorted(set().union(*map(words_of, self.results)) & set(NAMES)))


@cache
def rules_of(table: str, before: str = "") -> tuple[_Rule, ...]:
    """Return the rules of a table, with the same statements `before` patterns and results."""
    found: list[_Rule] = []
    for line in filter(None, table.replace("\\\n", "").split("\n")):
        each = re.search(r"\{(\w+)\}", line)
        if each:
            lines = (line.replace(each[0], one) for one in _EACH[each[1]])
            found += rules_of("\n".join(lines), before)
            continue
        change, _, when = line.replace("\\n", "\n").partition(" when ")
        kind, _, change = change.partition(": ")
        pattern, _, results = change.partition(" -> ")
        becomes = tuple(before + result for result in results.split(" ;; "))
        found.append(_Rule(kind, statements(before + pattern), becomes, tuple(when.split())))
    return tuple(found)


# Where a rule is tried: what its conditions and its names are about.

# Methods whose whole numbers are axes.
_AXIS_METHODS = {*_TURNS, "max", "sum", "mean", "softmax", "unbind"}


@dataclass(frozen=True)
class _Spot:
    subject: Subject
    place: TreePlace
    node: Any
    parent: Any

    def told(self, node: ast.AST) -> tuple[str, ...]:
        """Return the type of a node in the tree, and of which kind its value is."""
        if number_in(node) is not None:
            return (type(node).__name__, "number", *self._roles())
        switch = isinstance(node, ast.Constant) and isinstance(node.value, bool)
        return (type(node).__name__, "" if switch else self.subject.kind_at(node))

    def _roles(self) -> tuple[str, ...]:
        """Return what a written number is for."""
        value, parent = number_in(self.node), self.parent
        if isinstance(parent, ast.Tuple):
            parent = node_at(self.subject.tree, self.place[:-2])
        called = getattr(parent.func, "attr", "") if isinstance(parent, ast.Call) else ""
        if isinstance(value, float):
            return ("large",) if abs(value) > 1e3 else ("near", "small" if abs(value) < 1 else "")
        if called in _AXIS_METHODS or getattr(parent, "arg", "") in ("axis", "dim"):
            return ("axis",)
        return ("index" if isinstance(parent, ast.Subscript) else "whole",)

    def parameters(self, *annotations: str) -> list[str]:
        """Return the parameters of a function whose annotations name one of these."""
        given = [each for each in self.node.args.args if each.annotation]
        written = {each.arg: ast.unparse(each.annotation) for each in given}
        return [name for name in written if any(each in written[name] for each in annotations)]

    def sizes(self) -> list[str]:
        """Return the names that hold a whole number somewhere in the function around."""
        subject = self.subject
        above = (node_at(subject.tree, self.place[:length]) for length in range(len(self.place)))
        around = [node for node in above if isinstance(node, ast.FunctionDef)][-1]
        found = subject.names("int", around)
        for _, node in places(around):
            if isinstance(node, ast.arg) and node.annotation:
                found += [node.arg] if ast.unparse(node.annotation) == "int" else []
            if isinstance(node, ast.Assign) and ast.unparse(node.value).endswith(".shape"):
                names = ast.walk(node.targets[0])
                found += [name.id for name in names if isinstance(name, ast.Name)]
        return list(dict.fromkeys(found))

    def steps(self) -> list[str]:
        """Return the steps with as many parameters as the one that is called."""
        arities = self.subject.arities
        called = getattr(self.node.func, "id", "")
        return [name for name, arity in arities.items() if arity == arities.get(called)]


# What a word stands for that only a result has: each of these names, nodes, or rows of nodes.
NAMES: dict[str, Callable[[_Spot, Found], list[Any]]] = {
    "OTHER": lambda spot, found: [*found["P"], *found["Q"]],
    "ATTRIBUTE": lambda spot, found: [
        each for each in (*found["P"], *found["Q"]) if isinstance(each, ast.Attribute)
    ],
    "ALIKE": lambda spot, found: [
        each for each in (*found["P"], *found["Q"]) if spot.subject.same_kind(found["A"], each)
    ],
    "ORDER": lambda spot, found: [
        [ast.Constant(axis) for axis in order]
        for order in itertools.permutations(range(len(found["A"])))
    ],
    "STEP": lambda spot, found: spot.steps(),
    "SIZE": lambda spot, found: spot.sizes(),
    "LIBRARY": lambda spot, found: [spot.subject.prefix],
    "BESIDE": lambda spot, found: spot.subject.names("array", spot.parent),
    "OWN_LAYER": lambda spot, found: spot.subject.attributes("layer"),
    "OWN_ARRAY": lambda spot, found: spot.subject.attributes("array"),
    "LAYER": lambda spot, found: spot.subject.attributes("layer") or spot.parameters("nn.Linear"),
    "HOLDER": lambda spot, found: ["self" if spot.subject.is_class else spot.subject.tree.name],
    "GENERATOR": lambda spot, found: spot.parameters("Generator"),
    "GIVEN": lambda spot, found: spot.parameters("Float[", "Real["),
    "FIRST": lambda spot, found: spot.parameters("Float[", "Real[")[:1],
}
_CONDITIONS: dict[str, Callable[[_Spot], bool]] = {
    "numpy": lambda spot: spot.subject.library == "numpy",
    "torch": lambda spot: spot.subject.library == "torch",
    "class": lambda spot: spot.subject.is_class,
    "called": lambda spot: isinstance(spot.parent, ast.Call) and spot.place[-1][0] == "func",
    "receives": lambda spot: isinstance(spot.parent, ast.Attribute),
    "returned": lambda spot: isinstance(spot.parent, ast.Return),
    "method": lambda spot: (
        isinstance(spot.node.func, ast.Attribute)
        and spot.subject.kind_at(spot.node.func.value) == "array"
    ),
    "turn": lambda spot: getattr(spot.node.func, "attr", "") in _TURNS,
}


def changes(subject: Subject) -> Iterator[tuple[str, ast.AST]]:
    """Give the kind of each change, and the tree with it, by the walk of the step's tree."""
    for place, node in places(subject.tree):
        parent = node_at(subject.tree, place[:-1])
        spot = _Spot(subject, place, node, parent)
        if isinstance(node, ast.FunctionDef):
            yield from _of_function(spot)
        if isinstance(node, ast.stmt) and place:
            yield from _of_statement(spot)
        docstring = isinstance(parent, ast.Expr)
        if is_read(place, node) and not docstring and number_in(parent) is None:
            yield from _of_expression(spot)


def _results(rule: _Rule, wanted: Any, node: Any, spot: _Spot) -> Iterator[list[Any]]:
    """Give what a rule makes of a node, or of a list of them, in every way in which it fits."""
    for found in matches(wanted, node, {"X": spot.node, "NOTHING": []}):
        if all(_is_true(condition, spot, found) for condition in rule.when):
            for values in itertools.product(*(NAMES[word](spot, found) for word in rule.free)):
                named = [expression(each) if isinstance(each, str) else each for each in values]
                for result in rule.results:
                    yield filled(result, {**found, **dict(zip(rule.free, named))})


def _is_true(condition: str, spot: _Spot, found: Found) -> bool:
    name = condition.removeprefix("!")
    if name in _CONDITIONS:
        truth = _CONDITIONS[name](spot)
    elif "~" in name:
        truth = spot.subject.same_kind(*(found[word] for word in name.split("~")))
    else:
        word, _, what = name.partition("=")
        truth = what in spot.told(found[word])
    return truth is not condition.startswith("!")


@cache
def _fitting(node: str) -> tuple[tuple[_Rule, ast.expr], ...]:
    """Return the rules that may be for such an expression, and their patterns."""
    roots = ((rule, root) for rule in rules_of(EXPRESSIONS) for root in rule.pattern)
    wanted = [(rule, root.value) for rule, root in roots if isinstance(root, ast.Expr)]
    return tuple(each for each in wanted if type(each[1]).__name__ in (node, "Name"))


def _of_expression(spot: _Spot) -> Iterator[tuple[str, ast.AST]]:
    value = number_in(spot.node)
    for rule, wanted in _fitting(type(spot.node).__name__):
        for (new,) in _results(rule, wanted, spot.node, spot):
            new = new.value if isinstance(new, ast.Expr) else new
            if value is not None:  # what a number becomes is computed
                number = eval(ast.unparse(new))
                if number == value:
                    continue
                new = expression(f"float('{number}')" if math.isinf(number) else repr(number))
            yield rule.kind, with_node(spot.subject.tree, spot.place, new)


def _of_statement(spot: _Spot) -> Iterator[tuple[str, ast.AST]]:
    field, number = spot.place[-1]
    assert number is not None
    beside = getattr(spot.parent, field)
    until, after = beside[: number + 1], beside[number + 1 :]
    made = [
        (rule.kind, new)
        for rule in rules_of(STATEMENTS, "BEFORE\n")
        for new in _results(rule, rule.pattern, until, spot)
    ]
    for kind, new in (*made, *_condition_later(until)):
        body = [*new, *after] if new or after or field != "body" else [ast.Pass()]
        parent = with_field(spot.parent, field, body)
        yield kind, with_node(spot.subject.tree, spot.place[:-1], parent)


def _condition_later(until: list[ast.stmt]) -> Iterator[tuple[str, list[ast.stmt]]]:
    """Let a condition change what the call after it gives, and not what the call gets."""
    *before, condition, call = [ast.Pass(), *until]
    target = call.targets[0] if isinstance(call, ast.Assign) else None
    if not (isinstance(condition, ast.If) and isinstance(call, ast.Assign)):
        return
    if isinstance(target, ast.Name) and isinstance(call.value, ast.Call):
        later = copy.deepcopy(condition)
        names = [node for node in ast.walk(later) if isinstance(node, ast.Name)]
        results = [name.id for name in names if isinstance(name.ctx, ast.Store)][-1:]
        for name in names:
            name.id = target.id if name.id in results else name.id
        yield "order of the steps", [*before[1:], call, later]


def _of_function(spot: _Spot) -> Iterator[tuple[str, ast.AST]]:
    start = 1 if ast.get_docstring(spot.node) else 0
    for arguments in _other_defaults(spot.node.args):
        again = with_field(spot.node, "args", arguments)
        yield "default", with_node(spot.subject.tree, spot.place, again)
    for rule in rules_of(BODIES):
        for new in _results(rule, rule.pattern, spot.node.body[start:], spot):
            again = with_field(spot.node, "body", [*spot.node.body[:start], *new])
            yield rule.kind, with_node(spot.subject.tree, spot.place, again)


def _other_defaults(arguments: ast.arguments) -> Iterator[ast.AST]:
    """Give what a function takes with another default, and with fewer of them."""
    given = arguments.defaults
    for number, default in enumerate(given):
        if isinstance(default, ast.Constant) and isinstance(default.value, bool):
            other = ast.Constant(not default.value)
            yield with_field(arguments, "defaults", [*given[:number], other, *given[number + 1 :]])
        yield with_field(arguments, "defaults", given[number + 1 :])


_LONGEST = 160


@dataclass(frozen=True)
class Mutant:
    """A step with one change: the lines that it replaces, the new ones, and the whole step.

    Lines are as `ast` writes them, without their indentation, joined by "; ".
    """

    step: str
    kind: str
    old: str
    new: str
    text: str

    @property
    def words(self) -> str:
        """The change in one line."""
        old, new = (_short(line) for line in (self.old, self.new))
        change = f"`{old}` -> `{new}`" if old and new else f"+ `{new}`" if new else f"- `{old}`"
        return f"{self.step}, {self.kind}: {change}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def mutants_of(subject: Subject) -> tuple[Mutant, ...]:
    """Return all mutants of a step that compile and differ in text, by the walk of its tree."""
    original = ast.unparse(subject.tree)
    seen, found = {original}, []
    for kind, tree in changes(subject):
        text = ast.unparse(tree)
        if text in seen or not _compiles(text):
            continue
        seen.add(text)
        old, new = changed_lines(original, text)
        found.append(Mutant(subject.tree.name, kind, old, new, text))
    return tuple(found)


def _compiles(text: str) -> bool:
    try:
        compile(text, "<mutant>", "exec")
    except SyntaxError:
        return False
    return True


def changed_lines(old: str, new: str) -> tuple[str, str]:
    """Return the lines that are only in the old text and those that are only in the new one."""
    before, after = ([line.strip() for line in text.splitlines()] for text in (old, new))
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    gone: list[str] = []
    come: list[str] = []
    for tag, first, last, start, end in matcher.get_opcodes():
        if tag != "equal":
            gone += before[first:last]
            come += after[start:end]
    return _joined(gone), _joined(come)


def _joined(lines: list[str]) -> str:
    return "; ".join(lines).replace(":; ", ": ")


def spread(mutants: Sequence[Mutant], per_kind: int) -> tuple[Mutant, ...]:
    """Return at most `per_kind` mutants of each kind, evenly over the step, in their order."""
    by_kind: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        by_kind.setdefault(mutant.kind, []).append(mutant)
    chosen = {
        alike[number * len(alike) // per_kind].text if len(alike) > per_kind else alike[number].text
        for alike in by_kind.values()
        for number in range(min(per_kind, len(alike)))
    }
    return tuple(mutant for mutant in mutants if mutant.text in chosen)
