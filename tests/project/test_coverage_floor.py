"""The floor of the coverage only rises, and `make coverage` measures what `make test` runs."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from project.coverage_floor import ROOT, committed_floors, fall, floor_in, next_floor, told_by_git

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def recipe(target: str) -> str:
    found = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    assert found, f"the Makefile has no {target}"
    return found[1]


def write_floor(folder: Path, floor: object) -> None:
    text = f"[tool.coverage.report]\nfail_under = {floor}\n"
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """A repository in which the floor rose from 50 to 70 percent."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    git = ("git", "-c", "user.name=ada", "-c", "user.email=ada@example.org")

    def run(*words: str) -> None:
        subprocess.run([*git, *words], cwd=tmp_path, env=own, check=True, capture_output=True)

    run("init")
    for floor in (50, 70):
        write_floor(tmp_path, floor)
        run("add", "pyproject.toml")
        run("commit", "-m", f"at least {floor}")
    return tmp_path


def test_the_floor_was_never_higher() -> None:
    if not told_by_git(ROOT, "log", "-1", "--", "pyproject.toml"):
        pytest.skip("there is no history here to compare with")
    assert fall(ROOT) == ""


def test_a_floor_that_fell_is_told_with_what_it_was(history: Path) -> None:
    assert sorted(committed_floors(history).values()) == [50, 70]
    for floor, falls in ((70, False), (70.5, False), (60, True), (50, True)):
        write_floor(history, floor)
        assert ("was 70 in" in fall(history)) == falls
    (history / "pyproject.toml").write_text("[project]\nname = 'x'\n", encoding="utf-8")
    assert "fail_under is 0, and was 70" in fall(history)


def test_without_a_history_nothing_is_said_to_have_fallen(tmp_path: Path) -> None:
    write_floor(tmp_path, 10)
    assert committed_floors(tmp_path) == {} and fall(tmp_path) == ""


@pytest.mark.parametrize(
    ("floor", "total", "then"),
    [(80, 80.9, 80), (80, 81.2, 80), (80, 81.6, 81), (80, 84.4, 83), (80, 79.0, 80), (0, 0.4, 0)],
)
def test_the_floor_rises_with_what_is_run_and_leaves_room_for_variation(
    floor: float, total: float, then: float
) -> None:
    assert next_floor(floor, total) == then


def test_coverage_runs_the_tests_of_make_test_and_fails_below_the_floor() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (words,) = re.findall(r"^PYTEST := \$\(BIN\)/python -m pytest( .*)$", makefile, re.MULTILINE)
    measured = recipe("coverage")
    measured_tests = measured.replace(" -p tests.support.measured_processes", "")
    assert '$(PYTEST) -m "not slow" $$tests' in recipe("test")
    assert f'coverage run -m pytest{words} -m "not slow" $(TESTS)\n' in measured_tests
    assert "coverage report\n" in measured and "--fail-under" not in measured
    assert measured.rstrip().endswith("$(BIN)/python tests/project/coverage_floor.py")
    assert floor_in((ROOT / "pyproject.toml").read_text(encoding="utf-8")) > 0
