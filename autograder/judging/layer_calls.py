"""The calls that a layer makes of its steps, and what stands in its source."""

from __future__ import annotations

import ast
import inspect
import linecache
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any

from autograder.judging.inprocess import round_tripped
from autograder.protocol.wire import Value

# Given the function and its arguments, returns what stands in the place of its answer.
StandIn = Callable[..., Any]


@dataclass(frozen=True)
class LayerCall:
    """One call of a step by a layer: its arguments, in the order of the step's parameters.

    `names` are those parameters. `line` of `file` is where the layer calls. What raised is not
    `answered`; what does not even fit the parameters is not `bound`, and has no names.
    """

    step: str
    names: tuple[str, ...] = ()
    arguments: tuple[Value, ...] = ()
    result: Value = None
    line: int = 0
    answered: bool = True
    bound: bool = True
    file: str = ""

    @property
    def results(self) -> tuple[Value, ...]:
        """What the step gives, one by one."""
        return self.result if isinstance(self.result, tuple) else (self.result,)


@dataclass
class CallRecorder:
    """Records calls of `steps` in a namespace; `stand_ins` answer some calls, by their number.

    `reached` are the steps that were called at all, also by each other.
    """

    namespace: dict[str, Any]
    steps: Collection[str]
    library: str
    stand_ins: Mapping[int, StandIn] = field(default_factory=dict)
    calls: list[LayerCall] = field(default_factory=list)
    reached: set[str] = field(default_factory=set)
    _depth: int = 0

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record while the body runs; the namespace is as before afterwards."""
        own = {name: self.namespace.get(name) for name in self.steps}
        # Also what a decorator has made of a function, such as one that keeps its results.
        functions = {
            name: each
            for name, each in own.items()
            if callable(each) and not isinstance(each, type)
        }
        self.namespace.update(
            {name: self._watched(name, function) for name, function in functions.items()}
        )
        try:
            yield
        finally:
            self.namespace.update(functions)

    def _watched(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def step(*arguments: Any, **keywords: Any) -> Any:
            self.reached.add(name)
            if self._depth:
                return function(*arguments, **keywords)
            number, frame = len(self.calls), sys._getframe(1)
            bound = _bound(function, arguments, keywords)
            names, given = bound or ((), (*arguments, *keywords.values()))
            copies = tuple(self._plain(value) for value in given)
            code, line = frame.f_code, frame.f_lineno
            fits = bound is not None
            self.calls.append(
                LayerCall(name, names, copies, None, line, False, fits, code.co_filename)
            )
            self._depth += 1
            try:
                if number in self.stand_ins:
                    result = self.stand_ins[number](function, *given)
                else:
                    result = function(*arguments, **keywords)
            finally:
                self._depth -= 1
            done = replace(self.calls[number], result=self._plain(result), answered=True)
            self.calls[number] = done
            return result

        return step

    def _plain(self, value: Any) -> Value:
        return round_tripped(value, self.library)


def _bound(
    function: Callable[..., Any], arguments: tuple[Any, ...], keywords: Mapping[str, Any]
) -> tuple[tuple[str, ...], tuple[Any, ...]] | None:
    """Return parameters and arguments in order, None where they do not fit."""
    try:
        bound = inspect.signature(function).bind(*arguments, **keywords)
    except (TypeError, ValueError):  # ValueError: a function of a library without a signature
        return None
    bound.apply_defaults()
    return tuple(bound.arguments), tuple(bound.arguments.values())


# What stands in the source of a learner's layer: the names that a call is unpacked as, and more.
#
# It is read where Python keeps it, as for a traceback: from the file or from the notebook's cell.
# What is no source any more tells nothing.

# Parts of a name that do not say which of several results it holds.
_FILLING = {"w", "self", "to", "linear", "lin", "proj", "projection", "weights", "weight", "layer"}


def unpacked_names(file: str, line: int, step: str) -> tuple[str, ...]:
    """Return the names that the results of a call in `line` get, () if they are not unpacked."""
    for node in _nodes(file):
        if not isinstance(node, ast.Assign) or not _calls(node.value, step):
            continue
        target = node.targets[0]
        if node.lineno <= line <= (node.end_lineno or 0) and isinstance(target, ast.Tuple):
            return tuple(map(ast.unparse, target.elts))
    return ()


def named_order(names: Sequence[str], results: Sequence[str]) -> tuple[int, ...]:
    """Return which of the `results` each of the `names` is named after, () where that is unclear.

    `q`, `query` and `W_q` all stand for `queries`.
    """
    own, known = [list(map(_initial, each)) for each in (names, results)]
    if len(set(known)) < len(known) or sorted(own) != sorted(known):
        return ()
    return tuple(map(known.index, own))


def calling_line(file: str, owner: str, step: str) -> int:
    """Return a line in which the class `owner` calls a step, 0 if there is none."""
    classes = (each for each in _nodes(file) if isinstance(each, ast.ClassDef))
    inside = (node for each in classes if each.name == owner for node in ast.walk(each))
    calls = (node for node in inside if isinstance(node, ast.Call) and _calls(node, step))
    return next((node.lineno for node in calls), 0)


def kept_names(function: Any) -> tuple[str, ...]:
    """Return the names of the attributes that a method such as `__init__` sets on `self`."""
    stored = (node for node in _own_nodes(function) if isinstance(node, ast.Attribute))
    names = (
        node.attr
        for node in stored
        if isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    )
    return tuple(dict.fromkeys(names))


def asserted_tuple(function: Any) -> int:
    """Return the line of a function that asserts a tuple, which is always true; 0 without one."""
    asserts = (node for node in _own_nodes(function) if isinstance(node, ast.Assert))
    found = (node.lineno for node in asserts if isinstance(node.test, ast.Tuple))
    return next(found, 0)


def _initial(name: str) -> str:
    """Return the letter that tells a name from its neighbors."""
    parts = re.split(r"[._]", name.lower())
    telling = [part for part in parts if part and part not in _FILLING] or [name.lower()]
    return re.sub(r"^w(?=.)", "", telling[0])[:1]


def _calls(node: ast.AST, step: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == step


def _own_nodes(function: Any) -> Iterator[ast.AST]:
    """Give the nodes of the function with this name in this line."""
    code = getattr(function, "__code__", None)
    if code is None:
        return
    defined = (node for node in _nodes(code.co_filename) if isinstance(node, ast.FunctionDef))
    for node in defined:
        here = node.lineno <= code.co_firstlineno <= (node.end_lineno or 0)
        if here and node.name == code.co_name:
            yield from ast.walk(node)


def _nodes(file: str) -> Iterator[ast.AST]:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):  # it was changed since it ran
        return
    yield from ast.walk(tree)
