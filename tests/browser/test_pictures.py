"""The pictures of the documents show what the product shows today, and nobody's folders."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from browser.pictures import PICTURES, Picture, take, words_in
from support.classroom import Classroom
from support.lab import Lab

FOLDER = re.compile(r"(?<![\w.])/(?:[\w.-]+/)+")


@pytest.fixture(scope="module")
def taken(
    chromium: Browser, classroom: Classroom, lab: Lab, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Picture]:
    """Every picture, taken anew."""
    folder = tmp_path_factory.mktemp("pictures")
    return {each.name: each for each in take(chromium, folder, classroom.student, lab)}


def test_there_are_the_pictures_that_the_command_takes_and_no_others(
    taken: dict[str, Picture],
) -> None:
    assert sorted(path.name for path in PICTURES.iterdir()) == sorted(f"{n}.png" for n in taken)


def test_every_picture_shows_the_words_of_today(taken: dict[str, Picture], tmp_path: Path) -> None:
    smallest = min(taken.values(), key=lambda each: len(each.png))
    assert words_in(smallest.save(tmp_path)) == smallest.words
    for name, picture in taken.items():
        there = words_in(PICTURES / f"{name}.png").split()  # an editor has blanks of its own
        assert there == picture.words.split(), "cure: make pictures"


def test_no_picture_shows_a_folder_of_the_machine(taken: dict[str, Picture]) -> None:
    assert FOLDER.search("No such file: '/home/ada/course/x.py'")
    for name, picture in taken.items():
        assert not FOLDER.search(picture.words), name
