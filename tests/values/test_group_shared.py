"""What is made in a folder that a group shares follows the folder, and opens nothing else."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.values.files import following, share, share_all


@pytest.fixture(autouse=True)
def ordinary_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode) & 0o777


def folder(path: Path, mode: int) -> Path:
    path.mkdir()
    path.chmod(mode)
    return path


def test_the_group_may_write_what_is_made_where_it_may_write_the_folder(tmp_path: Path) -> None:
    shared = folder(tmp_path / "shared", 0o770)
    with following(shared):
        (shared / "file").touch()
        (shared / "inner").mkdir()
    (shared / "later").touch()
    modes = (mode(shared / name) for name in ("file", "inner", "later"))
    assert list(modes) == [0o664, 0o775, 0o644]


def test_in_a_folder_of_ones_own_nothing_changes(tmp_path: Path) -> None:
    own = folder(tmp_path / "own", 0o755)
    with following(own):
        (own / "file").touch()
    share(own / "file")
    assert mode(own / "file") == 0o644


def test_a_file_that_was_made_for_its_owner_is_shared_and_others_stay_out(tmp_path: Path) -> None:
    shared = folder(tmp_path / "shared", 0o2770)
    file, inner = shared / "file", folder(shared / "inner", 0o700)
    file.touch(0o600)
    (inner / "deep").touch(0o600)
    (inner / "link").symlink_to("/nowhere")
    share(file)
    share_all(inner)
    assert [mode(each) for each in (file, inner, inner / "deep")] == [0o660, 0o770, 0o660]
