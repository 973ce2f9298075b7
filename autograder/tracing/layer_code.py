"""What stands in the text of a student's layer and its steps, and what its class says of a finding.

At home, it is read where Python keeps it, as for a traceback: from the file or from the notebook's
cell. What is no source any more tells nothing.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import linecache
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from autograder.judging.asking import AskedExample
from autograder.judging.compare import whole_number
from autograder.judging.expectation import Refused, listed_names
from autograder.judging.explanation import missing_name
from autograder.values.request import ExceptionReport, Failed, Reply, Returned
from autograder.values.verdict import NO_ATTRIBUTE, Finding
from autograder.worker.call import LayerCall
from autograder.worker.wire import Value

_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
_Defined = ast.FunctionDef | ast.ClassDef
# Parts of a name that do not say which of several results it holds.
_FILLING = {"w", "self", "to", "linear", "lin", "proj", "projection", "weights", "weight", "layer"}


@dataclass(frozen=True)
class LayerCode:
    """The text of steps: `file` names the file that one is defined in, `text` gives its text."""

    file: Callable[[str], str]
    text: Callable[[str], str]

    @classmethod
    def of_names(cls, names: Mapping[str, Any]) -> LayerCode:
        """Return the text of what is defined in a namespace of this process."""

        def file(name: str) -> str:
            return next((each for each in _files(names.get(name)) if linecache.getlines(each)), "")

        return cls(file, lambda file: "".join(linecache.getlines(file)))

    @classmethod
    def of_cells(cls, cells: Sequence[str]) -> LayerCode:
        """Return the text of cells that were run elsewhere, as "cell 1" and so on."""
        texts = {f"cell {number}": text for number, text in enumerate(cells, start=1)}

        def file(name: str) -> str:
            return next((each for each in reversed(texts) if _defined(texts[each], name)), "")

        return cls(file, lambda file: texts.get(file, ""))

    def unpacked_names(self, call: LayerCall) -> tuple[str, ...]:
        """Return the names that the results of a call get, () if they are not unpacked."""
        for node in _nodes(self.text(call.file)):
            if not isinstance(node, ast.Assign) or not _calls(node.value, call.step):
                continue
            target, inside = node.targets[0], node.lineno <= call.line <= (node.end_lineno or 0)
            if inside and isinstance(target, ast.Tuple):
                return tuple(map(ast.unparse, target.elts))
        return ()

    def calling_line(self, owner: str, step: str) -> int:
        """Return a line in which the class `owner` calls a step, 0 if there is none."""
        calls = (node for node in _inside(self._definition(owner)) if _calls(node, step))
        return next((node.lineno for node in calls if isinstance(node, ast.Call)), 0)

    def kept_names(self, owner: str) -> tuple[str, ...]:
        """Return the names of the attributes that `__init__` of a class sets on `self`."""
        stored = (node for node in _inside(self._init(owner)) if isinstance(node, ast.Attribute))
        names = (
            node.attr
            for node in stored
            if isinstance(node.ctx, ast.Store)
            and isinstance(node.value, ast.Name)
            and node.value.id == "self"
        )
        return tuple(dict.fromkeys(names))

    def parameters(self, owner: str) -> list[str]:
        """Return what `__init__` of a class takes, without `self`."""
        init = self._init(owner)
        given = [*init.args.posonlyargs, *init.args.args, *init.args.kwonlyargs] if init else []
        return [each.arg for each in given[1:]]

    def asserted_tuple(self, owner: str) -> int:
        """Return the line of `__init__` that asserts a tuple, which is always true; 0 without."""
        asserts = (node for node in _inside(self._init(owner)) if isinstance(node, ast.Assert))
        return next((node.lineno for node in asserts if isinstance(node.test, ast.Tuple)), 0)

    def inverts(self, step: str) -> bool:
        """Say whether `~` stands in a step."""
        unary = (each for each in _inside(self._definition(step)) if isinstance(each, ast.UnaryOp))
        return any(isinstance(each.op, ast.Invert) for each in unary)

    def inherited(self, owner: str) -> tuple[str, ...]:
        """Return the classes that a class has its `__init__` from: none if that is its own."""
        found: list[str] = []
        for name in self._line(owner):
            if _method(self._definition(name), "__init__"):
                return (*found[1:], name) if found else ()
            found.append(name)
        return tuple(found[1:])

    def _definition(self, name: str) -> _Defined | None:
        return _defined(self.text(self.file(name)), name)

    def _init(self, owner: str) -> ast.FunctionDef | None:
        inits = (_method(self._definition(name), "__init__") for name in self._line(owner))
        return next(filter(None, inits), None)

    def _line(self, owner: str) -> list[str]:
        """Return a class and those that it is built on, as far as these stand in the text."""
        line = [owner]
        for name in line:  # it grows meanwhile
            made = self._definition(name)
            bases = made.bases if isinstance(made, ast.ClassDef) else []
            line += [each.id for each in bases if isinstance(each, ast.Name) if each.id not in line]
        return line


def named_order(names: Sequence[str], results: Sequence[str]) -> tuple[int, ...]:
    """Return which of the `results` each of the `names` is named after, () where that is unclear.

    `q`, `query` and `W_q` all stand for `queries`.
    """
    own, known = [list(map(_initial, each)) for each in (names, results)]
    if len(set(known)) < len(known) or sorted(own) != sorted(known):
        return ()
    return tuple(map(known.index, own))


def _initial(name: str) -> str:
    """Return the letter that tells a name from its neighbors."""
    parts = re.split(r"[._]", name.lower())
    telling = [part for part in parts if part and part not in _FILLING] or [name.lower()]
    return re.sub(r"^w(?=.)", "", telling[0])[:1]


def _files(value: Any) -> Iterator[str]:
    """Give the names of the files that a function or the methods of a class stand in."""
    for each in vars(value).values() if isinstance(value, type) else (value,):
        code = getattr(inspect.unwrap(each) if callable(each) else each, "__code__", None)
        if code is not None:
            yield code.co_filename


def _calls(node: ast.AST, step: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == step


def _method(made: _Defined | None, name: str) -> ast.FunctionDef | None:
    methods = (each for each in (made.body if made else ()) if isinstance(each, ast.FunctionDef))
    return next((each for each in methods if each.name == name), None)


def _inside(node: ast.AST | None) -> Iterator[ast.AST]:
    return ast.walk(node) if node else iter(())


def _defined(text: str, name: str) -> _Defined | None:
    """Return the last definition of a name in a text, at the left margin if there is one."""
    tree = next(iter(_nodes(text)), None)
    margin = tree.body if isinstance(tree, ast.Module) else []
    for nodes in (margin, _nodes(text)):
        found = [each for each in nodes if isinstance(each, _Defined) and each.name == name]
        if found:
            return found[-1]
    return None


@lru_cache(maxsize=8)
def _nodes(text: str) -> tuple[ast.AST, ...]:
    try:
        return tuple(ast.walk(ast.parse(text)))
    except _UNREADABLE:  # as where it was changed since it ran
        return ()


# What the class of a layer says about a finding: sizes it refuses, attributes it does not keep.

_REFUSING = re.compile(r"\b(assert|raise)\b")
# What the check says, and what Python says.
_ABSENT = re.compile(rf"{NO_ATTRIBUTE} `(\w+)`\.")
_LACKING = re.compile(r"'(\w+)' object has no attribute '(\w+)'")


def with_class_words(finding: Finding, code: LayerCode, asked: AskedExample) -> Finding:
    """Return a finding on a layer with what is seen in its class, or as it is."""
    reply, owner = asked.reply, asked.example.request.target
    if isinstance(asked.example.expectation, Refused):
        return _always_true(finding, code, owner) if isinstance(reply, Returned) else finding
    exception = reply.exception if isinstance(reply, Failed) else None
    if exception is None:
        absent = _ABSENT.fullmatch(finding.fact)
        taken = absent is not None and absent[1] in code.parameters(owner)
        return _not_kept(finding, code, owner, absent[1]) if absent and taken else finding
    if _REFUSING.search(exception.code):
        return _refusing(finding, code, asked)
    return _lacking(finding, code, owner, exception)


def wrong_size(
    code: LayerCode, owner: str, calls: Iterable[LayerCall], read: Callable[[str], Value]
) -> tuple[str, str] | None:
    """Return what to say, and where to look, of a size that a class keeps and that is wrong.

    `calls` are the right ones: a size is named after what a step takes. `read` gives an attribute.
    """
    kept = code.kept_names(owner)
    for call in calls:
        for name, value in zip(call.names, call.arguments):
            wanted = whole_number(value)
            given = whole_number(read(name)) if name in kept and type(wanted) is int else wanted
            if type(given) is int and given != wanted:
                fact = f"After `__init__`, `self.{name}` is {given}, but as `{name}`, "
                fact += f"`{call.step}` is expected to get {wanted}."
                return fact, f"Which line sets `self.{name}`?"
    return None


def with_added_names(finding: Finding, listed: Reply, expected: Collection[str]) -> Finding:
    """Return the finding on added parameters with the attributes that hold them.

    `listed` answers with the names of all attributes, in which those of parameters come first: the
    layer's own, without a dot, and then those of the layers in it.
    """
    names = listed_names(listed.attributes.get("*")) if isinstance(listed, Returned) else ()
    last = max((place for place, name in enumerate(names) if "." in name), default=-1)
    added = [name.split(".")[0] for name in names[: last + 1] if name not in expected]
    kept = {name.split(".")[0] for name in expected}
    own = [f"`self.{name}`" for name in dict.fromkeys(added) if name not in kept]
    if not own:
        return finding
    fact = f"{finding.fact} They are in {' and '.join(own)}."
    return replace(finding, fact=fact)


def _refusing(finding: Finding, code: LayerCode, asked: AskedExample) -> Finding:
    """Say which numbers a class refuses that it has to take."""
    request = asked.example.request
    given = zip(code.parameters(request.target), request.arguments)
    sizes = [f"`{name}` is {value}" for name, value in given if type(value) is int]
    if not sizes:
        return finding
    look = f"Here {' and '.join(sizes)}, which the layer has to take."
    return replace(finding, look=look)


def _always_true(finding: Finding, code: LayerCode, owner: str) -> Finding:
    """Say why sizes are not refused that an `assert` should refuse."""
    line = code.asserted_tuple(owner)
    if not line:
        return finding
    look = (
        f"Line {line} asserts a tuple, because of its parentheses. A tuple with something in it "
        "counts as true, so nothing is ever refused."
    )
    return replace(finding, look=look)


def _lacking(finding: Finding, code: LayerCode, owner: str, exception: ExceptionReport) -> Finding:
    """Say why code of the class knows no name or attribute that it reads."""
    unknown = missing_name(exception)
    if unknown in code.kept_names(owner):
        look = f"`__init__` keeps it as `self.{unknown}`."
        return replace(finding, look=look)
    found = _LACKING.search(exception.message)
    if found and found[1] == owner:
        return _not_kept(finding, code, owner, found[2])
    return finding


def _not_kept(finding: Finding, code: LayerCode, owner: str, name: str) -> Finding:
    """Say why an instance lacks an attribute, where `__init__` tells."""
    kept = code.kept_names(owner)
    if name in kept:
        return finding
    if name in code.parameters(owner):
        look = f"`__init__` takes `{name}`, but nothing there sets `self.{name}`."
        return replace(finding, look=look)
    close = difflib.get_close_matches(name, kept, n=1)
    return replace(finding, look=f"Did you mean `self.{close[0]}`?") if close else finding
