"""Values that are put into a temporary file come back as they were, and leave nothing behind."""

from __future__ import annotations

import pickle
import resource
import signal
from pathlib import Path

import pytest

from autograder.errors import KitError
from autograder.values.value_file import LazySequence, Packed, StoredSequence, ValueFile, to_send


def test_values_come_back_in_any_order_and_no_file_is_to_be_seen(tmp_path: Path) -> None:
    with ValueFile(tmp_path) as file:
        stored = StoredSequence[object](file, 3)
        stored[2], stored[0], stored[1] = ("c", 2), None, "b" * 10_000
        assert list(stored) == [None, "b" * 10_000, ("c", 2)]
        assert list(stored[1:]) == [stored[1], stored[-1]]
        assert list(tmp_path.iterdir()) == []
    assert list(tmp_path.iterdir()) == []


def test_a_copy_is_read_each_time(tmp_path: Path) -> None:
    with ValueFile(tmp_path) as file:
        stored = StoredSequence[list[int]](file, 1)
        stored[0] = [1]
        stored[0].append(2)
        assert stored[0] == [1]


def test_what_is_sent_as_it_is_stored_arrives_as_the_value(tmp_path: Path) -> None:
    read: list[int] = []

    def made(place: int) -> str:
        read.append(place)
        return f"made {place}"

    with ValueFile(tmp_path) as file:
        stored = StoredSequence[object](file, 3)
        stored[0], stored[1], stored[2] = "a", ("b", 2), ["c"]
        picked = LazySequence.picked(LazySequence.picked(stored, [2, 1])[1:], [0])
        assert isinstance(to_send(stored, 1), Packed) and isinstance(to_send(picked, 0), Packed)
        for sent in (to_send(stored, 1), to_send(picked, 0)):
            assert pickle.loads(pickle.dumps([sent])) == [("b", 2)]
        lazy = LazySequence(3, made, lambda place: to_send(stored, place))
        assert isinstance(to_send(lazy, 2), Packed) and read == []
    assert (
        to_send(["in memory"], 0) == "in memory" and to_send(LazySequence(1, made), 0) == "made 0"
    )


def test_a_disk_that_takes_no_more_is_told_in_words(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with ValueFile(tmp_path) as file:
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, before[1]))
            with pytest.raises(KitError, match="cannot be put aside"):
                file.put([str(number) for number in range(10_000)])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            signal.signal(signal.SIGXFSZ, ignored)
        assert file.get(*file.put("what fits")) == "what fits"


def test_a_folder_that_takes_no_file_is_told_in_words(tmp_path: Path) -> None:
    with pytest.raises(KitError, match="cannot be put aside"):
        ValueFile(tmp_path / "missing")


def test_items_are_made_when_they_are_asked_for() -> None:
    asked: list[int] = []

    def square(place: int) -> int:
        asked.append(place)
        return place * place

    squares = LazySequence(4, square)
    part = squares[1:]
    assert asked == [] and len(part) == 3
    assert part[0] == 1 and squares[-1] == 9 and asked == [1, 3]
    assert list(LazySequence.picked(part, [2, 0])) == [9, 1]
    with pytest.raises(IndexError):
        squares[4]
