"""The conditions under which a call is asked about: earlier calls, layout, gradients, precision.

A question is put under several conditions at once, since that takes one call. When the answer is
wrong, the same is asked under one condition at a time, to say which of them matters. Other
questions tell more of an answer that is wrong under none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from autograder.judging.compare import arrays_of, with_arrays
from autograder.judging.diagnosis import told_by_cause
from autograder.judging.expectation import Agrees, Expectation
from autograder.judging.explanation import FROM_BASE
from autograder.judging.value_words import axis_words
from autograder.values.request import Reply, Request, Returned
from autograder.values.verdict import Finding, Outcome
from autograder.worker.call import EarlierCall
from autograder.worker.wire import Value, arrays_in

# A question with every entry twice along an axis: does its size make an answer wrong?


def doubled(request: Request, expectation: Agrees) -> Iterator[tuple[str, Request, Agrees]]:
    """Give words for the entries along an axis, and the question with twice as many of them.

    What is expected is twice there, too. That need not hold along every axis, so only a right
    answer says something.
    """
    form = expectation.form
    wanted = arrays_of(expectation.expected, form)
    if not all(isinstance(part, np.ndarray) and part.ndim > 2 for part in wanted):
        return
    arrays = [part for part in wanted if isinstance(part, np.ndarray)]
    count, letters = arrays[0].ndim, form.axes[0]
    for axis in range(count - 1):
        size = arrays[0].shape[axis]
        if not all(_once(each, axis) for each in form.axes):
            continue
        if any(part.ndim != count or part.shape[axis] != size for part in arrays):
            continue

        def twice(array: np.ndarray, axis: int = axis, size: int = size) -> np.ndarray:
            fits = array.ndim > max(2, axis) and array.shape[axis] == size
            return np.repeat(array, 2, axis=axis) if fits else array

        entries = "a single entry" if size == 1 else f"{size} entries"
        expected = with_arrays(expectation.expected, twice)
        yield (
            f"{entries} along {axis_words(axis, letters, count)}",
            _asked(request, twice),
            replace(expectation, expected=expected, gradients=(), gradient_names=()),
        )


def _once(axes: str | None, axis: int) -> bool:
    """Say whether an axis is named, and is the only one of its name."""
    letters = (axes or "").split()
    return len(letters) > axis and letters.count(letters[axis]) == 1


def _asked(request: Request, change: Callable[[np.ndarray], np.ndarray]) -> Request:
    name = "method_arguments" if request.method else "arguments"
    changed = {name: with_arrays(getattr(request, name), change)}
    return replace(request, **changed)


# Begins the names of the checks that every step is held to. They are asked once the author's own
# checks of the step pass, since until then there is something more basic to look at.
LONG_AXES = "long_axes"
STANDING = "standing_"

Judge = Callable[[Request, Expectation], Finding | None]

# The fields of a request that set a condition, as they are when they set none, in the order in
# which the conditions are tried.
_NONE = {
    "dtype": "",
    "before": (),
    "earlier": (),
    "layouts": (),
    "recording": True,
    "backward": None,
}


@dataclass(frozen=True)
class _Words:
    """What to say about a condition under which alone the answer is wrong."""

    fact: str
    look: str = ""
    at_all: str = ""  # the fact where no numbers come back, or in another shape


_WORDS = {
    "twice": _Words(
        "Called once, your code gives what is expected; called a second time with the same inputs, "
        "it does not.",
        "What does it keep or change in the first call that the second one uses?",
    ),
    "weights": _Words(
        "After a first call, other weights are put into your layer. Then it does not give what is "
        "expected with these.",
        "What does it keep of the first call that is made from the weights?",
    ),
    "instances": _Words(
        "Once a second instance of your class is made and called, the first no longer gives what "
        "is expected.",
        "What do the instances share? `self.name = ...` in `__init__` belongs to one; a name of "
        "the file or of the class belongs to all.",
    ),
    "earlier": _Words(
        "Called once, your code gives what is expected; called again with other inputs, it does "
        "not.",
        "What does it keep from one call to the next, or change that the next call uses?",
    ),
    "layouts": _Words(
        "With an input whose numbers lie in another order in memory, as in the layer, the answer "
        "is not as expected.",
        "Which line relies on the order in memory?",
    ),
    "recording": _Words(
        "Where PyTorch records no gradients, as inside `torch.no_grad()`, the answer is not as "
        "expected; where it records them, it is right.",
        "Which of your lines depend on whether gradients are recorded?",
    ),
    "before": _Words(
        "After `eval()`, the layer gives other numbers than in training.",
        "Which of its lines depend on the mode? The expected layer gives the same in both.",
        "In training, the layer gives what is expected; after `eval()`, it does not.",
    ),
    # The author's own checks are asked before, and pass.
    "sizes": _Words(
        "With the inputs that were asked before, your code gives what is expected; with these, it "
        "does not.",
        "These have other sizes, and some axes have a single entry. Which line depends on a size, "
        "or on how large a number is?",
    ),
    "together": _Words(
        "Each of these is right by itself, but not all at once: a later call, another order in "
        "memory, a backward pass.",
        "What does your code keep from an earlier call?",
    ),
}


def conditions_of(request: Request) -> tuple[str, ...]:
    """Return the names of the conditions that a request sets."""
    return tuple(name for name, none in _NONE.items() if not _is_none(getattr(request, name), none))


def _is_none(setting: object, none: object) -> bool:
    return setting is none or (none is not None and setting == none)


def explained(
    finding: Finding, request: Request, expectation: Expectation, judge: Judge
) -> Finding:
    """Say which condition of a question makes its answer wrong.

    `judge` asks and judges a question. A finding on a question without conditions stays as it is,
    and so does one that names a known mistake. But the other findings of its step may rule that
    name out, and then the condition is told.
    """
    names = () if request.read else conditions_of(request)
    if not names or not isinstance(expectation, Agrees):
        return finding
    if not finding.misconception:
        return _told(finding, request, expectation, names, judge)
    if finding.evidence is None:
        return finding
    told = _told(finding.evidence.bare, request, expectation, names, judge)
    if not told.cause:
        return finding
    return replace(finding, evidence=replace(finding.evidence, bare=told, claims=None))


def without_conditions(request: Request, expectation: Agrees) -> tuple[Request, Agrees]:
    """Return a question under no condition: the values alone, as the first call gives them."""
    ((_, plain, expected),) = islice(_one_at_a_time(request, expectation, ()), 1)
    return replace(plain, calls=1), replace(expected, gradients=(), gradient_names=())


def _told(
    finding: Finding, request: Request, expectation: Agrees, names: tuple[str, ...], judge: Judge
) -> Finding:
    """Return a finding without a name, with the condition that makes the answer wrong."""
    for name, single, expected in _one_at_a_time(request, expectation, names):
        found = judge(single, expected)
        if found and name == "earlier":
            return _told_by_earlier_calls(found, single, expected, judge)
        if found and name:
            return _worded(found, name)
        if found:
            return _told_by_sizes(found, single, expected, judge)
    if names == ("earlier",):
        return _told_by_earlier_calls(finding, request, expectation, judge)
    return _worded(finding, "together" if len(names) > 1 else names[0])


def _told_by_earlier_calls(
    finding: Finding, request: Request, expected: Agrees, judge: Judge
) -> Finding:
    """Return the finding on an answer that calls before or after it make wrong, told by which."""
    if finding.cause:
        return finding
    for name, simpler in _fewer_calls(request):
        found = judge(simpler, expected)
        if found:
            return found if found.cause else _worded(found, name)
    return _worded(finding, "earlier")


def _fewer_calls(request: Request) -> Iterator[tuple[str, Request]]:
    """Give a request with simpler calls before its own, and the name of the words for each."""
    if request.method is None:
        same = EarlierCall(request.arguments, (), request.keywords)
        yield "twice", replace(request, earlier=(same,))
        return
    yield "twice", replace(request, earlier=(), calls=2)
    # With calls before, the instance has other weights in these.
    same = EarlierCall(None, request.method_arguments, request.keywords)
    yield "weights", replace(request, earlier=(same,))
    own = tuple(each for each in request.earlier if each.arguments is None)
    others = tuple(each for each in request.earlier if each.arguments is not None)
    if own and others:
        yield "earlier", replace(request, earlier=own)
    if others:
        yield "instances", replace(request, earlier=others)


def _told_by_sizes(finding: Finding, request: Request, expected: Agrees, judge: Judge) -> Finding:
    """Return the finding on a question that is wrong under no condition, told by its sizes."""
    if finding.misconception and finding.evidence:
        finding = replace(finding.evidence.bare, evidence=finding.evidence)
    for words, longer, wanted in doubled(request, expected):
        if judge(longer, wanted) is None:
            fact = (
                f"With {words}, as here, the answer is not as expected; with twice as many, it is."
            )
            look = (
                "Which line goes another way at this size or loses an axis, or what is kept from "
                "an earlier call?"
            )
            return _with_form(finding, _Words(fact, look))
    if _says_little(finding) and _has_single_entries(request):
        return _worded(finding, "sizes")
    return finding


def _says_little(finding: Finding) -> bool:
    """Say whether all that is known of a result is that numbers differ, or which ones do."""
    evidence = finding.evidence
    claims = evidence.claims() if evidence and evidence.claims else ()
    return claims[0].weak if claims else finding.vague


def _one_at_a_time(
    request: Request, expectation: Agrees, names: tuple[str, ...]
) -> Iterator[tuple[str, Request, Agrees]]:
    """Give the question under no condition, then under each of several alone."""
    for name in ("", *(names if len(names) > 1 else ())):
        off = {other: none for other, none in _NONE.items() if other != name}
        single = replace(request, **off)  # type: ignore[arg-type]
        yield name, single, expectation if name == "dtype" else _uncast(expectation, request)


def _has_single_entries(request: Request) -> bool:
    given = arrays_in((*request.arguments, *request.method_arguments))
    return any(1 in array.shape for array in given)


def _uncast(expectation: Agrees, request: Request) -> Agrees:
    """Return what is expected where the inputs are not cast: their own dtype is asked for."""
    given = arrays_in((*request.arguments, *request.method_arguments))
    own = next((array.dtype for array in given if array.dtype.kind == "f"), None)
    form = replace(expectation.form, precision="")
    if own is None or not request.dtype:
        return replace(expectation, form=form)

    def cast(array: np.ndarray) -> np.ndarray:
        return array.astype(own) if array.dtype.kind == "f" else array

    gradients = tuple(with_arrays(gradient, cast) for gradient in expectation.gradients)
    expected = with_arrays(expectation.expected, cast)
    return replace(expectation, expected=expected, form=form, gradients=gradients)


def _worded(finding: Finding, name: str) -> Finding:
    words = _WORDS.get(name)
    if words is None or FROM_BASE in finding.look:
        return finding
    bare = finding.evidence.bare if finding.misconception and finding.evidence else finding
    return _with_form(bare, words)


def _with_form(finding: Finding, words: _Words) -> Finding:
    """Tell a finding by its cause; what came back instead of an array of that shape is kept."""
    if finding.outcome is Outcome.WRONG_VALUES:
        return told_by_cause(finding, words.fact, words.look)
    seen = finding.evidence.bare if finding.evidence else finding
    return told_by_cause(replace(finding, right=""), words.at_all or words.fact, seen.message)


def beside_long_axes(check: str, finding: Finding | None) -> Finding | None:
    """Return a finding of a check with long axes, with what the checks before it have shown."""
    if finding is None or finding.misconception or not check.startswith(STANDING + LONG_AXES):
        return finding
    look = (
        "With the sizes that were asked before, it is right. Is there a number in your code that "
        "fixes a size?"
    )
    return replace(finding, look=look)


# What other questions tell about a wrong answer: asked again, changed, or for the output alone.


def random_words(
    finding: Finding, right_in_evaluation: bool = False, of_layer: bool = True
) -> Finding:
    """Return the finding on an answer that is another one when the same is asked again.

    `right_in_evaluation` is True where the answer is as expected after `eval()`.
    """
    if right_in_evaluation:
        fact = (
            "In training, your layer gives other numbers at every call; after `eval()`, it gives "
            "what is expected. A dropout does that."
        )
        return told_by_cause(
            finding, fact, "This layer has no dropout. Which line draws at random?"
        )
    given = "inputs and weights" if of_layer else "inputs"
    fact = f"Asked twice with the same {given}, your code gives different numbers."
    weights = " Does it compute with other weights than its own, such as copies?" * of_layer
    look = (
        f"Is something drawn at random in it, as in a dropout?{weights} Or is something kept from "
        "the call before?"
    )
    return told_by_cause(finding, fact, look)


def other_call_words(finding: Finding) -> Finding:
    """Return the finding on a result that would be the right one for other inputs of the step."""
    fact = f"{finding.fact} It is the right result of another call, which had other inputs."
    look = "Is something kept from that call, or does your code hold a size as a number?"
    return replace(finding, fact=fact, look=look, cause=True)


def gradient_words(finding: Finding, reply: Reply) -> Finding:
    """Return the finding on gradients that are wrong although the output is right."""
    if (
        isinstance(reply, Returned)
        and isinstance(reply.value, tuple)
        and any(part is None for part in reply.value)
    ):
        return finding  # it says what has none
    lost = _lost(reply.value) if isinstance(reply, Returned) else ""
    look = (
        "Is a part of the computation detached, copied by hand, changed in place, or given a hook?"
    )
    fact = "Going forward, your layer is right, but not all gradients that flow back are."
    return told_by_cause(replace(finding, right=""), f"{fact}{lost}", look)


def _lost(gradients: Value) -> str:
    """Say how many numbers of the gradients are 0, if some but not all of an array are."""
    count = size = 0
    for array in arrays_in(gradients):
        zeros = int((array == 0).sum())
        # With so many of them, no rounding made them 0.
        if array.size > zeros > array.size // 16:
            count, size = count + zeros, size + array.size
    return f" {count} of {size} numbers are 0: something is cut off there." if count else ""


# Small inputs make scores near 0, so that every entry which may be seen has a share in the result.
_SMALL = 0.05
_SEEN = 1e-4  # of the largest change: what is less is rounding
MOST_ENTRIES = 12


def influences(ask: Callable[[Request], Reply], request: Request, axis: int) -> np.ndarray | None:
    """Return which entries of a method's result change with which entries of its first argument.

    In row j, entry i along `axis` is True where the result changes at i when the argument changes
    at j. None where some answer is no array of as many entries.
    """
    given = _SMALL * request.method_arguments[0]
    count = given.shape[axis]
    answers = []
    for place in (None, *range(count)):
        changed = given.copy()
        if place is not None:
            at = (slice(None),) * axis + (place,)
            changed[at] += _SMALL * (1 + np.arange(given.shape[-1]) % 3).astype(given.dtype)
        arguments = (changed, *request.method_arguments[1:])
        reply = ask(replace(request, method_arguments=arguments))
        value = reply.value if isinstance(reply, Returned) else None
        if (
            not isinstance(value, np.ndarray)
            or value.shape != given.shape
            or value.dtype.kind != "f"
        ):
            return None
        answers.append(value)
    usual = answers[0]
    if not all(np.isfinite(each).all() for each in answers):
        return None
    beside = tuple(number for number in range(given.ndim) if number != axis)
    moved = np.array([np.abs(each - usual).max(axis=beside) for each in answers[1:]])
    return np.asarray(moved > _SEEN * moved.max(axis=1, keepdims=True))


# Reads what `influence_words` writes: what is seen from outside, and not where it comes from.
INFLUENCE = re.compile(r"When `\w+` changes at entry \d+ along ")


def influence_words(
    finding: Finding, own: np.ndarray, right: np.ndarray, parameter: str, axis: str
) -> Finding:
    """Return the finding with the first entry that has an influence which it should not have.

    Or else the first that lacks one. `axis` names the axis of the `parameter` in words.
    """
    too_much, too_little = np.argwhere(own & ~right), np.argwhere(right & ~own)
    if len(too_much):
        source, place = too_much[0]
        what = "and should not"
        look = f"Which line lets entry {place} see entry {source}, or leaves it unhidden?"
    else:
        source, place = too_little[0]
        what = "and should"
        look = f"Which line keeps entry {place} from seeing entry {source}?"
    changes = "changes" if len(too_much) else "does not change"
    fact = (
        f"When `{parameter}` changes at entry {source} along {axis}, your result {changes} at "
        f"entry {place}, {what}."
    )
    return told_by_cause(finding, fact, look)
