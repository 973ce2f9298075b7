"""Pairs of hand-ins that share more rare code than people do who never met.

Only fingerprints are compared. What everybody was given, and what many have, weighs nothing; the
rest weighs more, the fewer have it. Several steps are needed, since one step can often be written
in one natural way only. The limits were set on classes that were made up
(docs/decisions/0021-similar-code-is-worth-a-talk.md).
"""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

FEWEST_HAND_INS = 12  # in fewer, nobody can say what is rare
SHARE_OF_OWNERS, FEWEST_OWNERS, MOST_OWNERS = 0.2, 3, 12  # more than that, and it is not rare
FEWEST_STEPS = 3
LEAST_PART = 0.45  # of the rare code that the two have together, by weight
LEAST_WEIGHT = 45  # of the shared code times its part

Fingerprints = Mapping[str, frozenset[int]]


@dataclass(frozen=True)
class Resemblance:
    """Two hand-ins by their places, how much rare code they share, and in which steps.

    `part` is the part of the rare code of both that is shared (1: all), by weight. `steps` begin
    with the one that shares most.
    """

    first: int
    second: int
    part: float
    weight: float
    steps: tuple[str, ...]


def resemblances(
    hand_ins: Sequence[Fingerprints], given: Collection[int]
) -> tuple[Resemblance, ...]:
    """Return the pairs that are worth a talk, the most alike first; `given` is what all have."""
    if len(hand_ins) < FEWEST_HAND_INS:
        return ()
    every, names = _numbered(hand_ins, frozenset(given))
    most = min(MOST_OWNERS, max(FEWEST_OWNERS, int(SHARE_OF_OWNERS * len(hand_ins))))
    owners = _rare(every, most)
    unit = math.log(len(hand_ins) + 2)
    # Of what only one has, nobody can say how rare it is: as rare as what two have.
    weights = {names[n]: unit - math.log(max(2, len(places))) for n, places in owners.items()}
    shared: dict[tuple[int, int], list[tuple[str, int]]] = defaultdict(list)
    for number, places in owners.items():
        for pair in combinations(places, 2):
            shared[pair].append(names[number])

    @cache
    def total(place: int) -> float:
        mine = [names[number] for number in every[place] if number in owners]
        return sum(_by_step(mine, weights).values())

    found = []
    for (first, second), alike in shared.items():
        by_step = _by_step(alike, weights)
        weight = sum(by_step.values())
        part = weight / (total(first) + total(second) - weight)
        steps = tuple(sorted(by_step, key=lambda step: -by_step[step]))
        enough = len(steps) >= FEWEST_STEPS and part >= LEAST_PART
        if enough and part * weight >= LEAST_WEIGHT:
            found.append(Resemblance(first, second, part, weight, steps))
    return tuple(sorted(found, key=lambda each: (-each.part * each.weight, each.first)))


def _by_step(
    prints: Iterable[tuple[str, int]], weights: Mapping[tuple[str, int], float]
) -> dict[str, float]:
    """Return the weight of each step's fingerprints; one that several steps have counts once.

    A habit, such as the same test of the arguments in every step, is no more than one likeness.
    """
    heaviest: dict[int, tuple[float, str]] = {}
    for step, value in prints:
        here = (weights[step, value], step)
        heaviest[value] = max(heaviest.get(value, here), here)
    found: dict[str, float] = defaultdict(float)
    for weight, step in heaviest.values():
        found[step] += weight
    return found


def _numbered(
    hand_ins: Iterable[Fingerprints], given: frozenset[int]
) -> tuple[list[array[int]], list[tuple[str, int]]]:
    """Return the fingerprints of each hand-in as numbers, and what each number stands for.

    It is a step and a fingerprint. Of a large class, nothing else fits into memory.
    """
    numbers: dict[tuple[str, int], int] = {}
    every = []
    for mine in hand_ins:
        own = ((step, value) for step, values in mine.items() for value in values - given)
        every.append(array("L", [numbers.setdefault(each, len(numbers)) for each in own]))
    return every, list(numbers)


def _rare(every: Sequence[array[int]], most: int) -> dict[int, list[int]]:
    """Return the places of those who have it, for each number that at most `most` have."""
    count = Counter(number for mine in every for number in mine)
    owners: dict[int, list[int]] = defaultdict(list)
    for place, mine in enumerate(every):
        for number in mine:
            if count[number] <= most:
                owners[number].append(place)
    return owners
