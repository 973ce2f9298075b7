"""What a check leaves as it was: the random state and the settings of the libraries.

A learner who presses check between two cells gets the same numbers as one who does not.
A learner's code may seed, draw or switch off gradients while it is checked; all of that is
put back.
"""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


@contextmanager
def undisturbed() -> Iterator[None]:
    """Put back, at the end, the random state and the settings of Python, NumPy and PyTorch.

    Warnings are not shown meanwhile: the card says what an overflow did, and on stderr they
    would fail nbgrader's Validate, even under an answer that is right.
    """
    python, numpy = random.getstate(), np.random.get_state(legacy=False)
    errors, printing = np.geterr(), np.get_printoptions()
    torch = sys.modules.get("torch")
    settings = _torch_settings(torch) if torch else None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
        np.seterr(**errors)
        np.set_printoptions(**printing)
        if torch and settings:
            _set_torch(torch, *settings)


def _torch_settings(torch: Any) -> tuple[Any, bool, Any]:
    return torch.get_rng_state(), torch.is_grad_enabled(), torch.get_default_dtype()


def _set_torch(torch: Any, random_state: Any, gradients: bool, dtype: Any) -> None:
    torch.set_rng_state(random_state)
    torch.set_grad_enabled(gradients)
    torch.set_default_dtype(dtype)
