"""On the class too: a forward that behaves as one wrong step is told which.

Every known mistake of a function is put into the reference's chain, and the class is
judged as if a student had written it in one piece, with no step functions of their own.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import numpy as np

from autograder.checks.reference import Misconception
from autograder.verification.trial import Seen, Trial


def class_naming_gaps(trial: Trial) -> tuple[str, ...]:
    """Return a sentence for each mistake inside the class that a student is not told by name."""
    return tuple(gap for known in trial.reference.misconceptions for gap in _gap(trial, known))


def _gap(trial: Trial, known: Misconception) -> Iterator[str]:
    for step in _classes(trial):
        if known.step == step:
            continue
        with trial.replaced({known.step: known.wrong}):
            seen = _first(trial, step)
        if seen is None or seen.finding is None:
            continue  # it does not show in the class, or only where nothing is compared
        told = seen.finding.misconception
        if told is None or not _alike(trial, step, told, known):
            yield (
                f"a {step} that behaves as {known.name} is told "
                f"{told or 'only that values differ'}: write inputs for its checks that tell "
                "the two apart"
            )


def _classes(trial: Trial) -> tuple[str, ...]:
    steps = [step.name for step in trial.reference.exercise.steps]
    return tuple(name for name in steps if inspect.isclass(getattr(trial.module, name)))


def _first(trial: Trial, step: str) -> Seen | None:
    return next((seen for seen in trial.run_step(step).values() if seen.finding), None)


def _alike(trial: Trial, step: str, told: str, known: Misconception) -> bool:
    """Whether two mistakes are one and the same once they are inside the class.

    Keys times queries is queries and keys swapped: the words for either are true.
    """
    if told == known.name:
        return True
    other = next(each for each in trial.reference.misconceptions if each.name == told)
    margins = []
    for each in (known, other):
        with trial.replaced({each.step: each.wrong}):
            seen = [trial.run(check) for check in trial.checks_of(step)]
            margins.append([one.margin for one in seen if one.finding])
    one, two = margins
    # Counted in tolerances: results that agree within one differ by one at most, which is much
    # where half precision leaves a mistake few of them.
    return len(one) == len(two) and bool(np.allclose(one, two, rtol=0.02, atol=1.0))
