"""A small language model writes one character after another, through a learner's layer."""

from __future__ import annotations

import io
import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from autograder.judging.inprocess import Unusable
from autograder.judging.value_words import shape_words
from autograder.values.exercise import MISTAKE_COSTS, generated
from autograder.values.files import read_small
from autograder.values.value_file import read_as

# A small language model that writes one character after another, in NumPy.
#
# Its attention is somebody's own layer: the model has the weights, and the layer does the work.
# The rest is that of GPT-2: embeddings and positions, blocks with layer norm before attention and
# before a feed-forward network, and the residual stream that both add to (Radford et al., 2019).

DIMENSION, CONTEXT, LAYERS = 48, 96, 4  # D, the longest S, and how many blocks there are
WEIGHTS = Path(__file__).with_name("weights.npz")
MOST_WEIGHT_BYTES = 300_000
_EPSILON = 1e-5

MakeLayer = Callable[[int, np.random.Generator], Any]


@dataclass(frozen=True)
class CharacterModel:
    """A trained model: its characters, its weights by name, and text that it has never seen.

    held_out: the numbers of characters.
    """

    characters: str
    weights: Mapping[str, np.ndarray]
    held_out: np.ndarray

    def layers(self, make: MakeLayer) -> list[Any]:
        """Return a layer for each block, made by `make(D, rng)`, with the weights of the model."""
        made = [make(DIMENSION, np.random.default_rng(0)) for _ in range(LAYERS)]
        for number, layer in enumerate(made):
            for name in ("query", "key", "value", "output"):
                setattr(layer, f"{name}_weights", self.weights[f"{number}.{name}"].copy())
        return made

    def logits(self, tokens: np.ndarray, layers: Sequence[Any]) -> np.ndarray:
        """Return the logits (B, S, V) of the character that follows each of `tokens` (B, S).

        Each of `layers` is asked for `forward(x, causal=True)`. Raises `Unusable`.
        """
        weights = self.weights
        x = weights["embeddings"][tokens] + weights["positions"][: tokens.shape[1]]
        for number, layer in enumerate(layers):
            gathered = layer.forward(self._norm(x, f"{number}.norm1"), causal=True)
            dtype = usable(gathered, np.ndarray, x.shape, "B S D").dtype
            if dtype.kind not in "fiub":
                raise Unusable(f"your layer gives an array of {dtype}, but numbers are expected.")
            x = x + gathered
            h = self._norm(x, f"{number}.norm2")
            up = np.maximum(h @ weights[f"{number}.up"] + weights[f"{number}.up_bias"], 0)
            x = x + up @ weights[f"{number}.down"] + weights[f"{number}.down_bias"]
        found: np.ndarray = self._norm(x, "last_norm") @ weights["embeddings"].T
        return found

    def numbers(self, text: str) -> list[int]:
        """Return the numbers of the characters of `text`; unknown ones are left out."""
        return [self.characters.index(each) for each in text if each in self.characters]

    def _norm(self, x: np.ndarray, name: str) -> np.ndarray:
        centered = x - x.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centered**2).mean(axis=-1, keepdims=True) + _EPSILON)
        scale, shift = self.weights[f"{name}_scale"], self.weights[f"{name}_shift"]
        normed: np.ndarray = centered / spread * scale + shift
        return normed


def usable(output: Any, kind: type, shape: Sequence[int], axes: str) -> Any:
    """Return what a layer gave; raise `Unusable` unless it is of this kind and shape."""
    expected, given = shape_words(tuple(shape), axes), getattr(output, "shape", ())
    if not isinstance(output, kind):
        name = type(output).__name__
        raise Unusable(f"your layer gives an object of type {name}, but {expected} is expected.")
    if given != shape:
        raise Unusable(f"your layer gives the shape {tuple(given)}, but {expected} is expected.")
    return output


@cache
def read_model(file: Path = WEIGHTS) -> CharacterModel:
    """Return the model whose weights are in `file`; raises `OSError` when there are none."""
    arrays = np.load(io.BytesIO(read_small(file, MOST_WEIGHT_BYTES)), allow_pickle=False)
    made = {name: arrays[name] for name in arrays.files}
    characters, held_out = "".join(made.pop("characters")), made.pop("held_out")
    weights = {name: each.astype(np.float32) for name, each in made.items()}
    return CharacterModel(characters, weights, held_out)


# What each known mistake costs a model: measured beforehand, beside the exercise.

MOST_COST_BYTES = 1 << 20
SHOWN = 3  # mistakes, where none was met


class MeasuredMistake(Protocol):
    """A known mistake in a step, of which it was measured what it costs."""

    @property
    def name(self) -> str:
        """The name of the mistake."""

    @property
    def step(self) -> str:
        """The name of the step."""


CostsOf = TypeVar("CostsOf")
OfMistake = TypeVar("OfMistake", bound=MeasuredMistake)


def read_measured(kind: type[CostsOf], folder: Path) -> CostsOf | None:
    """Return what was measured of the exercise in `folder`; None when it has no such file."""
    try:
        facts = json.loads(read_small(generated(folder, MISTAKE_COSTS), MOST_COST_BYTES))
    except FileNotFoundError:
        return None
    return read_as(kind, facts)


def mistakes_of(names: Iterable[str], measured: Iterable[OfMistake]) -> tuple[OfMistake, ...]:
    """Return the mistakes of these names, in their order; names without one are left out."""
    known = {each.name: each for each in measured}
    return tuple(known[name] for name in dict.fromkeys(names) if name in known)


def of_different_steps(ordered: Iterable[OfMistake]) -> tuple[OfMistake, ...]:
    """Return the first `SHOWN` mistakes of different steps."""
    first: dict[str, OfMistake] = {}
    for each in ordered:
        first.setdefault(each.step, each)
    return tuple(first.values())[:SHOWN]


# What each costs the character model.

HEARD = 0.05  # nats: a smaller difference is not noticed


@dataclass(frozen=True)
class MistakeCost:
    """A mistake in a step: the loss in nats with it, and the beginning of what is written.

    loss: of the model in the kit, on the text that `measured_loss` takes; None where it is NaN or
    the layer stops. spread: the lowest and the highest of all trainings; None where there is no
    loss. heard_in: so many trainings in which it is heard. stops: the error that ends it, or "".
    shown_by: the title of the first check that finds it.
    """

    name: str
    step: str
    words: str
    loss: float | None
    spread: tuple[float, float] | None
    heard_in: int
    text: str
    stops: str
    shown_by: str

    def is_heard(self, right: float) -> bool:
        """Whether the loss is another than the `right` one, or there is none."""
        return is_heard(self.loss, right)


@dataclass(frozen=True)
class MeasuredCosts:
    """The loss with right answers, and what each mistake of an exercise costs.

    trainings: so many models were measured, which differ in the seed of their training only.
    """

    right: float
    spread: tuple[float, float]
    trainings: int
    mistakes: tuple[MistakeCost, ...]

    @property
    def dearest(self) -> tuple[MistakeCost, ...]:
        """The mistakes with the highest loss, of different steps."""
        finite = [each for each in self.mistakes if each.loss is not None]
        return of_different_steps(sorted(finite, key=lambda each: -(each.loss or 0.0)))


def is_heard(loss: float | None, right: float) -> bool:
    """Whether a loss is another than the `right` one of the same model, or there is none."""
    return loss is None or abs(loss - right) > HEARD


def read_costs(folder: Path) -> MeasuredCosts | None:
    """Return what mistakes cost the character model, if that was measured of the exercise."""
    return read_measured(MeasuredCosts, folder)


# What the character model writes through a layer, and how well it knows text that is new to it.

PROMPT = "JULIET:\nO "
LENGTH = 300  # characters that it writes
WITHOUT = 100  # characters that it writes with plain averaging
# Bounds for layers with loops of their own, which write less; the others are done long before.
SECONDS, LOSS_SECONDS = 10.0, 8.0
TEMPERATURE = 0.6
WINDOWS, TOGETHER = 16, 4  # windows of the text that is held out, and how many at once


class PlainAverage:
    """What a layer would be without attention: every token takes as much of each that it sees."""

    value_weights: np.ndarray
    output_weights: np.ndarray

    def __init__(self, embedding_dimension: int, rng: np.random.Generator) -> None:
        pass

    def forward(self, x: np.ndarray, causal: bool = False) -> np.ndarray:
        """Return the averages (B, S, D) of the values of x (B, S, D), projected."""
        length = len(x[0])
        seen = np.tri(length) if causal else np.full((length, length), 1.0)
        averages = seen / seen.sum(axis=-1, keepdims=True) @ (x @ self.value_weights)
        found: np.ndarray = averages @ self.output_weights
        return found


@dataclass(frozen=True)
class TextLoss:
    """The mean loss in nats a character, over so many characters; not finite when it is NaN."""

    nats: float
    characters: int


def written(
    make: MakeLayer,
    prompt: str = PROMPT,
    *,
    length: int = LENGTH,
    seconds: float = SECONDS,
    model: CharacterModel | None = None,
) -> Iterator[str]:
    """Yield the characters that the model writes after `prompt`, through layers made by `make`.

    It stops after `length` characters or so many `seconds`, and draws each from the shares of all,
    always with the same numbers. Raises `Unusable`, also when the layer gives NaN, and whatever the
    layer raises.
    """
    model = model or read_model()
    layers, rng = model.layers(make), np.random.default_rng(0)
    tokens, end = model.numbers(prompt) or [0], time.monotonic() + seconds
    for _ in range(length):
        logits = model.logits(np.array(tokens[-CONTEXT:])[np.newaxis], layers)[0, -1]
        if not np.isfinite(logits).all():
            raise Unusable("your layer gives numbers that are NaN or infinite.")
        # The largest sum is drawn as often as its share says (Gumbel, 1954).
        tokens.append(int(np.argmax(logits / TEMPERATURE + rng.gumbel(size=logits.size))))
        yield model.characters[tokens[-1]]
        if time.monotonic() > end:
            return


def measured_loss(
    make: MakeLayer,
    *,
    seconds: float = LOSS_SECONDS,
    model: CharacterModel | None = None,
    seed: int = 0,
) -> TextLoss:
    """Return the loss on text that the model has never seen, with layers made by `make`.

    The windows are drawn from `seed`; when the time is over, those that are left are not looked at.
    Raises as `written` does, but a loss that is NaN is returned.
    """
    model = model or read_model()
    layers, rng = model.layers(make), np.random.default_rng(seed)
    starts = rng.integers(0, len(model.held_out) - CONTEXT, WINDOWS)
    windows = np.stack([model.held_out[start : start + CONTEXT + 1] for start in starts])
    found, end = list[np.ndarray](), time.monotonic() + seconds
    for part in _parts(windows):
        logits = model.logits(part[:, :-1], layers).astype(float)
        right = np.take_along_axis(logits, part[:, 1:, np.newaxis], axis=-1)[..., 0]
        found.append((np.logaddexp.reduce(logits, axis=-1) - right).ravel())
        if time.monotonic() > end:
            break
    losses = np.concatenate(found)
    return TextLoss(float(losses.mean()), losses.size)


def _parts(windows: np.ndarray) -> Sequence[Any]:
    return [windows[start : start + TOGETHER] for start in range(0, len(windows), TOGETHER)]


# What is said when a learner's layer speaks: before, after, and about mistakes.

BEFORE = (
    f"Your layer is now the attention of a small language model: {LAYERS} blocks, trained on plays "
    "by Shakespeare. It writes one character after the other. Each is drawn from the shares that "
    "the model gives to all characters."
)
WITHOUT_LAYER = (
    "First without it. In its place, every character takes the plain average of all before it, and "
    "the model writes:"
)
WITH_LAYER = "And now with your layer, where each character takes what it needs:"
MET = "Of the mistakes that you met, put back into the same model for a moment:"
OTHERS = "You met no mistake that has a name here. This is what three of them would have cost:"


def loss_words(loss: TextLoss) -> str:
    """Return what the loss says."""
    share, guess = 100 * math.exp(-loss.nats), math.log(len(read_model().characters))
    before = measured_loss(PlainAverage).nats
    return (
        f"On {loss.characters:,} characters that are new to it, its loss is {loss.nats:.2f} nats a "
        f"character: the one that really follows gets a share of about {share:.0f} %. With plain "
        f"averages it is {before:.2f}, and who only guesses has {guess:.2f}. The difference is "
        "what attention is for: a token takes from those that matter to it."
    )


def spoken_mistake_words(
    costs: MeasuredCosts | None, met: Iterable[str], *, others: bool = False
) -> Iterator[tuple[str, ...]]:
    """Yield paragraphs about the last mistake that was `met`, as lines.

    If `others` are asked for, about all that were met, and where none was, about the dearest.
    """
    found = mistakes_of(met, costs.mistakes) if costs else ()
    if costs is None or not (found or others):
        return
    measured = (
        f"The losses here are measured on {WINDOWS * CONTEXT:,} characters. There, a right layer "
        f"has a loss of {costs.right:.2f}."
    )
    yield (MET if found else OTHERS, measured)
    for cost in (found if others else found[-1:]) or costs.dearest:
        yield (f"“{cost.words}”", *_cost_lines(cost, costs.right))


def _cost_lines(cost: MistakeCost, right: float) -> tuple[str, ...]:
    if cost.stops:
        return (f"The model stops: {cost.stops}",)
    if cost.loss is None:
        return ("The loss is NaN, and the model writes nothing.",)
    if not cost.is_heard(right):
        return (
            f"The loss stays at {cost.loss:.2f}: nobody can hear it. That is why there are exact "
            f"checks. One that finds it: {cost.shown_by}.",
        )
    better = " It looks better, and it is wrong." if cost.loss < right else ""
    lines = (f"  {line}" for line in cost.text.splitlines() if line.strip())
    return (f"The loss is {cost.loss:.2f} in place of {right:.2f}.{better} It writes:", *lines)
