"""One class and one exercise: what there is to grade, how, and the folder where results go."""

from __future__ import annotations

import contextlib
import csv
import errno
import io
import itertools
import json
import os
import re
import secrets
import signal
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import datetime
from pathlib import Path

from autograder.errors import KitError
from autograder.submission.file_text import bare, is_submission, student_of
from autograder.values.exercise import MANIFEST, Exercise, find_exercise
from autograder.values.files import following, read_small, write_whole
from autograder.values.sanitize import clean_line, terminal_line
from autograder.values.symbols import DEFAULT_RULES, MarkingRules
from autograder.values.this_machine import OURS

# Who handed in what: which files and folders below a path are whose. Nothing is read here.
#
# A path is a course directory (nbgrader's `submitted/STUDENT/EXERCISE/`) or a flat folder in
# which every file or folder is named after its student. With a list of groups, what one member
# hands in is the hand-in of all.

GROUPS = "groups.csv"
_STUDENT, _GROUP = ("student_id", "student", "id"), "group"  # headings of that list
_MOST_BYTES = 16_000_000
INSTRUCTORS_OWN = (".csv", ".md", ".txt")  # lists and notes that lie beside the submissions
_OF_THE_KIT = re.compile(r"(roster|groups|collected.*|not-taken.*)\.csv|readme\..*", re.IGNORECASE)


@dataclass(frozen=True)
class HandIn:
    """The files and folders that one student handed in.

    Everything below the folder `root` is the student's; None stands for the folder they lie in.
    """

    student: str
    paths: tuple[Path, ...]
    root: Path | None = None


def course_roster(folders: Iterable[tuple[str, Path]]) -> tuple[HandIn, ...]:
    """Return the hand-ins of a course: pairs of a student and the folder handed in.

    That folder lies in the student's own folder, which may be a link.
    """
    return tuple(HandIn(student, (folder,), folder.parent.parent) for student, folder in folders)


def flat_roster(folder: Path) -> tuple[HandIn, ...]:
    """Return the hand-ins in a folder of files named after students.

    Whatever has a student's name is theirs, even a file of the wrong kind: nobody is left out.
    Raises `KitError` when there are none.
    """
    by_student: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_dir():
            by_student[student_of(path.name)].append(path)
        elif not _may_be_a_note(path):
            by_student[student_of(bare(path).stem)].append(path)
    if not by_student:
        others = ", ".join(passed_over(folder))
        raise KitError(
            "there are no submissions here",
            place=str(folder),
            cure="put one .py or .ipynb file per student into it, named after the student"
            + (f"; these are neither: {terminal_line(others, 300)}" if others else ""),
        )
    return tuple(HandIn(student, tuple(paths)) for student, paths in by_student.items())


@dataclass(frozen=True)
class GroupHandIn:
    """A group of whose `members` one has handed in for all: `student`.

    What `others` of them have handed in as well does not count.
    """

    group: str
    members: tuple[str, ...]
    student: str
    others: tuple[str, ...] = ()


def read_groups(folder: Path) -> Mapping[str, tuple[str, ...]]:
    """Return the students of each group, as `groups.csv` in `folder` lists them; without it, none.

    Raise `KitError` when it lists no groups, or one student in two.
    """
    path = folder / GROUPS
    try:
        text = read_small(path, _MOST_BYTES).decode("utf-8-sig", "replace")
    except FileNotFoundError:
        return {}
    lines = csv.reader(io.StringIO(text), delimiter=";" if ";" in text.split("\n")[0] else ",")
    rows = [[value.strip() for value in row] for row in lines if row]
    head = [value.casefold() for value in rows[0]] if rows else []
    student_at = next((head.index(name) for name in _STUDENT if name in head), None)
    if student_at is None or _GROUP not in head:
        raise _wrong_groups(path, "has no columns `student_id` and `group`")
    group_at, found = head.index(_GROUP), dict[str, str]()
    for row in rows[1:]:
        student, group = (*row, *[""] * len(head))[student_at], (*row, *[""] * len(head))[group_at]
        if student and group and found.setdefault(student, group) != group:
            raise _wrong_groups(path, f"lists {clean_line(student, 60)} in two groups")
    groups: dict[str, tuple[str, ...]] = {}
    for student, group in found.items():
        groups[group] = (*groups.get(group, ()), student)
    return groups


def _wrong_groups(path: Path, why: str) -> KitError:
    return KitError(
        f"{GROUPS} {why}",
        place=str(path),
        cure="write a line for each student of a group: student_id,group",
    )


def shared_hand_ins(
    hand_ins: Sequence[HandIn],
    groups: Mapping[str, Sequence[str]],
    handed_in: Callable[[HandIn], datetime | None] = lambda _: None,
) -> tuple[tuple[HandIn, ...], tuple[GroupHandIn, ...]]:
    """Return the hand-in of every student, also of those whose group has one, and these groups.

    Of several of a group, the one that was `handed_in` last counts for all: the first by name where
    that is not known.
    """
    by_student = {each.student: each for each in hand_ins}
    shared = []
    for group, members in groups.items():
        own = [by_student[student] for student in sorted(members) if student in by_student]
        if own:
            last = max(own, key=lambda each: handed_in(each) or datetime.min)
            by_student |= {student: replace(last, student=student) for student in members}
            others = tuple(each.student for each in own if each is not last)
            shared.append(GroupHandIn(group, tuple(members), last.student, others))
    return tuple(by_student[student] for student in sorted(by_student)), tuple(shared)


@dataclass(frozen=True)
class GradingOptions:
    """How to grade: in how many processes (None: as many as the class is worth), isolated or not
    (`allow_process`), whether to judge `again` what has been judged before, on which `cluster`
    (None: only here), and what there are points for, as in `MarkingRules` (None: as the course
    says)."""

    processes: int | None = None
    allow_process: bool = False
    again: bool = False
    cluster: str | None = None
    layer_earns_steps: bool | None = None
    partial_points: bool | None = None


@dataclass(frozen=True)
class ClassTask:
    """One class and one exercise: who handed in what and where, where results go (and whether
    somebody named another folder than the usual one), where the secret of its inputs lies, and
    what its course gives points for, and the groups of which one hand-in counts for all."""

    exercise: Exercise
    hand_ins: tuple[HandIn, ...]
    graded: Path
    output: Path
    output_named: bool
    secret: Path
    rules: MarkingRules = DEFAULT_RULES
    groups: tuple[GroupHandIn, ...] = ()

    def rules_for(self, options: GradingOptions) -> MarkingRules:
        """What there are points for: options overrule the course."""
        names = [each.name for each in fields(MarkingRules)]
        chosen = {name: getattr(options, name) for name in names}
        return replace(self.rules, **{k: v for k, v in chosen.items() if v is not None})


# What is graded: a course or a folder of files, never both, and never what holds the solutions.
#
# A course runs its own configuration and says where its solutions are; both are programs. So
# nothing that students hand in may pass for a course, or for its solutions.

# The files that make a folder a course: what grading relies on, and nbgrader's configuration.
FACTS = "attn.toml"
CONFIG = "nbgrader_config.py"
_MOST_FILES, _MOST_NAMED = 10_000, 5
# Where nbgrader and the kit keep what belongs to a course.
_OF_A_COURSE = (
    *("source", "release", "submitted", "autograded", "feedback", "graded"),
    *("downloaded", "exchange", "own-steps", "solution", "source_with_tests"),
)
# What programs keep in hidden files and folders of theirs.
_OF_A_PROGRAM = ("._", ".ipynb_checkpoints", ".git", ".attn-", ".venv", ".Trash", ".~", ".part-")


def is_course(folder: Path) -> bool:
    """Whether `folder` is a course; raise `KitError` when it is one and holds hand-ins as well."""
    marks = [name for name in (FACTS, CONFIG) if (folder / name).exists()]
    if not marks:
        return False
    handed_in = handed_in_at_the_top(folder)
    if handed_in:
        named = top_names(handed_in)
        raise KitError(
            f"this folder holds {' and '.join(marks)}, as a course does, and {named}, "
            "as a folder of submissions does",
            place=str(folder),
            cure=f"if it is a folder of submissions, take {' and '.join(marks)} out, since "
            f"somebody may have handed them in; if it is a course, move {named} to a folder beside "
            "it",
        )
    if not (folder / FACTS).is_file():
        raise KitError(
            f"this folder holds {CONFIG}, but it is not a course: it has no {FACTS}",
            place=str(folder),
            cure="if it is a course of nbgrader's, add exercises to it with "
            f"`attn course adopt {folder} --exercise NAME`; else take that file out of the folder",
        )
    return True


def handed_in_at_the_top(folder: Path) -> tuple[Path, ...]:
    """Return what looks handed in beside a course's own files."""
    beside = (
        path
        for path in sorted(folder.iterdir())
        if not (path.name.startswith(".") or path.name in (*_OF_A_COURSE, CONFIG))
    )
    # A folder that is not a part of a course may be a student's, whatever its files are called.
    return tuple(filter(looks_handed_in, beside))


def top_names(paths: Sequence[Path]) -> str:
    """Return the names of files and folders in words, the first ones of many."""
    names = [f"{path.name}/" if path.is_dir() else path.name for path in paths]
    more = len(names) - _MOST_NAMED
    listed = [*names[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])]
    return terminal_line(" and ".join(filter(None, (", ".join(listed[:-1]), listed[-1]))), 300)


def passed_over(folder: Path) -> tuple[str, ...]:
    """Return the names of files that pass for notes of the instructor: nobody grades them."""
    loose = (path for path in sorted(folder.iterdir()) if path.is_file())
    seen = (path for path in loose if not path.name.startswith("."))
    return tuple(
        path.name for path in seen if _may_be_a_note(path) and not _OF_THE_KIT.fullmatch(path.name)
    )


def _may_be_a_note(path: Path) -> bool:
    return path.suffix.lower() in INSTRUCTORS_OWN and not is_submission(path)


def hidden_hand_ins(folder: Path) -> tuple[str, ...]:
    """Return the names of hidden files and folders that look handed in: nobody grades them."""
    hidden = (path for path in sorted(folder.iterdir()) if path.name.startswith("."))
    students = (path for path in hidden if not path.name.startswith(_OF_A_PROGRAM))
    return tuple(path.name for path in students if looks_handed_in(path))


def looks_handed_in(path: Path) -> bool:
    """Whether it is a file that may be graded, or a folder that holds one."""
    return is_submission(path) or (path.is_dir() and any(map(is_submission, _below(path))))


def _below(folder: Path) -> Iterator[Path]:
    """The files below a folder, the first ten thousand; links are not followed."""
    walked = (Path(at, name) for at, _, names in os.walk(folder) for name in names)
    return itertools.islice(walked, _MOST_FILES)


def find_solutions(named: Path | None, graded: Path) -> Path:
    """Return the folder of solutions: the one that is `named`, else the one beside the kit.

    Never one that happens to lie below the current folder, where students' files may be. Raises
    `KitError` when there is none, or when it lies in what is `graded`.
    """
    found = named or beside_the_kit()
    refuse_solutions_within(found, graded)
    return found


def beside_the_kit() -> Path:
    """Return the solutions in the repository that the kit runs from; raise `KitError` elsewhere."""
    found = OURS / "solutions"
    if not any(found.glob(f"*/{MANIFEST}")):
        raise KitError(
            "the kit does not know where the exercises and their solutions are",
            place=str(Path.cwd()),
            cure="add --solutions, with the folder that holds them",
        )
    return found


def refuse_solutions_within(solutions: Path, graded: Path) -> None:
    """Raise `KitError` when the solutions lie in what is graded: students could write them."""
    if solutions.resolve().is_relative_to(graded.resolve()):
        raise KitError(
            "the solutions lie in the folder that is graded, but they are programs that grading "
            "runs",
            place=str(solutions),
            cure="keep the solutions outside what students hand in, and name them with --solutions",
        )


# A class without a course: a folder in which every file or folder is named after its student.


def folder_task(
    path: Path, exercise: str | None, solutions: Path | None, output: Path | None
) -> ClassTask:
    """Return what there is to grade in the folder `path`; raise `KitError` on bad input.

    Results go beside the folder unless an `output` is named.
    """
    if exercise is None:
        raise KitError(
            "the kit does not know which exercise this is",
            place=str(path),
            cure="add --exercise, for example --exercise numpy_single_head",
        )
    facts = find_exercise(exercise, find_solutions(solutions, path).absolute())
    usual = path.resolve().with_name(f"{path.resolve().name}-graded")
    target = output or usual
    if target.resolve().is_relative_to(path.resolve()):
        raise KitError(
            "the results would lie among the submissions, and next time they would be graded too",
            place=str(target),
            cure="name a folder outside with --output",
        )
    hand_ins, groups = shared_hand_ins(flat_roster(path), read_groups(path))
    named = target.resolve() != usual
    return ClassTask(facts, hand_ins, path, target, named, target, groups=groups)


# Where results go: one folder for one class and one exercise, and the secret of its inputs.

OWNER, SECRET, GRADES = "class.json", "input.secret", "grades.csv"
SECRET_BYTES = 32
MOST_BYTES = 65_536  # of a file that holds two names, or a secret
_LONGEST_NAME = 300
OWN = "the class that this folder lies in or beside"
_UNKNOWN = "nobody knows which class"
_GROUP_MAY_WRITE = 0o020
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS)  # a file system without hard links


def claim_output(
    output: Path, graded: Path, exercise: str, *, named: bool, secret: Path
) -> str | None:
    """Note in `output` whose results it holds; raise `KitError` when they are another class's.

    Where nobody has `named` another place, results belong to the class that they lie in or beside,
    whatever it is called and wherever it has been moved. Elsewhere, the class is known by its path,
    and results of unknown origin are not overwritten. A note that cannot be understood counts as
    another class's, and one that is not a plain file is refused. Return a sentence when the class
    is a copy of one that is still there, with its `secret`.
    """
    place = _noted(output.resolve())
    whose = _noted(os.path.relpath(graded.resolve(), output.resolve())) if named else OWN
    owner = {"class": whose, "exercise": exercise, "place": place}
    file = output / OWNER
    try:
        found = _read(file)
    except FileNotFoundError:
        if named and (output / GRADES).exists():
            raise _taken(output, _UNKNOWN, owner) from None
        found = {}
    else:
        if not _is_of(found, owner, graded, output):
            raise _taken(output, _whose(found), owner)
    if found == owner:
        return None
    write_whole(file, json.dumps(owner, indent=2) + "\n")
    return _copy_words(found.get("place"), output, secret)


def class_of(output: Path) -> tuple[Path, str] | None:
    """Return the class and the exercise whose results `output` holds, as far as it says so.

    Of `graded/EXERCISE` in a course, that is the course; a folder beside its class says nothing.
    """
    try:
        facts = _read(output / OWNER)
    except (OSError, KitError):
        return None
    whose, exercise = facts.get("class"), facts.get("exercise")
    if not isinstance(whose, str) or not isinstance(exercise, str):
        return None
    if whose == OWN and output.parent.name != "graded":
        return None
    return (output.parents[1] if whose == OWN else output / whose).resolve(), exercise


def _noted(path: Path | str) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _is_of(
    found: Mapping[str, object], owner: Mapping[str, str], graded: Path, output: Path
) -> bool:
    """Whether the results are those of a class and an exercise."""
    if found.get("exercise") != owner["exercise"]:
        return False
    if found.get("class") == owner["class"]:
        return True
    # Earlier versions noted where the class was, and nothing else; what lies in a course is its.
    inside = owner["class"] == OWN and output.resolve().is_relative_to(graded.resolve())
    return "place" not in found and (found.get("class") == _noted(graded.resolve()) or inside)


def _copy_words(before: object, output: Path, secret: Path) -> str | None:
    """Return what to know if the results were copied, and not moved, from the place `before`."""
    if not isinstance(before, str):
        return None
    own, other = secret / SECRET, Path(before, os.path.relpath(secret, output), SECRET)
    try:
        if own.samefile(other) or read_small(own, MOST_BYTES) != read_small(other, MOST_BYTES):
            return None
    except (OSError, ValueError, KitError):  # it was moved, or has another secret
        return None
    return (
        f"This class is a copy of the one with its results in {terminal_line(before, 300)}: both "
        "draw their hidden inputs from the same secret. If it is for other students, delete "
        f"{own} and grade with --again: a new one is made."
    )


def _read(file: Path) -> dict[str, object]:
    try:
        facts = json.loads(read_small(file, MOST_BYTES).decode("utf-8"))
    except (ValueError, RecursionError):
        facts = None
    return facts if isinstance(facts, dict) else {}


def _whose(found: dict[str, object]) -> str:
    """Return whose results they are, as a line that is safe in a terminal."""
    exercise, graded = found.get("exercise"), found.get("class")
    if not isinstance(exercise, str) or not isinstance(graded, str):
        return _UNKNOWN
    graded = "the class beside it" if graded == OWN else graded
    return f"{terminal_line(exercise, _LONGEST_NAME)} of {terminal_line(graded, _LONGEST_NAME)}"


def _taken(output: Path, whose: str, owner: Mapping[str, str]) -> KitError:
    other, note = f"{output.name}-{owner['exercise']}", {**owner}
    del note["place"]
    return KitError(
        f"this folder holds the results of another class or exercise ({whose}), which would be "
        "overwritten",
        place=str(output),
        cure=f"name another folder with --output, for example --output {other}; or, if it is this "
        f"class under another name, write into {OWNER} there: {json.dumps(note)}",
    )


def input_secret(folder: Path) -> bytes:
    """Return the secret that hidden inputs are drawn from; the first call makes it.

    With it, a submission gets the same inputs at every regrade, and nobody else's. Raises
    `KitError` when it is damaged, not a plain file, or cannot be stored.
    """
    file = folder / SECRET
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            _make(file)
        secret = read_small(file, MOST_BYTES)
    except OSError as error:
        raise KitError(
            f"the secret that hidden inputs are drawn from cannot be stored: {error.strerror}",
            place=str(file),
            cure="free some space, or give yourself the right to write there; then run the same "
            "command again",
        ) from error
    if len(secret) != SECRET_BYTES:
        raise KitError(
            "the secret that hidden inputs are drawn from is damaged",
            place=str(file),
            cure="delete that file: a new one is made, and students who are graded again get "
            "other inputs",
        )
    return secret


def _make(file: Path) -> None:
    """Write a new secret, whole or not at all; raise FileExistsError when there is one."""
    if file.exists():
        raise FileExistsError(file)
    # Only those who may write the class's results may read it.
    shared = file.parent.stat().st_mode & _GROUP_MAY_WRITE
    partial = file.with_name(f"{file.name}.{os.getpid()}")
    partial.unlink(missing_ok=True)  # left by a killed run, or a link to elsewhere
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(secrets.token_bytes(SECRET_BYTES))
        partial.chmod(0o660 if shared else 0o600)
        os.link(partial, file)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)


# One run at a time on one class: a second waits, and then finds everything judged.
#
# Two runs at once would judge twice and lay out the same notebooks over each other. The lock is
# the kernel's own on the folder of the class, so it leaves no file and no killed run keeps it.

WAITS = "another run is grading this class: waiting for it to finish"


@contextmanager
def class_lock(folder: Path, waits: Callable[[], None]) -> Iterator[None]:
    """Hold the class in `folder`; call `waits` first when another run holds it, and wait for it.

    What is made meanwhile can be used by all who share that folder.
    Raise OSError when the folder cannot be read or its file system has no locks.
    """
    if sys.platform == "win32":  # has no such lock, and no grading
        yield
        return
    import fcntl

    held = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waits()
            fcntl.flock(held, fcntl.LOCK_EX)
        with following(folder):
            yield
    finally:
        os.close(held)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end this process as an error does, so that nothing is left behind.

    Only in the main thread, and only where nobody else handles them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    numbers = [getattr(signal, name) for name in names]
    ours = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, frame: object) -> None:
    raise SystemExit(128 + number)
