"""The cores of grader processes."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from autograder.grading.watched_process import keep_to, usable_cores

NO_SUCH_CORE = 100_000


@pytest.fixture(autouse=True)
def _all_cores_afterwards() -> Iterator[None]:
    every = os.sched_getaffinity(0)
    yield
    os.sched_setaffinity(0, every)


def test_only_the_cores_that_a_process_may_run_on_are_usable() -> None:
    first, *_ = every = usable_cores()
    assert every == tuple(sorted(os.sched_getaffinity(0)))
    keep_to(first)
    assert usable_cores() == (first,)


def test_a_core_that_is_not_there_leaves_the_process_where_it_is() -> None:
    before = usable_cores()
    keep_to(NO_SUCH_CORE)
    assert usable_cores() == before


def test_a_system_without_such_calls_has_the_cores_that_python_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as elsewhere:
        for name in ("sched_getaffinity", "sched_setaffinity"):
            elsewhere.delattr(os, name)
        elsewhere.setattr(os, "cpu_count", lambda: 3)
        assert usable_cores() == (0, 1, 2)
        keep_to(0)
