"""What the class of a layer says about a finding: sizes it refuses, attributes it does not keep."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import Any

from autograder.judging.asking import AskedExample
from autograder.judging.expectation import Refused, listed_names
from autograder.judging.layer_calls import LayerCall
from autograder.judging.layer_source import asserted_tuple, kept_names
from autograder.judging.single_number import whole_number
from autograder.model.request import ExceptionReport, Failed, Reply, Returned
from autograder.model.verdict import NO_ATTRIBUTE, Finding
from autograder.protocol.wire import Value

_REFUSING = re.compile(r"\b(assert|raise)\b")
# What the check says, and what Python says.
_ABSENT = re.compile(rf"{NO_ATTRIBUTE} `(\w+)`\.")
_UNKNOWN = re.compile(r"name '(\w+)' is not defined")
_LACKING = re.compile(r"'(\w+)' object has no attribute '(\w+)'")


def with_class_words(finding: Finding, made: type, asked: AskedExample) -> Finding:
    """Return a finding on a layer with what is seen in its class `made`, or as it is."""
    reply, example = asked.reply, asked.example
    if isinstance(example.expectation, Refused):
        return _always_true(finding, made) if isinstance(reply, Returned) else finding
    exception = reply.exception if isinstance(reply, Failed) else None
    if exception is None:
        absent = _ABSENT.fullmatch(finding.fact)
        taken = absent is not None and absent[1] in _parameters(made)
        return _not_kept(finding, made, absent[1]) if absent and taken else finding
    if _REFUSING.search(exception.code):
        return _refusing(finding, made, asked)
    return _lacking(finding, made, exception)


def wrong_size(
    made: type, calls: Iterable[LayerCall], read: Callable[[str], Value]
) -> tuple[str, str] | None:
    """Return what to say, and where to look, of a size that a class keeps and that is wrong.

    `calls` are the right ones: a size is named after what a step takes. `read` gives an attribute.
    """
    kept = kept_names(_init(made))
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


def _parameters(made: type) -> list[str]:
    """Return what `__init__` takes, without `self`."""
    code = getattr(_init(made), "__code__", None)
    return list(inspect.signature(made).parameters) if code else []


def _refusing(finding: Finding, made: type, asked: AskedExample) -> Finding:
    """Say which numbers a class refuses that it has to take."""
    given = zip(_parameters(made), asked.example.request.arguments)
    sizes = [f"`{name}` is {value}" for name, value in given if type(value) is int]
    if not sizes:
        return finding
    look = f"Here {' and '.join(sizes)}, which the layer has to take."
    return replace(finding, look=look)


def _always_true(finding: Finding, made: type) -> Finding:
    """Say why sizes are not refused that an `assert` should refuse."""
    line = asserted_tuple(_init(made))
    if not line:
        return finding
    look = (
        f"Line {line} asserts a tuple, because of its parentheses. A tuple with something in it "
        "counts as true, so nothing is ever refused."
    )
    return replace(finding, look=look)


def _lacking(finding: Finding, made: type, exception: ExceptionReport) -> Finding:
    """Say why code of the class knows no name or attribute that it reads."""
    unknown = _UNKNOWN.search(exception.message)
    if unknown and unknown[1] in kept_names(_init(made)):
        look = f"`__init__` keeps it as `self.{unknown[1]}`."
        return replace(finding, look=look)
    found = _LACKING.search(exception.message)
    if found and found[1] == made.__name__:
        return _not_kept(finding, made, found[2])
    return finding


def _not_kept(finding: Finding, made: type, name: str) -> Finding:
    """Say why an instance lacks an attribute, where `__init__` tells."""
    kept = kept_names(_init(made))
    if name in kept:
        return finding
    if name in _parameters(made):
        look = f"`__init__` takes `{name}`, but nothing there sets `self.{name}`."
        return replace(finding, look=look)
    close = difflib.get_close_matches(name, kept, n=1)
    return replace(finding, look=f"Did you mean `self.{close[0]}`?") if close else finding


def _init(made: type) -> Any:
    return made.__init__  # type: ignore[misc]
