"""What is seen of a model while it is trained: its sharpest attention map, for one new input."""

from __future__ import annotations

import numpy as np

from autograder.training_tasks.attention_map import AttentionMap, attention_maps, sharpest
from autograder.training_tasks.digit_pictures import CLASSES, PATCH, SIDE, joined
from autograder.training_tasks.task_model import TaskModel
from autograder.training_tasks.training_result import Drawing
from autograder.training_tasks.training_task import Batch

_SEEN = 20_011  # the seed of the inputs; the first of them is looked at
_TOGETHER = 20
_BLANK = "·"


def drawings(model: TaskModel, seed: int) -> tuple[Drawing, ...]:
    """Return what the places that answer look at, in the map that is sharpest there.

    No drawing comes from a layer whose weights cannot be seen.
    """
    task = model.task
    batch = task.batch(_TOGETHER, np.random.default_rng(_SEEN + seed))
    maps = attention_maps(lambda: model(batch.inputs), model.layers, task.tokens, _TOGETHER)
    answering = slice(-task.answers, None) if task.answers > 1 else slice(0, 1)
    found = sharpest(maps, answering)
    if found is None:
        return ()
    rows = found.weights[answering]
    return (
        _of_digits(found, rows, batch) if task.answers > 1 else _of_picture(found, rows, batch),
    )


def _of_digits(found: AttentionMap, rows: np.ndarray, batch: Batch) -> Drawing:
    tokens = [_BLANK if each == CLASSES else str(each) for each in batch.inputs[0].tolist()]
    expected = (f"→ {each}" for each in batch.expected[0].tolist())
    title = f"where each answer looks, {_place(found)}"
    return Drawing(title, ("answer", "token"), tuple(expected), tuple(tokens), _numbers(rows))


def _of_picture(found: AttentionMap, rows: np.ndarray, batch: Batch) -> Drawing:
    across = SIDE // PATCH
    names = tuple(str(number) for number in range(across))
    weights = rows[0, 1:].reshape(across, across)
    title = f"where the class token looks, {_place(found)}"
    shows = f"the picture that it reads: a {int(batch.expected[0])}"
    ink = _numbers(joined(batch.inputs[0].numpy()))
    return Drawing(title, ("down", "across"), names, names, _numbers(weights), ink, shows)


def _place(found: AttentionMap) -> str:
    head = f", head {found.head}" if found.heads > 1 else ""
    return f"block {found.block}{head}"


def _numbers(weights: np.ndarray) -> tuple[tuple[float, ...], ...]:
    # Rounded, so that what is next to nothing looks like it.
    return tuple(tuple(round(float(each), 2) for each in row) for row in weights)
