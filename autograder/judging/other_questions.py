"""What other questions tell about a wrong answer: asked again, changed, or for the output alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from autograder.judging.diagnosis import told_by_cause
from autograder.values.request import Reply, Request, Returned
from autograder.values.verdict import Finding
from autograder.worker.wire import Value, arrays_in


def random_words(finding: Finding, right_in_evaluation: bool) -> Finding:
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
    fact = "Asked twice with the same inputs and weights, your code gives different numbers."
    look = (
        "Is something drawn at random in it, as in a dropout? Does it compute with other weights "
        "than its own, such as copies? Or is something kept from the call before?"
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
