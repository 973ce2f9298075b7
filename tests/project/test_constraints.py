"""The check of the pins says which of them does not hold on the oldest Python that is promised.

`make check` runs it on this repository; here it is given others, in which something is wrong.
"""

from __future__ import annotations

import subprocess
import sys
from email.message import Message
from importlib import metadata
from importlib.metadata import Distribution
from pathlib import Path

import pytest
from packaging.version import Version

from autograder.authoring.contents import needed, total_size
from project.constraints_check import Find, Project, problems, read_pins

ROOT = Path(__file__).resolve().parents[2]
PROMISE = """
[project]
name = "attention-kit"
requires-python = ">=3.11"
dependencies = ["soup>=1"]
[project.optional-dependencies]
course = ["attention-kit[author]", "bowl[deep]>=2"]
author = []
"""


class Installed(Distribution):
    """A package as pip would have recorded it."""

    def __init__(self, version: str, python: str = "", requires: tuple[str, ...] = ()) -> None:
        self._metadata = Message()
        self._metadata["Version"] = version
        if python:
            self._metadata["Requires-Python"] = python
        for each in requires:
            self._metadata["Requires-Dist"] = each

    def read_text(self, filename: str) -> str | None:
        return self._metadata.as_string() if filename == "METADATA" else None

    def locate_file(self, path: object) -> Path:
        raise AssertionError("only the record is asked")


def named(**packages: Installed) -> Find:
    for name, package in packages.items():
        package._metadata["Name"] = name
    return packages.get


def found(pins: str, **packages: Installed) -> list[str]:
    return problems(Project.read(PROMISE), read_pins(pins), named(**packages))


CARDS = {"cuda-bindings": Installed("13.5"), "spoon": Installed("1.2")}
SOUP, BOWL = Installed("4.1", ">=3.11"), Installed("2.0")


def test_of_all_that_is_installed_here_no_pin_breaks_the_promise() -> None:
    """`make test` does not install what only the browser's tests need; `make check` does."""
    command = [sys.executable, "tests/project/constraints_check.py"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    words = run.stderr.splitlines()
    assert [line for line in words if "cannot be checked: it is not installed" not in line] == []
    assert run.stdout.endswith("pins hold on Python 3.11.0\n") or words


def test_make_check_runs_it() -> None:
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\ncheck-code:")[2]
    assert "tests/project/constraints_check.py" in recipe.partition("\n\n")[0]


def test_pins_that_hold_are_not_spoken_of() -> None:
    assert found("soup==4.1\nbowl==2.0", soup=SOUP, bowl=BOWL) == []


def test_a_pin_that_needs_a_newer_patch_of_python_is_named_with_what_it_needs() -> None:
    (words,) = found("soup==4.1.1\nbowl==2.0", soup=Installed("4.1.1", ">=3.11.5"), bowl=BOWL)
    assert words.startswith("soup==4.1.1 needs Python >=3.11.5, and 3.11.0 is promised; cure: ")
    assert "pip index versions soup --python-version 3.11.0" in words


def test_a_pin_that_is_not_installed_cannot_be_checked() -> None:
    (words,) = found("soup==4.1\nbowl==2.0\nspoon==1", soup=SOUP, bowl=BOWL)
    assert "spoon==1 cannot be checked: it is not installed; cure: " in words


def test_a_pin_that_another_version_is_installed_for_cannot_be_checked() -> None:
    (words,) = found("soup==4.0\nbowl==2.0", soup=SOUP, bowl=BOWL)
    assert "soup==4.0 cannot be checked: 4.1 is installed; cure: " in words


def test_a_package_that_comes_along_without_a_pin_is_named_with_who_needs_it() -> None:
    clay = Installed("3.0")
    bowl = Installed("2.0", requires=("clay>=1; extra == 'deep'", "lid; extra == 'high'"))
    (words,) = found("soup==4.1\nbowl==2.0", soup=SOUP, bowl=bowl, clay=clay)
    assert words == "clay comes with bowl and is not pinned; cure: pin clay==3.0"


def test_what_comes_with_pytorch_for_graphics_cards_needs_no_pin() -> None:
    soup = Installed("4.1", ">=3.11", ("cuda-bindings<14", "spoon>=1"))
    words = found("soup==4.1\nbowl==2.0", soup=soup, bowl=BOWL, **CARDS)
    assert len(words) == 1 and "spoon" in words[0]


def test_what_only_the_oldest_python_needs_is_to_be_pinned_too() -> None:
    soup = Installed("4.1", requires=("pot; python_full_version < '3.11.1'",))
    (words,) = found("soup==4.1\nbowl==2.0", soup=soup, bowl=BOWL)
    assert words == "pot, for soup, is neither pinned nor installed; cure: pin it"


def test_a_package_in_one_version_is_pinned_by_who_needs_it_but_has_to_hold() -> None:
    soup = Installed("4.1", requires=("salt==1.0",))
    pins = "soup==4.1\nbowl==2.0"
    assert found(pins, soup=soup, bowl=BOWL, salt=Installed("1.0")) == []
    (words,) = found(pins, soup=soup, bowl=BOWL, salt=Installed("1.0", ">=3.12"))
    assert "salt==1.0 needs Python >=3.12" in words


def test_pins_that_contradict_each_other_are_named() -> None:
    soup = Installed("4.1", requires=("bowl<2",))
    (words,) = found("soup==4.1\nbowl==2.0", soup=soup, bowl=BOWL)
    assert "bowl==2.0 is not what soup needs, <2" in words


def test_a_line_that_pins_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="soup>=4 pins no version"):
        read_pins("# why\nsoup>=4\n")


@pytest.mark.parametrize(("promise", "oldest"), [(">=3.11", "3.11.0"), (">=3.11.2", "3.11.2")])
def test_the_oldest_python_is_the_first_patch_that_the_promise_allows(
    promise: str, oldest: str
) -> None:
    assert Project.read(PROMISE.replace(">=3.11", promise)).oldest == Version(oldest)


def test_what_a_learner_installs_is_small() -> None:
    """`make learn`: no nbgrader, no Dask, no PyTorch."""
    packages = needed(metadata.requires("attention-kit") or ())
    names = {each.name for each in packages}
    assert {"numpy", "rich", "watchfiles"} <= names and len(names) <= 25
    assert names.isdisjoint({"torch", "nbgrader", "jupyterlab", "distributed", "matplotlib"})
    assert 10e6 < total_size(packages) < 200e6


def test_make_learn_lays_out_the_exercises_and_ends_in_the_first_step(tmp_path: Path) -> None:
    """CI runs it in a clean clone, where it makes the environment first."""
    made = tmp_path / "exercises"
    run = subprocess.run(
        ["make", "learn", f"FOLDER={made}"], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert f"cd {made}\n  attn watch" in run.stdout and "In `softmax`, replace" in run.stdout
    assert (made / "numpy_single_head" / "numpy_single_head.py").is_file()
