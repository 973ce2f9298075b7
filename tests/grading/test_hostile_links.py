"""What was handed in is read once, from the student's own files, and only that is shown.

Links at every level, folders and files that are links at one moment and plain at the next, and
files that change between reading, judging and copying: the solution earns nobody a mark, and no
other code than the one that was judged lies beside the marks.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest

from autograder.course.creation import Course, script_name
from autograder.course.gradebook import write_gradebook
from autograder.course.intake import timestamp
from autograder.grading.batch import grade_batch
from autograder.grading.class_task import course_roster
from autograder.grading.classroom import JudgedClass
from autograder.reports.grades_csv import read_verdicts
from autograder.submission.reading import Submission, read_one_of, read_submission
from autograder.values.verdict import Verdict
from support.broken.case import EXERCISE
from support.gradebook_scores import points
from support.released_course import NAME, ROOT, released_course
from support.typed_commands import attn, nbgrader

pytestmark = pytest.mark.slow  # whole classes and courses, once for each trick

SOLUTION = (EXERCISE.folder / "solution.py").read_text(encoding="utf-8")
FULL = 22.0
OWN = "def softmax(scores):\n    return scores\n"
# Only the solution has it.
STOLEN = "keys.swapaxes("
READS = 3000
# Changes two names with each other, again and again: neither is ever missing.
SWAP = """
import ctypes, os, sys
first, second = map(os.fsencode, sys.argv[1:])
swap = ctypes.CDLL(None, use_errno=True).renameat2
print("ready", flush=True)
while swap(-100, first, -100, second, 2) == 0:
    pass
sys.exit(ctypes.get_errno())
"""


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a student's, with the solution in it, outside what is handed in."""
    folder = tmp_path_factory.mktemp("secret") / NAME
    folder.mkdir()
    (folder / script_name(NAME)).write_text(SOLUTION, encoding="utf-8")
    (folder / "timestamp.txt").write_text("2025-03-01 12:00:00 UTC", encoding="utf-8")
    return folder


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A released course of the test's own."""
    return released_course(tmp_path / "course")


def hand_in(course: Course, student: str, text: str = SOLUTION) -> Path:
    folder = course.submitted(NAME, student)
    folder.mkdir(parents=True)
    (folder / script_name(NAME)).write_text(text, encoding="utf-8")
    return folder / script_name(NAME)


def all_of(folder: Path) -> str:
    """The text of every file in a folder, of those that are none what there is of it."""
    return "\n".join(path.read_text("utf-8", errors="replace") for path in folder.iterdir())


# --- links ----------------------------------------------------------------------------------------


LINKED = ("of_student", "of_nowhere", "of_exercise", "of_file")


def hand_in_links(course: Course, secret: Path) -> None:
    """Hand in the solution by links, at every level at which there can be one."""
    (course.hand_ins / "of_student").symlink_to(secret.parent)
    (course.hand_ins / "of_nowhere").symlink_to(course.directory / "nowhere")
    for student in ("of_exercise", "of_file"):
        (course.hand_ins / student).mkdir()
    course.submitted(NAME, "of_exercise").symlink_to(secret)
    course.submitted(NAME, "of_file").mkdir()
    (course.submitted(NAME, "of_file") / script_name(NAME)).symlink_to(secret / script_name(NAME))


def shown_of_links(course: Course) -> dict[str, bool]:
    """Whether the right thing lies in the folders of who handed in a link: a word, no code."""
    shown = {}
    for student in LINKED:
        folder = course.autograded(NAME, student)
        kept = all_of(folder)
        told = STOLEN not in kept and "hand in the file itself" in kept
        shown[student] = told and not list(folder.glob("*.py"))
    return shown


def test_a_link_at_any_level_of_a_course_earns_nothing_and_costs_the_others_nothing(
    course: Course, secret: Path
) -> None:
    hand_in(course, "ada")
    hand_in_links(course, secret)
    run = attn("grade", ".", "--processes", 1, folder=course.directory)
    assert points(course, NAME) == {"ada": FULL}, run.said  # no mark, and no zero
    assert shown_of_links(course) == dict.fromkeys(LINKED, True)


def test_nbgrader_follows_no_link_either(stock: Course) -> None:
    earned = points(stock, NAME)
    assert not earned.keys() & set(LINKED)  # no mark, and no zero
    assert earned["grace"] == FULL
    assert shown_of_links(stock) == dict.fromkeys(LINKED, True)


def test_a_link_in_a_folder_of_a_class_earns_nothing(tmp_path: Path, secret: Path) -> None:
    homework = tmp_path / "homework"
    homework.mkdir()
    (homework / "ada.py").write_text(SOLUTION, encoding="utf-8")
    (homework / "folder").symlink_to(secret)
    (homework / "file.py").symlink_to(secret / script_name(NAME))
    (homework / "within").mkdir()
    (homework / "within" / script_name(NAME)).symlink_to(secret / script_name(NAME))
    where = ("--solutions", ROOT / "solutions")
    run = attn("grade", "homework", "--exercise", NAME, *where, folder=tmp_path)
    verdicts = read_verdicts(tmp_path / "homework-graded" / "verdicts")
    found = {verdict.student: verdict.points for verdict in verdicts}
    assert found == {"ada": FULL, "folder": 0.0, "file": 0.0, "within": 0.0}, run.said
    assert run.code == 1 and run.said.count("hand in the file itself") >= 3


def test_a_course_that_lies_behind_a_link_of_the_instructors_is_read(
    course: Course, tmp_path: Path
) -> None:
    hand_in(course, "ada")
    (tmp_path / "link").symlink_to(course.directory)
    course.hand_ins.rename(tmp_path / "elsewhere")
    course.hand_ins.symlink_to(tmp_path / "elsewhere")
    (hand,) = course_roster([("ada", tmp_path / "link" / "submitted" / "ada" / NAME)])
    submission = read_one_of(hand.paths, EXERCISE, hand.student, hand.root)
    assert submission.rejected is None and submission.cells


@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
def test_what_is_no_plain_file_is_not_waited_for(tmp_path: Path, kind: str) -> None:
    file = tmp_path / script_name(NAME)
    if kind == "device":
        file.symlink_to("/dev/zero")
    else:
        os.mknod(file, 0o644 | (0o010000 if kind == "pipe" else 0o140000))
    rejected = read_submission(tmp_path, EXERCISE, "eve").rejected
    assert rejected and "is not a plain file: hand in the file itself" in rejected.fact


# --- links that come and go -----------------------------------------------------------------------


@contextmanager
def swapped(first: Path, second: Path) -> Iterator[None]:
    """Change the two with each other all the time; where that cannot be, say why."""
    command = [sys.executable, "-c", SWAP, str(first), str(second)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as swapping:
        assert swapping.stdout and swapping.stdout.readline() == b"ready\n"
        try:
            yield
            assert swapping.poll() is None, os.strerror(swapping.returncode)
        finally:
            swapping.kill()


LEVELS: dict[str, Callable[[Path], Path]] = {
    "file": lambda secret: secret / script_name(NAME),
    "exercise": lambda secret: secret,
    "student": lambda secret: secret.parent,
}


@pytest.mark.parametrize("level", LEVELS)
def test_a_link_that_comes_and_goes_is_never_followed(
    tmp_path: Path, secret: Path, level: str
) -> None:
    folder = tmp_path / "submitted" / "eve" / NAME
    folder.mkdir(parents=True)
    (folder / script_name(NAME)).write_text(OWN, encoding="utf-8")
    own = {"file": folder / script_name(NAME), "exercise": folder, "student": folder.parent}[level]
    link = tmp_path / "link"
    link.symlink_to(LEVELS[level](secret))
    (hand,) = course_roster([("eve", folder)])
    read: list[Submission] = []
    stamps: list[object] = []
    seen: set[bool] = set()  # whether the student's own file was there
    with swapped(own, link):
        # On a busy machine it takes longer until the other process has its turn.
        while len(read) < READS or (len(seen) < 2 and len(read) < 20 * READS):
            read.append(read_one_of(hand.paths, EXERCISE, hand.student, hand.root))
            stamps.append(timestamp(folder, hand.root))
            seen.add(bool(read[-1].cells))
    assert not [each for each in read if STOLEN in "".join(each.cells)]
    assert stamps == [None] * len(read)
    assert seen == {True, False}, "it was not swapped meanwhile"


# --- files that change ----------------------------------------------------------------------------


CHANGES = ("other code", "a link", "nothing", "a notebook")
KINDS = ("notebook", "script")


@dataclass(frozen=True)
class ChangedClass:
    """A class whose files were changed between judging and writing, and its verdicts."""

    course: Course
    verdicts: dict[str, Verdict]


@pytest.fixture(scope="module")
def changed_class(tmp_path_factory: pytest.TempPathFactory, secret: Path) -> ChangedClass:
    """Everybody hands in the same, as a notebook or as a script, and changes it in some way."""
    course = released_course(tmp_path_factory.mktemp("changed") / "course")
    files = {
        (kind, change): own_file(course, f"{kind}, {change}", kind)
        for kind in KINDS
        for change in CHANGES
    }
    roster = course_roster([(file.parent.parent.name, file.parent) for file in files.values()])
    read = [read_one_of(hand.paths, EXERCISE, hand.student, hand.root) for hand in roster]
    verdicts = grade_batch(EXERCISE.folder, read)
    for (kind, change), file in files.items():
        put_in_place_of(file, kind, change, secret)
    write_gradebook(course, NAME, JudgedClass.in_memory(read, verdicts))
    return ChangedClass(course, {verdict.student: verdict for verdict in verdicts})


def own_file(course: Course, student: str, kind: str) -> Path:
    file = hand_in(course, student, OWN)
    if kind == "notebook":
        file.unlink()
        file = file.with_suffix(".ipynb")
        cell = nbformat.v4.new_code_cell(OWN)
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), file)
    (file.parent / "timestamp.txt").write_text("2025-03-01 12:00:00 UTC", encoding="utf-8")
    return file


def put_in_place_of(file: Path, kind: str, change: str, secret: Path) -> None:
    if change != "a notebook":
        file.unlink()
    if change == "a link":
        file.symlink_to(secret / script_name(NAME))
    elif change == "other code":
        file.write_text(SOLUTION, encoding="utf-8")
    elif change == "a notebook":  # one more file, and the one that was read stays
        (file.parent / "beside.py").write_text(SOLUTION, encoding="utf-8")
        script = file.parent / script_name(NAME)
        script.write_text(SOLUTION if kind == "notebook" else OWN, encoding="utf-8")


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_changes_after_it_was_read_is_not_shown_beside_its_marks(
    changed_class: ChangedClass, change: str, kind: str
) -> None:
    course, student = changed_class.course, f"{kind}, {change}"
    kept = course.autograded(NAME, student)
    assert STOLEN not in all_of(kept)
    assert (kept / "timestamp.txt").is_file()
    changed = change != "a notebook"
    assert ("Your file changed while it was" in all_of(kept)) == changed
    assert (OWN.split("\n")[1].strip() in all_of(kept)) != changed
    assert points(course, NAME)[student] == changed_class.verdicts[student].points < FULL


CHANGING_JUDGE = """
from autograder.course.autograde import judge as own

def judge(course, exercise, student, folder, **asked):
    file = folder / f"{exercise.name}.py"
    if student == "eve":
        before = file.read_text()
        file.write_text(SOLUTION)
    verdict = own(course, exercise, student, folder, **asked)
    if student == "eve":
        file.write_text(before)
    return verdict
"""


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory, secret: Path) -> Course:
    """A course after `nbgrader autograde`: with links, and with a file that changes meanwhile."""
    course = released_course(tmp_path_factory.mktemp("stock") / "course")
    for student in ("ada", "eve"):
        hand_in(course, student, f"{OWN}MARK = 'as laid out'\n")
    hand_in(course, "grace")
    hand_in_links(course, secret)
    judge = course.directory / "changing_judge.py"
    judge.write_text(f"SOLUTION = {SOLUTION!r}\n{CHANGING_JUDGE}", encoding="utf-8")
    with (course.directory / "nbgrader_config.py").open("a", encoding="utf-8") as config:
        config.write('\nc.WriteVerdict.judge = "changing_judge.judge"\n')
    run = nbgrader("autograde", NAME, folder=course.directory)
    assert run.code == 0, run.said
    return course


def test_a_file_that_changes_while_nbgrader_grades_is_not_shown_beside_its_marks(
    stock: Course,
) -> None:
    eve, ada = (all_of(stock.autograded(NAME, student)) for student in ("eve", "ada"))
    assert points(stock, NAME)["eve"] == FULL > points(stock, NAME)["ada"]
    assert "as laid out" not in eve and "Your file changed while it was being graded" in eve
    assert not list(stock.autograded(NAME, "eve").glob("*.py"))
    assert "as laid out" in ada and "changed while" not in ada
    assert "attention_kit_code" not in eve + ada
