"""How a child gets ready: at once, with everything warmed up, or to fork for every job."""

from __future__ import annotations

import sys

COLD, WARM, FORKING = "cold", "warm", "forking"


def kept_ready() -> str:
    """The manner of a child that waits for saves.

    A fork is the fastest, but on macOS the system's own libraries do not all survive one, and
    Windows has none: there a new child gets ready after every job.
    """
    return FORKING if sys.platform == "linux" else WARM
