"""The zygote's forks: one worker for each order from the host, killed on order.

Later requests reach a worker over its own channel, which the zygote closes at
once. So the zygote never reads a byte that a student's code could have written.
"""

from __future__ import annotations

import os
import select
import signal
import time
from typing import NoReturn

from autograder.worker import arrays, confinement, serving, wire
from autograder.worker.control import Control, Layers, Plan, ProcessStats, processor_clock
from autograder.worker.host_channel import HostChannel

UNCONFINED, FELL_OUT = 97, 99


class Forks:
    """The workers that are alive, and the loop that carries out the host's orders."""

    def __init__(self, plan: Plan, layers: Layers, control: Control, itself: ProcessStats) -> None:
        self._library, self._control, self._itself = plan.library, control, itself
        self._prepared = confinement.prepare(plan, layers)
        self._workers: dict[int, int] = {}  # pidfd to pid

    def serve(self) -> NoReturn:
        """Obey the host until it is gone; then end, and every worker with it."""
        while True:
            waiting = select.poll()
            for descriptor in (self._control.fileno(), *self._workers):
                waiting.register(descriptor, select.POLLIN)
            for descriptor, _ in waiting.poll():
                if descriptor == self._control.fileno():
                    self._obey()
                else:
                    self._reap(descriptor)

    def _obey(self) -> None:
        try:
            order, descriptors = self._control.hear()
        except (EOFError, ConnectionError):
            self._end()
        if "used" in order:
            self._control.tell(used=order["used"], microseconds=self._used(order["used"]))
            return
        if "kill" in order:
            # Only a worker that is not reaped yet: its pid cannot be anyone else's.
            if order["kill"] in self._workers.values():
                os.kill(order["kill"], signal.SIGKILL)
            return
        worker = os.fork()
        if not worker:
            try:
                self._become_worker(order["fork"], descriptors)
            finally:
                os._exit(FELL_OUT)
        for descriptor in descriptors:
            os.close(descriptor)
        self._workers[os.pidfd_open(worker)] = worker
        self._control.tell(forked=worker)

    def _used(self, worker: int) -> int | None:
        """Return the processor time of a worker, in microseconds; None when it has ended."""
        if worker not in self._workers.values():
            return None
        try:
            return time.clock_gettime_ns(processor_clock(worker)) // 1000
        except OSError:  # it has just ended
            return None

    def _become_worker(self, seed: int, descriptors: list[int]) -> NoReturn:
        address_space = self._itself.address_space()  # the zygote's, which is this one's too
        confinement.keep_only(*descriptors)
        channel = HostChannel(confinement.CHANNEL, confinement.BELL)
        try:
            applied = confinement.confine(self._prepared, address_space)
            arrays.seed(seed)
        except Exception as error:
            fact = wire.text(f"{type(error).__name__}: {error}", 500)
            channel.send({"unconfined": fact}, [])
            os._exit(UNCONFINED)
        facts = {"landlock": applied, "uid": os.getuid()}
        channel.send({"confined": facts}, [])
        serving.Session(channel, self._library).serve()

    def _reap(self, descriptor: int) -> None:
        worker = self._workers.pop(descriptor)
        os.close(descriptor)
        _, status, usage = os.wait4(worker, 0)
        self._control.tell(
            ended=worker,
            status=status,
            kilobytes=usage.ru_maxrss,
            milliseconds=round(1000 * (usage.ru_utime + usage.ru_stime)),
        )

    def _end(self) -> NoReturn:
        for worker in self._workers.values():
            os.kill(worker, signal.SIGKILL)
        os._exit(0)
