"""Claims about places and shapes: axes moved, arrays exchanged or joined, entries elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, permutations

import numpy as np

from autograder.judging.compare import ResultSpec, agree
from autograder.judging.number_claims import Difference
from autograder.judging.value_words import axis_words
from autograder.model.request import Request
from autograder.model.verdict import Claim
from autograder.protocol.wire import Value

MOST_ENTRIES = 64  # along an axis, in whose order is looked for
MOST_AXES = 4
_MOST_DIFFERENT = 16  # numbers that have to be different, in a large array of few digits


def about_axes(seen: Difference) -> Iterator[Claim]:
    """Give the claim that the result is right with its axes in another order, if it is."""
    count = seen.expected.ndim
    if not 1 < count <= MOST_AXES or sorted(seen.actual.shape) != sorted(seen.expected.shape):
        return
    orders = sorted(
        permutations(range(count)), key=lambda order: sum(map(int.__ne__, order, range(count)))
    )
    for order in orders[1:]:
        moved = seen.actual.transpose(order)
        if moved.shape == seen.expected.shape and _same(seen, moved, seen.expected):
            yield _axes_moved(seen, order)
            return


def _axes_moved(seen: Difference, order: tuple[int, ...]) -> Claim:
    wrong = [axis for axis, place in enumerate(order) if axis != place]
    if len(wrong) > 2:
        return Claim("axes", f"{seen.label} would be right with its axes in another order.")
    first, second = wrong
    if len((seen.axes or "").split()) != seen.expected.ndim:
        return Claim("axes", f"{seen.label} would be right with axes {first} and {second} swapped.")
    return Claim(
        "axes",
        f"{seen.label} would be right with two axes swapped: {seen.axis(first)} and "
        f"{seen.axis(second)}.",
    )


def _same(seen: Difference, actual: np.ndarray, expected: np.ndarray) -> bool:
    """Say whether two arrays of one shape agree, and are not one number everywhere."""
    return bool(seen.agree(actual, expected).all()) and not bool(
        (expected == expected.flat[0]).all()
    )


def about_order(seen: Difference) -> Iterator[Claim]:
    """Give what is true of the places of the numbers in a result with the expected shape."""
    for axis in range(seen.expected.ndim):
        claim = _permuted(seen, axis) or _moved_on(seen, axis)
        if claim:
            yield claim
            return
    claim = _reshaped(seen) or _scattered(seen)
    if claim:
        yield claim


def _permuted(seen: Difference, axis: int) -> Claim | None:
    size = seen.expected.shape[axis]
    order = _order(seen, axis) if 1 < size <= MOST_ENTRIES else None
    if order is None:
        return None
    along = f"Along {seen.axis(axis)}{seen.of_label}"
    if order == list(range(size))[::-1]:
        return Claim("reversed", f"{along}, the right entries stand in reverse order.")
    shift = order.index(0) if not _block(order) else 0
    if shift and order == [*range(size - shift, size), *range(size - shift)]:
        way = f"{shift} {'place' if shift == 1 else 'places'} too late"
        if shift > size - shift:
            back = size - shift
            way = f"{back} {'place' if back == 1 else 'places'} too early"
        return Claim(
            "rolled",
            f"{along}, the right entries stand {way}, and those that fall off one end come in at "
            "the other.",
        )
    size = _block(order)
    if size:
        many = len(order) // size
        parts = (
            "two halves have changed places" if many == 2 else f"{many} parts are in reverse order"
        )
        return Claim(
            "parts",
            f"Along {seen.axis(axis)}{seen.of_label}, the {parts}, of {size} entries each. Inside "
            "each of them, the order is right.",
            "In which order do the parts come together?",
        )
    blocks = _blocks(order)
    if blocks:
        return Claim(
            "interleaved",
            f"{along}, the right entries are interleaved: those of {blocks} groups alternate, "
            "but each group is expected in one piece.",
            "Two axes became one here. Which of the two comes first?",
        )
    return Claim("order", f"{along}, the right entries stand in another order.")


def _order(seen: Difference, axis: int) -> list[int] | None:
    """Return which expected entry stands at each place along an axis; None if one is missing."""
    actual, expected = (np.moveaxis(each, axis, 0) for each in (seen.actual, seen.expected))
    left = list(range(len(expected)))
    order = []
    for entry in actual:
        fits = (place for place in left if seen.agree(entry, expected[place]).all())
        place = next(fits, None)
        if place is None:
            return None
        left.remove(place)
        order.append(place)
    # Entries that are all alike would fit in any order.
    alike = seen.agree(expected[:1], expected).all()
    return None if alike or order == sorted(order) else order


def _block(order: list[int]) -> int:
    """Return the size of the parts that stand in reverse order, each in one piece; else 0."""
    count = len(order)
    for size in range(2, count // 2 + 1):
        if count % size == 0:
            parts = np.arange(count).reshape(-1, size)
            if order == parts[::-1].ravel().tolist():
                return size
    return 0


def _blocks(order: list[int]) -> int:
    """Return how many groups alternate in `order`; 0 if it is no such order."""
    size = len(order)
    for groups in range(2, size // 2 + 1):
        if size % groups == 0:
            alternating = np.arange(size).reshape(groups, -1).T.ravel().tolist()
            if order == alternating:
                return groups
    return 0


def _moved_on(seen: Difference, axis: int) -> Claim | None:
    if seen.expected.shape[axis] < 3:
        return None
    actual, expected = (np.moveaxis(each, axis, 0) for each in (seen.actual, seen.expected))
    along = f"Along {seen.axis(axis)}{seen.of_label}"
    for later, sooner, way in (
        (actual[1:], expected[:-1], "late"),
        (actual[:-1], expected[1:], "early"),
    ):
        alike = seen.agree(np.broadcast_to(sooner[:1], sooner.shape), sooner).all()
        if not alike and seen.agree(later, sooner).all():
            return Claim("moved on", f"{along}, each entry stands one place too {way}.")
    return None


def _reshaped(seen: Difference) -> Claim | None:
    """Claim that a reshape stands where axes have to change places, if that gives the result."""
    if seen.expected.ndim > MOST_AXES or not _varied(seen.expected):
        return None
    if not any(_same(seen, other, seen.expected) for other in _undone(seen.actual)) and not any(
        _same(seen, seen.actual, other) for other in _undone(seen.expected)
    ):
        return None
    return Claim(
        "reshaped",
        f"{seen.label} has all the expected numbers, but in other places. It looks as if the axes "
        "stood in another order before a reshape than it needs.",
        "In which order do the axes stand before your reshape, and which ones become one?",
    )


def _undone(array: np.ndarray) -> Iterator[np.ndarray]:
    """Give an array with its axes moved and the shape put back, also with one axis cut in two."""
    for cut in (array.shape, *islice(_cut(array.shape), 24)):
        for order in permutations(range(len(cut))):
            yield array.reshape(cut).transpose(order).reshape(array.shape)


def _cut(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Give `shape` with an axis cut into two factors, where that makes four axes at most."""
    if len(shape) >= MOST_AXES:
        return
    for axis, size in enumerate(shape):
        for part in range(2, min(size, MOST_ENTRIES) // 2 + 1):
            if size % part == 0:
                yield (*shape[:axis], part, size // part, *shape[axis + 1 :])


def _scattered(seen: Difference) -> Claim | None:
    actual, expected = np.sort(seen.actual, axis=None), np.sort(seen.expected, axis=None)
    if not _varied(expected) or not seen.agree(actual, expected).all():
        return None
    return Claim("scattered", f"{seen.label} has all the expected numbers, but in other places.")


def _varied(array: np.ndarray) -> bool:
    """Say whether an array has so many different numbers that their order can be seen."""
    return array.size > 5 and np.unique(array).size > min(array.size // 2, _MOST_DIFFERENT)


# Claims about several arrays at once: exchanged ones, and gradients that do not arrive.

_GRADIENT = ".grad"


def about_parts(
    given: Sequence[Value], wanted: Sequence[np.ndarray], form: ResultSpec
) -> Iterator[Claim]:
    """Give what is true of the arrays of a result together."""
    if len(given) != len(wanted):
        return
    if all(name.endswith(_GRADIENT) for name in form.names):
        yield from _untrained(given, wanted, form)
    if len(wanted) > 1:
        yield from _exchanged(given, wanted, form)


def _untrained(
    given: Sequence[Value], wanted: Sequence[np.ndarray], form: ResultSpec
) -> Iterator[Claim]:
    names = [name.removesuffix(_GRADIENT) for name in form.names]
    empty = [
        name
        for name, part, whole in zip(names, given, wanted)
        if (part is None or (isinstance(part, np.ndarray) and not part.any())) and whole.any()
    ]
    if not empty:
        return
    others = [name for name in names if name not in empty]
    if others:
        fact = f"No gradient reaches {_listed(empty)}, but {_listed(others)} {_gets(others)}."
    else:
        fact = "No parameter gets a gradient."
    look = "Where is the way from the result back to these parameters cut?"
    yield Claim(f"untrained {' '.join(empty)}", fact, look)


def _gets(names: Sequence[str]) -> str:
    return "gets one" if len(names) == 1 else "get one"


def _listed(names: Sequence[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def _exchanged(
    given: Sequence[Value], wanted: Sequence[np.ndarray], form: ResultSpec
) -> Iterator[Claim]:
    what = "the gradient of " if form.names[0].endswith(_GRADIENT) else ""
    names = [name.removesuffix(_GRADIENT) for name in form.names]
    holds = {
        place: next(
            (other for other, whole in enumerate(wanted) if _same_part(part, whole, form)), None
        )
        for place, part in enumerate(given)
        if not _same_part(part, wanted[place], form)
    }
    for place, other in holds.items():
        if other is None:
            continue
        kind = f"exchanged {place} {other}"
        if holds.get(other) == place:
            fact = f"{_cased(what)}`{names[place]}` and {what}`{names[other]}` have changed places."
        else:
            fact = f"{_cased(what)}`{names[place]}` holds what is expected for `{names[other]}`."
        yield Claim(kind, fact, "In which order are they made, used and returned?")
        return


def about_reshaping(
    given: Sequence[Value],
    wanted: Sequence[np.ndarray],
    form: ResultSpec,
    request: Request | None,
) -> Iterator[Claim]:
    """Claim that results hold all numbers of an argument, one after the other as they came."""
    arrays = [part for part in given if isinstance(part, np.ndarray) and part.dtype.kind == "f"]
    if request is None or request.method is not None or len(arrays) != len(form.names):
        return
    if any(each.shape != arrays[0].shape for each in arrays) or not arrays[0].size:
        return
    for number, value in enumerate(request.arguments, start=1):
        # Where what is expected has them in this order too, nothing was to change places.
        seen = isinstance(value, np.ndarray) and not _in_one_piece(wanted, value)
        if seen and _in_one_piece(arrays, value):
            yield _reshaped_only(number, value, arrays[0], wanted[0], len(arrays))
            return


def _reshaped_only(
    number: int, whole: np.ndarray, part: np.ndarray, wanted: np.ndarray, count: int
) -> Claim:
    whose = "your results together" if count > 1 else "your result"
    fact = (
        f"The numbers of argument number {number} stand in {whose} in the order in which they "
        "came: no axis has changed places with another."
    )
    if wanted.ndim < whole.ndim:
        look = "Which axes become one, and which have to change places before?"
    else:
        look = "Which axis should be cut, and which axes have to change places afterwards?"
    if part.shape != wanted.shape:
        return Claim("reshaped only", f"{fact} {look}", leads=False)
    return Claim("reshaped only", fact, look)


def _in_one_piece(parts: Sequence[np.ndarray], whole: np.ndarray) -> bool:
    """Say whether an array was only reshaped, and then taken apart along one axis."""
    shape = parts[0].shape
    if (
        whole.size != parts[0].size * len(parts)
        or np.unique(whole).size < 6
        or shape == whole.shape
    ):
        return False
    axes = range(len(shape) + 1) if len(parts) > 1 else (0,)
    return any(np.array_equal(np.stack(parts, axis).ravel(), whole.ravel()) for axis in axes)


def _cased(words: str) -> str:
    return words[:1].upper() + words[1:]


def _same_part(part: Value, whole: np.ndarray, form: ResultSpec) -> bool:
    if not isinstance(part, np.ndarray) or part.dtype.kind != "f" or part.shape != whole.shape:
        return False
    if whole.size < 2 or np.ptp(whole) == 0:
        return False
    return bool(agree(part, whole, form.precision).all())


def about_type(value: Value, form: ResultSpec) -> Iterator[Claim]:
    """Give what is true of a result whose numbers are complex."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "c":
        return
    real = not value.imag.any()
    tail = " Their imaginary part is 0 everywhere." if real else ""
    yield Claim(
        "complex",
        f"It returns complex numbers, but real ones are expected.{tail}",
        "Which line turns real numbers into complex ones? A root of a negative number can do that.",
    )


# Claims about a result of another shape: what the expected array became.

_REDUCED: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "the sum": lambda array, axis: array.sum(axis=axis),
    "the mean": lambda array, axis: array.mean(axis=axis),
    "the largest": lambda array, axis: array.max(axis=axis),
}


def about_shape(seen: Difference) -> Iterator[Claim]:
    """Give how a result with another shape follows from the expected array, if it does."""
    if not seen.actual.size or not seen.expected.size:
        return
    for claim in (_flattened, _crossed, _reduced, _one_entry, _first_entries, _sizes_exchanged):
        found = claim(seen)
        if found:
            yield found


def _flattened(seen: Difference) -> Claim | None:
    if seen.actual.size != seen.expected.size:
        return None
    same = seen.actual.reshape(seen.expected.shape)
    if not seen.agree(same, seen.expected).all() or np.ptp(seen.expected) == 0:
        return None
    return Claim(
        "shape only",
        f"All numbers{seen.of_label} are right and in the right order: only the shape differs.",
        "Which axes should be one, or apart?",
    )


def _reduced(seen: Difference) -> Claim | None:
    for axis, size in enumerate(seen.expected.shape):
        for words, reduced in _REDUCED.items():
            fits = np.squeeze(reduced(seen.expected, axis))
            actual = np.squeeze(seen.actual)
            if size > 1 and _same_shaped(seen, actual, fits):
                return Claim(
                    f"reduced by {words}",
                    f"{seen.label} is {words} of what is expected along {seen.axis(axis)}: that "
                    "axis is lost.",
                    "Over which axis does your code sum, average or choose?",
                )
    return None


def _one_entry(seen: Difference) -> Claim | None:
    for axis, size in enumerate(seen.expected.shape):
        for entry in range(min(size, 64) if size > 1 else 0):
            fits = np.squeeze(seen.expected.take(entry, axis=axis))
            if _same_shaped(seen, np.squeeze(seen.actual), fits):
                return Claim(
                    "one entry",
                    f"{seen.label} holds the right numbers of entry {entry} along "
                    f"{seen.axis(axis)}, but the other entries are missing.",
                    "Where do the other entries get lost?",
                )
    return None


def _crossed(seen: Difference) -> Claim | None:
    """Claim that every entry along the axes in front is paired with every other one."""
    count, shape = seen.expected.ndim - 2, seen.expected.shape
    if count < 1 or seen.actual.shape != (*shape[:-1], *shape[:count], shape[-1]):
        return None
    names = " and ".join(seen.axis(axis) for axis in range(count))
    return Claim(
        "crossed",
        f"It has {names} twice, as if every entry along {'them' if count > 1 else 'it'} met every "
        "other one. Which product takes the matrices one by one, each with its own partner?",
    )


def _first_entries(seen: Difference) -> Claim | None:
    for axis, size in enumerate(seen.expected.shape):
        given = seen.actual.shape[axis] if seen.actual.ndim == seen.expected.ndim else size
        if not 1 < given < size:
            continue
        for start in (0, size - given):
            part = seen.expected.take(range(start, start + given), axis=axis)
            if _same_shaped(seen, seen.actual, part):
                return Claim(
                    "some entries",
                    f"{seen.label} holds the right numbers of the entries {start} to "
                    f"{start + given - 1} along {seen.axis(axis)}, but the others are missing. Is "
                    "a fixed number written where a size belongs, or does a loop or a slice leave "
                    "entries out?",
                )
    return None


def _sizes_exchanged(seen: Difference) -> Claim | None:
    given, wanted = seen.actual.shape, seen.expected.shape
    if len(given) != len(wanted):
        return None
    differ = [axis for axis, size in enumerate(wanted) if given[axis] != size]
    if len(differ) != 2 or [given[axis] for axis in differ[::-1]] != [wanted[a] for a in differ]:
        return None
    if any(wanted.count(wanted[axis]) > 1 for axis in differ):
        return None  # the sizes do not tell which axes these are
    first, second = differ
    return Claim(
        "sizes exchanged",
        f"The sizes of {seen.axis(first)} and {seen.axis(second)} have changed places. In which "
        "order are they read from a shape, and in which are they used?",
    )


def _same_shaped(seen: Difference, actual: np.ndarray, wanted: np.ndarray) -> bool:
    if actual.shape != wanted.shape or wanted.size < 2 or np.ptp(wanted) == 0:
        return False
    return bool(seen.agree(actual, wanted).all())


# Claims about results that are still joined: all of them in one array.


def about_joined(
    given: Sequence[Value], wanted: Sequence[np.ndarray], form: ResultSpec
) -> Iterator[Claim]:
    """Claim that the first array that came back holds all results side by side, or a part of it."""
    first = given[0] if given else None
    if len(wanted) < 2 or not isinstance(first, np.ndarray) or first.dtype.kind != "f":
        return
    shape = wanted[0].shape
    alike = all(part.shape == shape for part in wanted)
    if not alike or first.shape == shape or not first.size:
        return
    subject = f"`{form.names[0]}`" if len(given) > 1 else f"Your {form.noun}"
    if len(given) == 1:
        yield from _one_after_the_other(first, wanted, subject, form)
    if first.ndim != len(shape):
        return
    for axis in reversed(range(len(shape))):
        whole = np.concatenate(wanted, axis)
        claim = _held(first, whole, axis, subject, form)
        if claim:
            yield claim
            return


def _one_after_the_other(
    array: np.ndarray, wanted: Sequence[np.ndarray], subject: str, form: ResultSpec
) -> Iterator[Claim]:
    """Claim that the entries of an array along one axis are the results."""
    for axis in range(wanted[0].ndim + 1):
        if _same_whole(array, np.stack(wanted, axis), form):
            fact = (
                f"{subject} holds what is expected for {_listed_all(form.names)} along axis {axis}."
            )
            look = "Where does it come apart into these?"
            yield Claim("joined", f"{fact} {look}", leads=False)
            return


def _held(
    array: np.ndarray, whole: np.ndarray, axis: int, subject: str, form: ResultSpec
) -> Claim | None:
    """Claim that an array is `whole`, which is joined along an axis, or its first entries."""
    place = axis_words(axis, form.axes[0], whole.ndim)
    parts = _listed_all(form.names)
    fact = f"{subject} holds what is expected for {parts}, side by side along {place}"
    if _same_whole(array, whole, form):
        look = "Where does it come apart into these?"
        return Claim("joined", f"{fact}. {look}", leads=False)
    differ = [n for n, size in enumerate(whole.shape) if array.shape[n] != size]
    if len(differ) != 1 or differ[0] == axis or array.shape[differ[0]] > whole.shape[differ[0]]:
        return None
    (cut,) = differ
    count = array.shape[cut]
    if not _same_whole(array, whole.take(range(count), axis=cut), form):
        return None
    entries = "only entry 0" if count == 1 else f"only the entries 0 to {count - 1}"
    where = axis_words(cut, form.axes[0], whole.ndim)
    look = "Along which axis should they come apart?"
    return Claim("joined", f"{fact}. But it has {entries} along {where}. {look}", leads=False)


def _listed_all(names: Sequence[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def _same_whole(array: np.ndarray, whole: np.ndarray, form: ResultSpec) -> bool:
    if array.shape != whole.shape or np.ptp(whole) == 0:
        return False
    return bool(agree(array, whole, form.precision).all())
