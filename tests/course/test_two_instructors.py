"""Two instructors share a course: their group may write its folder, whatever their own settings."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.course.creation import read_course
from autograder.grading.class_task import WAITS, class_lock
from demo.run import command_environment
from demo.sample_class import hand_in
from support.machines import in_view
from support.released_course import NAME, ROOT, sample_class

ADA, BOB, GROUP = 12346, 12347, 12400
STEP = "project_qkv"
STUDENTS = ("correct_einsum", "mistake_not_scaled")
ATTN, NBGRADER = (sys.executable, "-m", "autograder.cli"), (sys.executable, "-m", "nbgrader")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can work as two other users"),
]


class SharedFolder:
    """A folder of the group's, in which both work, each with a home and with umask 022."""

    def __init__(self, folder: Path) -> None:
        folder.chmod(0o755)
        self.path = folder / "shared"
        self.homes = {user: folder / f"home-{user}" for user in (ADA, BOB)}
        for user, home in self.homes.items():
            home.mkdir()
            os.chown(home, user, user)
        self.path.mkdir()
        os.chown(self.path, ADA, GROUP)
        self.path.chmod(0o2770)
        shutil.copytree(ROOT / "solutions", folder / "solutions")
        shutil.copytree(ROOT / "assignments", folder / "assignments")
        self._seen = (folder,)

    def run(self, user: int, *command: str) -> None:
        words, env = self.words(user, *command), self.env(user)
        done = subprocess.run(words, env=env, capture_output=True, text=True)
        assert done.returncode == 0, f"{user}: {command}\n{done.stdout}{done.stderr}"

    def words(self, user: int, *command: str) -> list[str]:
        inside = ("sh", "-c", 'umask 022; cd "$0"; exec "$@"', str(self.place), *command)
        who = f"--reuid {user} --regid {user} --groups {GROUP}"
        return in_view(inside, folders=self._seen, run_as=who)

    def env(self, user: int) -> dict[str, str]:
        return {**command_environment(), "HOME": str(self.homes[user]), "COLUMNS": "200"}

    @property
    def place(self) -> Path:
        course = self.path / "course"
        return course if course.exists() else self.path


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> SharedFolder:
    """A released course of Ada's, in which two students have handed in."""
    folder = SharedFolder(tmp_path_factory.mktemp("group"))
    beside = folder.path.parent
    where = ("--solutions", str(beside / "solutions"), "--assignments", str(beside / "assignments"))
    folder.run(ADA, *ATTN, "course", "new", "course", "--exercise", NAME, *where)
    folder.run(ADA, *NBGRADER, "generate_assignment", NAME)
    course = read_course(folder.place)
    for student in sample_class(*STUDENTS):
        hand_in(
            student,
            course.exercise(NAME),
            course.release(NAME),
            course.submitted(NAME, student.name),
        )
    return folder


def closed_to_the_group(folder: Path) -> list[str]:
    """The files that the group cannot write; graded notebooks are nobody's to write."""
    inside = (path for path in folder.rglob("*") if "submitted" not in path.parts)
    return [
        str(path.relative_to(folder))
        for path in inside
        if not path.stat().st_mode & stat.S_IWGRP
        and not {"autograded", "feedback"} & set(path.relative_to(folder).parts[:1])
    ]


def test_the_second_may_write_the_gradebook_before_anybody_has_graded(shared: SharedFolder) -> None:
    shared.run(BOB, *NBGRADER, "db", "student", "add", "late-enrolled")


def test_what_one_has_collected_is_replaced_by_the_other(shared: SharedFolder) -> None:
    exchange = shared.path.parent / "exchange"
    exchange.mkdir(exist_ok=True)
    exchange.chmod(0o777)
    for home in shared.homes.values():
        settings = home / ".jupyter" / "nbgrader_config.py"
        settings.parent.mkdir(exist_ok=True)
        settings.write_text(f"c = get_config()\nc.Exchange.root = {str(exchange)!r}\n")
    inbound = exchange / "course" / "inbound"
    inbound.mkdir(parents=True)
    hand_ins = shared.place / "submitted"  # the fixture's, which root has made
    os.chown(hand_ins, ADA, GROUP)
    hand_ins.chmod(0o2770)
    for user, hour in ((ADA, 8), (BOB, 9), (ADA, 10)):
        time = f"2026-11-01 {hour:02}:00:00.000000 UTC"
        handed_in = inbound / f"root+{NAME}+{time}+abc"
        handed_in.mkdir()
        (handed_in / f"{NAME}.py").write_text(f"hour = {hour}\n")
        (handed_in / "timestamp.txt").write_text(time)
        shared.run(user, *NBGRADER, "collect", NAME, "--update")
        collected = shared.place / "submitted" / "root" / NAME / f"{NAME}.py"
        assert f"hour = {hour}" in collected.read_text()
    shutil.rmtree(collected.parents[1])
    for home in shared.homes.values():
        shutil.rmtree(home / ".jupyter")


def test_each_goes_on_where_the_other_has_stopped(shared: SharedFolder) -> None:
    for user in (ADA, BOB, ADA):
        for command in (
            (*ATTN, "grade", ".", "--again"),
            (*NBGRADER, "autograde", NAME, "--force"),
            (*ATTN, "report", "."),
            (*ATTN, "course", "check", "."),
            (*NBGRADER, "generate_feedback", NAME, "--force"),
        ):
            shared.run(user, *command)
    assert closed_to_the_group(shared.place) == []
    secret = shared.place / "graded" / "input.secret"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o660


def test_a_version_of_the_courses_own_can_be_replaced_by_each(shared: SharedFolder) -> None:
    facts = shared.place / "attn.toml"
    before = facts.read_text()
    versions = []
    for user, points in ((ADA, 3), (BOB, 4), (ADA, 5)):
        facts.write_text(f"{before}\n[points.{NAME}]\n{STEP} = {points}\n")
        shared.run(user, *ATTN, "course", "update", ".", "--yes")
        (version,) = (shared.place / ".course" / "exercises").iterdir()
        versions.append(version)
        assert closed_to_the_group(version) == []
    assert len(set(versions)) == 3
    facts.write_text(before)
    shared.run(BOB, *ATTN, "course", "update", ".", "--yes")
    assert not list((shared.place / ".course" / "exercises").iterdir())


def test_both_at_once_wait_for_each_other(shared: SharedFolder) -> None:
    command = (*ATTN, "grade", ".", "--again")
    with class_lock(shared.place, lambda: None):  # so that both have to wait, on any machine
        both = [
            subprocess.Popen(
                shared.words(user, *command),
                env=shared.env(user),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for user in (ADA, BOB)
        ]
        for run in both:
            assert run.stdout and any(WAITS in line for line in run.stdout)
    said = [run.communicate()[0] for run in both]
    assert [run.returncode for run in both] == [0, 0], said
    assert all("22/22" in words and "20/22" in words for words in said)


def test_what_a_killed_run_of_one_left_is_removed_by_the_other(shared: SharedFolder) -> None:
    for name in (".graded-left", ".submissions-left"):
        left = shared.place / name
        left.mkdir(mode=0o770)
        left.chmod(0o770)
        (left / "x.ipynb").write_text("{}")
        for path in (left, left / "x.ipynb"):
            os.chown(path, ADA, GROUP)
    shared.run(BOB, *ATTN, "grade", ".", "--again")
    shared.run(BOB, *NBGRADER, "autograde", NAME, "--force")
    assert not list(shared.place.glob(".*-left"))
