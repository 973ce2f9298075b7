"""One call of a student's code on live values: the same in a worker and in process."""

from __future__ import annotations

import contextlib
import dis
import functools
import inspect
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import FrameType, TracebackType
from typing import Any, ClassVar

import numpy as np

from autograder.worker import arrays, wire
from autograder.worker.arrays import read
from autograder.worker.wire import CODE, MESSAGE, NAME, SHAPES, copied, round_tripped

# PyTorch's gradients around a call: recorded, propagated back, and what a call leaves behind.


def tracked(value: Any, leaves: list[Any]) -> Any:
    """Return an argument that passes gradients on; what receives them is added to `leaves`."""
    torch = sys.modules["torch"]
    if isinstance(value, torch.nn.Linear):
        leaves += value.parameters()
    elif isinstance(value, torch.Tensor) and value.is_floating_point():
        leaves.append(value.detach().requires_grad_())
        return leaves[-1].clone()  # which the code may change in place, as it may any tensor
    return value


def propagate(value: Any, gradient: Any) -> None:
    """Propagate gradients back from a result, or from each of several.

    Nothing is propagated from what has lost its connection to the inputs.
    """
    torch = sys.modules["torch"]
    several = isinstance(gradient, tuple)
    pairs = zip(value, gradient) if several else [(value, gradient)]
    connected = [pair for pair in pairs if getattr(pair[0], "requires_grad", False)]
    if connected:
        with torch.enable_grad():
            weighted_sum(connected).backward()


def weighted_sum(pairs: Iterable[tuple[Any, Any]]) -> Any:
    """Return a number whose gradient at each result is the one that it is paired with.

    To be handed gradients as they are, PyTorch would import SymPy.
    """
    return sum((result * arriving).sum() for result, arriving in pairs)


def recording(on: bool | None) -> contextlib.AbstractContextManager[Any]:
    """Record gradients with PyTorch, or none, whatever holds around it; None leaves it so."""
    torch = sys.modules.get("torch")
    return contextlib.nullcontext() if torch is None or on is None else torch.set_grad_enabled(on)


def listed_parameters(instance: Any, names: Iterable[str]) -> list[str]:
    """Say whether `parameters()`, which an optimizer asks, gives those of `names` and no more.

    Returns `HIDDEN` when one of them is left out, and `ADDED` when there are others to be trained.
    """
    torch = sys.modules.get("torch")
    if not (torch and names and issubclass(type(instance), torch.nn.Module)):
        return []
    asked, listed = [read(instance, name) for name in names], list(instance.parameters())
    hidden = {id(each) for each in asked} - {id(each) for each in listed}
    added = {id(each) for each in listed if each.requires_grad} - {id(each) for each in asked}
    return [wire.HIDDEN] * bool(hidden) + [wire.ADDED] * bool(added)


def recorded(arguments: Iterable[Any]) -> list[bool]:
    """Say which arguments are tensors that PyTorch itself was asked to record gradients for."""
    return [getattr(each, "requires_grad", False) is True and each.is_leaf for each in arguments]


def training_mode(instance: Any) -> bool | None:
    """Say whether a module is in training; None for what is no module."""
    torch = sys.modules.get("torch")
    if not (torch and issubclass(type(instance), torch.nn.Module)):
        return None
    return bool(instance.training)


class Settings:
    """What a student's code must leave as it is: settings of PyTorch, and chance.

    A number is drawn before and after a call from each generator that all code shares. Where the
    one after it is that of the call before, but the one before is not, the call has set a seed.
    """

    _last: ClassVar[dict[str, tuple[Any, Any, bool]]] = {}  # of the call before this one

    def __init__(self) -> None:
        self._before, self._drawn = self._now(), _drawn()

    def changed(self) -> list[str]:
        """Return the names of those that are not as they were."""
        return [*self._switched(), *self._seeded()]

    def _seeded(self) -> list[str]:
        found = []
        for name, after in _drawn().items():
            before = self._drawn.get(name)
            last, repeated, seeded = self._last.get(name, (None, None, False))
            seeded = after == repeated and (seeded or before != last)
            self._last[name] = before, after, seeded
            found += [name] * seeded
        return found

    def restore(self) -> None:
        """Set all settings as they were."""
        if self._switched():
            torch = sys.modules["torch"]
            torch.set_grad_enabled(self._before["set_grad_enabled"])
            torch.set_default_dtype(self._before["set_default_dtype"])

    def _switched(self) -> list[str]:
        now = self._now()
        return [name for name, setting in self._before.items() if now[name] != setting]

    def _now(self) -> dict[str, Any]:
        torch = sys.modules.get("torch")
        if torch is None:
            return {}
        return {
            "set_grad_enabled": torch.is_grad_enabled(),
            "set_default_dtype": torch.get_default_dtype(),
        }


# Kept here, so that they are the libraries' own whatever a student's code does to the names.
_python_number, _numpy_number = random.random, np.random.random_sample


def _drawn() -> dict[str, Any]:
    """Draw a number from each generator that all code shares."""
    drawn: dict[str, Any] = {wire.PYTHON_SEED: _python_number(), wire.NUMPY_SEED: _numpy_number()}
    if "torch" in sys.modules:
        drawn[wire.TORCH_SEED] = _drawn_into().random_().item()
    return drawn


@functools.cache
def _drawn_into() -> Any:
    """Return the tensor that PyTorch's numbers go into: to make one takes longer than to draw."""
    torch = sys.modules["torch"]
    with torch.inference_mode(False):  # or it could be changed in that mode only
        return torch.empty((), dtype=torch.int64, device="cpu")


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
    with recording(None if call.recording else False):
        settings = Settings()
        try:
            return _performed(target, call, settings)
        finally:
            settings.restore()


def _performed(target: Callable[..., Any], call: Call, settings: Settings) -> Performed:
    if call.method is None:
        for earlier in call.earlier:
            arrays.held(result_of(target, earlier.arguments, earlier.keywords))
        # A file that switches gradients off spoils its layer; a step in it is judged by itself.
        with recording(None if call.backward is None else True):
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
    mode = training_mode(life.instance)
    value = _called(life.instance, call, given) if call.method else None
    changed = [wire.MODE] * (training_mode(life.instance) != mode) + given.recorded()
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
    listed = listed_parameters(instance, call.attributes)
    observations = [*settings.changed(), *listed, *changed, *_overwritten(value, seen)]
    return Performed(value, after, found, gradients, observations)


def _overwritten(value: Any, seen: list[Any]) -> list[str]:
    """Return what is seen of a result that a later call has changed; `seen` is as it was before."""
    alike = all(map(arrays.alike, arrays.snapshot(value), seen)) if seen else True
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
            self.arguments = [tracked(value, self._leaves) for value in laid_out]
        self._recorded = recorded(self.arguments)

    def recorded(self) -> list[str]:
        """Return what is seen of arguments that gradients are recorded for since they are given."""
        return [wire.RECORDED] * (recorded(self.arguments) != self._recorded)

    def gradients(self, value: Any, instance: Any = None) -> list[Any]:
        """Propagate the gradient back from a result; return those that arrived."""
        if self._call.backward is None:
            return []
        propagate(value, self._call.backward)
        names = self._call.attributes if instance is not None else ()
        return [leaf.grad for leaf in (*self._leaves, *(arrays.read(instance, n) for n in names))]


# Whether an exception comes from a `raise` of the code itself, or from a library written in C.
#
# PyTorch raises NotImplementedError for operators that it does not have, such as `^` of numbers
# with a fraction. The last frame of Python is then the code's own, as it is where a stub raises.

_RAISE = dis.opmap["RAISE_VARARGS"]


def is_raise(step: TracebackType) -> bool:
    """Say whether the code of this step of a traceback was at a `raise` of its own."""
    code = step.tb_frame.f_code.co_code
    return step.tb_lasti < len(code) and code[step.tb_lasti] == _RAISE


# An exception of the student's code, as facts that are safe to read.
#
# The student's classes may lie or raise in `__str__`, `__class__` or `__name__`, so only the
# built-in types are asked.

_traceback_of = BaseException.__dict__["__traceback__"].__get__

Lines = Callable[[str], Sequence[str] | None]  # of a file, if it is of the code that is asked


def describe(error: BaseException, lines: Lines) -> dict[str, Any]:
    """Return type, message, and place of `error` in the files of `lines`, as JSON facts.

    `stub` names the function of the submission that raised NotImplementedError
    itself; it is missing for every other exception.
    """
    kind = type(error)
    facts: dict[str, Any] = {
        "type": wire.name_of(kind),
        "message": _message(error),
        "line": 0,
        "code": "",
        "shapes": {},
    }
    frame, number, own = _innermost(_traceback_of(error), lines)
    if frame is not None:
        facts["line"], facts["code"] = number, _line(lines(frame.f_code.co_filename), number)
        facts["shapes"] = _shapes(frame)
        if own and issubclass(kind, NotImplementedError):
            facts["stub"] = frame.f_code.co_qualname.split(".<locals>")[0][:NAME]
    elif issubclass(kind, SyntaxError):
        _add_place(error, facts, lines)
    return facts


def brief(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same facts without what makes them long."""
    return {"type": facts["type"], "message": "", "line": facts["line"], "code": "", "shapes": {}}


def _message(error: BaseException) -> str:
    try:
        return str.__getitem__(str(error), slice(MESSAGE))
    except BaseException:  # the student's own __str__ may raise anything at all
        return "(the exception has no message that can be shown)"


def _innermost(trace: TracebackType | None, lines: Lines) -> tuple[FrameType | None, int, bool]:
    """Return the last frame in the submission, its line, and whether a `raise` there raised it."""
    found: TracebackType | None = None
    last = trace
    while trace is not None:
        if lines(trace.tb_frame.f_code.co_filename) is not None:
            found = trace
        last, trace = trace, trace.tb_next
    if found is None:
        return None, 0, False
    return found.tb_frame, found.tb_lineno or 0, found is last and is_raise(found)


def _line(source: Sequence[str] | None, number: int) -> str:
    return source[number - 1].strip()[:CODE] if source and 0 < number <= len(source) else ""


def _shapes(frame: FrameType) -> dict[str, list[int]]:
    """Return the shapes of the frame's arrays, the first twelve, by name."""
    shapes: dict[str, list[int]] = {}
    try:
        for name, value in frame.f_locals.items():
            shape = arrays.shape(value)
            if type(name) is str and shape is not None and _allowed(shape) and len(shapes) < SHAPES:
                shapes[name[:NAME]] = list(shape)
    except BaseException:  # a class body's namespace may be the student's own mapping
        return {}
    return shapes


def _allowed(shape: tuple[int, ...]) -> bool:
    """Whether the host accepts a shape: it must be one of an array that can be sent."""
    return len(shape) <= wire.MAX_AXES and all(size <= wire.MAX_AXIS for size in shape)


def _add_place(error: BaseException, facts: dict[str, Any], lines: Lines) -> None:
    """A syntax error has no frame; its attributes say where, if they are the compiler's."""
    name, number = getattr(error, "filename", None), getattr(error, "lineno", None)
    source = lines(name) if type(name) is str else None
    if source is not None and type(number) is int:
        facts["line"], facts["code"] = max(0, number), _line(source, number)


# The calls that a layer makes of its steps while it is asked, and what may stand in their place.

MOST_CALLS = 256  # of one layer that are kept: a layer that makes more of them is not looked into
ANSWER, CORRECTED, BOOLEANS, FIRST = "answer", "corrected", "booleans", "first argument"
ARGUMENTS, RESULTS = "arguments", "results"
_WAYS = (ANSWER, CORRECTED, BOOLEANS, FIRST, ARGUMENTS, RESULTS)


@dataclass(frozen=True)
class LayerCall:
    """One call of a step by a layer: its arguments, in the order of the step's parameters.

    `names` are those parameters. `line` of `file` is where the layer calls. What raised is not
    `answered`; what does not even fit the parameters is not `bound`, and has no names.
    """

    step: str
    names: tuple[str, ...] = ()
    arguments: tuple[wire.Value, ...] = ()
    result: wire.Value = None
    line: int = 0
    answered: bool = True
    bound: bool = True
    file: str = ""

    @property
    def results(self) -> tuple[wire.Value, ...]:
        """What the step gives, one by one."""
        return self.result if isinstance(self.result, tuple) else (self.result,)


@dataclass(frozen=True)
class StandIn:
    """What answers one call in place of the step: one of six ways.

    ANSWER gives `value`, and CORRECTED what the step gives, with the numbers of `value`. With
    ARGUMENTS, the step gets its arguments in another `order`, and with RESULTS, it gives its
    results so. BOOLEANS hands it masks of numbers as booleans, and FIRST gives back its first
    argument.
    """

    way: str
    value: wire.Value = None
    order: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.way not in _WAYS:
            raise ValueError(f"nothing stands in by {self.way!r}")


class CallWatch:
    """Records calls of `steps` in a `namespace`; `stand_ins` answer some calls, by their number.

    `reached` are the steps that were called at all, also by each other. `dtype` is the one that
    the layer is asked in.
    """

    def __init__(
        self,
        namespace: dict[str, Any],
        steps: Iterable[str],
        library: str,
        stand_ins: Mapping[int, StandIn],
        dtype: str = "",
    ) -> None:
        self._namespace, self._steps, self._library = namespace, tuple(steps), library
        self._stand_ins, self._dtype = stand_ins, dtype
        self._calls: list[LayerCall] = []
        self._depth = 0
        self.reached: set[str] = set()

    @property
    def calls(self) -> tuple[LayerCall, ...]:
        """The calls, none if there were too many."""
        return tuple(self._calls) if len(self._calls) <= MOST_CALLS else ()

    @contextlib.contextmanager
    def on(self) -> Iterator[None]:
        """Record while the body runs; the namespace is as before afterwards."""
        own = {name: self._namespace.get(name) for name in self._steps}
        # Also what a decorator has made of a function, such as one that keeps its results.
        functions = {
            name: each
            for name, each in own.items()
            if callable(each) and not issubclass(type(each), type)
        }
        watched = {name: self._watched(name, function) for name, function in functions.items()}
        self._namespace.update(watched)
        try:
            yield
        finally:
            self._namespace.update(functions)

    def _watched(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def step(*arguments: Any, **keywords: Any) -> Any:
            self.reached.add(name)
            number = len(self._calls)
            if self._depth or number > MOST_CALLS:
                return function(*arguments, **keywords)
            frame, bound = sys._getframe(1), _bound(function, arguments, keywords)
            names, given = bound or ((), (*arguments, *keywords.values()))
            copies = tuple(round_tripped(value, self._library) for value in given)
            file, line = frame.f_code.co_filename, frame.f_lineno
            call = LayerCall(name, names, copies, None, line, False, bound is not None, file)
            self._calls.append(call)
            self._depth += 1
            try:
                if number in self._stand_ins:
                    result = self._stood_in(self._stand_ins[number], function, given)
                else:
                    result = function(*arguments, **keywords)
            finally:
                self._depth -= 1
            plain = round_tripped(result, self._library)
            self._calls[number] = replace(call, result=plain, answered=True)
            return result

        return step

    def _stood_in(self, way: StandIn, function: Callable[..., Any], given: Sequence[Any]) -> Any:
        match way.way:
            case "answer":
                return self._own(way.value)
            case "corrected":
                try:
                    return self._corrected(function(*given), way.value)
                except Exception:  # what it raises is what is wrong with it
                    return self._corrected(None, way.value)
            case "booleans":
                return function(*map(arrays.as_boolean, given))
            case "first argument":
                return given[0]
            case "arguments":
                return function(*(given[way.order.index(place)] for place in range(len(way.order))))
        results = list(function(*given))
        return tuple(results[place] for place in way.order)

    def _own(self, value: wire.Value, dtype: str = "") -> Any:
        return arrays.to_library(copied(value), self._library, dtype)

    def _corrected(self, own: Any, wanted: wire.Value) -> Any:
        """Return a result with the wanted numbers; the way back of gradients is its own."""
        if isinstance(wanted, tuple):
            parts = own if isinstance(own, tuple) and len(own) == len(wanted) else wanted
            return tuple(map(self._corrected, parts, wanted))
        numbers = self._own(wanted, self._dtype)
        if self._library != "torch" or type(own) is not type(numbers) or own.shape != numbers.shape:
            return numbers
        return (own + (numbers - own.detach())).to(numbers.dtype)


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
