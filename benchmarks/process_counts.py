"""Row 6, one grader process, two, and Dask with two workers: run with `make bench`.

`attn grade` of a folder. The cost of one hand-in is the difference between a large class and a
small one. Dask is measured where `attn grade` knows `--cluster`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from autograder.values.exercise import Exercise
from benchmarks.command import options, show
from benchmarks.cost import ROOT, Cost, module
from benchmarks.cost_figures import cost_figures, ratio_figures
from benchmarks.figures import Figure
from benchmarks.kit_class import grade_folder
from benchmarks.stock_course import environment
from support.mixed_class import mixed_class

ONE = "one process"
WAYS: dict[str, tuple[str, ...]] = {
    ONE: ("--processes", "1"),
    "two processes": ("--processes", "2"),
}
ON_A_CLUSTER: dict[str, tuple[str, ...]] = {
    "Dask with two workers": ("--cluster", "local", "--processes", "2"),
}


@cache
def ways() -> dict[str, tuple[str, ...]]:
    """Return the ways to grade that the kit has, with what to add to the command."""
    told = subprocess.run(
        module("autograder.cli", "grade", "--help"),
        check=True,
        capture_output=True,
        text=True,
        env=environment() | {"PYTHONPATH": str(ROOT)},
    ).stdout
    if "--cluster" in told:
        return WAYS | ON_A_CLUSTER
    print("`attn grade` knows no --cluster here: Dask is not measured")
    return WAYS


def measure(exercise: Exercise, arguments: argparse.Namespace, folder: Path) -> Iterator[Figure]:
    """Measure every way in turn; give the costs and their ratios to one process."""
    texts = mixed_class(exercise, arguments.hand_ins)
    few = texts[: arguments.few]
    costs: dict[str, list[Cost]] = {way: [] for way in ways()}
    for turn in range(arguments.turns):
        for place, (way, words) in enumerate(ways().items()):
            small = grade_folder(folder / f"{turn}-{place}-few", exercise, few, *words)
            large = grade_folder(folder / f"{turn}-{place}-all", exercise, texts, *words)
            costs[way].append(large.per_hand_in(small, len(texts) - len(few)))
    print(f"this machine has {os.cpu_count()} cores")
    for way, each in costs.items():
        yield from cost_figures(6, way, exercise, each)
    for way in [each for each in costs if each != ONE]:
        yield from ratio_figures(6, f"{ONE} ÷ {way}", exercise, costs[ONE], costs[way])


if __name__ == "__main__":
    show(measure, options(__doc__, hand_ins=100).parse_args())
