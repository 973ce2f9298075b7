"""One Dask worker as the command sees it: what it was given, and whether it has answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from distributed import Client, Future

SECONDS_TO_FETCH = 10


class TaskState(Enum):
    """What has come of the last task of a Dask worker."""

    RUNNING = "running, or there is none"
    RESULT = "a result"
    FAULT = "an exception"
    GONE = "nothing, and nothing will"


@dataclass(eq=False)
class DaskWorker:
    """The worker at `address`; `ready` once it has the exercise, and working on `places`."""

    client: Client
    address: str
    ready: bool = False
    places: list[int] = field(default_factory=list)
    _future: Future[Any] | None = None

    @property
    def idle(self) -> bool:
        """Whether it may be given a batch."""
        return self.ready and self._future is None

    def give(self, woken: Callable[[], None], task: Callable[..., Any], *words: Any) -> None:
        """Have it, and nobody else, do a task; `woken` is called when there is news of it."""
        self._future = self.client.submit(
            task, *words, workers=[self.address], allow_other_workers=False, pure=False, retries=0
        )
        self._future.add_done_callback(lambda future: woken())

    def answer(self) -> tuple[TaskState, Any]:
        """Return what came of the task, with its result or exception, and forget the task then."""
        if self._future is None:
            return TaskState.RUNNING, None
        try:
            kind, value = _answer(self._future)
        except (TimeoutError, OSError, asyncio.CancelledError):
            return TaskState.RUNNING, None  # it ended after its work: the next look will show that
        if kind is not TaskState.RUNNING:
            self.drop()
        return kind, value

    def drop(self) -> None:
        """Forget the task; what comes of it later counts for nobody."""
        if self._future is not None:
            self._future.cancel()
            self._future = None


def _answer(future: Future[Any]) -> tuple[TaskState, Any]:
    from distributed.scheduler import KilledWorker

    if future.status == "finished":
        return TaskState.RESULT, future.result(timeout=SECONDS_TO_FETCH)
    if future.status == "error":
        error = future.exception(timeout=SECONDS_TO_FETCH)
        gone = isinstance(error, KilledWorker)
        return (TaskState.GONE, None) if gone else (TaskState.FAULT, error)
    if future.status in ("cancelled", "lost"):
        return TaskState.GONE, None
    return TaskState.RUNNING, None
