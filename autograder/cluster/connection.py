"""The way to a Dask cluster: one that runs somewhere, or one on this machine for a single run."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager

import dask
from distributed import Client, LocalCluster, Security
from distributed.comm.core import connect

from autograder.errors import KitError
from autograder.values.sanitize import terminal_line

LOCAL = "local"
SECONDS_TO_CONNECT = 5
LONGEST = 300
_SETTINGS = {
    # A Dask worker has to start a grader process, which a daemon may not.
    "distributed.worker.daemon": False,
    # The command itself counts how often a hand-in is tried.
    "distributed.scheduler.allowed-failures": 0,
    # A worker that is killed comes back. Dask looks once, so long after its end, whether it has; if
    # it was killed again just then, the place would stay empty for the rest of the run.
    "distributed.deploy.lost-worker-timeout": "1 day",
    "distributed.worker.preload": ["autograder.cluster.remote_grader"],
    # Nobody looks at pages of it.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}


@contextmanager
def connected(address: str, processes: int) -> Iterator[Client]:
    """Connect to the scheduler at `address`, or with "local" to `processes` workers of our own.

    Raises `KitError` when nobody answers there. What was started here ends with the block.
    """
    # Its log would stand among the lines of the progress bar. So would asyncio's, of a task of
    # Dask's own that ended with its worker: what comes of ours, `DaskWorker.answer` says.
    for name in ("distributed", "distributed.client", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    if address != LOCAL:
        _demand_scheduler(address)
        with _client(address) as client:
            yield client
        return
    with own_cluster(processes) as cluster, _client(cluster) as client:
        yield client


@contextmanager
def own_cluster(processes: int) -> Iterator[LocalCluster]:
    """Start a scheduler on this machine, with so many workers, each of one thread.

    Raises `KitError` when they do not start.
    """
    with dask.config.set(_SETTINGS), _started(processes) as cluster:
        yield cluster


def _started(processes: int) -> LocalCluster:
    try:
        return LocalCluster(
            n_workers=processes,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # not 8787, it may be taken
            memory_limit=0,  # the grader process has a limit of its own
            silence_logs=logging.CRITICAL,
        )
    except (OSError, RuntimeError) as error:
        raise KitError(
            f"Dask workers do not start on this machine: {terminal_line(str(error), LONGEST)}",
            place="--cluster local",
            cure="grade without --cluster, which uses the cores of this machine as well",
        ) from error


def _client(target: str | LocalCluster) -> Client:
    return Client(target, timeout=SECONDS_TO_CONNECT, set_as_default=False)


def _demand_scheduler(address: str) -> None:
    """Raise `KitError` unless a scheduler can be reached; a `Client` that fails is slow to end."""
    try:
        asyncio.run(_reach(address))
    except MemoryError:  # it took the first bytes of something else for a length
        raise _no_scheduler(address, "what answers there speaks another language") from None
    except (OSError, ValueError, TypeError, RuntimeError, ImportError) as error:
        why = terminal_line(str(error), LONGEST) or type(error).__name__
        raise _no_scheduler(address, why) from None


def _no_scheduler(address: str, why: str) -> KitError:
    return KitError(
        f"no Dask scheduler answers: {why}",
        place=terminal_line(address, LONGEST) or "--cluster",
        cure="start one with `dask scheduler` and name its address, such as "
        "tcp://10.0.0.5:8786; or grade on this machine, without --cluster",
    )


async def _reach(address: str) -> None:
    words = Security().get_connection_args("client")
    comm = await connect(address, timeout=SECONDS_TO_CONNECT, **words)
    await comm.close()
