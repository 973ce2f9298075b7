"""The way to a Dask cluster: one that runs somewhere, or one on this machine for a single run."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import dask
from distributed import Client, LocalCluster

from autograder.errors import KitError

LOCAL = "local"
SECONDS_TO_CONNECT = 10
_SETTINGS = {
    # A Dask worker has to start a grader process, which a daemon may not.
    "distributed.worker.daemon": False,
    # The command itself counts how often a hand-in is tried.
    "distributed.scheduler.allowed-failures": 0,
}


@contextmanager
def connected(address: str, processes: int) -> Iterator[Client]:
    """Connect to the scheduler at `address`, or with "local" to `processes` workers of our own.

    Raises `KitError` when nobody answers there. What was started here ends with the block.
    """
    # Its log would stand among the lines of the progress bar.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    if address != LOCAL:
        with _client(address) as client:
            yield client
        return
    with dask.config.set(_SETTINGS), _own_cluster(processes) as cluster, _client(cluster) as client:
        yield client


def _own_cluster(processes: int) -> LocalCluster:
    return LocalCluster(
        n_workers=processes,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        memory_limit=0,  # the grader process has a limit of its own
        silence_logs=logging.CRITICAL,
    )


def _client(target: str | LocalCluster) -> Client:
    try:
        return Client(target, timeout=SECONDS_TO_CONNECT, set_as_default=False)
    except (TimeoutError, OSError, ValueError, TypeError) as error:
        raise KitError(
            f"no Dask scheduler answers: {str(error).splitlines()[0] if str(error) else 'timeout'}",
            place=str(target),
            cure="start one with `dask scheduler` and name its address, such as "
            "tcp://10.0.0.5:8786; or grade on this machine, without --cluster",
        ) from None
