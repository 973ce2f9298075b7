"""Trains a model whose attention is somebody's own layer on a task, and tries it on new inputs."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode

from autograder.errors import KitError
from autograder.judging.inprocess import Unusable
from autograder.play.language_model import usable
from autograder.play.training_words import (
    CLASSES,
    COUNT,
    MOMENTS,
    PATCH,
    PATCHES,
    SIDE,
    Drawing,
    Moment,
    TrainingResult,
    TriedInput,
)

# What a model learns: the data of a task, and how its input becomes token vectors.
#
# Digits are repeated or sorted by a model that reads (blanks wait for the answer), or written one
# after the other by a model that writes. Or a picture is read, and the digit that it shows is
# named.

# Pictures of digits, drawn from a seed: glyphs of 5 by 7, turned, stretched, moved and noisy.

_NOISE, _TURN, _STRETCH, _MOVE = 0.15, 0.2, 0.15, 1.0
_GLYPHS = """
.###. ..#.. .###. ####. ...#. ##### .###. ##### .###. .###.
#...# .##.. #...# ....# ..##. #.... #.... ....# #...# #...#
#..## ..#.. ....# ....# .#.#. ####. #.... ...#. #...# #...#
#.#.# ..#.. ...#. .###. #..#. ....# ####. ..#.. .###. .####
##..# ..#.. ..#.. ....# ##### ....# #...# ..#.. #...# ....#
#...# ..#.. .#... ....# ...#. #...# #...# .#... #...# ....#
.###. .###. ##### ####. ...#. .###. .###. .#... .###. .###.
"""


def glyphs() -> np.ndarray:
    """Return the ten digits (10, 7, 5): 1 where there is ink, and else 0."""
    rows = [line.split() for line in _GLYPHS.split("\n") if line]
    return np.array([[[c == "#" for c in row[digit]] for row in rows] for digit in range(CLASSES)])


def drawn_digits(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return pictures (count, SIDE, SIDE), about 0 to 1, and the digits (count,) that they show."""
    digits = rng.integers(0, CLASSES, count)
    pixels = np.arange(SIDE) - (SIDE - 1) / 2
    y, x = np.meshgrid(pixels, pixels, indexing="ij")
    turn = rng.uniform(-_TURN, _TURN, count)[:, np.newaxis, np.newaxis]
    stretch = rng.uniform(1 - _STRETCH, 1 + _STRETCH, (2, count, 1, 1))
    move = rng.uniform(-_MOVE, _MOVE, (2, count, 1, 1))
    down = ((y - move[0]) * np.cos(turn) - (x - move[1]) * np.sin(turn)) * stretch[0] + 3
    right = ((y - move[0]) * np.sin(turn) + (x - move[1]) * np.cos(turn)) * stretch[1] + 2
    pictures = _ink(digits[:, np.newaxis, np.newaxis], down, right)
    return (pictures + rng.normal(0, _NOISE, pictures.shape)).astype(np.float32), digits


def patches_of(pictures: np.ndarray) -> np.ndarray:
    """Return the patches (B, PATCHES, PATCH * PATCH) of pictures (B, SIDE, SIDE), row by row."""
    across = SIDE // PATCH
    cut = pictures.reshape(-1, across, PATCH, across, PATCH).transpose(0, 1, 3, 2, 4)
    return cut.reshape(-1, PATCHES, PATCH * PATCH)


def joined(patches: np.ndarray) -> np.ndarray:
    """Return the picture (SIDE, SIDE) of which these are the patches (PATCHES, PATCH * PATCH)."""
    across = SIDE // PATCH
    return patches.reshape(across, across, PATCH, PATCH).transpose(0, 2, 1, 3).reshape(SIDE, SIDE)


def _ink(digits: np.ndarray, down: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return how much ink there is between the pixels of the glyphs, by bilinear interpolation."""
    padded = np.pad(glyphs().astype(np.float32), ((0, 0), (1, 1), (1, 1)))
    height, width = padded.shape[1:]
    down, right = np.clip(down + 1, 0, height - 1.001), np.clip(right + 1, 0, width - 1.001)
    top, left = down.astype(int), right.astype(int)
    below, beside = down - top, right - left
    found: np.ndarray = (
        padded[digits, top, left] * (1 - below) * (1 - beside)
        + padded[digits, top + 1, left] * below * (1 - beside)
        + padded[digits, top, left + 1] * (1 - below) * beside
        + padded[digits, top + 1, left + 1] * below * beside
    )
    return found


GIVEN = 6  # digits that are given, and as many that are expected
BLANK = CLASSES  # the token that stands where an answer is expected, or before it
SPREAD = 0.1  # of what is learned of a place, at first


@dataclass(frozen=True)
class Batch:
    """Inputs of a model, and the classes (B, A) that are expected of it."""

    inputs: Tensor
    expected: Tensor


class TrainingTask(ABC):
    """One task.

    steps: how often the model is changed. seconds: the most time for that; with a slow layer, there
    are fewer steps. tokens: S. answers: A. writes: whether one digit is written after the other.
    """

    name: str
    steps: int
    seconds: float
    tokens: int
    answers: int
    writes = False

    @abstractmethod
    def batch(self, count: int, rng: np.random.Generator) -> Batch:
        """Return `count` new inputs and what is expected."""

    @abstractmethod
    def embedding(self, width: int) -> nn.Module:
        """Return a layer that makes token vectors (B, S, C) of inputs."""

    @abstractmethod
    def answering(self, x: Tensor) -> Tensor:
        """Return those of the token vectors (B, S, C) that hold the answer: (B, A, C)."""


class DigitsTask(TrainingTask):
    """Six digits are given; they are expected again, in the same order or sorted."""

    seconds, tokens, answers = 18.0, 2 * GIVEN, GIVEN

    def __init__(self, name: str, steps: int, *, sorts: bool, writes: bool) -> None:
        self.name, self.steps, self.sorts, self.writes = name, steps, sorts, writes

    def batch(self, count: int, rng: np.random.Generator) -> Batch:
        """Return digits (B, S): those given and blanks, or a blank and the beginning of the answer.

        A model that writes reads the answer while it is trained, each digit one place late.
        """
        given = torch.from_numpy(rng.integers(0, CLASSES, (count, GIVEN)))
        expected = given.sort(dim=1).values if self.sorts else given
        blanks = torch.full_like(given, BLANK)
        after = torch.cat([blanks[:, :1], expected[:, :-1]], dim=1) if self.writes else blanks
        return Batch(torch.cat([given, after], dim=1), expected)

    def embedding(self, width: int) -> nn.Module:
        """Return a vector for each digit and for the blank."""
        return nn.Embedding(CLASSES + 1, width)

    def answering(self, x: Tensor) -> Tensor:
        """Return the places after the given digits."""
        return x[:, GIVEN:]


class PicturesTask(TrainingTask):
    """A picture of a digit is given in patches; a class token in front says which digit it is."""

    name, steps, seconds, tokens, answers = "digits", 700, 50.0, PATCHES + 1, 1

    def batch(self, count: int, rng: np.random.Generator) -> Batch:
        """Return patches (B, N - 1, pixels), and digits (B, 1)."""
        pictures, digits = drawn_digits(count, rng)
        expected = torch.from_numpy(digits)[:, np.newaxis]
        return Batch(torch.from_numpy(patches_of(pictures)), expected)

    def embedding(self, width: int) -> nn.Module:
        """Return a linear layer for the patches, with a class token in front of them."""
        return _PatchEmbedding(width)

    def answering(self, x: Tensor) -> Tensor:
        """Return the class token."""
        return x[:, :1]


class _PatchEmbedding(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.of_patches = nn.Linear(PATCH * PATCH, width)
        self.class_token = nn.Parameter(torch.randn(1, 1, width) * SPREAD)

    def forward(self, patches: Tensor) -> Tensor:
        """Return token vectors (B, N, D) of patches (B, N - 1, pixels)."""
        first = self.class_token.expand(len(patches), -1, -1)
        return torch.cat([first, self.of_patches(patches)], dim=1)


TASKS: dict[str, TrainingTask] = {
    each.name: each
    for each in (
        DigitsTask("repeat", 300, sorts=False, writes=False),
        DigitsTask("sort", 300, sorts=True, writes=False),
        DigitsTask("write", 400, sorts=True, writes=True),
        PicturesTask(),
    )
}


def task_named(name: str) -> TrainingTask:
    """Return a task; the `KitError` for an unknown name lists them."""
    if name not in TASKS:
        raise KitError(
            f"there is no task {name!r} to train a layer on",
            place="the call of train, or trainings in exercise.toml",
            cure=f"use one of: {', '.join(TASKS)}",
        )
    return TASKS[name]


# Which attention weights a layer uses, seen from outside while it computes.
#
# A layer gives token vectors and no weights. But whichever way it is written, PyTorch multiplies
# the values by the weights in the end, in one product of matrices. Its first factor has a row and
# a column for each token, and is recorded here.


@dataclass(frozen=True, eq=False)
class AttentionMap:
    """The weights of one head for one input: weights (S, S), of a block and a head."""

    weights: np.ndarray
    block: int
    head: int
    heads: int


class _Products(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Records the first factor of each product of matrices that is square with `tokens` rows."""

    def __init__(self, tokens: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.tokens = tokens
        self.found: list[Tensor] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is torch.ops.aten.bmm.default:
            rows, columns = args[0].shape[-2:]
            if rows == columns == self.tokens:
                self.found.append(args[0].detach().clone())
        return func(*args, **(kwargs or {}))


def attention_maps(
    compute: Callable[[], Any], layers: list[nn.Module], tokens: int, count: int
) -> list[AttentionMap]:
    """Return the maps of the first of `count` inputs, that `compute` sends through `layers`.

    A layer that multiplies no values by weights of (S, S) has none, nor has one that takes its
    inputs one by one.
    """
    found: list[AttentionMap] = []
    products = _Products(tokens)
    with (
        torch.no_grad(),
        sdpa_kernel([SDPBackend.MATH]),
        products,
        _noted(layers, products, found, count),
    ):
        compute()
    return found


@contextmanager
def _noted(
    layers: list[nn.Module], products: _Products, found: list[AttentionMap], count: int
) -> Iterator[None]:
    """After each layer, turn the products that it made into maps."""

    def note(block: int) -> Callable[..., None]:
        def after(*_: Any) -> None:
            heads = [each for product in products.found for each in _heads(product, count)]
            products.found.clear()
            found.extend(
                AttentionMap(each.numpy().astype(float), block, head, len(heads))
                for head, each in enumerate(heads)
            )

        return after

    handles = [layer.register_forward_hook(note(block)) for block, layer in enumerate(layers)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _heads(product: Tensor, count: int) -> list[Tensor]:
    """Return the (S, S) of each head for the first input, of a product (count * heads, S, S)."""
    whole = product.ndim == 3 and product.shape[0] % count == 0
    return list(product[: product.shape[0] // count]) if whole else []


def sharpest(maps: list[AttentionMap], rows: slice) -> AttentionMap | None:
    """Return the map whose `rows` put the largest shares on single tokens; None without maps."""
    return max(maps, key=lambda each: float(each.weights[rows].max(axis=-1).mean()), default=None)


# The model around somebody's layer: a Transformer of two blocks, as small as a task allows.
#
# Layer norm stands before attention and before the feed-forward network, as in GPT-2 and in the
# Vision Transformer (Radford et al., 2019; Dosovitskiy et al., 2020).

WIDTH = 42  # C; a quarter, a half or a third of it is no other size of a task
BLOCKS = 2

LayerOfWidth = Callable[[int], Any]


class TaskModel(nn.Module):
    """A model for `task`, with layers made by `make(C)`; with `causal`, they get causal=True.

    Raises `Unusable` for what is no layer of PyTorch, and whatever `make` raises.
    """

    def __init__(self, task: TrainingTask, make: LayerOfWidth, *, causal: bool) -> None:
        super().__init__()
        self.task = task
        self.embedding = task.embedding(WIDTH)
        self.positions = nn.Parameter(torch.randn(task.tokens, WIDTH) * SPREAD)
        self.blocks = nn.ModuleList(_Block(_layer(make), causal) for _ in range(BLOCKS))
        self.norm = nn.LayerNorm(WIDTH)
        self.to_classes = nn.Linear(WIDTH, CLASSES)

    @property
    def layers(self) -> list[nn.Module]:
        """The layer of each block."""
        return [block.get_submodule("layer") for block in self.blocks]

    def forward(self, inputs: Tensor) -> Tensor:
        """Return logits (B, A, classes); for what is not written to its end, of what is there."""
        embedded = self.embedding(inputs)
        x = embedded + self.positions[: len(embedded[0])]
        for block in self.blocks:
            x = block(x)
        logits: Tensor = self.to_classes(self.norm(self.task.answering(x)))
        return logits


class _Block(nn.Module):
    def __init__(self, layer: nn.Module, causal: bool) -> None:
        super().__init__()
        self.layer = layer
        self.options = {"causal": True} if causal else {}
        self.before_layer, self.before_network = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.network = nn.Sequential(
            nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return token vectors (B, S, C) with what the layer and the network add to `x`."""
        gathered = usable(
            self.layer(self.before_layer(x), **self.options), Tensor, x.shape, "B S C"
        )
        if not gathered.is_floating_point():
            kind = f"your layer gives {gathered.dtype}"
            raise Unusable(f"{kind}, but floating-point numbers are expected.")
        x = x + gathered
        added: Tensor = self.network(self.before_network(x))
        return x + added


def _layer(make: LayerOfWidth) -> nn.Module:
    made = make(WIDTH)
    if not isinstance(made, nn.Module):
        kind = type(made).__name__
        raise Unusable(f"an object of type {kind} came, but a layer (nn.Module) is expected.")
    return made


# What is seen of a model while it is trained: its sharpest attention map, for one new input.

_SEEN = 20_011  # the seed of the inputs; the first of them is looked at
_SEEN_TOGETHER = 20
_BLANK = "·"


def drawings(model: TaskModel, seed: int) -> tuple[Drawing, ...]:
    """Return what the places that answer look at, in the map that is sharpest there.

    No drawing comes from a layer whose weights cannot be seen.
    """
    task = model.task
    batch = task.batch(_SEEN_TOGETHER, np.random.default_rng(_SEEN + seed))
    maps = attention_maps(lambda: model(batch.inputs), model.layers, task.tokens, _SEEN_TOGETHER)
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
