"""Models that were trained like the one in the kit, with other seeds."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from autograder.errors import KitError
from autograder.language_model.character_model import CharacterModel, read_model

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
