"""No module is found among what was handed in, by any process of ours, whatever it is called.

A folder holds one file for every standard module that the commands import, each called as the
module; each notes that it was run outside the sandbox, and then goes on as the module would.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from autograder.errors import KitError
from autograder.values.this_machine import (
    leave_out_the_current_folder,
    refuse_modules_in,
    refuse_the_current_folder,
)
from support.broken.case import ASSIGNMENT, NAME, Work
from support.measured_processes import UNMEASURED

OURS = Path(__file__).resolve().parents[2]
ATTN = str(Path(sys.executable).with_name("attn"))
# Equal in every file, so that it is judged once.
PLANTED = """\
import posix, sys
posix.close(posix.open({markers!r} + "/" + __name__, posix.O_CREAT | posix.O_WRONLY, 0o644))
_path = [entry for entry in sys.path if entry not in ("", {folder!r})]
_spec = sys.modules["_frozen_importlib_external"].PathFinder.find_spec(__name__, _path)
del sys.modules[__name__]
sys.modules["_frozen_importlib"]._load(_spec)
"""
IMPORTED = (
    "import sys, autograder.cli, autograder.cli.grade, autograder.learning.once,"
    " autograder.course.autograde, multiprocessing.spawn, multiprocessing.resource_tracker,"
    " multiprocessing.forkserver, multiprocessing.popen_forkserver,"
    " autograder.worker.zygote_main;"
    "print(*(name for name in sys.modules if name.isidentifier()))"
)


# Ways to name the current folder in PYTHONPATH, or one below it.
ENTRIES = (":", ".", "./", "sub", "{here}", "{here}:/usr", "{link}")


@cache
def modules() -> tuple[str, ...]:
    """The standard modules that are imported at start and come from files."""
    run = subprocess.run(
        [sys.executable, "-P", "-c", IMPORTED], capture_output=True, text=True, check=True
    )
    names = set(run.stdout.split()) & set(sys.stdlib_module_names) - {"autograder"}
    return tuple(sorted(name for name in names if _from_a_file(name)))


def _from_a_file(name: str) -> bool:
    spec = sys.modules["_frozen_importlib_external"].PathFinder.find_spec(name, sys.path)
    frozen = sys.modules["_frozen_importlib"].FrozenImporter.find_spec(name)
    return spec is not None and frozen is None


def planted(folder: Path, markers: Path) -> Path:
    """A folder in which a file lies for every module; what runs of it notes that in `markers`."""
    folder.mkdir()
    markers.mkdir()
    code = PLANTED.format(markers=str(markers), folder=str(folder))
    for name in modules():
        (folder / f"{name}.py").write_text(code, encoding="utf-8")
    return folder


def run_in(folder: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env=os.environ | UNMEASURED | {"COLUMNS": "200"} | variables,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where is noted what was run while the folder was graded from within it."""
    base = tmp_path_factory.mktemp("grading")
    homework, markers = planted(base / "homework", base / "markers"), base / "markers"
    Work(homework).write(Work(homework).script, "honest.py")
    grading = (ATTN, "grade", ".", "--exercise", NAME, "--processes", "1")
    run = run_in(homework, *grading, "--output", str(base / "out"))
    assert "honest" in run.stdout and "22/22" in run.stdout, run.stdout + run.stderr
    return markers


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where is noted what was run while a learner checked work in such a folder."""
    base = tmp_path_factory.mktemp("learning")
    folder, markers = planted(base / NAME, base / "markers"), base / "markers"
    shutil.copytree(ASSIGNMENT, folder, dirs_exist_ok=True)
    Work(folder).write(Work(folder).script)
    run = run_in(folder, ATTN, "check")
    assert run.returncode == 0, run.stdout + run.stderr
    return markers


def test_many_modules_are_looked_at() -> None:
    assert {"pickle", "socket", "struct", "signal", "threading"} <= set(modules())


def test_python_itself_would_run_them(tmp_path: Path) -> None:
    folder = planted(tmp_path / "homework", tmp_path / "markers")
    run_in(folder, sys.executable, "-c", "import pickle, socket", PYTHONSAFEPATH="")
    assert {"pickle", "socket"} <= {path.name for path in (tmp_path / "markers").iterdir()}


def test_grading_runs_no_file_that_is_called_as_a_module(graded: Path) -> None:
    assert sorted(path.name for path in graded.iterdir()) == []


@pytest.mark.slow
def test_checking_runs_no_file_that_is_called_as_a_module(checked: Path) -> None:
    assert sorted(path.name for path in checked.iterdir()) == []


def class_in(base: Path) -> Path:
    """A class of one, reached by a link too."""
    homework = base / "homework"
    (homework / "sub").mkdir(parents=True)
    (base / "link").symlink_to(homework)
    Work(homework).write(Work(homework).script, "honest.py")
    return homework


def test_to_grade_a_folder_that_pythonpath_names_is_refused(tmp_path: Path) -> None:
    homework = class_in(tmp_path)
    run = run_in(tmp_path, ATTN, "grade", "homework", "--exercise", NAME, PYTHONPATH=str(homework))
    assert run.returncode == 2
    assert "Python looks for modules in the folder that is to be graded" in run.stderr
    assert not (tmp_path / "homework-graded").exists()


@pytest.mark.parametrize("command", [f"grade . --exercise {NAME}", "check"])
def test_python_that_looks_in_the_current_folder_is_refused(tmp_path: Path, command: str) -> None:
    here = class_in(tmp_path)
    run = run_in(here, ATTN, *command.split(), PYTHONPATH=f".{os.pathsep}{OURS}")
    assert run.returncode == 2 and "PYTHONPATH names" in run.stderr, run.stdout + run.stderr
    assert str(here) in run.stderr and "take it out of PYTHONPATH" in run.stderr
    assert not (tmp_path / "homework-graded").exists()


@pytest.mark.parametrize("entry", ENTRIES)
def test_however_pythonpath_names_the_current_folder_it_is_seen(
    tmp_path: Path, entry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = class_in(tmp_path)
    monkeypatch.chdir(here)
    path = entry.format(here=here, link=tmp_path / "link")
    monkeypatch.setenv("PYTHONPATH", f"{path}{os.pathsep}{OURS}")
    with pytest.raises(KitError, match="PYTHONPATH names") as caught:
        refuse_the_current_folder()
    assert str(here) in str(caught.value) and "take it out of PYTHONPATH" in caught.value.cure


def test_what_python_ran_by_itself_from_the_current_folder_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As a .pth file brings it about.
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    module = ModuleType("usercustomize")
    module.__file__ = str(tmp_path / "usercustomize.py")
    refuse_the_current_folder()
    monkeypatch.setitem(sys.modules, "usercustomize", module)
    with pytest.raises(KitError, match=r"run usercustomize\.py from the current folder"):
        refuse_the_current_folder()
    with pytest.raises(KitError, match="the folder that is to be graded"):
        refuse_modules_in(tmp_path)
    monkeypatch.chdir("/")
    refuse_the_current_folder()


def test_in_the_kits_own_folder_the_commands_go_on_working(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(OURS)
    for entry in (".", str(OURS), f"{OURS}{os.pathsep}"):
        monkeypatch.setenv("PYTHONPATH", entry)
        refuse_the_current_folder()
    run = run_in(OURS, ATTN, "--version", PYTHONPATH=".")
    assert run.returncode == 0, run.stderr


def test_a_folder_that_python_imports_from_is_not_graded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_modules_in(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path / "ada"))
    with pytest.raises(KitError, match="looks for modules in the folder that is to be graded"):
        refuse_modules_in(tmp_path)


def test_the_current_folder_is_taken_off_the_path_however_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONSAFEPATH", "")
    monkeypatch.setenv("PYTHONPATH", f".{os.pathsep}{tmp_path}{os.pathsep}/usr")
    monkeypatch.setattr(sys, "path", ["", ".", "sub", str(tmp_path), f"{tmp_path}/", "/usr"])
    leave_out_the_current_folder()
    assert sys.path == ["/usr"]
    assert os.environ["PYTHONPATH"] == "/usr" and os.environ["PYTHONSAFEPATH"] == "1"
