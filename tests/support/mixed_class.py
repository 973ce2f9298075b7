"""A class of hand-ins, no two alike: right answers and mistakes, mixed and renamed, from a seed.

Every step of a hand-in is the reference's, or one that a variant or a known mistake writes as a
function of its own. Then the names of local variables are changed.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import random
import textwrap
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType, ModuleType
from typing import Any

from autograder.checks.reference import MISCONCEPTIONS, load_module
from autograder.values.exercise import SOLUTION, Exercise

SEED = 20_261_122
MISTAKES, VARIANTS = 0.06, 0.3  # the shares of steps that are wrong, and written in another way
_SYLLABLES = "ba de fi go lu ma ne po ri su ta ve".split()


def mixed_class(
    exercise: Exercise, count: int, seed: int = SEED, mistakes: float = MISTAKES
) -> list[str]:
    """Return the texts of `count` hand-ins, all different; `mistakes` is the share of wrong steps.

    Without any, all are right.
    """
    drawn = random.Random(seed)
    folder = exercise.folder.resolve()
    tree = ast.parse((folder / SOLUTION).read_text(encoding="utf-8"))
    known = load_module(folder / SOLUTION)
    steps = [step.name for step in exercise.steps]
    right = _written(load_module(folder / "variants.py"), steps, known)
    wrong = _written(load_module(folder / MISCONCEPTIONS), steps, known, by_step=True)
    found: dict[str, None] = {}
    while len(found) < count:
        found[_hand_in(tree, right, wrong, drawn, mistakes)] = None
    return list(found)


def _hand_in(
    tree: ast.Module,
    right: dict[str, list[ast.FunctionDef]],
    wrong: dict[str, list[ast.FunctionDef]],
    drawn: random.Random,
    mistakes: float,
) -> str:
    body = []
    for node in tree.body:
        share, name = drawn.random(), getattr(node, "name", "")
        others = wrong if share < mistakes else right if share < mistakes + VARIANTS else {}
        body.append(drawn.choice(others.get(name) or [node]))
    return "\n\n\n".join(_renamed(ast.unparse(node), drawn) for node in body) + "\n"


def _written(
    module: ModuleType, steps: Iterable[str], known: ModuleType, by_step: bool = False
) -> dict[str, list[ast.FunctionDef]]:
    """Return the steps in the classes of a module that can stand in a hand-in, by their names.

    With `by_step`, a class is named after the step and holds its versions; otherwise, a class
    holds functions that are named after steps.
    """
    found: dict[str, list[ast.FunctionDef]] = {step: [] for step in steps}
    for name, kind in vars(module).items():
        if not inspect.isclass(kind) or name.startswith("_"):
            continue
        for base in kind.__mro__[:-1]:
            for own, function in vars(base).items():
                step = name if by_step else own
                if step in found and (node := _alone(function, known)):
                    node.name = step
                    found[step].append(node)
    return found


def _alone(value: Any, known: ModuleType) -> ast.FunctionDef | None:
    """Return a function's tree if all that it uses is there in a hand-in, too."""
    function = value.__func__ if isinstance(value, staticmethod) else value
    if not isinstance(function, FunctionType) or function.__closure__:
        return None
    parsed = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    if not isinstance(parsed, ast.FunctionDef) or not _is_there(function, known):
        return None
    parsed.decorator_list = []
    if ast.get_docstring(parsed) is not None:  # it tells which mistake this is
        parsed.body = parsed.body[1:]
    return parsed


def _is_there(function: Callable[..., Any], known: ModuleType) -> bool:
    used = set(inspect.getclosurevars(function).globals)
    theirs = inspect.getclosurevars(function)
    same = all(vars(known).get(name) is value for name, value in theirs.globals.items())
    return same and not theirs.unbound - set(dir(builtins)) - used


def _renamed(text: str, drawn: random.Random) -> str:
    """Return code with other names for the local variables of its functions."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            names = {name: _word(drawn) for name in sorted(set(_locals(node)))}
            for each in ast.walk(node):
                if isinstance(each, ast.Name):
                    each.id = names.get(each.id, each.id)
    return ast.unparse(tree)


def _locals(function: ast.FunctionDef) -> Iterator[str]:
    """Give the names that a function binds beside its parameters."""
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _word(drawn: random.Random) -> str:
    return "_".join("".join(drawn.choices(_SYLLABLES, k=2)) for _ in range(2))
