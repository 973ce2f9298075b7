"""What has been judged already, known by the hash of all that decides a verdict.

A verdict is kept under a key of all that decides it: the code that is run, the remarks on
reading it, the exercise, the engine, and the protection that was asked for. When any of these
changes, the submission is judged again; nothing is ever out of date. A row counts only when its
verdict is sound, and on the very code and exercise of its key. A file that holds more than our
one table (a trigger could change what is kept) is set aside. Each verdict is one transaction in a
SQLite file, written by the process that judged.
"""

from __future__ import annotations

import ast
import dataclasses
import hashlib
import hmac
import json
import math
import os
import platform
import re
import sqlite3
import sys
import time
import tomllib
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from autograder import __version__
from autograder.errors import KitError
from autograder.submission.reading import Submission, hash_of
from autograder.values.exercise import MANIFEST, WALKTHROUGH, Exercise, Step, shared_code
from autograder.values.files import share
from autograder.values.symbols import NEEDS_PYTHON, NOT_YET, our_fault
from autograder.values.verdict import (
    NOT_JUDGED,
    NOT_RUN,
    ChainVerdict,
    CheckVerdict,
    Finding,
    Outcome,
    StepVerdict,
    Verdict,
)

# What decides a verdict, as a hash; and verdicts on what was not judged, or not to the end.

_LIBRARIES = ("numpy", "torch", "pytest")


def exercise_hash(folder: Path) -> str:
    """Return a hash of all that decides a verdict: the exercise, this package, its libraries.

    What the exercise shares with others is part of it.
    """
    own = sorted([*folder.glob("*.py"), *folder.glob("*.toml")])
    return _hash([*own, *shared_code(folder)], _engine_hash())


def judging_hash(folder: Path) -> str:
    """Return a hash of what decides whether a step is right, but not of its points and words.

    Comments, and prose that stands in them, do not count; neither do titles, hints and minutes, or
    the diagram and the numbers in the prose.
    """
    root = folder.resolve()
    own = [(file.name, file) for file in sorted(folder.glob("*.py")) if file.name != WALKTHROUGH]
    shared = [(path.relative_to(root.parent).as_posix(), path) for path in shared_code(root)]
    programs = {name: ast.dump(ast.parse(path.read_bytes())) for name, path in [*own, *shared]}
    facts = tomllib.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    for step in facts.get("steps", ()):
        for words in ("title", "points", "hints", "similar", "minutes"):
            step.pop(words, None)
    for words in ("title", "diagram"):
        facts.pop(words, None)
    text = json.dumps([programs, facts, _engine_hash()], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def engine_versions() -> dict[str, str]:
    """Return what judges besides the exercise: the kit, a hash of its source, Python, libraries."""
    versions = {"Python": platform.python_version()}
    versions |= {library: _version(library) for library in _LIBRARIES}
    return {"attention-kit": __version__, "its source": _source_hash()} | versions


def judged_by() -> str:
    """Return what judges in words: the kit and Python, each with its version."""
    return f"attention-kit {__version__}, Python {platform.python_version()}"


@cache
def _engine_hash() -> str:
    versions = [platform.python_version(), *map(_version, _LIBRARIES)]
    return _hash((), " ".join([_source_hash(), *versions]))


@cache
def _source_hash() -> str:
    package = Path(__file__).resolve().parent.parent
    return _hash(sorted(package.rglob("*.py")), "")


def _version(library: str) -> str:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return "none"


def _hash(files: Iterable[Path], start: str) -> str:
    digest = hashlib.sha256(start.encode())
    for file in files:
        content = file.read_bytes()
        digest.update(f"{file.name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


# The seeds of one hand-in: drawn from a secret of the course and from the code itself.
#
# Changing one letter of the code changes the inputs, so what one hand-in learns of its own is of
# no use to the next. The same code gets the same inputs, so that a regrade gives the same
# verdict. The generators of a worker have a seed of their own: what code reads in them tells
# nothing about the inputs.

# How many seeds the hand-ins of a class share.
SHARED_SEEDS = 4
_BYTES = 8  # of which 63 bits are used: an integer that JSON and SQLite hold everywhere


def input_seed(secret: bytes, exercise: Exercise, code_hash: str) -> int:
    """Return the seed of the hidden inputs for the code with this hash, 63 bits."""
    return _seed("inputs", secret, exercise, code_hash)


def shared_seed(secret: bytes, exercise: Exercise, seed: int) -> int:
    """Return the seed of the inputs that hand-ins share, 63 bits, for the one with this `seed`.

    There are a few of them in a class, so what is computed for one hand-in serves others.
    """
    return _seed("shared", secret, exercise, str(seed % SHARED_SEEDS))


def common_seed(secret: bytes, exercise: Exercise) -> int:
    """Return the seed of inputs that all hand-ins of a class get, 63 bits; they decide nothing."""
    return _seed("common", secret, exercise, "")


def worker_seed(secret: bytes, exercise: Exercise, seed: int) -> int:
    """Return the seed of the generators that the code finds in its worker, 63 bits.

    There are a few of them in a class, so that right code draws what others have drawn before it.
    """
    return _seed("worker", secret, exercise, str(seed % SHARED_SEEDS))


def _seed(purpose: str, secret: bytes, exercise: Exercise, code_hash: str) -> int:
    facts = json.dumps([purpose, exercise.name, exercise.grading.seed, code_hash])
    digest = hmac.new(secret, facts.encode(), hashlib.sha256).digest()
    return int.from_bytes(digest[:_BYTES], "big") >> 1


# Verdicts on submissions that were not judged, or not to the end: each step says why.

_READ = ("read", "the submission can be read")
_STOPPED = ("stopped", "judging finishes")


@dataclass(frozen=True)
class JudgedStep:
    """A step whose verdict is known while the rest of its submission is still being judged."""

    step: StepVerdict
    protection: str


def unfinished(
    exercise: Exercise,
    submission: Submission,
    finding: Finding,
    judged: Sequence[JudgedStep] = (),
    seed: int = 0,
) -> Verdict:
    """Return the verdict on a submission that was not judged, or not to its end.

    What was `judged` before counts, by `seed`. All other steps end as `finding` says.
    """
    known = {each.step.name: each.step for each in judged}
    return Verdict(
        exercise=submission.exercise,
        student=submission.student,
        steps=tuple(known.get(step.name) or _ended(step, finding) for step in exercise.steps),
        chain=ChainVerdict(finding.outcome, None, finding),
        code_hash=submission.code_hash,
        exercise_hash=exercise_hash(exercise.folder),
        seed=seed,
        protection=judged[-1].protection if judged else NOT_RUN,
        seconds=0.0,
        remarks=submission.remarks,
    )


def infrastructure(exercise: Exercise, submission: Submission, detail: str) -> Verdict:
    """Return the verdict on a submission that we failed to judge."""
    return unfinished(exercise, submission, our_fault((detail,)))


def needs_newer_python(exercise: Exercise, submission: Submission) -> Verdict:
    """Return the verdict on a submission that only a newer Python can read: that is no zero.

    Whoever wrote it was not told which Python grades, or the course would have it.
    """
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    versions = f"{NEEDS_PYTHON}{submission.needs}, and the grader has Python {here}"
    finding = our_fault((versions,))
    look = f"A definition of yours {versions.removeprefix('it ')}. {finding.look}"
    return unfinished(exercise, submission, replace(finding, look=look))


def not_yet_judged(exercise: Exercise, submission: Submission) -> Verdict:
    """Return the verdict on a submission that is not judged here, and has not been as it is now.

    What could not be read is rejected again, as when it was graded.
    """
    finding = submission.rejected or our_fault((NOT_YET,), "It is not judged yet")
    return unfinished(exercise, submission, finding)


def stopped_at(verdict: Verdict) -> Finding | None:
    """Return why judging was stopped before its end; None when it was not."""
    checks = (check for step in verdict.steps for check in step.checks)
    return next((check.finding for check in checks if check.name == _STOPPED[0]), None)


def _ended(step: Step, finding: Finding) -> StepVerdict:
    name, title = _READ if finding.outcome in NOT_JUDGED else _STOPPED
    return StepVerdict.of(step, (CheckVerdict.of(name, title, finding),))


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


# Whether a verdict that was read back can be one that the kit gave; nothing is taken on trust.
#
# Anybody who may write to the folder of results may write to its journal. Anything odd is judged
# again, which costs seconds; what is believed goes into a gradebook.

_DIGEST = re.compile("[0-9a-f]{8}")


def is_sound(verdict: Verdict, exercise: Exercise) -> bool:
    """Whether `verdict` fits `exercise` as it is now, and agrees with itself.

    Every value has the type that its field declares, and numbers are finite; the steps are the
    exercise's, in its order, with its titles and points; a step has all of its points when all of
    its checks passed or a right layer does its work, else none; the chain breaks nowhere or at one
    of the steps.
    """
    if not _has_type(verdict, Verdict) or len(verdict.steps) != len(exercise.steps):
        return False
    names = [step.name for step in exercise.steps]
    chain = verdict.chain
    return (
        verdict.exercise == exercise.name
        and verdict.seconds >= 0
        and all(_fits(judged, step) for judged, step in zip(verdict.steps, exercise.steps))
        and _layer_fits(verdict)
        and (chain.breaks_at is None or chain.breaks_at in names)
        and (chain.outcome is not Outcome.PASSED or chain.breaks_at is None)
    )


def _fits(judged: StepVerdict, step: Step) -> bool:
    """Whether a step is judged under its own name, for what it is worth."""
    made = StepVerdict.of(step, judged.checks, judged.leaning, judged.by_layer)
    return (
        bool(judged.checks)
        and all((check.finding is None) == check.passes for check in judged.checks)
        and judged.outcome not in NOT_JUDGED
        and judged == dataclasses.replace(made, answer=judged.answer)
        and (not judged.answer or (not made.passes and bool(_DIGEST.fullmatch(judged.answer))))
        and (not judged.by_layer or judged.outcome is Outcome.NOT_WRITTEN)
    )


def _layer_fits(verdict: Verdict) -> bool:
    """Whether the layer ended as its own step did; only the student's own earns other steps."""
    layer = verdict.chain.layer
    if layer is None:
        return not any(step.by_layer for step in verdict.steps)
    own = [step for step in verdict.steps if step.name == layer.name]
    if len(own) != 1 or own[0].outcome is not layer.outcome:
        return False
    written = not own[0].leaning and not own[0].by_layer
    return written or not any(step.by_layer for step in verdict.steps)


def _has_type(value: object, declared: Any) -> bool:
    """Whether `value` is what a field of a verdict declares, all the way down."""
    kinds = get_args(declared)
    if get_origin(declared) is types.UnionType:
        return any(_has_type(value, kind) for kind in kinds)
    if get_origin(declared) is tuple:
        if not isinstance(value, tuple):
            return False
        each = kinds[:1] * len(value) if kinds[-1] is Ellipsis else kinds
        return len(value) == len(each) and all(map(_has_type, value, each))
    if declared is float:
        return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]
    kind: Any = type(value)  # True is no number here
    fields = _fields(kind) if kind is declared else ()
    return kind is declared and all(_has_type(getattr(value, name), of) for name, of in fields)


@cache
def _fields(declared: type) -> tuple[tuple[str, Any], ...]:
    """Return the fields of a dataclass, each with the type that it declares."""
    return tuple(get_type_hints(declared).items()) if dataclasses.is_dataclass(declared) else ()


JOURNAL = "journal.sqlite"
VERSION = 1
MOST_BYTES = 16_000_000  # of one verdict; our longest takes a hundredth of that
Find = Callable[[str, str, Exercise], Verdict | None]
_ASIDE = "before "  # no key begins like this
_IS_ASIDE = "key >= 'before ' and key < 'before!'"
_BESIDE = ("", "-wal", "-shm")
_TABLE = """
create table if not exists verdicts (
    key text primary key,
    verdict text not null,
    judged_at text not null default current_timestamp
) strict
"""


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
        """Give what finds the verdict under a key, as that of a student; None when there is none.

        Also None when the verdict is not on the exercise as it is now, contradicts itself, or is
        larger than any that we give. Raises `JournalFault` when the journal cannot be read.
        """
        with faults_of(self.path), self._open() as connection:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
            connection.text_factory = bytes  # it need not be UTF-8
            yield lambda key, student, exercise: _sound(
                _text(connection, key), key, student, exercise
            )

    def keep(self, key: str, verdict: Verdict) -> None:
        """Keep `verdict` for good; raise `JournalFault` when that fails three times."""
        row = key, verdict.to_json(indent=None)
        for last in (*[False] * (TRIES - 1), True):
            try:
                with faults_of(self.path), self._open() as connection:
                    connection.execute(
                        "insert or replace into verdicts (key, verdict) values (?, ?)", row
                    )
                return
            except JournalFault:
                if last:
                    raise
                time.sleep(PAUSE)

    @contextmanager
    def judged_anew(self, keys: Iterable[str]) -> Iterator[None]:
        """Have nothing under `keys` for a while, so that it is judged again.

        What was there stands again afterwards where no new verdict is. Raises `JournalFault`.
        """
        self.put_back()
        rows = [(f"{_ASIDE}{key}", key) for key in keys]
        with faults_of(self.path), self._open() as connection:
            connection.executemany("update verdicts set key = ? where key = ?", rows)
        try:
            yield
        finally:
            self.put_back()

    def put_back(self) -> None:
        """End what `judged_anew` began, also in a run that was killed; raise `JournalFault`."""
        after = f"substr(key, {len(_ASIDE) + 1})"
        with faults_of(self.path), self._open() as connection:
            if connection.execute(f"select 1 from verdicts where {_IS_ASIDE} limit 1").fetchone():
                connection.execute(f"update or ignore verdicts set key = {after} where {_IS_ASIDE}")
                connection.execute(f"delete from verdicts where {_IS_ASIDE}")

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


@dataclass(frozen=True)
class GradingRun:
    """How a class is judged: where verdicts are kept, from which secret inputs are drawn.

    `journal` has been prepared before; `allow_process` accepts a machine that does not isolate.
    All hand-ins lie in `graded`; workers see no folder of packages that holds it. With
    `layer_earns_steps`, a right layer earns the points of the steps that it does. The functions of
    a hand-in are asked `together`, or one after the other.
    """

    journal: Path | None = None
    secret: bytes = b""
    allow_process: bool = False
    graded: Path | None = None
    layer_earns_steps: bool = True
    together: bool = True

    def key(self, submission: Submission, exercise_hash: str) -> str:
        """Return the key of all that decides the verdict on `submission`, whoever handed it in.

        It consists of the exercise's name, the hashes of the code and the exercise, and a hash of
        the rest.
        """
        demand = "process" if self.allow_process else "isolated"
        alone = [] if self.layer_earns_steps else ["steps alone"]
        rest = hash_of([submission.remarks, demand, *alone])
        return f"{_judged(submission.exercise, submission.code_hash, exercise_hash)}{rest}"

    def found(
        self, submissions: Iterable[Submission], exercise_hash: str, exercise: Exercise
    ) -> Iterator[tuple[int, Verdict]]:
        """Give the verdicts that the journal holds on `submissions`, each with its place.

        Raises `JournalFault` when it cannot be read.
        """
        if self.journal is None:
            return
        with Journal(self.journal).reading() as find:
            for place, each in enumerate(submissions):
                if verdict := find(self.key(each, exercise_hash), each.student, exercise):
                    yield place, verdict

    def kept(self, verdict: Verdict, exercise: Exercise, submission: Submission) -> Verdict:
        """Keep the `verdict` on `submission` in the journal; return the one that counts.

        A verdict counts once the journal holds it. One that is no judgement is not kept; in place
        of one that the journal cannot take, there is an infrastructure verdict, so that nothing
        counts that a later run would not find.
        """
        if self.journal is None or verdict.infrastructure or submission.rejected:
            return verdict
        try:
            Journal(self.journal).keep(self.key(submission, verdict.exercise_hash), verdict)
        except JournalFault as fault:
            return infrastructure(exercise, submission, str(fault))
        return verdict


DEFAULT_RUN = GradingRun()
