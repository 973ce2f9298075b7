"""Dask workers of all kinds on this machine, each a real process with its own settings."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from distributed import Client

from autograder.cluster.connection import own_cluster
from support.machines import in_view, refusing

PATIENCE = 60


@contextmanager
def scheduler(workers: int = 0) -> Iterator[Client]:
    """A scheduler with so many workers of its own; a client of it."""
    with own_cluster(workers) as cluster, Client(cluster, set_as_default=False) as client:
        yield client


def address_of(client: Client) -> str:
    """The address of the scheduler."""
    return str(client.scheduler_info()["address"])


@contextmanager
def worker(
    client: Client, refused: str = "", daemon: bool = False
) -> Iterator[subprocess.Popen[bytes]]:
    """A worker from the command line, ended with the block; its kernel refuses `refused`.

    With `daemon` it is what Dask makes of it by itself: the daemon process of a nanny.
    """
    before = len(client.nthreads())
    address = address_of(client)
    words = ("-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard")
    command = [sys.executable, *words, "--nanny" if daemon else "--no-nanny"]
    if refused:
        command = refusing(refused, command)
        command = in_view(command) if os.geteuid() == 0 else command
    run = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
    )
    try:
        client.wait_for_workers(before + 1, timeout=PATIENCE)
        yield run
    finally:
        run.terminate()
        run.wait(PATIENCE)
