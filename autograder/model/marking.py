"""How a verdict is turned into points, where courses differ."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from autograder.model.verdict import Outcome, StepVerdict, Verdict

PARTS = 4  # points for a part of the checks are counted in quarters


@dataclass(frozen=True)
class MarkingRules:
    """What a course gives points for.

    With `layer_earns_steps`, a right layer earns the points of the steps that it does. With
    `partial_points`, a step that is not right earns its share of the checks that pass.
    """

    layer_earns_steps: bool = True
    partial_points: bool = False

    def marked(self, verdict: Verdict) -> Verdict:
        """Return `verdict` with the points that these rules give; nobody is judged for that."""
        if not self.partial_points:
            return verdict
        return replace(verdict, steps=tuple(map(_partly_marked, verdict.steps)))


DEFAULT_RULES = MarkingRules()


def _partly_marked(step: StepVerdict) -> StepVerdict:
    if step.is_done or step.outcome is Outcome.INFRASTRUCTURE:
        return step
    return replace(step, points=part_of(step.max_points, step))


def part_of(points: float, step: StepVerdict) -> float:
    """Return the part of `points` that the checks earn which `step` passes, in quarters.

    It is rounded down: a step that is not right never has all of its points.
    """
    return quarters_of(points, share_of_checks(step))


def share_of_checks(step: StepVerdict) -> float:
    """Return which part of a step's checks passes, from 0 to 1."""
    return step.checks_passed / len(step.checks) if step.checks else 0.0


def quarters_of(points: float, share: float) -> float:
    """Return a share of points, rounded down to quarters of a point."""
    return math.floor(PARTS * points * share) / PARTS


def is_partly_marked(step: StepVerdict) -> bool:
    """Whether a step has points although it is not right, nor done by the layer."""
    return bool(step.points) and not step.is_done
