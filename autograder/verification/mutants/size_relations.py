"""Sizes of the axes that fit together, beside those that the checks use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import prod

from autograder.checks.sizes import Sizes

LARGER = (3, 7, 5, 11)
WIDE = 32


def fitting_sizes(known: Sequence[Sizes]) -> tuple[dict[str, int], ...]:
    """Return other sizes for the axes of `known`, in which the same axes are products of others.

    Each free axis is 1 once, then all of them; all are 3 and all are 4, where square sizes may
    hide a mistake; and they are larger than in the checks.
    """
    # An axis of size 0 says nothing about the others: nothing times any size is nothing.
    filled = [sizes for sizes in known if all(sizes.values())]
    base = dict((filled or known)[0])
    products = _products([sizes for sizes in filled if set(sizes) == set(base)])
    free = [axis for axis in base if axis not in products]
    chosen: list[dict[str, int]] = [{axis: 1} for axis in free]
    chosen += [dict.fromkeys(free, size) for size in (1, 3, 4)]
    chosen.append(dict(zip(free, LARGER)))
    chosen.append({free[-1]: WIDE} if free else {})
    return tuple(_completed({**base, **sizes}, products) for sizes in chosen)


def _products(known: Iterable[Sizes]) -> dict[str, tuple[tuple[str, ...], int]]:
    """Return the axes that are the product of two others, or a multiple of one, in all of `known`.

    Each has those axes and a factor, as in C = heads * head_dim, or C = 4 * head_dim.
    """
    known = list(known)
    found: dict[str, tuple[tuple[str, ...], int]] = {}
    axes = list(known[0]) if known else []
    for axis in axes:
        others = [
            other for other in axes if other != axis and axis not in found.get(other, ((),))[0]
        ]
        for parts in [*combinations(others, 2), *((each,) for each in others)]:
            factors = {sizes[axis] / prod(sizes[part] for part in parts) for sizes in known}
            factor = factors.pop()
            whole = factor == int(factor) and (factor > 1 if len(parts) == 1 else factor == 1)
            if not factors and whole and len(known) > 1:
                found[axis] = (parts, int(factor))
                break
    return found


def _completed(
    sizes: dict[str, int], products: Mapping[str, tuple[tuple[str, ...], int]]
) -> dict[str, int]:
    for axis, (parts, factor) in products.items():
        sizes[axis] = factor * prod(sizes[part] for part in parts)
    return sizes
