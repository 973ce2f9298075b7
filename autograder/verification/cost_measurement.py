"""Puts every known mistake of an exercise into the character model, and measures what it costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from autograder.checks.known_mistake import Misconception
from autograder.checks.marks import title_of
from autograder.judging.layer_error import Unusable
from autograder.language_model.character_model import CharacterModel, read_model
from autograder.language_model.mistake_costs import (
    MeasuredCosts,
    MistakeCost,
    finite_loss,
    is_heard,
)
from autograder.language_model.writing import measured_loss, written
from autograder.verification.trial import Trial, read_trial

LENGTH = 60  # characters that are kept of what a mistake writes
_AMPLE = 3600.0  # seconds: nothing is cut here


def measured_costs(
    folder: Path,
    others: Sequence[CharacterModel] = (),
    say: Callable[[str], None] = lambda name: None,
) -> MeasuredCosts:
    """Return what each known mistake of the exercise in `folder` costs the model in the kit.

    The spread is over this model and the `others`. `say` gets the name of each mistake before it
    is tried.
    """
    trial = read_trial(folder)
    layer, models = trial.reference.exercise.speaker, (read_model(), *others)
    right = [_loss(getattr(trial.module, layer), model) for model in models]
    found = []
    for known in trial.reference.misconceptions:
        say(known.name)
        found.append(_cost(trial, known, layer, list(zip(models, right))))
    return MeasuredCosts(round(right[0], 3), _spread(right), len(models), tuple(found))


def _cost(
    trial: Trial, known: Misconception, layer: str, models: Sequence[tuple[CharacterModel, float]]
) -> MistakeCost:
    with trial.replaced({known.step: known.wrong}) as module, np.errstate(all="ignore"):
        shown_by = _shown_by(trial, known.step)
        heard = [_hear(getattr(module, layer), model) for model, _ in models]
    losses = [each.loss for each in heard]
    finite = [loss for loss in losses if loss is not None]
    return MistakeCost(
        name=known.name,
        step=known.step,
        words=known.words.partition("\n")[0],
        loss=losses[0],
        spread=_spread(finite) if finite else None,
        heard_in=sum(is_heard(loss, right) for loss, (_, right) in zip(losses, models)),
        text=heard[0].text,
        stops=heard[0].stops,
        shown_by=shown_by,
    )


@dataclass(frozen=True)
class _Heard:
    """The loss, None where there is none; what is written, and the error that ends it, or ""."""

    loss: float | None
    text: str = ""
    stops: str = ""


def _hear(make: Any, model: CharacterModel) -> _Heard:
    try:
        loss = finite_loss(_loss(make, model))
        if loss is None:
            return _Heard(None)
        pieces = written(make, length=LENGTH, seconds=_AMPLE, model=model)
        return _Heard(loss, "".join(pieces))
    except Unusable as error:
        return _Heard(None, stops=str(error))
    except Exception as error:  # whatever the mistake leads to
        return _Heard(None, stops=f"{type(error).__name__}: {error}")


def _loss(make: Any, model: CharacterModel) -> float:
    return measured_loss(make, seconds=_AMPLE, model=model).nats


def _spread(losses: Sequence[float]) -> tuple[float, float]:
    return round(min(losses), 3), round(max(losses), 3)


def _shown_by(trial: Trial, step: str) -> str:
    """Return the title of the first check of a step that finds something wrong."""
    seen = trial.run_step(step)
    return next((title_of(check) for check, result in seen.items() if result.finding), "")
