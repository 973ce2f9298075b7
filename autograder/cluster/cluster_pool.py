"""The workers of a Dask cluster, as a pool that judges a class.

Each worker is given one batch at a time, by name, so that it is known here who works on what.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from distributed import Client, fire_and_forget

from autograder.cluster.cluster_run import ClusterRun, workers_of
from autograder.cluster.connection import connected
from autograder.cluster.remote_grader import forget
from autograder.grading.classroom import ClassJudging
from autograder.grading.grader_pool import Loss
from autograder.grading.watched_process import Bounds
from autograder.submission.reading import Submission
from autograder.values.verdict import Verdict

# A worker that dies takes a batch with it.
LARGEST_BATCH = 4


class ClusterPool:
    """Judges on the workers behind `client`; `say` is told of workers that are not used."""

    def __init__(self, client: Client, place: str, say: Callable[[str], None]) -> None:
        self._client, self._place, self._say = client, place, say

    @property
    def processes(self) -> int:
        """How many workers there are now; at least one, since others may come."""
        return max(1, len(workers_of(self._client, self._place)))

    def run(
        self,
        work: ClassJudging,
        items: Sequence[Submission],
        bounds: Bounds,
        *,
        result: Callable[[int, Verdict], None],
        lost: Callable[[int, Loss], None],
        batch: int = 1,
    ) -> None:
        """Have every item judged; see `GraderPool.run`.

        A verdict is in the journal before `result` gets it. A hand-in with which workers ended
        again and again is `lost`. Raises `KitError` when no worker is left that can judge, or the
        scheduler is gone.
        """
        if not items:
            return
        run = ClusterRun(
            self._client,
            self._place,
            self._say,
            name=uuid.uuid4().hex,
            work=work,
            items=items,
            bounds=bounds,
            result=result,
            lost=lost,
            batch=min(batch, LARGEST_BATCH),
        )
        try:
            run.judge()
        finally:
            for address in run.close():
                # It may still be busy, and nobody waits for that.
                fire_and_forget(
                    self._client.submit(forget, run.name, workers=[address], pure=False)
                )


@contextmanager
def cluster_pool(address: str, processes: int, say: Callable[[str], None]) -> Iterator[ClusterPool]:
    """Connect to a cluster for a run; see `connected`."""
    with connected(address, processes) as client:
        yield ClusterPool(client, address, say)
