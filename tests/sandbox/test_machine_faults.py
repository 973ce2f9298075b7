"""Faults of the machine, told by the real commands: cause, place and cure; nothing is lost.

Limits that somebody has set, file systems that are missing or full, packages and drivers that are
not installed: never a traceback, never another cause, and the same command goes on afterwards.
"""

from __future__ import annotations

import errno
import os
import re
import shlex
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pytest

from autograder.course.creation import read_course
from autograder.course.settings import read_settings
from autograder.errors import KitError
from autograder.grading.journal import JOURNAL
from autograder.values.this_machine import fault_of, limit_named_in
from support.machines import as_ordinary_user
from support.measured_processes import UNMEASURED
from support.typed_commands import Run, attn

pytestmark = pytest.mark.slow  # machines with one fault each, a class graded on each

ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS = ROOT / "solutions"
NAME, IN_TORCH = "numpy_single_head", "torch_single_head"
ATTN = [sys.executable, "-B", "-m", "autograder.cli"]
REFUSED = 2


def error_of(run: Run) -> dict[str, str]:
    """Fact, place and cure of the error, which has to have all three and nothing else."""
    assert run.code == REFUSED, run.said
    lines = re.findall(r"^(error|  where|  cure): +(\S.*)$", run.err, re.MULTILINE)
    assert [name.strip() for name, _ in lines] == ["error", "where", "cure"], run.err
    assert len(run.err.splitlines()) == 3, run.err
    return {name.strip(): text for name, text in lines}


def run(command: list[str], environment: Mapping[str, str] = MappingProxyType({})) -> Run:
    first, *others = command
    own = {"PYTHONPATH": str(ROOT), "COLUMNS": "200", **UNMEASURED, **environment}
    return attn(*others, command=first, folder=ROOT, **own)


def limited(*limits: str) -> Callable[[list[str]], list[str]]:
    """Have a command run under `limits`, as prlimit(1) names them."""
    return lambda command: ["prlimit", *(f"--{limit}" for limit in limits), "--", *command]


def where(*steps: str) -> Callable[[list[str]], list[str]]:
    """Have a command run in a view of the files of its own, after the `steps` of a shell."""

    def wrap(command: list[str]) -> list[str]:
        own = [] if os.geteuid() == 0 else ["--user", "--map-current-user", "--keep-caps"]
        script = "\n".join(["set -e", *steps, f"exec {shlex.join(command)}"])
        return ["unshare", "--mount", "--propagation", "private", *own, "sh", "-c", script]

    return wrap


@dataclass(frozen=True)
class Fault:
    """A machine with a fault: how a command runs on it, and what it has to say."""

    wrap: Callable[[list[str]], list[str]]
    fact: str
    place: str
    cure: str


NO_SHARED_MEMORY = {
    "read-only": "mount -t tmpfs -o ro tmpfs /dev/shm",
    "full": "mount -t tmpfs -o size=4k tmpfs /dev/shm; head -c 4096 /dev/zero > /dev/shm/full",
}
OPEN_FILES = ("files may be open at once, but grading needs 64", "ulimit -n", "ulimit -n 1024")
OF_A_SUBMISSION = "that a submission is promised"
FAULTS = {
    "few open files": Fault(limited("nofile=48"), *OPEN_FILES),
    "next to no open files": Fault(limited("nofile=10"), *OPEN_FILES),
    "no /proc": Fault(where("umount -l /proc"), "there is no /proc", "/proc", "mount -t proc"),
    "small files": Fault(
        limited("fsize=4096"), "a file may hold only", "ulimit -f", "ulimit -f unlimited"
    ),
    "little memory": Fault(
        limited("as=300000000"), "(`ulimit -v`) is lower than", "limits of this process", "raise"
    ),
    "little processor time": Fault(
        limited("cpu=15"), "(`ulimit -t`) is lower than", "limits of this process", "raise it"
    ),
}


def hand_in(place: Path, exercise: str) -> Path:
    """Make a class in `place` in which one has handed in the solution; return its folder."""
    folder = place / "homework"
    folder.mkdir()
    shutil.copy(SOLUTIONS / exercise / "solution.py", folder / "ada.py")
    return folder


@pytest.fixture
def homework(tmp_path: Path) -> Path:
    return hand_in(tmp_path, NAME)


def grading(folder: Path, exercise: str = NAME) -> list[str]:
    return [*ATTN, "grade", str(folder), "--exercise", exercise, "--solutions", str(SOLUTIONS)]


@pytest.mark.parametrize("name", FAULTS)
def test_grading_says_what_the_machine_lacks_and_leaves_nothing_behind(
    name: str, homework: Path
) -> None:
    fault = FAULTS[name]
    error = error_of(run(fault.wrap(grading(homework))))
    assert fault.fact in error["error"] and fault.place in error["where"]
    assert fault.cure in error["cure"]
    assert not homework.with_name("homework-graded").exists()


# The others are seen before any work is given out, on every run alike.
SEEN_WHILE_GRADING = ("next to no open files", "little memory", "little processor time")


@pytest.fixture(scope="module")
def half_graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A class of two; the second has handed in after the first was graded."""
    folder = hand_in(tmp_path_factory.mktemp("half"), NAME)
    first = run(grading(folder))
    assert first.code == 0, first.said
    code = (folder / "ada.py").read_text(encoding="utf-8")
    (folder / "bob.py").write_text(f"# also mine\n{code}", encoding="utf-8")
    return folder


def kept(graded: Path) -> tuple[dict[Path, bytes], list[tuple[str, ...]]]:
    """All results, and the rows of the journal: its file changes when it is only looked at."""
    files = [path for path in graded.rglob("*") if path.is_file() and JOURNAL not in path.name]
    with closing(sqlite3.connect(graded / JOURNAL)) as journal:
        rows = journal.execute("select * from verdicts").fetchall()
    return {path: path.read_bytes() for path in files}, rows


@pytest.mark.parametrize("name", SEEN_WHILE_GRADING)
def test_a_run_that_goes_on_says_so_too_and_leaves_what_is_there(
    name: str, half_graded: Path
) -> None:
    fault, graded = FAULTS[name], half_graded.with_name("homework-graded")
    before = kept(graded)
    error = error_of(run(fault.wrap(grading(half_graded))))
    assert fault.fact in error["error"] and fault.place in error["where"]
    assert kept(graded) == before and all(before)


def test_the_same_command_goes_on_after_every_fault_and_loses_nobody(half_graded: Path) -> None:
    second = run(grading(half_graded))
    assert "1 of 2 submissions were judged before" in second.out, second.out
    assert second.out.count("22/22") == 2 and second.code == 0


@pytest.mark.parametrize("name", [name for name in FAULTS if name != "few open files"])
def test_the_doctor_gives_the_same_cause(name: str) -> None:
    fault = FAULTS[name]
    said = run(fault.wrap([*ATTN, "doctor"]))
    words = " ".join(said.out.split())
    assert said.code == 1 and said.err == "", said.err
    assert fault.fact in words and fault.cure in words, words
    assert "grade untrusted code here: no" in words
    # One cause has one cure: what could not be tried is not called missing.
    assert "missing: " not in words, words


@pytest.mark.parametrize("processes", [3, 20])
def test_a_user_who_may_have_few_processes_is_told_which_limit_it_is(
    processes: int, homework: Path
) -> None:
    out = homework.parent / "open"
    out.mkdir(mode=0o777)
    own = [folder for folder in out.parents if folder.is_relative_to(tempfile.gettempdir())]
    for folder in own[:-1]:  # the last is the system's own
        folder.chmod(folder.stat().st_mode | 0o055)
    out.chmod(0o777)
    command = [*grading(homework), "--output", str(out / "graded")]
    few = as_ordinary_user(limited(f"nproc={processes}")(command))
    error = error_of(run(few, {"HOME": "/"}))
    assert "ulimit -u" in error["error"] + error["where"]
    assert "Resource temporarily unavailable" in error["error"] or OF_A_SUBMISSION in error["error"]
    assert "raise it" in error["cure"] and not (out / "graded").exists()


@pytest.mark.parametrize("step", NO_SHARED_MEMORY.values(), ids=NO_SHARED_MEMORY)
def test_a_class_is_graded_under_limits_that_are_enough_and_without_shared_memory(
    step: str, homework: Path
) -> None:
    enough = limited("nofile=64", "as=3000000000", "fsize=20000000", "cpu=600", "nproc=4000")
    said = run(where(step)(enough(grading(homework))))
    assert said.code == 0 and "22/22" in said.out, said.said


# --- what is not installed ----------------------------------------------------------------------

# Runs the command where some packages cannot be imported; grader processes are spawned from it.
WITHOUT = """
import importlib.abc, sys

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
"""


def without(place: Path, *missing: str) -> dict[str, str]:
    """Return the environment in which the modules `missing` cannot be imported."""
    folder = place / "missing"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(WITHOUT.format(missing=missing), encoding="utf-8")
    return {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}


MISSING = {
    "sqlite3": (("sqlite3", "_sqlite3"), NAME, "built without sqlite3", "a complete Python"),
    "jinja2": (("jinja2",), NAME, "jinja2 is not installed", "install 'jinja2>="),
    "torch": (("torch",), IN_TORCH, "torch is not installed", "install 'torch=="),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_package_that_grading_needs_and_is_not_there_is_named(name: str, tmp_path: Path) -> None:
    missing, exercise, fact, cure = MISSING[name]
    folder = hand_in(tmp_path, exercise)
    error = error_of(run(grading(folder, exercise), without(tmp_path, *missing)))
    assert fact in error["error"] and error["where"] == sys.executable and cure in error["cure"]


@pytest.fixture
def course(tmp_path: Path) -> Path:
    folder = tmp_path / "course"
    made = run([*ATTN, "course", "new", str(folder), "--exercise", NAME])
    assert made.code == 0, made.err
    handed_in = folder / "submitted" / "ada" / NAME
    handed_in.mkdir(parents=True)
    shutil.copy(SOLUTIONS / NAME / "solution.py", handed_in / f"{NAME}.py")
    return folder


def test_a_course_without_nbgrader_is_told_what_to_install(course: Path, tmp_path: Path) -> None:
    error = error_of(run([*ATTN, "grade", str(course)], without(tmp_path, "nbgrader")))
    assert "nbgrader is not installed" in error["error"]
    assert "pip install 'nbgrader==" in error["cure"]


ADDRESSES = {
    "postgresql+psycopg2://me:swordfish@localhost:1/grades": (
        "needs psycopg2, which is not installed", "pip install psycopg2-binary",
    ),
    "mysql://me:swordfish@localhost:1/grades": (
        "needs MySQLdb, which is not installed", "pip install mysqlclient",
    ),
    "nosuch://me:swordfish@localhost/grades": ("does not name a known database", "db_url"),
    "me:swordfish at the server": ("does not name a known database", "db_url"),
    "sqlite:///{course}/attn.toml": ("file is not a database", "that it is an nbgrader gradebook"),
}  # fmt: skip


def keep_gradebook_at(address: str, course: Path) -> None:
    with (course / "nbgrader_config.py").open("a", encoding="utf-8") as config:
        config.write(f"c.CourseDirectory.db_url = {address.format(course=course)!r}\n")


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_gradebook_that_cannot_be_asked_is_named_without_its_password(
    address: str, course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact, cure = ADDRESSES[address]
    keep_gradebook_at(address, course)
    for driver in ("psycopg2", "MySQLdb"):
        monkeypatch.setitem(sys.modules, driver, None)
    with pytest.raises(KitError) as caught:
        read_settings(read_course(course))
    assert fact in caught.value.fact and cure in caught.value.cure, caught.value
    assert "swordfish" not in str(caught.value)


def test_who_grades_into_such_a_gradebook_is_told_before_anything_is_written(
    course: Path, tmp_path: Path
) -> None:
    address = "postgresql+psycopg2://me:swordfish@localhost:1/grades"
    keep_gradebook_at(address, course)
    error = error_of(run([*ATTN, "grade", str(course)], without(tmp_path, "psycopg2")))
    assert ADDRESSES[address][0] in error["error"] and ADDRESSES[address][1] in error["cure"]
    assert "swordfish" not in str(error), error
    assert not (course / "graded").exists()


def test_a_results_folder_that_cannot_be_written_is_named(homework: Path) -> None:
    out = homework.parent / "results"
    out.mkdir()
    place = shlex.quote(str(out))
    read_only = where(f"mount -t tmpfs -o ro tmpfs {place}")
    error = error_of(run(read_only([*grading(homework), "--output", str(out)])))
    assert "Read-only file system" in error["error"] and error["where"].startswith(str(out))


# --- what is a fault of the machine, and what is not --------------------------------------------


@pytest.mark.parametrize(
    ("error", "place"),
    [
        (OSError(errno.EMFILE, "Too many open files"), "ulimit -n"),
        (OSError(errno.ENFILE, "Too many open files in system"), "fs.file-max"),
        (BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"), "ulimit -u"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "ulimit -v"),
        (MemoryError(), "ulimit -v"),
        (ImportError("libc10.so: failed to map segment from shared object"), "ulimit -v"),
        (OSError(errno.ENOSPC, "No space left on device", "/disk/file"), "/disk/file"),
        (FileNotFoundError(errno.ENOENT, "No such file", "/proc/self/statm"), "/proc"),
        (ModuleNotFoundError("No module named 'rich'", name="rich"), sys.executable),
        (ImportError("libpq.so.5: not found", name="psycopg", path="/site/psycopg"), "/site"),
    ],
)  # fmt: skip
def test_a_fault_of_the_machine_has_its_own_place(error: BaseException, place: str) -> None:
    fault = fault_of(error)
    assert fault is not None and place in fault.place and fault.cure


@pytest.mark.parametrize(
    "error",
    [
        FileNotFoundError(errno.ENOENT, "No such file", "/home/x"),
        ModuleNotFoundError("No module named 'autograder.nothing'", name="autograder.nothing"),
        ImportError("cannot import name 'nothing' from 'autograder'", name="autograder"),
        ValueError("a mistake of ours"),
        OSError("without a number"),
    ],
)
def test_what_may_be_a_mistake_of_ours_keeps_its_traceback(error: BaseException) -> None:
    assert fault_of(error) is None


def test_the_last_words_of_a_process_name_its_limit() -> None:
    fault = limit_named_in("BlockingIOError: [Errno 11] Resource temporarily unavailable")
    assert isinstance(fault, KitError) and "ulimit -u" in fault.place
    assert limit_named_in("a worker says nothing") is None
