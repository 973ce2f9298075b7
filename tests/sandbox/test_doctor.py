"""`attn doctor` as different people run it, and what it says on machines that are not here."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import autograder
from autograder.sandbox import doctor as examination
from autograder.sandbox.doctor import Examination, as_json, examine, installation, tell
from autograder.sandbox.measurement import SYSTEMS
from autograder.sandbox.measurement import remedy_for as remedy
from sandbox.installations import PACKAGES, new_environment, run_bare
from support.machines import as_in_docker, as_ordinary_user, in_view, refusing
from support.shown import printed
from support.typed_commands import Run

ATTN = [sys.executable, "-B", "-m", "autograder.cli", "doctor"]
# The same, where a loop without end is stopped after a tenth of a second and not after one.
QUICKLY = [
    *(sys.executable, "-B", "-c"),
    """
import sys
from dataclasses import replace
from autograder.sandbox import doctor as examination
examination._LIMITS = replace(examination._LIMITS, seconds_per_call=0.1)
from autograder.cli import main
main()
""",
    "doctor",
]
FOLDER = Path("/tmp")  # everybody may write there
OPTIONAL = ("torch", "jupyterlab", "nbgrader")


Wrap = Callable[[list[str]], list[str]]


def doctor(
    wrap: Wrap = list,
    *words: str,
    folder: Path = FOLDER,
    path: str = "",
    command: list[str] = QUICKLY,
) -> Run:
    """Run `attn doctor` as `wrap` makes it run elsewhere, in a terminal of 80 columns."""
    package = Path(autograder.__file__).parent
    environment = {"PYTHONPATH": path or str(package.parent)}
    return run_bare(wrap([*command, *words]), environment, folder)


def findings(wrap: Wrap = list) -> dict[str, Any]:
    run = doctor(wrap, "--json")
    assert run.err == "" and run.code in (0, 1), run.said
    assert run.code == (0 if run.document["grading"] else 1)
    return run.document


def in_a_bare_container(command: list[str]) -> list[str]:
    return as_in_docker(command, landlock=False)


def where_landlock_is_switched_off(command: list[str]) -> list[str]:
    without = refusing("mounts,landlock switched off", command)
    return in_view(without) if os.geteuid() == 0 else without


def held(found: dict[str, Any]) -> set[str]:
    return {layer["name"] for layer in found["layers"] if layer["held"]}


NAMESPACES = {f"{name} namespace" for name in ("mount", "pid", "network", "ipc")}
ALWAYS = {"system call filter", "limits", "other user", "interpreter in reach"}


def everything_is_denied(found: dict[str, Any]) -> None:
    assert found["grading"] and found["shortfall"] is None
    assert len(found["demands"]) == 6
    for one in found["demands"]:
        assert one["met"] and one["trials"], one
        for trial in one["trials"]:
            assert trial["gap"] == "" and trial["ended"] != "done", trial
            if one["name"] != "workers are not root":
                assert trial["control"].endswith(("done", "answers")), trial


def test_this_machine_can_grade_and_that_reads_well_in_a_small_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(examination, "_LIMITS", replace(examination._LIMITS, seconds_per_call=0.1))
    examined = examine(FOLDER)
    found = json.loads(as_json(examined))
    everything_is_denied(found)
    assert found["level"] in ("full", "landlock", "namespaces")
    assert held(found) >= ALWAYS
    ended = {t["tried"]: t["ended"] for one in found["demands"] for t in one["trials"]}
    assert ended["loop without end"] == "timed out"
    assert ended["print without end"] == "output limit"
    shown = printed(tell(examined), width=80)
    assert "\x1b" not in shown and max(map(len, shown.splitlines())) <= 80
    for line in ("✓   mount namespace", "✓   files hidden", "level: ", "code here: yes"):
        assert line in shown, shown


@pytest.mark.slow
def test_the_command_says_so_with_its_own_limits_too() -> None:
    run = doctor(command=ATTN)
    assert run.code == 0 and run.err == "", run.said
    assert "grade untrusted code here: yes" in run.out


@pytest.mark.slow
def test_the_doctor_says_so_to_an_ordinary_user_too() -> None:
    found = findings(as_ordinary_user)
    everything_is_denied(found)
    assert found["user"] != "root" and held(found) >= ALWAYS
    (who,) = [layer for layer in found["layers"] if layer["name"] == "other user"]
    assert "not needed" in who["fact"]


def test_in_a_container_the_namespaces_are_missing_and_not_needed() -> None:
    found = findings(as_in_docker)
    everything_is_denied(found)
    assert found["level"] == "landlock"
    assert held(found) == {"Landlock", *ALWAYS}
    for layer in found["layers"]:
        if layer["name"] in NAMESPACES:
            assert layer["fact"] == "Operation not permitted" and "namespaces" in layer["remedy"]


def test_where_files_cannot_be_hidden_the_doctor_says_why_and_what_to_do() -> None:
    run = doctor(in_a_bare_container)
    assert run.code == 1 and run.err == ""
    assert "level: process" in run.out
    assert "grade untrusted code here: no" in run.out
    for words in ("can read", "it came with Linux", "cure: use a kernel with Landlock"):
        assert words in run.out
    assert "✗ files hidden" in " ".join(run.out.split())
    assert "work on the exercises here: yes" in run.out


@pytest.mark.slow
def test_what_was_refused_is_named_even_where_namespaces_can_be_made() -> None:
    found = findings(where_landlock_is_switched_off)
    facts = {layer["name"]: layer for layer in found["layers"]}
    assert "not used: " in facts["mount namespace"]["fact"]
    assert "mount" in facts["mount namespace"]["fact"].removeprefix("not used: ")
    assert facts["Landlock"]["fact"] == "the kernel has it switched off"
    assert "lsm=landlock" in facts["Landlock"]["remedy"]


if os.geteuid() == 0:  # only root's workers become another user

    @pytest.mark.slow
    def test_a_folder_that_workers_may_not_enter_is_found() -> None:
        with tempfile.TemporaryDirectory(dir="/tmp") as shut:  # mode 0700
            copy = Path(shut, "package", "autograder")
            shutil.copytree(Path(autograder.__file__).parent, copy)
            run = doctor(
                lambda command: in_view(refusing("namespaces", command)),
                "--json",
                folder=Path(shut),
                path=str(copy.parent),
            )
        found = run.document
        assert run.code == 1 and found["shortfall"]["place"] == shut
        (reach,) = [layer for layer in found["layers"] if layer["name"] == "interpreter in reach"]
        assert not reach["held"] and shut in reach["fact"] and "ordinary user" in reach["remedy"]
        assert found["level"] == "process"  # what is left is a worker that stays root


@pytest.fixture(scope="module")
def student(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The interpreter of a student's installation: what checks need, nothing to grade with."""
    python, site = new_environment(tmp_path_factory.mktemp("student"))
    names = "numpy pytest _pytest pluggy iniconfig packaging pygments click rich markdown_it mdurl"
    patterns = [pattern for name in names.split() for pattern in (name, f"{name}-*.dist-info")]
    for pattern in ("numpy.libs", *patterns):
        for package in PACKAGES.glob(pattern):
            (site / package.name).symlink_to(package)
    return python


def test_a_students_installation_can_learn_and_not_grade(student: str, tmp_path: Path) -> None:
    run = doctor(lambda command: [student, *command[1:]], folder=tmp_path)
    assert run.code == 1 and run.err == "", run.err
    assert "work on the exercises here: yes" in run.out
    assert "grade untrusted code here: no" in run.out
    for name in (*OPTIONAL, "libseccomp"):
        assert f"·   {name}" in run.out
    assert "pip install pyseccomp" in " ".join(run.out.split())
    assert "Traceback" not in run.out


# Lets the standard library and the packages in, then says that this is another system.
ELSEWHERE = """
import asyncio, ctypes, importlib.metadata, os, platform, select, shutil, signal, socket, sys
import subprocess, tempfile, zipfile
import click, numpy, rich.console, rich.table

system, missing, calls = sys.argv[1:4]
for name in missing.split():
    sys.modules[name] = None
for name in calls.split():
    delattr(os, name)
sys.platform = system
sys.argv = ["attn", "doctor", *sys.argv[4:]]
from autograder.cli import main
main()
"""
ABSENT = {
    "darwin": ("pyseccomp", "memfd_create unshare" if hasattr(os, "unshare") else "memfd_create"),
    "win32": ("pyseccomp fcntl resource pwd grp termios", "memfd_create fork getuid geteuid"),
}


@pytest.mark.parametrize("system", ABSENT)
def test_where_there_is_no_linux_grading_is_refused_and_not_pretended(system: str) -> None:
    run = doctor(lambda _: [sys.executable, "-B", "-c", ELSEWHERE, system, *ABSENT[system]])
    assert run.code == 1 and run.err == "", run.err
    words = " ".join(run.out.split())
    assert "work on the exercises here: yes" in words
    assert "grade untrusted code here: no" in words
    assert f"{SYSTEMS[system]} cannot hide files" in words
    assert "Linux virtual machine or container" in words
    assert "level:" not in words  # nothing was measured


def test_a_folder_that_is_gone_is_no_place_to_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    parts = {part.name: part for part in installation(tmp_path / "gone")}
    for name in ("this folder", "temporary files"):
        assert not parts[name].found and parts[name].remedy, name
    assert parts["Python"].found and parts["numpy"].found


class Usage(NamedTuple):
    """A disk, as `shutil.disk_usage` tells of it: in bytes."""

    total: int
    used: int
    free: int


@pytest.mark.parametrize(("megabytes", "enough"), [(99, False), (100, True), (54_321, True)])
def test_what_is_free_on_the_disk_is_told_and_decides_whether_one_can_work_there(
    megabytes: int, enough: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each folder has a disk of its own, and that of the other is as empty as it is large."""
    here, other = tmp_path / "here", tmp_path / "other"
    for folder in (here, other):
        folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(other))
    total, free = 100_000 << 20, megabytes << 20
    disks = {here: Usage(total, total - free, free), other: Usage(total, 0, total)}
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: disks[Path(folder)])
    parts = {part.name: part for part in installation(here)}
    place = parts["this folder"]
    assert place.fact == f"{here.resolve()}, {megabytes:,} MB free"
    assert place.found == enough and ("free some disk space" in place.remedy) != enough
    assert parts["temporary files"].found
    assert parts["temporary files"].fact.endswith(" 100,000 MB free")
    assert not list(here.iterdir()), "what was tried out stays there"


def test_a_full_disk_is_no_place_to_work_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(1 << 40, 1 << 40, 0))
    found = Examination("Linux", "ada", (), (), None, None, installation(tmp_path))
    shown = printed(tell(found), width=200)
    assert not found.learning
    for words in ("✗   this folder", " 0 MB free", "work on the exercises here: no"):
        assert words in shown, shown


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "exercises"),
    [
        ('mkdir "$0/gone"; cd "$0/gone"; rmdir "$0/gone"; "$@"', False),
        ('unset HOME; TMPDIR=/nowhere "$@"', True),
    ],
    ids=["the current folder is gone", "no home and no temporary folder"],
)
def test_the_doctor_has_words_for_awkward_circumstances(
    script: str, exercises: bool, tmp_path: Path
) -> None:
    run = doctor(lambda command: ["sh", "-c", script, str(tmp_path), *command], folder=tmp_path)
    assert run.code == 0 and run.err == "", run.err
    assert f"work on the exercises here: {'yes' if exercises else 'no'}" in run.out
    assert ("✗   this folder" in run.out) != exercises


SWITCHES = {
    "kernel/apparmor_restrict_unprivileged_userns": ("1", "userns=0"),
    "kernel/unprivileged_userns_clone": ("0", "userns_clone=1"),
    "user/max_user_namespaces": ("0", "max_user_namespaces="),
}


@pytest.mark.parametrize("name", SWITCHES)
def test_the_switch_that_forbids_namespaces_is_named(name: str, tmp_path: Path) -> None:
    forbids, words = SWITCHES[name]
    switch = tmp_path / "proc/sys" / name
    switch.parent.mkdir(parents=True)
    switch.write_text(f"{forbids}\n", encoding="ascii")
    assert words in remedy("namespaces", "Operation not permitted", tmp_path)
    switch.write_text("7\n", encoding="ascii")
    assert "sysctl" not in remedy("namespaces", "Operation not permitted", tmp_path)


def test_a_container_is_told_how_it_would_get_namespaces_and_what_that_costs(
    tmp_path: Path,
) -> None:
    (tmp_path / ".dockerenv").touch()
    words = remedy("namespaces", "Operation not permitted", tmp_path)
    assert "docker run" in words and "weakens the container" in words


def test_the_missing_half_of_libseccomp_is_named() -> None:
    assert remedy("seccomp", "No module named 'pyseccomp'").startswith("`pip install pyseccomp`")
    assert "apt install libseccomp2" in remedy("seccomp", "Unable to find libseccomp")
