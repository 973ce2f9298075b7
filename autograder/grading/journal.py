"""What has been judged already, so that a run that was stopped continues where it was.

A verdict is kept under a key of all that decides it: the code that is run, the remarks on
reading it, the exercise, the engine, and the protection that was asked for. When any of these
changes, the submission is judged again; nothing is ever out of date. A row counts only when its
verdict is sound, and on the very code and exercise of its key. A file that holds more than our
one table (a trigger could change what is kept) is set aside. Each verdict is one transaction in a
SQLite file, written by the process that judged.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.errors import KitError
from autograder.grading.journal_writer import (
    SECONDS_TO_WAIT,
    JournalWriter,
    connected,
    faults_of,
)
from autograder.grading.kept_verdict import is_sound
from autograder.model.exercise import Exercise
from autograder.model.group_shared import share
from autograder.model.verdict import Verdict
from autograder.submission.reading import Submission, hash_of

JOURNAL = "journal.sqlite"
VERSION = 1
MOST_BYTES = 16_000_000  # of one verdict; our longest takes a hundredth of that
Find = Callable[[str, str, Exercise], Verdict | None]
_BESIDE = ("", "-wal", "-shm")
_TABLE = """
create table if not exists verdicts (
    key text primary key,
    verdict text not null,
    judged_at text not null default current_timestamp
) strict
"""


def judging_key(
    submission: Submission,
    exercise_hash: str,
    allow_process: bool,
    layer_earns_steps: bool = True,
) -> str:
    """Return the key of all that decides the verdict on `submission`, whoever handed it in.

    It consists of the exercise's name, the hashes of the code and the exercise, and a hash of the
    rest.
    """
    demand = "process" if allow_process else "isolated"
    rest = hash_of([submission.remarks, demand, *([] if layer_earns_steps else ["steps alone"])])
    return f"{_judged(submission.exercise, submission.code_hash, exercise_hash)}{rest}"


def _judged(exercise: str, code_hash: str, exercise_hash: str) -> str:
    return f"{exercise}:{code_hash}:{exercise_hash}:"


@dataclass(frozen=True)
class Journal:
    """The journal in the file `path`; several processes may use it at once."""

    path: Path

    def prepare(self) -> str | None:
        """Make the journal ready; return a sentence when a broken one was set aside.

        Raises `KitError` when it can be neither used nor made.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._refuse_what_is_no_file()
                self._check()
                return None
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError):
                    raise
                aside = self._set_aside()
            self._check()
        except (OSError, sqlite3.Error) as error:
            raise KitError(
                f"the journal of earlier verdicts cannot be used: {error}",
                place=str(self.path),
                cure="grade where you may write and the disk has free space, or name another "
                "folder with --output; then run the same command again",
            ) from error
        return (
            f"The journal could not be read and was moved to {aside.name}; everyone is graded "
            "again."
        )

    @contextmanager
    def held_open(self) -> Iterator[None]:
        """Keep the file in use for a while, or each verdict would wait until the disk has it.

        The last connection that closes puts everything in its place. Raises `JournalFault`.
        """
        with faults_of(self.path):
            connection = sqlite3.connect(self.path, timeout=SECONDS_TO_WAIT)
        with closing(connection):
            with faults_of(self.path):
                connection.execute("select 1 from verdicts limit 1").fetchall()
            yield

    @contextmanager
    def reading(self) -> Iterator[Find]:
        """Give what finds a verdict by key, student and exercise, as `find` does.

        Raises `JournalFault` when the journal cannot be read.
        """
        with faults_of(self.path), self._open() as connection:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
            connection.text_factory = bytes  # it need not be UTF-8
            yield lambda key, student, exercise: _sound(
                _text(connection, key), key, student, exercise
            )

    def find(self, key: str, student: str, exercise: Exercise) -> Verdict | None:
        """Return the verdict kept under `key`, as that of `student`; None when there is none.

        Also None when the verdict is not on `exercise` as it is now, contradicts itself, or is
        larger than any that we give. Raises `JournalFault` when the journal cannot be read.
        """
        with self.reading() as find:
            return find(key, student, exercise)

    def find_all(self, keys: Iterable[tuple[str, str]], exercise: Exercise) -> Iterator[Verdict]:
        """Yield the verdicts that `find` would return, one at a time, in the order of `keys`.

        `keys` are pairs of a student and the key of the submission. Raises `JournalFault` when it
        cannot be read.
        """
        with self.reading() as find:
            for student, key in keys:
                if verdict := find(key, student, exercise):
                    yield verdict

    def keep(self, key: str, verdict: Verdict) -> None:
        """Keep `verdict` for good; raise `JournalFault` when that fails three times."""
        with self.writer() as writer:
            writer.keep(key, verdict)

    def writer(self) -> AbstractContextManager[JournalWriter]:
        """Give what keeps many verdicts, as `keep` does."""
        return closing(JournalWriter(self.path))

    def forget(self, keys: Iterable[str]) -> None:
        """Drop what is kept under `keys`; raise `JournalFault` when that is not possible."""
        with faults_of(self.path), self._open() as connection:
            connection.executemany("delete from verdicts where key = ?", [(key,) for key in keys])

    def _check(self) -> None:
        with self._open() as connection:
            share(self.path)  # before there are files beside it, which SQLite makes alike
            connection.execute("pragma journal_mode = wal")
            (version,) = connection.execute("pragma user_version").fetchone()
            if version not in (0, VERSION):
                raise sqlite3.DatabaseError(f"version {version}")
            (health,) = connection.execute("pragma quick_check(1)").fetchone()
            if health != "ok":
                raise sqlite3.DatabaseError(str(health))
            connection.execute(_TABLE)
            self._refuse_what_is_not_ours(connection)
            connection.execute(f"pragma user_version = {VERSION}")
            # Now and not after an hour of grading: can it be written?
            connection.execute("insert or replace into verdicts values ('', '', '')")
            connection.execute("delete from verdicts where key = ''")

    def _refuse_what_is_no_file(self) -> None:
        """Raise `sqlite3.DatabaseError` for a link or a pipe, which lead elsewhere."""
        there = [self.path.with_name(self.path.name + end) for end in _BESIDE]
        odd = [
            path for path in there if path.is_symlink() or (path.exists() and not path.is_file())
        ]
        if odd:
            raise sqlite3.DatabaseError(f"{odd[0].name} is not a plain file")

    @staticmethod
    def _refuse_what_is_not_ours(connection: sqlite3.Connection) -> None:
        """Raise `sqlite3.DatabaseError` where a view, trigger or another table is in the file."""
        rows = connection.execute("select sql from sqlite_schema where sql is not null")
        found = [" ".join(sql.lower().split()) for (sql,) in rows]
        if found != [" ".join(_TABLE.replace("if not exists ", "").split())]:
            raise sqlite3.DatabaseError("it holds more than verdicts")

    def _set_aside(self) -> Path:
        numbers = range(1, 1000)
        aside = next(
            path
            for path in (self.path.with_name(f"{self.path.name}.broken-{n}") for n in numbers)
            if not os.path.lexists(path)
        )
        for end in _BESIDE:
            part = self.path.with_name(self.path.name + end)
            if os.path.lexists(part):
                part.rename(aside.with_name(aside.name + end))
        return aside

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        # A connection for each use: no lock outlives it.
        with closing(connected(self.path)) as connection, connection:
            yield connection


def _text(connection: sqlite3.Connection, key: str) -> bytes | None:
    try:
        found = connection.execute("select verdict from verdicts where key = ?", (key,)).fetchone()
    except sqlite3.DataError:  # larger than any that we give
        return None
    return found[0] if found else None


def _sound(text: bytes | None, key: str, student: str, exercise: Exercise) -> Verdict | None:
    """Return the verdict in a row of the journal, None when it is of no use: then judge again."""
    if text is None:
        return None
    try:
        verdict = replace(Verdict.from_json(text.decode("utf-8")), student=student)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    head = _judged(verdict.exercise, verdict.code_hash, verdict.exercise_hash)
    return verdict if key.startswith(head) and is_sound(verdict, exercise) else None
