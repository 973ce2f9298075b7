"""Running code that may print, warn or switch something off for everybody, without a trace."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator

import numpy as np


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Print nothing and warn of nothing."""
    with (
        np.errstate(all="ignore"),
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        yield


def gradients_enabled(library: str) -> bool:
    """Say whether gradients are recorded, which code may switch off for everybody."""
    if library != "torch":
        return True
    import torch

    return torch.is_grad_enabled()


def enable_gradients(library: str) -> None:
    """Record gradients again."""
    if library == "torch":
        import torch

        torch.set_grad_enabled(True)
