"""How far a layer follows the reference's way: which of its stages are seen among its arrays.

A stage is found up to layout. What is not seen is not called wrong: a stage is wrong when another
array of its size stands in its place, and the last one when the layer's result is not right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from autograder.checks.stages import Stage
from autograder.judging.layout import Collection, Place, Shape, same_size
from autograder.model.request import Request, Sighting


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
