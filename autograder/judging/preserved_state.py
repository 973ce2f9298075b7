"""Keeps the random state and the settings of the libraries as they were before a check.

A learner gets the same numbers with and without a check between two cells. While it is
checked, the learner's code may seed, draw or switch off gradients; all of that is undone.
Nobody answers `input()` meanwhile, and `exit()` ends the code that calls it, not the kernel.
"""

from __future__ import annotations

import builtins
import random
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np


@contextmanager
def undisturbed() -> Iterator[None]:
    """Restore the random state and the settings of Python, NumPy and PyTorch after the body.

    Warnings are hidden in the body: the card says what an overflow did. On stderr, a warning
    would make nbgrader's Validate fail even for a right answer.
    """
    python, numpy = random.getstate(), np.random.get_state(legacy=False)
    errors, printing = np.geterr(), np.get_printoptions()
    torch = sys.modules.get("torch")
    settings = _torch_settings(torch) if torch else None
    asked, ends = builtins.input, _ends_of_the_kernel()
    names = vars(sys.modules["__main__"])
    try:
        builtins.input = _nobody_there
        names.update(dict.fromkeys(ends, _stop))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        builtins.input = asked
        names.update(ends)
        random.setstate(python)
        np.random.set_state(numpy)
        np.seterr(**errors)
        np.set_printoptions(**printing)
        if torch and settings:
            _set_torch(torch, *settings)


def _ends_of_the_kernel() -> dict[str, Any]:
    """Return what ends a kernel a moment later, without stopping the code that calls it."""
    names = vars(sys.modules["__main__"])
    found = {name: names.get(name) for name in ("exit", "quit")}
    return {
        name: value
        for name, value in found.items()
        if type(value).__module__.startswith("IPython.")
    }


def _nobody_there(prompt: object = "") -> NoReturn:
    raise EOFError("nobody answers while a check runs")


def _stop(*_: object) -> NoReturn:
    raise SystemExit("the code has called exit() or quit()")


def _torch_settings(torch: Any) -> tuple[Any, bool, Any]:
    return torch.get_rng_state(), torch.is_grad_enabled(), torch.get_default_dtype()


def _set_torch(torch: Any, random_state: Any, gradients: bool, dtype: Any) -> None:
    torch.set_rng_state(random_state)
    torch.set_grad_enabled(gradients)
    torch.set_default_dtype(dtype)
