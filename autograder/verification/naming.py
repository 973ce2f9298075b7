"""Mistakes are named in the class too: a forward that behaves like one wrong step is told which.

Every known mistake of a function is put into the reference's chain. Then the class is
judged as if a student had written it in one piece, without step functions.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from autograder.checks.known_mistake import Misconception
from autograder.checks.marks import by_purpose
from autograder.model.verdict import ANSWERED
from autograder.verification.trial import Seen, Trial


def class_naming_gaps(trial: Trial, first: int = 0, apart: int = 1) -> tuple[str, ...]:
    """Return a sentence for each mistake inside the class that is not named to the student.

    All mistakes are tried, or beginning with the `first`, each that is `apart` from the one before.
    """
    tried = trial.reference.misconceptions[first::apart]
    return tuple(gap for known in tried for gap in _gap(trial, known))


def _gap(trial: Trial, known: Misconception) -> Iterator[str]:
    for step in trial.reference.layers:
        if known.step == step:
            continue
        with trial.replaced({known.step: known.wrong}):
            seen = _first(trial, step)
        if seen is None or seen.finding is None:
            continue  # it does not show in the class, or only by exceptions, which name nothing
        named = seen.finding.misconception
        if named is None or not _alike(trial, step, named, known):
            yield (
                f"a {step} that behaves as {known.name} is told "
                f"{named or 'only that values differ'}: draw inputs for its checks that tell "
                "the two apart"
            )


def _first(trial: Trial, step: str) -> Seen | None:
    failing = [seen for seen in trial.run_step(step).values() if seen.finding]
    answered = any(seen.finding and seen.finding.outcome in ANSWERED for seen in failing)
    return failing[0] if answered else None


def _alike(trial: Trial, step: str, named: str, known: Misconception) -> bool:
    """Whether two mistakes are the same once they are inside the class.

    For example, keys times queries is the same as queries and keys swapped: both texts are true.
    """
    if named == known.name:
        return True
    other = next(each for each in trial.reference.misconceptions if each.name == named)
    margins = []
    for each in (known, other):
        with trial.replaced({each.step: each.wrong}):
            # Where these fail, the standing checks are not asked.
            own, telling, _ = by_purpose(trial.checks_of(step))
            seen = [trial.run(check) for check in (*own, *telling)]
            margins.append([result.margin for result in seen if result.finding])
    ours, theirs = margins
    # Margins count tolerances. Results that agree within a tolerance have margins that differ by
    # at most 1. With half precision that can be a large part of a margin.
    return len(ours) == len(theirs) and bool(np.allclose(ours, theirs, rtol=0.02, atol=1.0))
