"""What Dask loads into each worker of a cluster that the command itself has started."""

from __future__ import annotations

import signal


def dask_setup(worker: object) -> None:
    """Leave Ctrl-C to the command, which ends its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
