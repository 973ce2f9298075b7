"""Writing into the journal: many verdicts through one connection, each a transaction of its own."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from autograder.model.verdict import Verdict

SECONDS_TO_WAIT = 5.0  # for another process that writes to the same journal
TRIES, PAUSE = 3, 0.2  # seconds between two tries to write


class JournalFault(Exception):
    """The journal cannot be read or written; the text says why."""


@contextmanager
def faults_of(path: Path) -> Iterator[None]:
    """Raise what SQLite has against the journal at `path` as `JournalFault`."""
    try:
        yield
    except sqlite3.Error as error:
        # SQLite calls a full disk by its name only where it writes, not where it makes room.
        full = getattr(error, "sqlite_errorname", "") == "SQLITE_IOERR_SHMSIZE"
        why = f"{error}, since the disk is full" if full else error
        raise JournalFault(f"the journal {path.name}: {why}") from error


def connected(path: Path) -> sqlite3.Connection:
    """Open the journal at `path`; raise `sqlite3.Error`."""
    connection = sqlite3.connect(path, timeout=SECONDS_TO_WAIT)
    try:
        # After a loss of power, the last verdicts may be judged again. Nothing is broken.
        connection.execute("pragma synchronous = normal")
    except BaseException:
        connection.close()
        raise
    return connection


class JournalWriter:
    """Keeps verdicts in the journal at `path`, which it holds open until it is closed.

    No lock outlives a verdict. To open the journal takes five times as long as to write one; it is
    opened again after a fault, and when another file lies there.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None

    def keep(self, key: str, verdict: Verdict) -> None:
        """Keep `verdict` for good; raise `JournalFault` when that fails three times."""
        row = key, verdict.to_json()
        for last in (*[False] * (TRIES - 1), True):
            try:
                with faults_of(self._path), self._usable() as connection:
                    connection.execute(
                        "insert or replace into verdicts (key, verdict) values (?, ?)", row
                    )
                return
            except JournalFault:
                self.close()
                if last:
                    raise
                time.sleep(PAUSE)

    def _usable(self) -> sqlite3.Connection:
        """Return a connection to the file that is there now."""
        if self._connection is None or self._file != _identity(self._path):
            self.close()
            self._connection = connected(self._path)
            self._file = _identity(self._path)
        return self._connection

    def close(self) -> None:
        """Let go of the journal; what is kept after that opens it again."""
        if self._connection:
            self._connection.close()
        self._connection = None


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
