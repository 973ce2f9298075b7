"""Trusted code that is tried: it prints nothing, warns of nothing, leaves nothing, and ends."""

from __future__ import annotations

import contextlib
import io
import sys
import traceback
import warnings
from collections.abc import Iterator
from types import FrameType

import numpy as np

from autograder.judging.time_limit import limited
from autograder.protocol import arrays


@contextlib.contextmanager
def quiet_run(library: str, seconds: float) -> Iterator[None]:
    """Run the body without a trace; what it draws is the same every time.

    A line in the place of another may never end: `StillRunning` is raised after `seconds`.
    """
    with (
        np.errstate(all="ignore"),
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        arrays.seed(0)
        try:
            with limited(seconds, _tell):
                yield
        finally:
            if library == "torch":
                import torch

                torch.set_grad_enabled(True)


def _tell(frame: FrameType, seconds: float) -> None:
    place = "".join(traceback.format_stack(frame)[-1:])
    print(f"still running, and catches every attempt to stop it:\n{place}", file=sys.stderr)
