"""Puts every known mistake of an exercise into the character model, and measures what it costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from autograder.checks.known_mistake import Misconception
from autograder.checks.marks import title_of
from autograder.judging.layer_error import Unusable
from autograder.language_model.mistake_costs import HEARD, MeasuredCosts, MistakeCost, finite_loss
from autograder.language_model.writing import measured_loss, written
from autograder.verification.trial import Trial, read_trial

SEEDS = 5  # draws of windows
LENGTH = 60  # characters that are kept of what a mistake writes
_AMPLE = 3600.0  # seconds: nothing is cut here


def measured_costs(folder: Path, say: Callable[[str], None] = lambda name: None) -> MeasuredCosts:
    """Return what each known mistake of the exercise in `folder` costs.

    `say` gets the name of each mistake before it is tried.
    """
    trial = read_trial(folder)
    layer = trial.reference.exercise.speaker
    right = _losses(getattr(trial.module, layer))
    found = []
    for known in trial.reference.misconceptions:
        say(known.name)
        found.append(_cost(trial, known, layer))
    return MeasuredCosts(round(right[0], 3), _spread(right), tuple(found))


def _cost(trial: Trial, known: Misconception, layer: str) -> MistakeCost:
    with trial.replaced({known.step: known.wrong}) as module, np.errstate(all="ignore"):
        shown_by = _shown_by(trial, known.step)
        losses, text, stops = _tried(module, layer)
    finite = losses and all(map(np.isfinite, losses))
    return MistakeCost(
        name=known.name,
        step=known.step,
        words=known.words.partition("\n")[0],
        loss=finite_loss(losses[0]) if finite else None,
        spread=_spread(losses) if finite else None,
        text=text,
        stops=stops,
        shown_by=shown_by,
    )


def _tried(module: ModuleType, layer: str) -> tuple[Sequence[float], str, str]:
    """Return the losses, the text, and the error that ends it."""
    make: Any = getattr(module, layer)
    try:
        losses = _losses(make)
        if not all(map(np.isfinite, losses)):
            return losses, "", ""
        return losses, "".join(written(make, length=LENGTH, seconds=_AMPLE)), ""
    except Unusable as error:
        return (), "", str(error)
    except Exception as error:  # whatever the mistake leads to
        return (), "", f"{type(error).__name__}: {error}"


def _losses(make: Any) -> list[float]:
    return [measured_loss(make, seconds=_AMPLE, seed=seed).nats for seed in range(SEEDS)]


def _spread(losses: Sequence[float]) -> tuple[float, float]:
    return round(min(losses), 3), round(max(losses), 3)


def _shown_by(trial: Trial, step: str) -> str:
    """Return the title of the first check of a step that finds something wrong."""
    seen = trial.run_step(step)
    return next((title_of(check) for check, result in seen.items() if result.finding), "")


def costs_document(title: str, costs: MeasuredCosts) -> str:
    """Return the table of all mistakes and their costs, in Markdown."""
    heard = sum(each.loss is not None and each.is_heard(costs.right) for each in costs.mistakes)
    none = sum(each.loss is None for each in costs.mistakes)
    silent = len(costs.mistakes) - heard - none
    lines = [
        f"# What each mistake costs: {title}",
        "",
        "`attn costs` writes this page. A small language model, trained once with right attention,",
        "gets each known mistake in turn. The loss is in nats a character, on text that is new to",
        f"it, as `attn play` measures it; the spread is that of {SEEDS} draws of such text.",
        "",
        f"- Right: {costs.right:.2f} ({costs.spread[0]:.2f} to {costs.spread[1]:.2f}).",
        f"- Of {len(costs.mistakes)} mistakes, {heard} change the loss by more than {HEARD:g}.",
        f"- {none} give NaN, or stop the model.",
        f"- {silent} cannot be heard. Exact checks find them, too.",
        "",
        "| step | mistake | loss | spread | what the model writes, or which check finds it |",
        "|---|---|---:|---|---|",
    ]
    ordered = sorted(costs.mistakes, key=lambda each: -(99.0 if each.loss is None else each.loss))
    return "\n".join([*lines, *(_row(each, costs.right) for each in ordered)]) + "\n"


def _row(cost: MistakeCost, right: float) -> str:
    if cost.loss is None or cost.spread is None:
        loss, spread, told = "none", "", cost.stops or "The loss is NaN."
    else:
        loss, spread = f"{cost.loss:.2f}", f"{cost.spread[0]:.2f} to {cost.spread[1]:.2f}"
        text = " ".join(cost.text.replace("`", "'").replace("|", " ").split())
        told = f"`{text}`" if cost.is_heard(right) else f"shown by: {cost.shown_by}"
    told = " ".join(told.replace("|", " ").split())
    return f"| `{cost.step}` | {cost.words} | {loss} | {spread} | {told} |"
