"""What other questions tell about a wrong answer: asked again, or for the output alone."""

from __future__ import annotations

from dataclasses import replace

from autograder.judging.diagnosis import told_by_cause
from autograder.model.request import Reply, Returned
from autograder.model.verdict import Finding
from autograder.protocol.wire import Value, arrays_in


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


def gradient_words(finding: Finding, reply: Reply) -> Finding:
    """Return the finding on gradients that are wrong although the output is right."""
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
