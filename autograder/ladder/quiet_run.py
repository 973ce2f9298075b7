"""Trusted code that is tried: it prints nothing, warns of nothing and leaves nothing behind."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator

import numpy as np

from autograder.protocol import arrays


@contextlib.contextmanager
def quiet_run(library: str) -> Iterator[None]:
    """Run the body without a trace; what it draws is the same every time."""
    with (
        np.errstate(all="ignore"),
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        arrays.seed(0)
        yield
    if library == "torch":
        import torch

        torch.set_grad_enabled(True)
