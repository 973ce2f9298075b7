"""The hook that git runs before a commit is `make check`: the same command, and nothing beside it.

`git config core.hooksPath .githooks` turns it on.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HOOK = ROOT / ".githooks" / "pre-commit"
TURN_ON = "git config core.hooksPath .githooks"


def git(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run git as somebody who has set nothing."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(
        ["git", "-c", "user.name=ada", "-c", "user.email=ada@example.org", *words],
        cwd=folder,
        env=own | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with the hook, in which `make check` passes when a file `good` is there."""
    git(tmp_path, "init")
    shutil.copytree(HOOK.parent, tmp_path / ".githooks")
    (tmp_path / "Makefile").write_text("check:\n\t@echo checking >> asked\n\t@test -e good\n")
    git(tmp_path, *TURN_ON.split()[1:])
    git(tmp_path, "add", "Makefile")
    return tmp_path


def test_the_hook_is_make_check_and_nothing_else() -> None:
    assert HOOK.read_text(encoding="utf-8").splitlines() == ["#!/bin/sh", "exec make check"]
    assert os.access(HOOK, os.X_OK)
    assert [path.name for path in HOOK.parent.iterdir()] == ["pre-commit"]


def test_what_fails_the_check_is_not_committed_and_what_passes_is(clone: Path) -> None:
    refused = git(clone, "commit", "-m", "broken")
    assert refused.returncode != 0 and git(clone, "log").returncode != 0
    (clone / "good").touch()
    assert git(clone, "commit", "-m", "good").returncode == 0
    assert (clone / "asked").read_text() == "checking\n" * 2
    assert "good" in git(clone, "log").stdout


def test_contributors_are_told_the_one_command_that_turns_it_on() -> None:
    assert f"`{TURN_ON}`" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
