"""The last cells of a notebook: pictures of the learner's layer, and PyTorch's beside it.

These cells are not steps and earn no points, so they never raise. If a step is not written
yet, one sentence says which. They do not compute attention themselves: a picture shows what
the learner's layer gives, and the comparison calls PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from autograder.judging.compare import agree
from autograder.judging.inprocess import layer_error_words, undisturbed
from autograder.judging.time_limit import StillRunning
from autograder.judging.value_words import shape_words
from autograder.learning.card import display, say, show_text
from autograder.learning.notebook_check import limited
from autograder.reports.picture import Panel, panel, render_panels, text_lines

ROW_SUM_TOLERANCE = 1e-3
SHOWN_TOLERANCE = 1e-3  # of numbers that are shown with two places
SECONDS = 10.0  # of processor time, for the call of a layer


class NotYet(Exception):
    """There is nothing to show yet; the text says why, in one sentence."""


def show_attention(weights: Callable[[], Mapping[str, Any]], tokens: Sequence[str]) -> None:
    """Draw attention weights as heat maps with tokens on both axes.

    weights: returns arrays or tensors by title, each (query, key) with an entry per token.
    """
    with _or_why("No picture"):
        found = _asked(weights)
        _display([_drawn(title, array, tokens) for title, array in found.items()])


def show_example(call: Callable[[], Mapping[str, Any]], *, seen_in: str) -> None:
    """Say what the learner's layer makes of a token that was followed by hand, and where it looks.

    call: sends the example through the layer and returns `output`, an array or tensor
    (tokens, numbers); `tokens`, their names, and `token`, the one that was followed; if it was
    followed to the end, `by_hand`, where every step was rounded, and `exact`, where none was.
    seen_in: the name of the step that gives the weights. What it returns while the layer computes
    is drawn, a heat map for each head of the first sequence.
    """
    found: list[Any] = []
    with _or_why("No picture"):
        with _noted(call, seen_in, found):
            given = _asked(call)
        say(_example_words(given))
        if found:
            _display(_drawn_heads(_array(found[-1]), tuple(given["tokens"])))
            return
        say(
            f"No picture can be drawn of where it looks: your layer does not call `{seen_in}`. "
            "Let it get its attention weights from that function, and the picture comes."
        )


def show_numbers(columns: Callable[[], Mapping[str, Any]]) -> None:
    """Print numbers that the learner's code gives as a table.

    columns: returns arrays or tensors of one axis by title, all of the same length.
    """
    with _or_why("No numbers"):
        found = {title: _array(each) for title, each in _asked(columns).items()}
        if len({array.shape for array in found.values()}) > 1:
            shapes = ", ".join(str(array.shape) for array in found.values())
            raise NotYet(f"the columns have different shapes: {shapes}.")
        shape = next(iter(found.values())).shape
        if len(shape) != 1:
            raise NotYet(f"a column has the shape {shape}, but one axis is expected.")
        cells = [[title, *(f"{number:.4g}" for number in found[title])] for title in found]
        widths = [max(map(len, column)) for column in cells]
        rows = ("  ".join(map(str.rjust, row, widths)) for row in zip(*cells))
        show_text("\n".join(rows), is_table=True)


def compare_with_library(both: Callable[[], tuple[Any, Any]], library: str) -> None:
    """Print the largest difference between the learner's output and the library's.

    both: returns the two, arrays or tensors of the same shape. library: the name of the library.
    """
    with _or_why("No comparison"):
        try:
            yours, theirs = (_array(each) for each in _asked(both))
        except ModuleNotFoundError:
            say(
                f"PyTorch is not installed here, so your layer is not compared with {library}. "
                "Nothing else needs PyTorch: the checks above compare your layer with known "
                "results."
            )
            return
        if yours.shape != theirs.shape:
            expected = shape_words(theirs.shape, None)
            raise NotYet(
                f"your layer gives the shape {yours.shape}, but {library} gives {expected}."
            )
        with np.errstate(all="ignore"):
            largest = float(np.abs(yours - theirs).max())
        same = bool(agree(yours, theirs).all())
        say(
            f"The largest difference between your output and that of {library} is {largest:.1e}, "
            f"over {yours.size} numbers of about {np.abs(theirs).mean():.1g} in size: "
            + ("equal, up to rounding." if same else "more than rounding can explain.")
        )


def pytorch_attention(x: np.ndarray, *weights: np.ndarray, causal: bool = False) -> np.ndarray:
    """Return what PyTorch's `scaled_dot_product_attention` gives for single-head attention.

    x: (B, S, D). weights: query, key, value and output, (D, D) each, multiplied from the right.
    Returns an array (B, S, D). Raises ModuleNotFoundError where PyTorch is not installed.
    """
    import torch

    query, key, value, output = (torch.from_numpy(np.asarray(each)) for each in weights)
    tokens = torch.from_numpy(np.asarray(x))
    gathered = torch.nn.functional.scaled_dot_product_attention(
        tokens @ query, tokens @ key, tokens @ value, is_causal=causal
    )
    return np.asarray(gathered @ output)


@contextmanager
def _or_why(nothing: str) -> Iterator[None]:
    """Say of what there is nothing yet, and why, where the body raises `NotYet`."""
    try:
        yield
    except NotYet as reason:
        say(f"{nothing} yet: {reason}")


def _asked(question: Callable[[], Any]) -> Any:
    """Call the learner's layer; raise `NotYet` instead of its own errors."""
    try:
        with undisturbed(), limited(SECONDS):
            return question()
    except ModuleNotFoundError:
        raise
    except (Exception, StillRunning, SystemExit) as error:
        raise NotYet(layer_error_words(error)) from None


def _array(value: Any) -> np.ndarray:
    """Return a copy of an array or tensor as floating-point numbers; raise `NotYet`."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    try:
        return np.array(value, dtype=np.result_type(value, np.float32))
    except (TypeError, ValueError):
        raise NotYet(
            f"your layer gives an object of type {type(value).__name__}, but an array is expected."
        ) from None


@contextmanager
def _noted(call: Callable[[], Any], name: str, found: list[Any]) -> Iterator[None]:
    """Note what the step called `name` returns, where the learner's code calls it."""
    names: dict[str, Any] = getattr(call, "__globals__", {})
    step: Any = names.get(name)

    def noting(*inputs: Any, **named: Any) -> Any:
        found.append(step(*inputs, **named))
        return found[-1]

    if callable(step):
        names[name] = noting
    try:
        yield
    finally:
        if callable(step):
            names[name] = step


def _example_words(given: Mapping[str, Any]) -> str:
    tokens, token = tuple(given["tokens"]), given["token"]
    output = _array(given["output"])
    if not np.isfinite(output).all():
        raise NotYet("your layer gives numbers that are not finite. The checks above say more.")
    count = len(given["exact"]) if "exact" in given else output.shape[-1] if output.ndim else 0
    if output.shape != (len(tokens), count):
        raise NotYet(
            f"your layer gives the shape {output.shape} for the example, but "
            f"{(len(tokens), count)} is expected."
        )
    row = output[tokens.index(token)]
    said = f"Your layer makes {_vector(row)} of “{token}”"
    if "exact" not in given:
        return f"{said}."
    if not (np.abs(row - np.array(given["exact"])) <= SHOWN_TOLERANCE).all():
        expected = _vector(given["exact"])
        return f"{said}, but {expected} is expected. Which check above does not pass yet?"
    by_hand = _vector(given["by_hand"])
    if by_hand == _vector(row):
        return f"{said}: the numbers that you worked out by hand."
    return f"{said}. By hand it was {by_hand}: there, every step was rounded to two places."


def _vector(numbers: Sequence[float] | np.ndarray) -> str:
    """Return numbers in brackets as the lesson writes them: two places, whole ones without."""
    rounded = np.round(np.asarray(numbers, float), 2) + 0.0
    return f"({', '.join(f'{n:.0f}' if n == int(n) else f'{n:.2f}' for n in rounded)})"


def _drawn_heads(weights: np.ndarray, tokens: Sequence[str]) -> list[Panel]:
    """Return a heat map for each head of weights (B, heads, S, S), or for one of (B, S, S)."""
    first = weights[0] if weights.ndim > 2 else weights
    if first.ndim == 2:
        return [_drawn("where each token looks", first, tokens)]
    return [_drawn(f"head {number}", head, tokens) for number, head in enumerate(first)]


def _drawn(title: str, value: Any, tokens: Sequence[str]) -> Panel:
    array, count = _array(value), len(tokens)
    if array.shape != (count, count):
        expected = shape_words((count, count), "query key")
        raise NotYet(f"the weights have the shape {array.shape}, but {expected} is expected.")
    sums = array.sum(axis=-1)
    if not np.isfinite(sums).all() or np.abs(sums - 1).max() > ROW_SUM_TOLERANCE:
        wrong = int(np.argmax(~(np.abs(sums - 1) <= ROW_SUM_TOLERANCE)))
        raise NotYet(
            f"the row of query “{tokens[wrong]}” sums to {sums[wrong]:.3g}, but its shares "
            "must sum to 1. The checks above say more."
        )
    return panel(array, title=title, labels=tokens)


def _display(panels: Sequence[Panel]) -> None:
    display("\n".join(text_lines(panels)), render_panels(panels))
