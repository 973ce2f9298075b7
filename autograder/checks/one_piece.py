"""What is wrong inside a layer that is written in one piece: words for its author, never a mark.

First every known mistake is put into the reference's own class, on two draws of inputs; then, where
none fits, the arrays that the student's `forward` computes are compared with those on the
reference's way. What cannot be seen is not called wrong.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations, permutations
from typing import Any

import numpy as np

from autograder.checks.reference import Reference
from autograder.judging.compare import FLOOR, ResultSpec
from autograder.judging.conditions import conditions_of
from autograder.judging.diagnosis import place_in, place_inside, same, worded
from autograder.judging.expectation import VALUES_RIGHT
from autograder.judging.value_words import listed, quoted
from autograder.values.request import Request, Respondent, Returned, Sighting, Traceable
from autograder.values.verdict import Finding, Outcome, StepVerdict
from autograder.worker.wire import Value

# Finds an array among others up to layout: axes in another order, merged, or cut into slices.
#
# The arrays that are looked through come from untrusted code: their number and sizes are bounded
# where they arrive.

_CLOSE = 1e-3  # of sums, which no rearrangement changes
_ALIKE = 2e-4  # of single numbers; single precision in another order of summing keeps more
MOST_SLICES = 512


@dataclass(frozen=True)
class Shape:
    """An array and the names of its axes, such as ("B", "heads", "S", "head_dim")."""

    array: np.ndarray
    axes: tuple[str, ...]

    @cached_property
    def canonical(self) -> np.ndarray:
        """Its numbers, with every forbidden score the same."""
        return canonical(self.array)


@dataclass(frozen=True)
class Place:
    """Where an array was found: the numbers of the arrays that hold it, the first one first.

    `as_it_is` is True when its axes are in their own order.
    """

    numbers: tuple[int, ...]
    as_it_is: bool


def canonical(array: np.ndarray) -> np.ndarray:
    """Return numbers in double precision, every forbidden score (down to -inf) the same."""
    wide = array.astype(np.float64)
    return np.where(wide < FLOOR, FLOOR, wide)


def alike(one: np.ndarray, other: np.ndarray) -> bool:
    """Say whether two arrays of one shape hold the same finite numbers, but for rounding."""
    if one.shape != other.shape or not (np.isfinite(one).all() and np.isfinite(other).all()):
        return False
    room = _ALIKE * (np.abs(other).mean() + np.abs(other))
    return bool((np.abs(one - other) <= room).all())


class Collection:
    """Arrays to look through, in order."""

    def __init__(self, given: Sequence[np.ndarray]) -> None:
        with np.errstate(all="ignore"):
            self.arrays = tuple(canonical(np.squeeze(array)) for array in given)
            self._sizes = np.array([array.size for array in self.arrays])
            self._sums = np.array([array.sum() for array in self.arrays])
            self._squares = np.array([(array**2).sum() for array in self.arrays])

    def find(self, shape: Shape) -> Place | None:
        """Return where `shape` is: whole, or in all of its slices along some of its axes."""
        whole = self._find_one(shape.canonical)
        if whole is not None:
            return Place((whole[0],), whole[1])
        for cut in _cuts(shape.array.shape):
            found = []
            for part in _slices(shape.canonical, cut):
                one = self._find_one(part)
                if one is None:
                    break
                found.append(one)
            else:
                return Place(tuple(n for n, _ in found), all(kept for _, kept in found))
        return None

    def find_shares(self, shape: Shape) -> int | None:
        """Return the number of an array that has the shares of `shape`, but not divided yet.

        Only for an array whose rows sum to 1, which may be divided by their sums later.
        """
        if not np.allclose(shape.canonical.sum(axis=-1), 1.0, atol=1e-5):
            return None
        for number, array in enumerate(self.arrays):
            if array.shape == np.squeeze(shape.array).shape and array.ndim:
                rows, wanted = (_normalized(each) for each in (array, np.squeeze(shape.canonical)))
                if alike(rows, wanted):
                    return number
        return None

    def _find_one(self, array: np.ndarray) -> tuple[int, bool] | None:
        """Return the number of the array that is `array` in some order, and whether in its own."""
        array = np.squeeze(array)
        if not array.ndim or not len(self.arrays):
            return None
        total, squares = array.sum(), (array**2).sum()
        with np.errstate(all="ignore"):
            near = np.abs(self._sums - total) <= _CLOSE * np.sqrt(squares * array.size) + 1e-9
            near &= np.abs(self._squares - squares) <= _CLOSE * squares + 1e-9
        near &= self._sizes == array.size
        best = None
        for number in np.flatnonzero(near):
            found = _order(self.arrays[number], array)
            if found:
                return int(number), True
            if found is not None and best is None:
                best = (int(number), False)
        return best


def same_size(array: np.ndarray, shape: Shape) -> bool:
    """Say whether an array has the axes of `shape`, in any order; two may be merged."""
    given = sorted(size for size in array.shape if size != 1)
    sizes = [size for size in shape.array.shape if size != 1]
    merged = [sizes[0] * sizes[1], *sizes[2:]] if len(sizes) > 3 else sizes
    return given in (sorted(sizes), sorted(merged))


def _order(given: np.ndarray, array: np.ndarray) -> bool | None:
    """Return True when `given` is `array`, False when with axes in another order, else None."""
    count = array.ndim
    for order in permutations(range(count)):
        moved = array.transpose(order)
        sizes = [moved.shape]
        if count == 4 and {0, 1} in ({*order[:2]}, {*order[1:3]}, {*order[2:]}):
            at = min(order.index(0), order.index(1))
            sizes.append(_merged(moved.shape, at))
        if given.shape in sizes and alike(given, moved.reshape(given.shape)):
            return order == tuple(range(count))
    return None


def _merged(sizes: tuple[int, ...], at: int) -> tuple[int, ...]:
    return (*sizes[:at], sizes[at] * sizes[at + 1], *sizes[at + 2 :])


def _cuts(sizes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The sets of axes, the last one left out, along which code may loop."""
    leading = range(len(sizes) - 1)
    for count in range(1, len(sizes)):
        for axes in combinations(leading, count):
            if np.prod([sizes[axis] for axis in axes], dtype=float) <= MOST_SLICES:
                yield axes


def _slices(array: np.ndarray, axes: tuple[int, ...]) -> Iterator[np.ndarray]:
    moved = np.moveaxis(array, axes, range(len(axes)))
    for place in np.ndindex(moved.shape[: len(axes)]):
        yield moved[place]


def _normalized(array: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(array / np.abs(array).sum(axis=-1, keepdims=True))


# The reference's way through a layer: what every step gives, and what it is made of.


@dataclass(frozen=True)
class Stage:
    """One array that a step gives on the way.

    `made_of` are the numbers of earlier stages, and `given` is what the step was called with.
    """

    step: str
    array: Shape
    made_of: frozenset[int]
    given: tuple[Value, ...] = ()


MASKS = ("numbers", "booleans")  # how steps are compared whose results are no way to the output


def stages_of(reference: Reference, request: Request) -> tuple[Stage, ...]:
    """Return what the reference's steps give while its class answers `request`, in order."""
    steps = [reference.exercise.step(name) for name in reference.functions]
    names = tuple(step.name for step in steps if step.compare not in MASKS and not step.random)
    stages: list[Stage] = []
    held: dict[bytes, set[int]] = {}  # content to stages
    for call in reference.calls(request, names):
        arrays = filter(_is_array, call.arguments)
        sources = {stage for value in arrays for stage in held.get(_key(value), ())}
        form, values = reference.form(call.step), call.results
        axes = form.axes if len(form.axes) == len(values) else (None,) * len(values)
        for value, letters in zip(values, axes):
            if _is_stage(value):
                held.setdefault(_key(value), set()).add(len(stages))
                shape = Shape(value, tuple((letters or "").split()))
                stages.append(Stage(call.step, shape, frozenset(sources), call.arguments))
            elif _is_array(value):  # a mask: what is made of it has its sources
                held.setdefault(_key(value), set()).update(sources)
    return tuple(stages)


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def _is_stage(value: Any) -> bool:
    return _is_array(value) and value.dtype.kind == "f" and value.ndim > 1


def _key(value: np.ndarray) -> bytes:
    return f"{value.shape}{value.dtype}".encode() + value.tobytes()


# How far a layer follows the reference's way: which of its stages are seen among its arrays.
#
# A stage is found up to layout. What is not seen is not called wrong: a stage is wrong when
# another array of its size stands in its place, and the last one when the layer's result is not
# right.


@dataclass(frozen=True)
class Trail:
    """How far a layer is right on one draw: stages found, and the first that is seen wrong.

    `line` is where that one begins. `hidden_from` is the first stage before it that could not be
    seen, if any. `unsure` are stages that it is made of and whose numbers are there, while their
    axes or their use may be others.
    """

    right: tuple[int, ...]
    wrong: int | None
    line: int = 0
    hidden_from: int | None = None
    unsure: tuple[int, ...] = ()


def trail_of(
    stages: Sequence[Stage], seen: Sequence[Sighting], output: object, request: Request
) -> Trail:
    """Compare what was seen in a layer with the stages of the reference's way."""
    collection = Collection([each.array for each in seen])
    places = _places(stages, collection)
    known = _with_sources(stages, places)
    right = _with_sources(stages, _sure(stages, places))
    trail = Trail(tuple(sorted(right)), None)
    explained = _explained(collection, places, output, request)
    missing = [number for number in range(len(stages)) if number not in known]
    for position, number in enumerate(missing):
        hidden = missing[0] if position else None
        if number == len(stages) - 1:
            return replace(trail, wrong=number, hidden_from=hidden)
        sources = _sources(stages, number)
        unsure = tuple(sorted(each for each in sources & set(places) if each not in right))
        before = [places[each] for each in sources if each in places]
        after = max((min(place.numbers) for place in before), default=-1)
        for at, array in enumerate(collection.arrays):
            if at > after and at not in explained and same_size(array, stages[number].array):
                return Trail(trail.right, number, seen[at].line, hidden, unsure)
    return trail


def _places(stages: Sequence[Stage], collection: Collection) -> dict[int, Place]:
    """Return where the stages are, by their numbers; those that are not seen are left out."""
    places: dict[int, Place] = {}
    for number, stage in enumerate(stages):
        place = collection.find(stage.array)
        shares = collection.find_shares(stage.array) if place is None else None
        if place or shares is not None:
            places[number] = place or Place((shares or 0,), False)
    return places


def _sure(stages: Sequence[Stage], places: Mapping[int, Place]) -> set[int]:
    """Return the stages that are right beyond doubt, but for those that they are made of.

    Of several arrays that one step gives, one may have been taken for another.
    """
    count = Counter(stage.step for stage in stages)
    exact = {number for number, place in places.items() if place.as_it_is}
    return {number for number in exact if count[stages[number].step] == 1}


def _with_sources(stages: Sequence[Stage], numbers: Iterable[int]) -> set[int]:
    """Return stages together with all that they are made of."""
    found = set(numbers)
    return found.union(*(_sources(stages, number) for number in found))


def _sources(stages: Sequence[Stage], number: int) -> set[int]:
    """Return all earlier stages that a stage is made of, directly or not."""
    found: set[int] = set()
    left = set(stages[number].made_of)
    while left:
        one = left.pop()
        found.add(one)
        left |= stages[one].made_of - found
    return found


def _explained(
    collection: Collection, places: dict[int, Place], output: object, request: Request
) -> set[int]:
    """Return the numbers of arrays that say nothing new: stages, inputs, weights, the result."""
    found = {number for place in places.values() for number in place.numbers}
    given = (*request.method_arguments, *request.attributes.values(), output)
    for value in given:
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            place = collection.find(Shape(value, ()))
            found |= set(place.numbers) if place else set()
    return found


_DRAWS = 2
_TOLD = (Outcome.WRONG_VALUES, Outcome.WRONG_SHAPE, Outcome.RAISED)


@dataclass(frozen=True)
class OnePiece:
    """A layer in one piece, asked the requests of its own checks (see `probes`).

    What fits all of `requests` is named only if it fits the `others` too.
    """

    reference: Reference
    respondent: Respondent
    requests: Sequence[Request]
    others: Sequence[Request] = ()

    def diagnosed(self, finding: Finding) -> Finding:
        """Return the finding on the layer with what can be said about its inside."""
        if finding.outcome not in _TOLD or finding.cause or not self.requests:
            return finding
        fitting = self._fitting
        if finding.misconception:
            return _also(finding, fitting)
        if fitting:
            return self._named(finding, fitting)
        return self._exchanged(finding) or self._without_weights(finding) or self._followed(finding)

    def faulty_steps(self) -> tuple[str, ...]:
        """Return the steps of which one done wrong makes the reference's class this very layer.

        All of them, where several would: which of them it is cannot be told. () where none does.
        A class that would only pass a wrong number to a step does the work of that step wrong: here
        it calls nothing that does it.
        """
        if not self.requests:
            return ()
        found = tuple(dict.fromkeys(self._fitting.values()))
        if found == (self.requests[0].target,):
            return tuple(filter(None, [self._step_with_another_size()])) or found
        return found or tuple(filter(None, [self._exchanging[0]]))

    def _step_with_another_size(self) -> str:
        """Return the step that gives the layer's result with another size as its number, or ""."""
        first = self.requests[0].method_arguments[:1]
        axes = range(np.ndim(first[0])) if first and isinstance(first[0], np.ndarray) else ()
        for name, function in self.reference.functions.items():
            given = (partial(_with_size, function, name, axis) for axis in axes)
            random = self.reference.exercise.step(name).random
            with warnings.catch_warnings(action="ignore"):  # sizes that fit nothing
                if not random and any(map(self._gives, given)):
                    return name
        return ""

    @cached_property
    def _fitting(self) -> dict[str, str]:
        """Return the known mistakes that give the layer's own result on every draw: their steps."""
        names: dict[str, str] = {}
        steps = {known.name: known.step for known in self.reference.misconceptions}
        for number, request in enumerate(self.requests):
            reply = self.respondent.ask(request)
            form = self._form_of(request)
            right = self.reference.expected(request)
            fits = {
                candidate.name: steps[candidate.name]
                for candidate in self.reference.replay.singles(request)
                if same(reply, candidate.reply, form) and not same(right, candidate.reply, form)
            }
            names = fits if not number else {name: fits[name] for name in names if name in fits}
        for request in self.others if names else ():
            reply, form = self.respondent.ask(request), self._form_of(request)
            names = {
                name: step
                for name, step in names.items()
                if (known := self.reference.replay.again(request, name))
                and same(reply, known.reply, form)
            }
        return names

    def _form_of(self, request: Request) -> ResultSpec:
        return self.reference.form(request.target, request.method)

    def _exchanged(self, finding: Finding) -> Finding | None:
        """Say which results of a step have changed places, when that explains every draw."""
        name, order = self._exchanging
        if not name:
            return None
        names = self.reference.form(name).names
        changed = [
            f"as {names[place]} it uses the {names[taken]}"
            for place, taken in enumerate(order)
            if place != taken
        ]
        return replace(
            finding,
            fact=f"Your layer computes as if results had changed places: {listed(changed)}.",
            look=f"The order is {listed(names)}. In which order does your layer take them?",
            details=_details(finding),
        )

    def _without_weights(self, finding: Finding) -> Finding | None:
        """Say which weights of the layer its result does not depend on, if there are such.

        Then no array in it stands for what the reference makes with them, however alike the sizes.
        """
        request = self.requests[0]
        reply, form = self.respondent.ask(request), self._form_of(request)
        weights = {name: each for name, each in request.attributes.items() if np.ndim(each) > 1}
        if not isinstance(reply, Returned) or not _is_finite(reply.value):
            return None
        changed = {
            name: replace(request, attributes={**request.attributes, name: _shuffled(each)})
            for name, each in weights.items()
        }
        unused = [
            f"`self.{name}`"
            for name, each in changed.items()
            if same(reply, self.respondent.ask(each), form)
        ]
        if not unused:
            return None
        verb = "does" if len(unused) == 1 else "do"
        seen = self._followed(finding) if len(unused) < len(weights) else finding
        return replace(
            finding,
            right=seen.right,
            fact=f"The result of your layer does not change when {listed(unused)} {verb}.",
            look="Which line computes with that?",
            details=_details(finding),
        )

    @cached_property
    def _exchanging(self) -> tuple[str, tuple[int, ...]]:
        """Return the step whose results in another order explain every draw; "" for none."""
        for name, function in self.reference.functions.items():
            if self.reference.exercise.step(name).random:
                continue
            names = self.reference.form(name).names
            for order in list(permutations(range(len(names))))[1:]:
                if self._gives(partial(_in_order, function, name, order)):
                    return name, order
        return "", ()

    def _gives(self, steps: Callable[[Request], Mapping[str, Callable[..., Any]]]) -> bool:
        """Say whether the reference's class gives the layer's own results with these `steps`.

        They are made for each request.
        """
        for request in self.requests:
            form = self.reference.form(request.target, request.method)
            with self.reference.replaced(steps(request)):
                other = self.reference.ask(request)
            if not same(self.respondent.ask(request), other, form):
                return False
        return True

    def _named(self, finding: Finding, fitting: dict[str, str]) -> Finding:
        name = next(iter(fitting))
        known = next(each for each in self.reference.misconceptions if each.name == name)
        named = worded(finding, name, f"{self._place(known.step)} {known.words}".strip())
        return _also(replace(named, details=_details(finding)), fitting)

    def _place(self, step: str) -> str:
        """Say where a mistake in a step is; a step that is written may be what the layer calls."""
        if step not in self.reference.functions:
            return ""
        request = self.requests[0]
        stages = [each for each in stages_of(self.reference, request) if each.step == step]
        written = any(map(self._is_written, stages))
        return place_in(step, request.method or "__init__") if written else place_inside(step)

    def _followed(self, finding: Finding) -> Finding:
        if not isinstance(self.respondent, Traceable):
            return finding
        # Another way of calling leads through other stages.
        requests = [each for each in self.requests if _way(each) == _way(self.requests[0])]
        stages = [stages_of(self.reference, request) for request in requests]
        traced = [self.respondent.trace(request) for request in requests]
        if not all(traced) or not all(stages):
            return finding
        replies = [self.respondent.ask(request) for request in requests]
        outputs = [reply.value if isinstance(reply, Returned) else None for reply in replies]
        trails = [
            trail_of(stages, seen, output, request)
            for stages, seen, output, request in zip(stages, traced, outputs, requests)
        ]
        first = trails[0]
        if len({(each.wrong, each.hidden_from) for each in trails}) > 1:
            return finding  # one draw says this, the other that
        right = tuple(n for n in first.right if all(n in each.right for each in trails))
        trail = replace(first, right=right)
        written = [stage.step for stage in stages[0] if self._is_written(stage)]
        return _trail_words(self.reference, stages[0], trail, finding, written)

    def _is_written(self, stage: Stage) -> bool:
        """Say whether the student has written a step as a function of its own."""
        reply = self.respondent.ask(Request(stage.step, stage.given))
        return isinstance(reply, Returned)


def _shuffled(weight: np.ndarray) -> np.ndarray:
    return np.random.default_rng(0).permutation(weight.ravel()).reshape(weight.shape)


def _is_finite(value: object) -> bool:
    return isinstance(value, np.ndarray) and bool(np.isfinite(value).all())


def _in_order(
    function: Callable[..., Any], name: str, order: Sequence[int], _: Request
) -> Mapping[str, Callable[..., Any]]:
    """Return a step whose results have changed places."""

    def exchanged(*arguments: Any, **keywords: Any) -> Any:
        results = function(*arguments, **keywords)
        return tuple(results[place] for place in order)

    return {name: exchanged}


def _with_size(
    function: Callable[..., Any], name: str, axis: int, request: Request
) -> Mapping[str, Callable[..., Any]]:
    """Return a step whose whole numbers are all the size of an axis of what the layer gets."""
    size = request.method_arguments[0].shape[axis]

    def other(*arguments: Any) -> Any:
        return function(*(size if type(each) is int else each for each in arguments))

    return {name: other}


def _trail_words(
    reference: Reference,
    stages: Sequence[Stage],
    trail: Trail,
    finding: Finding,
    written: Sequence[str],
) -> Finding:
    """Put a trail into words; the finding as it is moves to the details.

    The steps in `written` are functions of the student's, and right by themselves.
    """
    titles = {step.name: f"“{step.title}”" for step in reference.exercise.steps}
    right = _right_words(stages, trail, titles)
    # Stages that cannot be seen say less than a shape does.
    shape = finding.outcome is Outcome.WRONG_SHAPE and trail.hidden_from is not None
    # Where all parts are near enough and the result is not, none of them is known to be right.
    values = finding.outcome is Outcome.WRONG_VALUES and finding.right != VALUES_RIGHT
    if values and len(trail.right) == len(stages):
        return finding
    if finding.outcome is Outcome.RAISED or trail.wrong is None or shape:
        return replace(finding, right=right or finding.right)
    step = stages[trail.wrong].step
    line = f" (line {trail.line})" if trail.line else ""
    first = step if trail.hidden_from is None else stages[trail.hidden_from].step
    if first == step:
        after = "After that, what" if right else "What"
        fact = f"{after} your layer computes for {titles[step]} is not as expected{line}."
    else:
        fact = f"From {titles[first]} to {titles[step]}, something is not as expected{line}."
    look = f"Write `{first}` as a function of its own: its check then tells you more."
    if first in written:
        look = (
            f"Your function `{first}` is right by itself. Is it called there, and with what? Does "
            "anything else happen to what goes in or comes out?"
        )
    unsure = [name for name in dict.fromkeys(stages[n].step for n in trail.unsure) if name != step]
    if unsure:
        named = listed([titles[name] for name in unsure])
        look = f"The numbers of {named} are there. Is each of them used where it belongs? {look}"
    return replace(finding, right=right, fact=fact, look=look, details=_details(finding))


def _details(finding: Finding) -> tuple[str, ...]:
    """The details under what is told in place of a finding, which becomes the first of them."""
    return (finding.message, *finding.details)


def _right_words(stages: Sequence[Stage], trail: Trail, titles: Mapping[str, str]) -> str:
    """Say which steps the layer does rightly: those all of whose arrays are right."""
    wanted = [stage.step for stage in stages]
    open_steps = {step for number, step in enumerate(wanted) if number not in trail.right}
    whole = [titles[step] for step in dict.fromkeys(wanted) if step not in open_steps]
    if not whole:
        return ""
    if len(whole) == 1:
        return f"This part of your layer gives what is expected: {whole[0]}."
    return f"These parts of your layer give what is expected: {listed(whole)}."


def _also(finding: Finding, fitting: dict[str, str]) -> Finding:
    """Add the other steps in which a known mistake gives the same result."""
    named = fitting.get(finding.misconception or "")
    others = [step for step in dict.fromkeys(fitting.values()) if step != named]
    if named is None or not others:
        return finding
    look = f"{finding.look} A mistake in the work of {quoted(others)} would give the same result."
    return replace(finding, look=look.strip())


def probes(reference: Reference, asked: Sequence[Request]) -> tuple[list[Request], list[Request]]:
    """Return the plain calls of a method whose axes have the most different sizes, and the others.

    There are two of each way to call it, such as with a flag and without.
    """
    plain = [
        request
        for request in asked
        if request.method and request.calls == 1 and not (request.read or conditions_of(request))
    ]
    distinct = {request.key: request for request in plain}.values()
    found: dict[tuple[tuple[str, str], ...], list[Request]] = {}
    for request in sorted(distinct, key=lambda request: _equal_sizes(reference, request)):
        found.setdefault(_way(request), []).append(request)
    chosen = [request for requests in found.values() for request in requests[:_DRAWS]]
    return chosen, [request for requests in found.values() for request in requests[_DRAWS:]]


def _way(request: Request) -> tuple[tuple[str, str], ...]:
    """The keywords of a call."""
    return tuple((name, repr(value)) for name, value in sorted(request.keywords.items()))


def _equal_sizes(reference: Reference, request: Request) -> int:
    """Count the pairs of axes that have one size, so that one may be taken for the other."""
    sizes: dict[str, int] = {}
    for stage in stages_of(reference, request):
        sizes.update(zip(stage.array.axes, stage.array.array.shape))
    return sum(one == other for one, other in combinations(sizes.values(), 2))


def is_in_one_piece(layer: str, steps: Sequence[StepVerdict]) -> bool:
    """Say whether the layer is wrong, while each other step is right or not written.

    Where a written step is wrong, that one comes first.
    """
    others = [step for step in steps if step.name != layer]
    own = [step for step in steps if step.name == layer]
    fine = all(step.passes or step.outcome is Outcome.NOT_WRITTEN for step in others)
    return fine and bool(own) and own[0].outcome in _TOLD
