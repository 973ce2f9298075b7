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
    layouts: list[list[int] | None]
    earlier: list[Any]


@dataclass(frozen=True)
class Performed:
    """The result of a call; an attribute that does not exist is left out."""

    value: Any
    after: list[Any]
    attributes: Mapping[str, Any]
    gradients: list[Any]
    settings: list[str]


def perform(target: Callable[..., Any], call: Call) -> Performed:
    """Make `call` on a function, or on a new instance of a class.

    Raises `Missing` when the class has no such method, and whatever the code raises.
    """
    settings = arrays.Settings()
    try:
        return _performed(target, call, settings)
    finally:
        settings.restore()


def _performed(target: Callable[..., Any], call: Call, settings: arrays.Settings) -> Performed:
    if call.method is None:
        for earlier in call.earlier:
            _result(target, list(earlier), call)
        with arrays.recording(call.backward):
            given = _Given(call, call.arguments)
            value = arrays.held(_result(target, given.arguments, call))
            gradients = given.gradients(value)
        for later in call.earlier[:1]:  # which must leave the result as it is
            _result(target, list(later), call)
        return Performed(value, given.arguments, {}, gradients, settings.changed())
    instance = _made(target, call, call.attributes)
    for name in call.before:
        getattr(instance, name)()
    given = _Given(call, call.method_arguments)
    value = _called(target, instance, call, given) if call.method else None
    gradients = given.gradients(value, instance)
    found = {}
    for name in call.read:
        try:
            found[name] = arrays.read(instance, name)
        except AttributeError:
            continue  # left out: the caller can see that
    after = given.arguments if call.method else []
    return Performed(value, after, found, gradients, settings.changed())


def _result(function: Callable[..., Any], arguments: list[Any], call: Call) -> Any:
    try:
        return function(*arguments, **call.keywords)
    except TypeError as error:
        # Where a mask may be of numbers or of booleans, `~` asks for the latter.
        masks = arrays.boolean_masks(arguments, error)
        if masks is None:
            raise
        return function(*masks, **call.keywords)


def _made(target: Callable[..., Any], call: Call, attributes: Mapping[str, Any]) -> Any:
    instance = target(*call.arguments)
    for name, value in attributes.items():
        arrays.put(instance, name, value)
    return arrays.cast(instance, call.dtype) if call.dtype else instance


def _called(target: Callable[..., Any], instance: Any, call: Call, given: _Given) -> Any:
    assert call.method is not None
    if not hasattr(instance, call.method):
        raise Missing(call.method)
    if call.earlier:
        # Another instance with other weights: nothing of one may reach the other.
        attributes = {name: arrays.flipped(value) for name, value in call.attributes.items()}
        other = _made(target, call, attributes)
        for earlier in call.earlier:
            getattr(instance, call.method)(*earlier, **call.keywords)
            getattr(other, call.method)(*earlier, **call.keywords)
    value = None
    for _ in range(call.calls):
        value = getattr(instance, call.method)(*given.arguments, **call.keywords)
    return value


class _Given:
    """The arguments as the code gets them, and where their gradients will arrive."""

    def __init__(self, call: Call, arguments: list[Any]) -> None:
        self._call = call
        orders = [*call.layouts, *[None] * len(arguments)]
        laid_out = [
            arrays.laid_out(value, order) if order else value
            for value, order in zip(arguments, orders)
        ]
        self._leaves: list[Any] = []
        if call.backward is None:
            self.arguments = laid_out
        else:
            self.arguments = [arrays.tracked(value, self._leaves) for value in laid_out]

    def gradients(self, value: Any, instance: Any = None) -> list[Any]:
        """Propagate the gradient back from a result; return those that arrived."""
        if self._call.backward is None:
            return []
        arrays.propagate(value, self._call.backward)
        names = self._call.attributes if instance is not None else ()
        return [leaf.grad for leaf in (*self._leaves, *(arrays.read(instance, n) for n in names))]
