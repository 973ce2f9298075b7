"""What each known mistake costs the character model: measured beforehand, beside the exercise."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from autograder.model.exercise import MISTAKE_COSTS, generated
from autograder.model.files import read_small

MOST_BYTES = 1 << 20
HEARD = 0.05  # nats: a smaller difference is not noticed


@dataclass(frozen=True)
class MistakeCost:
    """A mistake in a step: the loss in nats with it, and the beginning of what is written.

    loss: of the model in the kit, on the text that `measured_loss` takes; None where it is NaN or
    the layer stops. spread: the lowest and the highest of all trainings; None where there is no
    loss. heard_in: so many trainings in which it is heard. stops: the error that ends it, or "".
    shown_by: the title of the first check that finds it.
    """

    name: str
    step: str
    words: str
    loss: float | None
    spread: tuple[float, float] | None
    heard_in: int
    text: str
    stops: str
    shown_by: str

    def is_heard(self, right: float) -> bool:
        """Whether the loss is another than the `right` one, or there is none."""
        return is_heard(self.loss, right)


@dataclass(frozen=True)
class MeasuredCosts:
    """The loss with right answers, and what each mistake of an exercise costs.

    trainings: so many models were measured, which differ in the seed of their training only.
    """

    right: float
    spread: tuple[float, float]
    trainings: int
    mistakes: tuple[MistakeCost, ...]

    def of(self, names: Iterable[str]) -> tuple[MistakeCost, ...]:
        """Return the mistakes of these names, in their order; names without one are left out."""
        known = {each.name: each for each in self.mistakes}
        return tuple(known[name] for name in dict.fromkeys(names) if name in known)

    def dearest(self, count: int, without: Collection[str] = ()) -> tuple[MistakeCost, ...]:
        """Return the mistakes with the highest loss, of `count` different steps."""
        finite = [each for each in self.mistakes if each.loss is not None]
        ordered = sorted(finite, key=lambda each: -(each.loss or 0.0))
        first: dict[str, MistakeCost] = {}
        for each in ordered:
            if each.name not in without:
                first.setdefault(each.step, each)
        return tuple(first.values())[:count]


def is_heard(loss: float | None, right: float) -> bool:
    """Whether a loss is another than the `right` one of the same model, or there is none."""
    return loss is None or abs(loss - right) > HEARD


def read_costs(folder: Path) -> MeasuredCosts | None:
    """Return what was measured of the exercise in `folder`; None when it has no such file."""
    try:
        facts = json.loads(read_small(generated(folder, MISTAKE_COSTS), MOST_BYTES))
    except FileNotFoundError:
        return None
    mistakes = (
        MistakeCost(**{**each, "spread": each["spread"] and tuple(each["spread"])})
        for each in facts["mistakes"]
    )
    spread = tuple(facts["spread"])
    return MeasuredCosts(facts["right"], spread, facts["trainings"], tuple(mistakes))
