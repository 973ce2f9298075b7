"""Trains a model whose attention is somebody's own layer, and tries it on new inputs."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from autograder.training_tasks.digit_pictures import CLASSES
from autograder.training_tasks.task_drawing import drawings
from autograder.training_tasks.task_model import LayerOfWidth, TaskModel
from autograder.training_tasks.training_result import (
    COUNT,
    MOMENTS,
    Moment,
    TrainingResult,
    TriedInput,
)
from autograder.training_tasks.training_task import GIVEN, Batch, TrainingTask

_TOGETHER = 50  # inputs in a step
_RATE, _LONGEST_STEP = 5e-3, 1.0  # the highest learning rate, and the longest gradient
_NEW = 1_000_003  # new inputs are drawn from another seed than those that are trained on
_SHOWN = 3  # inputs that are shown with what came


def trained(
    task: TrainingTask,
    make: LayerOfWidth,
    *,
    causal: bool,
    seed: int = 0,
    steps: int | None = None,
    seconds: float | None = None,
    looking: bool = True,
) -> Iterator[Moment | TrainingResult]:
    """Train a model on `task` with layers made by `make(C)`; yield moments, and last the result.

    causal: whether the layers are called with causal=True. steps, seconds: those of the task, if
    not given.
    looking: whether moments have drawings. A loss that is NaN ends it. Raises `Unusable` and
    whatever the layer raises.
    """
    with _alone(seed):
        model, rng = TaskModel(task, make, causal=causal), np.random.default_rng(seed)
        most, end_time = steps or task.steps, time.monotonic() + (seconds or task.seconds)
        began, done = time.monotonic(), 0
        optimizer = torch.optim.AdamW(model.parameters(), _RATE)
        rates = torch.optim.lr_scheduler.OneCycleLR(optimizer, _RATE, total_steps=most + 1)
        for end in (most * number // MOMENTS for number in range(MOMENTS + 1)):
            while done < end and time.monotonic() < end_time:
                loss = _changed(model, task.batch(_TOGETHER, rng), optimizer)
                rates.step()
                done += 1
                if not math.isfinite(loss):
                    break
            yield Moment(done, _loss_now(model), drawings(model, seed) if looking else ())
            if done < end:
                break
        yield _tried(model, seed, (done, most), time.monotonic() - began)


def call_once(task: TrainingTask, make: LayerOfWidth, *, causal: bool) -> None:
    """Call a layer once as in a training; raise what that raises."""
    with _alone(0), torch.no_grad():
        TaskModel(task, make, causal=causal)(task.batch(2, np.random.default_rng(0)).inputs)


def _loss(logits: Tensor, batch: Batch) -> Tensor:
    """Return the mean loss in nats an answer, a tensor (), of logits (B, A, classes)."""
    return nn.functional.cross_entropy(logits.flatten(end_dim=1), batch.expected.flatten())


def _loss_now(model: TaskModel) -> float:
    with torch.no_grad():
        batch = model.task.batch(_TOGETHER, np.random.default_rng(_NEW))
        return float(_loss(model(batch.inputs), batch))


def _changed(model: TaskModel, batch: Batch, optimizer: torch.optim.Optimizer) -> float:
    """Change the model by one step; return the loss before it."""
    model.train()
    loss = _loss(model(batch.inputs), batch)
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_(model.parameters(), _LONGEST_STEP)
    optimizer.step()
    return float(loss.detach())


def _tried(model: TaskModel, seed: int, steps: tuple[int, int], seconds: float) -> TrainingResult:
    """Return how the model does with new inputs, after so many steps of so many."""
    model.eval()
    with torch.no_grad():
        batch = model.task.batch(COUNT, np.random.default_rng(_NEW + seed + 1))
        logits = model(batch.inputs)
        loss = _loss(logits, batch)
        told = logits.argmax(dim=-1)
        came = _written(model, batch.inputs[:, :GIVEN]) if model.task.writes else told
    tried = [
        TriedInput(_digits(given[:GIVEN]), _digits(expected), _digits(answer))
        for given, expected, answer in zip(batch.inputs[:_SHOWN], batch.expected, came)
    ]
    return TrainingResult(
        model.task.name,
        float(loss),
        int((came == batch.expected).all(dim=1).sum()),
        int((told == batch.expected).all(dim=1).sum()),
        *steps,
        seconds,
        tuple(tried),
    )


def _written(model: TaskModel, given: Tensor) -> Tensor:
    """Return what the model writes after the given digits (B, GIVEN), the likeliest each time."""
    blank = torch.full_like(given[:, :1], CLASSES)
    tokens = torch.cat([given, blank], dim=1)
    for _ in range(GIVEN):
        following = model(tokens)[:, -1:].argmax(dim=-1)
        tokens = torch.cat([tokens, following], dim=1)
    return tokens[:, GIVEN + 1 :]


def _digits(tokens: Tensor) -> str:
    """Return digits (n,) as words are spaced; a picture's patches are none."""
    return " ".join(str(int(each)) for each in tokens) if not tokens.is_floating_point() else ""


@contextmanager
def _alone(seed: int) -> Iterator[None]:
    """Draw from `seed`, on one thread, with gradients; put all that back afterwards.

    So small a model is faster on one thread, and its numbers are then the same everywhere else.
    """
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    gradients = torch.is_grad_enabled()
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    torch.set_grad_enabled(True)
    try:
        yield
    finally:
        torch.set_rng_state(state)
        torch.set_num_threads(threads)
        torch.set_grad_enabled(gradients)
