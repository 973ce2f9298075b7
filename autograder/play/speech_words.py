"""What is said when a learner's layer speaks: before, after, and about mistakes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from autograder.play.character_model import CONTEXT, LAYERS, read_model
from autograder.play.mistake_costs import MeasuredCosts, MistakeCost
from autograder.play.writing import WINDOWS, PlainAverage, TextLoss, measured_loss

SHOWN = 3  # mistakes, where none was met
BEFORE = (
    f"Your layer is now the attention of a small language model: {LAYERS} blocks, trained on plays "
    "by Shakespeare. It writes one character after the other. Each is drawn from the shares that "
    "the model gives to all characters."
)
WITHOUT_LAYER = (
    "First without it. In its place, every character takes the plain average of all before it, and "
    "the model writes:"
)
WITH_LAYER = "And now with your layer, where each character takes what it needs:"
MET = "Of the mistakes that you met, put back into the same model for a moment:"
OTHERS = "You met no mistake that has a name here. This is what three of them would have cost:"


def loss_words(loss: TextLoss) -> str:
    """Return what the loss says."""
    share, guess = 100 * math.exp(-loss.nats), math.log(len(read_model().characters))
    before = measured_loss(PlainAverage).nats
    return (
        f"On {loss.characters:,} characters that are new to it, its loss is {loss.nats:.2f} nats a "
        f"character: the one that really follows gets a share of about {share:.0f} %. With plain "
        f"averages it is {before:.2f}, and who only guesses has {guess:.2f}. The difference is "
        "what attention is for: a token takes from those that matter to it."
    )


def mistake_words(
    costs: MeasuredCosts | None, met: Iterable[str], *, others: bool = False
) -> Iterator[tuple[str, ...]]:
    """Yield paragraphs about the last mistake that was `met`, as lines.

    If `others` are asked for, about all that were met, and where none was, about the dearest.
    """
    found = costs.of(met) if costs else ()
    if costs is None or not (found or others):
        return
    measured = (
        f"The losses here are measured on {WINDOWS * CONTEXT:,} characters. There, a right layer "
        f"has a loss of {costs.right:.2f}."
    )
    yield (MET if found else OTHERS, measured)
    for cost in (found if others else found[-1:]) or costs.dearest(SHOWN):
        yield (f"“{cost.words}”", *_cost_lines(cost, costs.right))


def _cost_lines(cost: MistakeCost, right: float) -> tuple[str, ...]:
    if cost.stops:
        return (f"The model stops: {cost.stops}",)
    if cost.loss is None:
        return ("The loss is NaN, and the model writes nothing.",)
    if not cost.is_heard(right):
        return (
            f"The loss stays at {cost.loss:.2f}: nobody can hear it. That is why there are exact "
            f"checks. One that finds it: {cost.shown_by}.",
        )
    better = " It looks better, and it is wrong." if cost.loss < right else ""
    lines = (f"  {line}" for line in cost.text.splitlines() if line.strip())
    return (f"The loss is {cost.loss:.2f} in place of {right:.2f}.{better} It writes:", *lines)
