"""The child as its parent sees it: started, given a job, listened to, ended.

Pipes and threads only, so that it is the same on Linux, macOS and Windows.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import IO, Any

from autograder.learning.runner.start_method import COLD, FORKING
from autograder.model.exercise import Exercise

LAST_WORDS = 2000  # characters of the error stream that are kept
RELEASING = 5.0  # seconds for a killed job to be noticed
STARTING = 120.0  # seconds for a slow disk to give PyTorch


class ChildEnded(Exception):
    """The child has ended; `how` is what the system says about it."""

    def __init__(self, how: str) -> None:
        super().__init__(how)
        self.how = how


class Silent(Exception):
    """The child has said nothing for longer than it may."""


class Child:
    """One process of `child.py`: it does one job, or when it is `FORKING` one after the other."""

    def __init__(self, exercise: Exercise, manner: str = COLD) -> None:
        command = [sys.executable, "-P", "-m", "autograder.learning.runner.child"]
        self._process = subprocess.Popen(
            [*command, str(exercise.folder.resolve()), exercise.library, manner],
            cwd=exercise.folder,
            # A window that waits to be closed would hold up the check.
            env={**os.environ, "MPLBACKEND": "Agg"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            # Ctrl-C is the parent's, which ends the child.
            start_new_session=True,
        )
        self.ready = False
        self._forking = manner == FORKING
        self._fork: int | None = None  # the process that does the job, of a forking child
        self._busy = False
        self._unwanted = False
        self._messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._errors = ""
        self._threads = [
            threading.Thread(target=read, daemon=True) for read in (self._listen, self._drain)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def usable(self) -> bool:
        """Whether it can take another job."""
        return self._forking and not self.ended and not self._busy

    @property
    def ended(self) -> bool:
        """Whether its process has ended."""
        return self._process.poll() is not None

    def send(self, job: Mapping[str, Any]) -> None:
        """Give the child a job; raise `ChildEnded` when it has ended."""
        self._unwanted, self._busy = False, True
        try:
            _pipe(self._process.stdin).write(json.dumps(job) + "\n")
            _pipe(self._process.stdin).flush()
        except (OSError, ValueError):  # closed by the other side, or by ours
            raise ChildEnded(self._how()) from None

    def receive(self, seconds: float) -> dict[str, Any]:
        """Wait for a message; raise `Silent` after so many seconds, `ChildEnded` when none will come."""
        try:
            message = self._messages.get(timeout=seconds)
        except queue.Empty:
            raise Silent from None
        if message is None:
            self._messages.put(None)
            self._busy = False
            raise ChildEnded(self._how())
        match message["event"]:
            case "ready":
                self.ready = True
            case "forked":
                self._fork = message["pid"]
                if self._unwanted:
                    self.give_up()
            case "ended":
                self._fork, self._busy = None, False
                raise ChildEnded(message["how"])
        return message

    def give_up(self) -> None:
        """End the job, from any thread; a forking child goes on."""
        if not self._forking:
            self.end()
            return
        self._unwanted = True
        if self._fork is not None:
            _kill(self._fork)

    def release(self) -> None:
        """The job is over or unwanted: end it, and the child too unless it can take another."""
        if not self._forking:
            self.end()
            return
        try:
            while self._busy:
                self.give_up()
                self.receive(RELEASING)
        except ChildEnded:
            return
        except Silent:
            self.end()

    def end(self) -> None:
        """End the process and what it has started."""
        if self._fork is not None:
            _kill(self._fork)
        if self._process.poll() is None:
            _kill(self._process.pid)
        self._process.wait()
        with contextlib.suppress(OSError):  # nobody reads what is still to be flushed
            _pipe(self._process.stdin).close()
        for thread in self._threads:
            thread.join()

    def _how(self) -> str:
        code = self._process.wait()
        self._threads[1].join(timeout=1)
        said = self._errors.strip().splitlines()[-1:]
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return ": ".join([how, *said])

    def _listen(self) -> None:
        with _pipe(self._process.stdout) as stream:
            for line in stream:
                try:
                    message = json.loads(line)
                except ValueError:
                    continue  # the process was ended while it wrote
                self._messages.put(message)
        self._messages.put(None)

    def _drain(self) -> None:
        with _pipe(self._process.stderr) as stream:
            while text := stream.read(1024):
                self._errors = (self._errors + text)[-LAST_WORDS:]


def _kill(pid: int) -> None:
    """End a process and its group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # it has ended meanwhile
        if sys.platform == "win32":
            os.kill(pid, signal.SIGTERM)
        else:
            os.killpg(pid, signal.SIGKILL)


def _pipe(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


class Stopped(Exception):
    """The check was given up."""


class Stop:
    """Gives up a check from another thread: the child that is at work is ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._given = False

    def follow(self, child: Child) -> None:
        """Note that `child` is at work now; raise `Stopped` when it is too late."""
        with self._lock:
            self._child = child
            given = self._given
        if given:
            raise Stopped

    def look(self) -> None:
        """Raise `Stopped` when the check is given up."""
        if self._given:
            raise Stopped

    def give(self) -> None:
        """Give up."""
        with self._lock:
            self._given = True
            child = self._child
        if child:
            child.give_up()
