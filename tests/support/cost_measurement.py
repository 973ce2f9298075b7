"""Puts every known mistake of an exercise into the character model, and measures what it costs.

`make costs` runs it. It writes the costs beside the exercise, and the page about them.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from autograder.authoring.harness import Harness, read_harness
from autograder.checks.marks import title_of
from autograder.checks.reference import Misconception
from autograder.errors import KitError
from autograder.judging.inprocess import Unusable
from autograder.play.language_model import (
    HEARD,
    CharacterModel,
    MeasuredCosts,
    MistakeCost,
    is_heard,
    measured_loss,
    read_model,
    written,
)
from autograder.values.exercise import MISTAKE_COSTS, generated, read_exercise
from autograder.values.files import write_whole

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "solutions" / "numpy_single_head"  # whose class is the model's attention
DOCUMENT = ROOT / "docs" / "mistake-costs.md"
LENGTH = 60  # characters that are kept of what a mistake writes
_AMPLE = 3600.0  # seconds: nothing is cut here


def measured_costs(folder: Path, others: Sequence[CharacterModel] = ()) -> MeasuredCosts:
    """Return what each known mistake of the exercise in `folder` costs the model in the kit.

    The spread is over this model and the `others`.
    """
    harness = read_harness(folder)
    layer, models = harness.reference.exercise.speaker, (read_model(), *others)
    right = [_loss(getattr(harness.module, layer), model) for model in models]
    pairs = list(zip(models, right))
    found = tuple(_cost(harness, known, layer, pairs) for known in harness.reference.misconceptions)
    return MeasuredCosts(round(right[0], 3), _spread(right), len(models), found)


def _cost(
    harness: Harness,
    known: Misconception,
    layer: str,
    models: Sequence[tuple[CharacterModel, float]],
) -> MistakeCost:
    with harness.replaced({known.step: known.wrong}) as module, np.errstate(all="ignore"):
        shown_by = _shown_by(harness, known.step)
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
        loss = _loss(make, model)
        if not math.isfinite(loss):
            return _Heard(None)
        pieces = written(make, length=LENGTH, seconds=_AMPLE, model=model)
        return _Heard(round(loss, 3), "".join(pieces))
    except Unusable as error:
        return _Heard(None, stops=str(error))
    except Exception as error:  # whatever the mistake leads to
        return _Heard(None, stops=f"{type(error).__name__}: {error}")


def _loss(make: Any, model: CharacterModel) -> float:
    return measured_loss(make, seconds=_AMPLE, model=model).nats


def _spread(losses: Sequence[float]) -> tuple[float, float]:
    return round(min(losses), 3), round(max(losses), 3)


def _shown_by(harness: Harness, step: str) -> str:
    """Return the title of the first check of a step that finds something wrong."""
    seen = harness.run_step(step)
    return next((title_of(check) for check, result in seen.items() if result.finding), "")


# The table of all mistakes of an exercise and what they cost, in Markdown.

REPEAT = """\
To repeat it, train the other models on the same text, the plays known as tiny Shakespeare (1.1 MB,
in the public domain). Each takes about four minutes on one core:

```
make costs TEXT=shakespeare.txt
```
"""


def costs_document(title: str, costs: MeasuredCosts) -> str:
    """Return the table of all mistakes and their costs, in Markdown."""
    every = [each.heard_in == costs.trainings for each in costs.mistakes if each.loss is not None]
    none = sum(each.loss is None for each in costs.mistakes)
    silent = sum(each.heard_in == 0 for each in costs.mistakes)
    some = len(costs.mistakes) - none - silent - sum(every)
    lines = [
        f"# What each mistake costs: {title}",
        "",
        "`make costs` writes this page. A small language model, trained with right attention,",
        "gets each known mistake in turn. The loss is in nats a character, on text that is new to",
        "it, as `attn play` measures it with the model in the kit. The spread goes from the lowest",
        f"to the highest of {costs.trainings} trainings, whose seeds differ. A mistake is heard in",
        "a training if its loss differs from the right one of that training by more than",
        f"{HEARD:g}.",
        "",
        f"- Right: {costs.right:.2f} ({costs.spread[0]:.2f} to {costs.spread[1]:.2f}).",
        f"- Of {len(costs.mistakes)} mistakes, {sum(every)} are heard in every training.",
        f"- {none} give NaN, or stop the model.",
        f"- {some} are heard in some trainings, and not in others.",
        f"- {silent} cannot be heard in any. Exact checks find them, too.",
        "",
        *REPEAT.splitlines(),
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


# Models that were trained like the one in the kit, with other seeds.

UNREADABLE = (OSError, ValueError, KeyError, KitError, zipfile.BadZipFile)
TRAIN = "python -m demo.train_character_model TEXT FILE --seed NUMBER"


def read_trainings(files: Iterable[Path]) -> tuple[CharacterModel, ...]:
    """Return the models whose weights are in `files`.

    Raises `KitError` for a file that holds no weights, another text, or a training twice.
    """
    found: list[CharacterModel] = []
    for file in files:
        model = _read(file)
        own = read_model()
        if model.characters != own.characters or not np.array_equal(model.held_out, own.held_out):
            raise KitError(
                "this model was trained on another text than the one in the kit",
                place=str(file),
                cure="train all of them on the same text",
            )
        if any(_same(model, known) for known in (own, *found)):
            raise KitError(
                "this training was measured already, so it would add nothing to the spread",
                place=str(file),
                cure=f"train it with another seed: {TRAIN}",
            )
        found.append(model)
    return tuple(found)


def _read(file: Path) -> CharacterModel:
    try:
        return read_model(file)
    except UNREADABLE as error:
        raise KitError(
            f"this file holds no weights of a character model ({error})",
            place=str(file),
            cure=f"make it: {TRAIN}",
        ) from None


def _same(one: CharacterModel, other: CharacterModel) -> bool:
    return np.array_equal(one.weights["embeddings"], other.weights["embeddings"])


def written_costs(costs: MeasuredCosts) -> str:
    """Return the text of the file."""
    return json.dumps(asdict(costs), indent=1, ensure_ascii=False) + "\n"


def main(words: list[str] | None = None) -> None:
    """Measure the costs, and write them beside the exercise and into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path, nargs="*", help="models of other trainings")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="of the exercise")
    parser.add_argument("--document", type=Path, default=DOCUMENT, help="the page to write")
    given: Any = parser.parse_args(words)
    found = measured_costs(given.folder, read_trainings(given.weights))
    write_whole(generated(given.folder, MISTAKE_COSTS), written_costs(found))
    write_whole(given.document, costs_document(read_exercise(given.folder).title, found))
    print(f"{given.folder.name}: {len(found.mistakes)} mistakes, right {found.right:.2f} nats")


if __name__ == "__main__":
    try:
        main()
    except KitError as error:
        sys.exit(f"error: {error}")
