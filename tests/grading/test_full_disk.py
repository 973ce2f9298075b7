"""A disk without room, and a course that cannot be written to: said in words, nobody gets a zero.

The real command grades a real course on a small file system of its own, mounted in a
private view of the files; nothing outside sees it.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.course.creation import Course
from support.gradebook_scores import scores
from support.released_course import (
    NAME,
    Result,
    command,
    marks_of,
    released_course,
    result_of,
    sample_class,
)

pytestmark = pytest.mark.slow  # whole courses on file systems of their own

STUDENTS = ("broken_syntax", "half_finished", "mistake_not_scaled", "reference")
CLASS = sample_class(*STUDENTS)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    folder = tmp_path_factory.mktemp("full") / "course"
    return released_course(folder, CLASS)


def in_private_view(script: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script that may mount, as root or as an ordinary user."""
    own = [] if os.geteuid() == 0 else ["--user", "--map-current-user", "--keep-caps"]
    return subprocess.run(
        ["unshare", "--mount", "--propagation", "private", *own, "sh", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"COLUMNS": "200"},
    )


def on_a_disk(course: Course, disk: Path, kilobytes: int, *steps: str) -> str:
    """Return a script that copies `course` onto a new file system of that size, and goes on."""
    place = shlex.quote(str(disk))
    return "\n".join(
        [
            f"mkdir -p {place}",
            f"mount -t tmpfs -o size={kilobytes}k,mode=755 tmpfs {place}",
            f"cp -a {shlex.quote(str(course.directory))} {place}/course",
            *steps,
            f"cp -a {place}/course {place}.after",  # the small file system ends with the view
        ]
    )


def grading(course: Course, disk: Path) -> str:
    # One process: here it does not matter who judges, and each one more takes a second.
    return shlex.join(command(replace(course, directory=disk / "course"), "--processes", "1"))


@pytest.fixture(scope="module")
def undisturbed(course: Course, tmp_path_factory: pytest.TempPathFactory) -> Result:
    disk = tmp_path_factory.mktemp("roomy") / "disk"
    steps = (f"{grading(course, disk)}; echo exit code $?",)
    run = in_private_view(on_a_disk(course, disk, 20_000, *steps))
    assert "exit code 0" in run.stdout, run.stdout + run.stderr
    return result_of(replace(course, directory=Path(f"{disk}.after")))


# Kilobytes that are left when grading starts: none at all, none for the journal to grow, none for
# the notebooks, none for the gradebook, none for the pages; and first this, then that.
ROOMS = ((0,), (80,), (120,), (250,), (330,), (0, 60, 250))


@pytest.mark.parametrize("rooms", ROOMS)
def test_a_full_disk_costs_nobody_a_point(
    course: Course, undisturbed: Result, tmp_path: Path, rooms: tuple[int, ...]
) -> None:
    assert graded_with_room(course, tmp_path, rooms) == undisturbed


def graded_with_room(course: Course, folder: Path, rooms: tuple[int, ...]) -> Result:
    """Grade on a disk with so much room, time after time; return what grading with enough gives."""
    disk, expected = folder / "disk", {student.name: marks_of(student) for student in CLASS}
    steps = [step for room in rooms for step in with_room(course, disk, room)]
    ending = f"{grading(course, disk)} > /dev/null; echo then $?"
    run = in_private_view(on_a_disk(course, disk, 10_000, *steps, ending))
    for room in rooms:
        said = (folder / f"{room}.txt").read_text(encoding="utf-8")
        assert "exit code 0" not in said and "Traceback" not in said, said
        assert "disk is full" in said or "No space left" in said, said
        refused = "cure:" in said and f"where: {disk}" in said and "exit code 2" in said
        assert refused or ("a fault of the grader" in said and "exit code 1" in said), said
        marks = scores(replace(course, directory=folder / str(room)), NAME)
        assert not {name for name, own in marks.items() if own and own != expected[name]}, said
    assert "then 0" in run.stdout, run.stdout + run.stderr
    result = result_of(replace(course, directory=Path(f"{disk}.after")))
    assert result.scores == expected
    return result


def with_room(course: Course, disk: Path, room: int) -> tuple[str, ...]:
    """Commands that grade while so much room is left, and keep what was said and the course."""
    place, beside = shlex.quote(str(disk)), shlex.quote(str(disk.parent))
    return (
        f"left=$(df --output=avail -k {place} | tail -n 1)",
        f"head -c $(( (left - {room}) * 1024 )) /dev/zero > {place}/filler",
        f"{grading(course, disk)} > {beside}/{room}.txt 2>&1",
        f"echo exit code $? >> {beside}/{room}.txt",
        f"cp -a {place}/course {beside}/{room}",
        f"rm {place}/filler",
    )


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_course_that_cannot_be_written_to_is_judged_only_if_its_results_go_elsewhere(
    course: Course, tmp_path: Path, elsewhere: bool
) -> None:
    """Results can be written elsewhere, but not the grades."""
    disk = tmp_path / "disk"
    output = f"--output {shlex.quote(str(tmp_path / 'elsewhere'))}" if elsewhere else ""
    steps = (
        f"mount -o remount,ro {shlex.quote(str(disk))}",
        f"{grading(course, disk)} {output}; echo exit code $?",
    )
    run = in_private_view(on_a_disk(course, disk, 10_000, *steps))
    said = run.stdout + run.stderr
    assert "exit code 2" in said and "Traceback" not in said, said
    assert "cure:" in said and ("grading" in run.stdout) == elsewhere, said
    assert ("graded notebooks cannot be written" in said) == elsewhere, said
    assert not any(scores(replace(course, directory=Path(f"{disk}.after")), NAME).values())
