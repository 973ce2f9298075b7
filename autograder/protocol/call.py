"""One call of a student's code on live values: the same in a worker and in process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from autograder.protocol import arrays, autograd, wire


class Missing(Exception):
    """The class has no such method."""


@dataclass(frozen=True)
class EarlierCall:
    """A call that is made before another: of the same function, or of the same method.

    The method is called on an instance that is made of `arguments`, after the one that is asked
    about was made. Where they are None, it is called on this one, which has other weights until
    then.
    """

    arguments: tuple[Any, ...] | None = ()
    method_arguments: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict)

    @property
    def values(self) -> tuple[Any, ...]:
        """The call as one value that can be sent."""
        named = (tuple(self.keywords), tuple(self.keywords.values()))
        return (self.arguments, self.method_arguments, *named)

    @classmethod
    def of(cls, values: tuple[Any, ...]) -> EarlierCall:
        """Return the call that was written as `values`."""
        arguments, method_arguments, names, named = values
        return cls(arguments, method_arguments, dict(zip(names, named)))


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
    earlier: list[EarlierCall]
    recording: bool


@dataclass(frozen=True)
class Performed:
    """The result of a call; an attribute that does not exist is left out."""

    value: Any
    after: list[Any]
    attributes: Mapping[str, Any]
    gradients: list[Any]
    observations: list[str]


def perform(target: Callable[..., Any], call: Call) -> Performed:
    """Make `call` on a function, or on a new instance of a class.

    Raises `Missing` when the class has no such method, and whatever the code raises.
    """
    with autograd.recording(None if call.recording else False):
        settings = autograd.Settings()
        try:
            return _performed(target, call, settings)
        finally:
            settings.restore()


def _performed(target: Callable[..., Any], call: Call, settings: autograd.Settings) -> Performed:
    if call.method is None:
        for earlier in call.earlier:
            arrays.held(result_of(target, earlier.arguments, earlier.keywords))
        # A file that switches gradients off spoils its layer; a step in it is judged by itself.
        with autograd.recording(None if call.backward is None else True):
            given = _Given(call, call.arguments)
            value = arrays.held(result_of(target, given.arguments, call.keywords))
            changed = given.recorded()
            gradients = given.gradients(value)
        seen = arrays.snapshot(value) if call.earlier else []
        for later in call.earlier[-1:]:  # which must leave the result as it is
            result_of(target, later.arguments, later.keywords)
        observations = [*settings.changed(), *changed, *_overwritten(value, seen)]
        return Performed(value, given.arguments, {}, gradients, observations)
    given = _Given(call, call.method_arguments)
    life = _Life(target, call, given.arguments)
    mode = autograd.mode(life.instance)
    value = _called(life.instance, call, given) if call.method else None
    changed = [wire.MODE] * (autograd.mode(life.instance) != mode) + given.recorded()
    gradients = given.gradients(value, life.instance)
    seen = arrays.snapshot(value) if call.earlier else []
    life.call_again()
    instance = life.instance
    found = {}
    for name in call.read:
        try:
            found[name] = arrays.read(instance, name)
        except AttributeError:
            continue  # left out: the caller can see that
    after = given.arguments if call.method else []
    listed = autograd.listed_parameters(instance, call.attributes)
    observations = [*settings.changed(), *listed, *changed, *_overwritten(value, seen)]
    return Performed(value, after, found, gradients, observations)


def _overwritten(value: Any, seen: list[Any]) -> list[str]:
    """Return what is seen of a result that a later call has changed; `seen` is as it was before."""
    alike = all(map(arrays.equal, arrays.snapshot(value), seen)) if seen else True
    return [] if alike else [wire.OVERWRITTEN]


def result_of(function: Callable[..., Any], arguments: Any, keywords: Mapping[str, Any]) -> Any:
    """Return what a function gives; one that negates a mask of numbers gets it as booleans."""
    try:
        return function(*arguments, **keywords)
    except TypeError as error:
        # Where a mask may be of numbers or of booleans, `~` asks for the latter.
        masks = arrays.boolean_masks(list(arguments), error)
        if masks is None:
            raise
        return function(*masks, **keywords)


def _made(
    target: Callable[..., Any], call: Call, arguments: Any, attributes: Mapping[str, Any]
) -> Any:
    instance = target(*arguments)
    _put(instance, attributes)
    return arrays.cast(instance, call.dtype) if call.dtype else instance


def _put(instance: Any, attributes: Mapping[str, Any]) -> None:
    for name, value in attributes.items():
        arrays.put(instance, name, value)


def _called(instance: Any, call: Call, given: _Given) -> Any:
    value = None
    for _ in range(call.calls):
        value = _method(instance, call)(*given.arguments, **call.keywords)
    return value


def _method(instance: Any, call: Call) -> Callable[..., Any]:
    assert call.method is not None
    if not hasattr(instance, call.method):
        raise Missing(call.method)
    method: Callable[..., Any] = getattr(instance, call.method)
    return method


class _Life:
    """The `instance` that is asked about, with all that is done before.

    If there are earlier calls, it has other weights in them, and others are made beside it. Nothing
    of another one may reach it, and nothing of its other weights may stay.
    """

    def __init__(self, target: Callable[..., Any], call: Call, arguments: list[Any]) -> None:
        self._call = call
        self._calls: list[tuple[Any, EarlierCall]] = []
        if not call.earlier:  # which is so in most calls
            self.instance = _made(target, call, call.arguments, call.attributes)
            self._prepare()
            return
        other = {name: arrays.flipped(value) for name, value in call.attributes.items()}
        self.instance = _made(target, call, call.arguments, other)
        for earlier in call.earlier:
            if earlier.arguments is None:
                self._calls.append((self.instance, _with_the_same(earlier, arguments)))
            else:
                self._calls.append((_made(target, call, earlier.arguments, {}), earlier))
        for made, earlier in self._calls:
            self._make(made, earlier)
        itself = EarlierCall(None, tuple(arguments), call.keywords)
        self._make(self.instance, itself)
        if call.before:
            self._prepare()
            self.call_again()
            self._make(self.instance, itself)
        _put(self.instance, call.attributes)
        self._make(self.instance, itself)

    def call_again(self) -> None:
        """Make the last of the earlier calls again."""
        for made, earlier in self._calls[-1:]:
            self._make(made, earlier)

    def _prepare(self) -> None:
        for name in self._call.before:
            getattr(self.instance, name)()

    def _make(self, instance: Any, earlier: EarlierCall) -> None:
        if self._call.method:
            _method(instance, self._call)(*earlier.method_arguments, **earlier.keywords)


def _with_the_same(earlier: EarlierCall, arguments: list[Any]) -> EarlierCall:
    """Return an earlier call with the very objects of `arguments` in place of equal arrays."""
    given = list(earlier.method_arguments)
    for place, (value, own) in enumerate(zip(given, arguments)):
        if arrays.equal(value, own):
            given[place] = own
    return EarlierCall(earlier.arguments, tuple(given), earlier.keywords)


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
            self.arguments = [autograd.tracked(value, self._leaves) for value in laid_out]
        self._recorded = autograd.recorded(self.arguments)

    def recorded(self) -> list[str]:
        """Return what is seen of arguments that gradients are recorded for since they are given."""
        return [wire.RECORDED] * (autograd.recorded(self.arguments) != self._recorded)

    def gradients(self, value: Any, instance: Any = None) -> list[Any]:
        """Propagate the gradient back from a result; return those that arrived."""
        if self._call.backward is None:
            return []
        autograd.propagate(value, self._call.backward)
        names = self._call.attributes if instance is not None else ()
        return [leaf.grad for leaf in (*self._leaves, *(arrays.read(instance, n) for n in names))]
