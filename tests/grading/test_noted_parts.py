"""What a grader process notes of an unfinished result is there for its starter."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator

import pytest

from autograder.grading import watched_process
from autograder.grading.watched_process import NotedParts


@pytest.fixture
def parts() -> Iterator[NotedParts]:
    made = NotedParts()
    yield made
    made.close()


def test_parts_are_those_of_the_item_that_was_begun_last(parts: NotedParts) -> None:
    assert parts.of(0) == ()
    parts.begin(3)
    parts.add("one")
    parts.add(("two", 2))
    assert parts.of(3) == ("one", ("two", 2)) and parts.of(2) == ()
    parts.begin(4)
    assert parts.of(3) == parts.of(4) == ()


def test_what_an_item_may_note_is_bounded(
    parts: NotedParts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched_process, "MOST_BYTES", 1_000)
    parts.begin(0)
    for _ in range(100):
        parts.add("x" * 90)
    assert len(parts.of(0)) == 9
    parts.begin(1)
    parts.add("y" * 900)
    assert parts.of(1) == ("y" * 900,)


def _note_and_end(parts: NotedParts) -> None:
    parts.begin(1)
    parts.add("noted")
    os._exit(9)


def test_they_outlive_the_process_that_noted_them(parts: NotedParts) -> None:
    writer = multiprocessing.get_context("spawn").Process(target=_note_and_end, args=(parts,))
    writer.start()
    writer.join()
    assert writer.exitcode == 9 and parts.of(1) == ("noted",)


def test_they_can_be_given_back_twice(parts: NotedParts) -> None:
    parts.close()
    parts.close()
