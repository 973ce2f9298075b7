"""What each known mistake does to a training: measured beforehand, beside the exercise."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from autograder.model.exercise import MISTAKE_COSTS
from autograder.model.files import read_small
from autograder.training_tasks.training_result import COUNT

MOST_BYTES = 1 << 20
NOTICED = COUNT // 20  # so many fewer right ones than ever with a right layer are noticed
FAR_LOWER = 0.5  # a loss below this share of the right layer's looks better; medians of seeds


@dataclass(frozen=True)
class TaskOutcome:
    """What came of trainings on one task, one for each seed.

    losses: None where one is NaN. rights: how many of COUNT new inputs came out right. stops: the
    error that ends every training, or "".
    """

    task: str
    losses: tuple[float | None, ...] = ()
    rights: tuple[int, ...] = ()
    stops: str = ""


@dataclass(frozen=True)
class TrainedMistake:
    """A known mistake in a step, and what came of the tasks with it.

    shown_by: the title of the first check that finds it.
    """

    name: str
    step: str
    words: str
    shown_by: str
    outcomes: tuple[TaskOutcome, ...]


@dataclass(frozen=True)
class MeasuredTrainings:
    """What comes of each task with the right layer, and with each mistake of an exercise."""

    right: tuple[TaskOutcome, ...]
    mistakes: tuple[TrainedMistake, ...]

    def of(self, names: Iterable[str]) -> tuple[TrainedMistake, ...]:
        """Return the mistakes of these names, in their order; names without one are left out."""
        known = {each.name: each for each in self.mistakes}
        return tuple(known[name] for name in dict.fromkeys(names) if name in known)

    def with_right_layer(self, task: str) -> TaskOutcome:
        """Return what came of a task with the right layer."""
        return next(each for each in self.right if each.task == task)

    def is_noticed(self, outcome: TaskOutcome) -> bool:
        """Whether anybody would notice, from the loss or from what comes out right."""
        right = self.with_right_layer(outcome.task)
        stopped = outcome.stops or None in outcome.losses
        return bool(stopped) or max(outcome.rights) < min(right.rights) - NOTICED

    def looks_better(self, outcome: TaskOutcome) -> bool:
        """Whether the loss is far lower than with the right layer, and fewer come out right."""
        if outcome.stops or None in outcome.losses or not self.is_noticed(outcome):
            return False
        right = _median(self.with_right_layer(outcome.task).losses)
        return _median(outcome.losses) < FAR_LOWER * right

    def is_hidden(self, mistake: TrainedMistake) -> bool:
        """Whether no task shows the mistake."""
        return not any(map(self.is_noticed, mistake.outcomes))

    def worst(self, count: int) -> tuple[TrainedMistake, ...]:
        """Return `count` mistakes of different steps that train to the end.

        First those whose loss looks better, then those with the fewest right ones.
        """
        ends = [each for each in self.mistakes if not any(one.stops for one in each.outcomes)]
        ends = [each for each in ends if not any(None in one.losses for one in each.outcomes)]
        first: dict[str, TrainedMistake] = {}
        for each in sorted(ends, key=self._rank):
            first.setdefault(each.step, each)
        return tuple(first.values())[:count]

    def _rank(self, mistake: TrainedMistake) -> tuple[bool, int]:
        better = any(map(self.looks_better, mistake.outcomes))
        return not better, min(min(each.rights) for each in mistake.outcomes)


def _median(losses: Iterable[float | None]) -> float:
    return median(each for each in losses if each is not None)


def written_trainings(measured: MeasuredTrainings) -> str:
    """Return the text of the file."""
    return json.dumps(asdict(measured), indent=1, ensure_ascii=False) + "\n"


def read_trainings(folder: Path) -> MeasuredTrainings | None:
    """Return what was measured of the exercise in `folder`; None when it has no such file."""
    try:
        facts = json.loads(read_small(folder / MISTAKE_COSTS, MOST_BYTES))
    except FileNotFoundError:
        return None
    mistakes = (
        TrainedMistake(**{**each, "outcomes": _outcomes(each["outcomes"])})
        for each in facts["mistakes"]
    )
    return MeasuredTrainings(_outcomes(facts["right"]), tuple(mistakes))


def _outcomes(facts: Iterable[Any]) -> tuple[TaskOutcome, ...]:
    return tuple(
        TaskOutcome(each["task"], tuple(each["losses"]), tuple(each["rights"]), each["stops"])
        for each in facts
    )
