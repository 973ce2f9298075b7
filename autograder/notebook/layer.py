"""The end of a notebook: the learner's whole layer, seen at work and beside the library's.

These cells are no steps and earn no points, so they never raise: where a step is not
written yet, one sentence says which. They hold no attention of their own either: a picture
shows what the learner's layer gives, and the comparison calls PyTorch.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autograder.heatmaps.html_table import render_panels
from autograder.heatmaps.panel import Panel, panel
from autograder.heatmaps.text import text_lines
from autograder.judging.compare import agree
from autograder.judging.value_words import shape_words
from autograder.notebook.preserved_state import undisturbed

ROW_SUM_TOLERANCE = 1e-3
WIDEST = 72


class NotYet(Exception):
    """There is nothing to show yet; the text says why, in one sentence."""


def show_attention(weights: Callable[[], Mapping[str, Any]], tokens: Sequence[str]) -> None:
    """Draw attention weights as heat maps with tokens on both axes.

    weights: gives, by title, arrays or tensors (query, key), as many of each as tokens.
    """
    try:
        found = _asked(weights)
        panels = [_drawn(title, array, tokens) for title, array in found.items()]
    except NotYet as reason:
        _say(f"No picture yet: {reason}")
        return
    _display(panels)


def compare_with_library(both: Callable[[], tuple[Any, Any]], library: str) -> None:
    """Print the largest difference between the learner's output and that of the library.

    both: gives the two, arrays or tensors of one shape. library: what the second came from.
    """
    try:
        yours, theirs = (_array(each) for each in _asked(both))
        if yours.shape != theirs.shape:
            due = shape_words(theirs.shape, None)
            raise NotYet(f"your layer gives the shape {yours.shape}, and {library} gives {due}.")
    except NotYet as reason:
        _say(f"No comparison yet: {reason}")
        return
    except ModuleNotFoundError:
        _say(
            "PyTorch is not installed here, and nothing else in this exercise needs it: your "
            f"layer is not set beside {library}. The checks above compare it with known results."
        )
        return
    with np.errstate(all="ignore"):
        largest = float(np.abs(yours - theirs).max())
    same = bool(agree(yours, theirs).all())
    _say(
        f"The largest difference between your output and that of {library} is {largest:.1e}, "
        f"over {yours.size} numbers of a size around {np.abs(theirs).mean():.1g}: "
        + ("equal, up to rounding." if same else "that is more than rounding explains.")
    )


def pytorch_attention(x: np.ndarray, *weights: np.ndarray, causal: bool = False) -> np.ndarray:
    """Return what PyTorch's `scaled_dot_product_attention` gives for single-head attention.

    x: (B, S, D). weights: query, key, value and output, (D, D) each, to the right of x.
    Returns (B, S, D). Raises ModuleNotFoundError where PyTorch is not installed.
    """
    import torch

    query, key, value, output = (torch.from_numpy(np.asarray(each)) for each in weights)
    tokens = torch.from_numpy(np.asarray(x))
    gathered = torch.nn.functional.scaled_dot_product_attention(
        tokens @ query, tokens @ key, tokens @ value, is_causal=causal
    )
    return np.asarray(gathered @ output)


def _say(sentence: str) -> None:
    # A notebook breaks a long line of output anywhere, also within a number.
    print(textwrap.fill(sentence, WIDEST, break_long_words=False))


def _asked(question: Callable[[], Any]) -> Any:
    """Call the learner's layer; raise `NotYet` in place of what it raises."""
    try:
        with undisturbed():
            return question()
    except ModuleNotFoundError:
        raise
    except NotImplementedError as error:
        name, _, rest = str(error).partition(" ")
        what = f"`{name}`" if rest == "is not written yet" else "a step"
        raise NotYet(f"{what} is not written yet.") from None
    except NameError as error:
        raise NotYet(
            f"there is no `{error.name}`: run the cells above, from the first one on."
        ) from None
    except Exception as error:
        raise NotYet(
            f"your layer stops with {type(error).__name__}: {error}. The checks above say more."
        ) from None


def _array(value: Any) -> np.ndarray:
    """A copy of an array or tensor, as floating-point numbers."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    try:
        return np.array(value, dtype=np.result_type(value, np.float32))
    except (TypeError, ValueError):
        raise NotYet(
            f"your layer gives an object of type {type(value).__name__}, and an array is expected."
        ) from None


def _drawn(title: str, value: Any, tokens: Sequence[str]) -> Panel:
    array, count = _array(value), len(tokens)
    if array.shape != (count, count):
        due = shape_words((count, count), "query key")
        raise NotYet(f"the weights have the shape {array.shape}, and {due} is expected.")
    sums = array.sum(axis=-1)
    if not np.isfinite(sums).all() or np.abs(sums - 1).max() > ROW_SUM_TOLERANCE:
        wrong = int(np.argmax(~(np.abs(sums - 1) <= ROW_SUM_TOLERANCE)))
        raise NotYet(
            f"the row of query “{tokens[wrong]}” sums to {sums[wrong]:.3g}, and shares sum to 1. "
            "The checks above say more."
        )
    return panel(array, title=title, labels=tokens)


def _display(panels: Sequence[Panel]) -> None:
    text = "\n".join(text_lines(panels))
    ipython = sys.modules.get("IPython")
    if ipython is None or ipython.get_ipython() is None:
        print(text)
        return
    ipython.display.display({"text/plain": text, "text/html": render_panels(panels)}, raw=True)
