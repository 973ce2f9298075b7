"""One call of a student's code on live values: the same in a worker and in process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from autograder.protocol import arrays


class Missing(Exception):
    """The class has no such method."""


@dataclass(frozen=True)
class Call:
    """A request whose values are what the code gets: arrays or tensors, generators, modules."""

    arguments: list[Any]
    keywords: Mapping[str, Any]
    method: str | None
    method_arguments: list[Any]
    attributes: Mapping[str, Any]
    read: list[str]
    before: list[str]
    calls: int
    dtype: str
    backward: Any


@dataclass(frozen=True)
class Performed:
    """The result of a call; an attribute that does not exist is left out."""

    value: Any
    after: list[Any]
    attributes: Mapping[str, Any]


def perform(target: Callable[..., Any], call: Call) -> Performed:
    """Make `call` on a function, or on a new instance of a class.

    Raises `Missing` when the class has no such method, and whatever the code raises.
    """
    if call.method is None:
        value = target(*call.arguments, **call.keywords)
        return Performed(value, call.arguments, {})
    instance = target(*call.arguments)
    for name, value in call.attributes.items():
        arrays.put(instance, name, value)
    if call.dtype:
        instance = arrays.cast(instance, call.dtype)
    for name in call.before:
        getattr(instance, name)()
    value = _called(instance, call) if call.method else None
    found = {}
    for name in call.read:
        try:
            found[name] = arrays.read(instance, name)
        except AttributeError:
            continue  # left out: the caller can see that
    return Performed(value, call.method_arguments if call.method else [], found)


def _called(instance: Any, call: Call) -> Any:
    assert call.method is not None
    if not hasattr(instance, call.method):
        raise Missing(call.method)
    value = None
    for _ in range(call.calls):
        value = getattr(instance, call.method)(*call.method_arguments, **call.keywords)
    if call.backward is not None:
        arrays.propagate(value, call.backward)
    return value
