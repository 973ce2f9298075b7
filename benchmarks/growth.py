"""Row 5, how cost and memory grow with the class: run with `make bench`.

`attn grade` of a folder with 100, 1,000 and, with `--most 10000`, 10,000 hand-ins, no two alike.
Two questions are answered. What does each further hand-in cost from one size to the next, against
the first step (from `--few` to `--hand-ins`)? And how much memory does the command hold at most:
its first process, and all of them together?
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.values.exercise import Exercise
from benchmarks.command import options, show
from benchmarks.cost import Cost
from benchmarks.cost_figures import TIME
from benchmarks.figures import Figure
from benchmarks.kit_class import grade_folder
from benchmarks.peak_memory import PeakMemory
from support.mixed_class import mixed_class

STEP = 10  # each size is so many times the one before


@dataclass(frozen=True)
class Grown:
    """What a class of one size has cost and held; `further` is one of the hand-ins that came on."""

    hand_ins: int
    whole: Cost
    further: Cost
    memory: PeakMemory


def sizes(first: int, most: int) -> list[int]:
    """Return the sizes from the first to the largest that is allowed."""
    found = [first]
    while found[-1] * STEP <= most:
        found.append(found[-1] * STEP)
    return found


def grown(
    exercise: Exercise, counts: list[int], few: int, folder: Path, words: list[str]
) -> Iterator[Grown]:
    """Grade a class of each size; `words` are more of them for `attn grade`."""
    texts = mixed_class(exercise, counts[-1])
    before = few
    small = grade_folder(folder / "few", exercise, texts[:few], *words)
    for count in counts:
        memory = PeakMemory()
        place = folder / str(count)
        cost = grade_folder(place, exercise, texts[:count], *words, memory=memory)
        yield Grown(count, cost, cost.per_hand_in(small, count - before), memory)
        before, small = count, cost


def measure(exercise: Exercise, arguments: argparse.Namespace, folder: Path) -> Iterator[Figure]:
    """Measure every size in each turn; give costs, ratios to the first size, and memory."""
    counts = sizes(arguments.hand_ins, arguments.most)
    words = ["--processes", str(arguments.processes)]
    turns = [
        list(grown(exercise, counts, arguments.few, folder / str(turn), words))
        for turn in range(arguments.turns)
    ]
    for place, count in enumerate(counts):
        of_size = [turn[place] for turn in turns]
        firsts = [turn[0] for turn in turns]
        yield from _times(exercise, count, of_size, firsts)
        for name, what in (("first", "the first process"), ("together", "all processes together")):
            peaks = [getattr(each.memory, name) for each in of_size]
            words_of = f"{count:,} hand-ins: most memory of {what}"
            yield Figure.of(5, words_of, exercise.name, peaks, "MB")
        unreadable = sum(each.memory.unreadable for each in of_size)
        if unreadable:
            print(f"{unreadable} looks at a process of another user are not in the memory")


def _times(
    exercise: Exercise, count: int, of_size: list[Grown], firsts: list[Grown]
) -> Iterator[Figure]:
    for kind, words in TIME.items():
        further = [getattr(each.further, kind) for each in of_size]
        whole = [getattr(each.whole, kind) / each.hand_ins for each in of_size]
        further_firsts = [getattr(each.further, kind) for each in firsts]
        whole_firsts = [getattr(each.whole, kind) / each.hand_ins for each in firsts]
        what = f"{count:,} hand-ins: {words}"
        values = [1000 * value for value in further]
        yield Figure.of(5, f"{what} of a further one", exercise.name, values, "ms")
        for name, over, under in (
            ("of a further one", further, further_firsts),
            ("of all, with the start, by their number", whole, whole_firsts),
        ):
            if of_size != firsts:
                against = [one / other for one, other in zip(over, under)]
                first = f"against {firsts[0].hand_ins:,}"
                yield Figure.of(5, f"{what} {name}, {first}", exercise.name, against)


def main() -> None:
    """Measure every exercise."""
    parser = options(__doc__, hand_ins=100, turns=1)
    parser.set_defaults(few=20)
    parser.add_argument("--most", type=int, default=1000, help="the largest class; default: 1000")
    parser.add_argument("--processes", type=int, default=2, help="grader processes")
    show(measure, parser.parse_args())


if __name__ == "__main__":
    main()
