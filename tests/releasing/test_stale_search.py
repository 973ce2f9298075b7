"""Whether an exercise is stale can be asked only where its library is installed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from autograder.errors import KitError
from autograder.releasing.search import Source, refuse_stale
from support.copied_exercise import ROOT, copy_exercise

NAME = "numpy_single_head"


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """A copy of one exercise and of what was generated from it."""
    copy_exercise(NAME, tmp_path / "solutions")
    shutil.copytree(ROOT / "assignments" / NAME, tmp_path / "assignments" / NAME)
    return Source(tmp_path / "solutions", tmp_path / "assignments")


def test_an_exercise_whose_library_is_missing_is_compared_only_if_it_is_chosen(
    source: Source,
) -> None:
    walkthrough = source.solutions / NAME / "walkthrough.py"
    walkthrough.write_text("import a_library_that_is_missing\n", encoding="utf-8")
    refuse_stale(source, chosen=[])
    with pytest.raises(ImportError, match="a_library_that_is_missing"):
        refuse_stale(source, chosen=[NAME])


def test_an_exercise_that_is_not_chosen_is_compared_where_it_can_be(source: Source) -> None:
    refuse_stale(source, chosen=[])
    stub = source.assignments / NAME / f"{NAME}.py"
    stub.write_text(stub.read_text(encoding="utf-8") + "# more\n", encoding="utf-8")
    with pytest.raises(KitError, match=r"numpy_single_head\.py differs"):
        refuse_stale(source, chosen=[])
