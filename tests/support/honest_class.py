"""Classes in which nobody copied, and copies of a hand-in, made from a seed.

Hand-ins of `mixed_class` share the text of a few variants. Here everybody also has habits: names
for what comes between, calls in place of operators, helpers, prints and asserts, another order.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Sequence
from typing import Any

from autograder.values.exercise import Exercise
from support.mixed_class import mixed_class

_WORDS = "ada bit cat dot eye fan gem hat ink jar key log map net oak pen row sun top urn".split()


def honest_class(exercise: Exercise, count: int, seed: int, mistakes: float = 0.06) -> list[str]:
    """Return the texts of `count` hand-ins whose authors never met."""
    drawn = random.Random(seed)
    library = "numpy" if "numpy" in exercise.name else "torch"
    return [
        own_words(text, random.Random(drawn.random()), library)
        for text in mixed_class(exercise, count, seed, mistakes)
    ]


def own_words(text: str, drawn: random.Random, library: str) -> str:
    """Return a hand-in as somebody with habits of their own would write it."""
    tree = ast.parse(text)
    habits = {name: drawn.random() ** 2 * 0.9 for name in _HABITS}
    tree = _Rewriting(drawn, habits, library).visit(tree)
    return ast.unparse(_reordered(ast.fix_missing_locations(tree), drawn))


def copied(text: str, drawn: random.Random, ways: Sequence[str]) -> str:
    """Return a copy of a hand-in, disguised in these `ways` (the names in `DISGUISES`)."""
    tree = ast.parse(text)
    for way in ways:
        tree = ast.fix_missing_locations(DISGUISES[way](tree, drawn))
    return ast.unparse(tree)


_HABITS = ("named", "call", "assert", "print", "factor", "keyword", "shape", "helper", "copy")


class _Rewriting(ast.NodeTransformer):
    def __init__(self, drawn: random.Random, habits: dict[str, float], library: str) -> None:
        self.drawn, self.habits = drawn, habits
        self.module = "np" if library == "numpy" else "torch"

    def _does(self, habit: str) -> bool:
        return self.drawn.random() < self.habits[habit]

    def _name(self) -> str:
        return "_".join(self.drawn.choices(_WORDS, k=3))

    def visit_Return(self, node: ast.Return) -> Any:
        self.generic_visit(node)
        before: list[ast.stmt] = []
        if node.value is None or isinstance(node.value, ast.Name | ast.Tuple):
            return node
        if self._does("named"):
            name = self._name()
            before.append(_statement(f"{name} = 0", node.value))
            node.value = ast.Name(name, ast.Load())
            if self._does("assert"):
                before += ast.parse(f"assert {name} is not None").body
            if self._does("print"):
                before += ast.parse(f"print('shape', {name})").body[:1]
            if self._does("copy"):
                node.value = ast.parse(f"{name} + 0", mode="eval").body
        return [*before, node]

    def visit_Assign(self, node: ast.Assign) -> Any:
        self.generic_visit(node)
        if len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
            return node
        if isinstance(node.value, ast.BinOp) and self._does("named"):
            name = self._name()
            first = _statement(f"{name} = 0", node.value.left)
            node.value.left = ast.Name(name, ast.Load())
            return [first, node]
        after = []
        if self._does("print"):
            after = ast.parse(f"print({node.targets[0].id}.shape)").body
        return [node, *after]

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.generic_visit(node)
        if isinstance(node.op, ast.MatMult) and self._does("call"):
            way = self.drawn.choice([f"{self.module}.matmul(0)", "_a.__matmul__(0)"])
            call: Any = ast.parse(way, mode="eval").body
            if isinstance(call.func, ast.Attribute) and call.func.attr == "__matmul__":
                call.func.value, call.args = node.left, [node.right]
            else:
                call.args = [node.left, node.right]
            return call
        if isinstance(node.op, ast.Div) and self._does("factor"):
            one = ast.BinOp(ast.Constant(1.0), ast.Div(), node.right)
            return ast.BinOp(node.left, ast.Mult(), one)
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        for keyword in node.keywords:
            if keyword.arg == "dim" and len(node.keywords) == 1 and self._does("keyword"):
                node.args.append(keyword.value)
                node.keywords = []
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        self.generic_visit(node)
        if self._does("shape") and len(node.args.args) > 1:
            name = self.drawn.choice(node.args.args[-1:]).arg
            node.body = [*ast.parse(f"{self._name()} = {name}").body, *node.body]
        if self._does("helper") and not any(each.arg == "self" for each in node.args.args):
            helper = self._name()
            inner = ast.FunctionDef(
                name=helper, args=node.args, body=node.body, decorator_list=[], returns=None
            )
            given = ", ".join(each.arg for each in node.args.args)
            node.body = [inner, *ast.parse(f"def f():\n return {helper}({given})").body[0].body]  # type: ignore[attr-defined]
        return node


def _statement(text: str, value: ast.expr) -> ast.stmt:
    assign = ast.parse(text).body[0]
    assert isinstance(assign, ast.Assign)
    assign.value = value
    return assign


def _reordered(tree: ast.Module, drawn: random.Random) -> ast.Module:
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    first = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    others = [node for node in tree.body if node not in functions and node not in first]
    drawn.shuffle(functions)
    tree.body = [*first, *functions, *others]
    return tree


def _renamed(tree: ast.Module, drawn: random.Random) -> ast.Module:
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            stored = {
                each.id
                for each in ast.walk(node)
                if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
            }
            names = {
                name: f"{drawn.choice(_WORDS)}{drawn.random():.4f}".replace(".", "")
                for name in sorted(stored - imported)
            }
            for each in ast.walk(node):
                if isinstance(each, ast.Name):
                    each.id = names.get(each.id, each.id)
    return tree


def _prosaic(tree: ast.Module, drawn: random.Random) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.body = [*ast.parse(f"'about {drawn.choice(_WORDS)}'").body, *node.body]
    return tree


def _few_statements(tree: ast.Module, drawn: random.Random) -> ast.Module:
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    for node in drawn.sample(functions, 2):
        node.body = [*ast.parse("extra = 1\nassert extra == 1").body, *node.body]
    return tree


def _one_step(tree: ast.Module, drawn: random.Random) -> ast.Module:
    node = drawn.choice([node for node in tree.body if isinstance(node, ast.FunctionDef)])
    node.body = ast.parse(
        "total = 0\nfor i in range(3):\n total += i ** 2\nraise ValueError(total)"
    ).body
    return tree


DISGUISES: dict[str, Callable[[ast.Module, random.Random], ast.Module]] = {
    "renamed variables": _renamed,
    "other comments": _prosaic,
    "another order": _reordered,
    "a few statements": _few_statements,
    "one step": _one_step,
}
