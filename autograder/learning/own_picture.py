"""What is drawn once a step passes: the learner's own scores, mask or weights.

Notebook and terminal draw the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from autograder.heatmaps.panel import Panel, is_attention, panel
from autograder.judging.compare import FLOOR


@dataclass(frozen=True)
class Picture:
    """Heat maps, and a caption that says what they show."""

    caption: str = ""
    panels: tuple[Panel, ...] = ()


@dataclass(frozen=True, eq=False)
class OwnResult:
    """What a step gave in a check, with the title of the check and the names of the axes."""

    step: str
    title: str
    array: np.ndarray
    axes: str


def own_picture(results: Iterable[OwnResult]) -> Picture:
    """Draw the result that says most about who attends to whom, if one does.

    A causal triangle of different numbers is best. Weights of 0 and 1 alone, as extreme inputs give
    them, show little.
    """
    found = [each for each in results if is_attention(each.axes)]
    if not found:
        return Picture()
    chosen = min(found, key=lambda each: _says_little(each.array))
    tokens = [f"token {number}" for number in range(chosen.array.shape[-1])]
    drawn = panel(chosen.array, title=f"your {chosen.step}", axes=chosen.axes, labels=tokens)
    return Picture(f"What your code gives in the check “{chosen.title}”:", (drawn,))


def _says_little(array: np.ndarray) -> tuple[bool, bool, bool]:
    spread, causal = _is_spread(array), _is_causal(array)
    return not (causal and spread), not spread, not causal


def _is_causal(array: np.ndarray) -> bool:
    above = array[..., *np.triu_indices(array.shape[-1], k=1)]
    return bool(above.size and ((above == 0) | (above <= FLOOR)).all())


def _is_spread(array: np.ndarray) -> bool:
    return bool(array.shape[-1] > 1 and np.unique(array.round(2)).size > array.shape[-1])
