"""The workers that a zygote forks while something is judged."""

from __future__ import annotations

import pytest

from autograder.sandbox.zygote import Worker, Zygote


def counted_forks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the seed of every worker that is forked from now on."""
    seeds, fork = list[int](), Zygote.fork

    def counted(zygote: Zygote, seed: int) -> Worker:
        seeds.append(seed)
        return fork(zygote, seed)

    monkeypatch.setattr(Zygote, "fork", counted)
    return seeds
