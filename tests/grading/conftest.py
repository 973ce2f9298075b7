"""What tests of grading share: a terminal in which hardly a line wraps, and a class of one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.broken.case import Work


@pytest.fixture(scope="package", autouse=True)
def wide_terminal() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "200")
        yield


@pytest.fixture
def homework(tmp_path: Path) -> Path:
    """A folder with the work of one honest student."""
    folder = tmp_path / "homework"
    folder.mkdir()
    Work(folder).write(Work(folder).script, "ada.py")
    return folder
