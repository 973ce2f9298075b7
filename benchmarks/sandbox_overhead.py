"""Row 8, what the sandbox adds to one submission: run with `make bench`.

The right answer of an exercise is forked, loaded, asked everything that its graders ask,
killed and reaped, by zygotes that differ only in their layers, in turn, so that what else the
machine does falls on all of them alike. Lines are medians of one run, each turn a round; the
processor time of all processes together says more on a busy machine. Some leave out one layer: what
the whole costs without it is what the rest costs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

from autograder.checks.plugin import GradingPlugin, run_graders
from autograder.checks.reference import Reference, read_reference
from autograder.judging.inprocess import InProcess
from autograder.sandbox import SandboxedStudent, Zygote
from autograder.sandbox.zygote import Worker
from autograder.sandbox.zygote_process import Ending
from autograder.values.exercise import Exercise
from autograder.values.request import Reply, Request
from autograder.worker.control import processor_clock
from benchmarks.command import options, show
from benchmarks.cost_figures import TIME
from benchmarks.figures import Figure, ratios

LAYERS = ("namespaces", "landlock", "seccomp", "rlimits")
ALL, NONE, IN_PROCESS = "all layers", "no layers", "in process"
PHASES = ("fork", "load", "calls", "end")
ROUNDS = 40
WARM_UP = 3


@dataclass(frozen=True)
class Asked:
    """A right answer's cells, and all that the graders ask about it."""

    cells: tuple[str, ...]
    requests: tuple[Request, ...]

    @property
    def by_step(self) -> list[list[Request]]:
        """The requests that are sent together, as in grading: those of one step."""
        groups = groupby(self.requests, lambda request: request.target)
        return [list(group) for _, group in groups]


class Timed(Zygote):
    """A zygote that keeps how long its last fork and its last ending took, in seconds."""

    forking = ending = 0.0
    of_workers = 0.0  # their processor time

    def fork(self, seed: int) -> Worker:
        """Fork, and keep the time until the worker has reported that it is confined."""
        begun = time.perf_counter()
        worker = super().fork(seed)
        self.forking = time.perf_counter() - begun
        return worker

    def end(self, worker: Worker, patience: float = 0.0) -> Ending:
        """Kill and reap, and keep the time."""
        begun = time.perf_counter()
        ending = super().end(worker, patience)
        self.ending = time.perf_counter() - begun
        self.of_workers += ending.milliseconds / 1000
        return ending

    def used(self) -> float:
        """The processor time until now: of this process, the zygote, and workers that ended."""
        below = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text(encoding="ascii")
        zygote = (processor_clock(pid) for pid in (self.pid, *map(int, below.split())))
        return time.process_time() + sum(map(time.clock_gettime, zygote)) + self.of_workers


@dataclass(frozen=True)
class Recording:
    """Asks a student, and keeps what was asked."""

    student: SandboxedStudent
    requests: list[Request]

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        """Answer as the student does."""
        assert not leaning_on, "a right answer leans on nothing"
        self.requests.append(request)
        return self.student.ask(request)


@dataclass(frozen=True)
class Seen:
    """The seconds of each phase, and of the processor, of every round."""

    phases: list[tuple[float, ...]]
    processor: list[float]

    def add(self, phases: Iterator[float], clock: Callable[[], float]) -> None:
        """Go through the phases of one round, with this clock of the processor."""
        begun = clock()
        self.phases.append(tuple(phases))
        self.processor.append(clock() - begun)

    @property
    def wall(self) -> list[float]:
        """The seconds of every round as a whole."""
        return [sum(each) for each in self.phases]


def record(reference: Reference, zygote: Zygote) -> Asked:
    """Return what the graders of an exercise ask about its reference."""
    code = (reference.exercise.folder / "solution.py").read_text(encoding="utf-8")
    requests: list[Request] = []

    def judge(plugin: GradingPlugin) -> None:
        with SandboxedStudent(zygote, (code,), seed=0) as student:
            judged = plugin.judged_by(Recording(student, requests))
        assert all(step.points == step.max_points for step in judged.steps), judged

    run_graders(GradingPlugin(reference, judge))
    return Asked((code,), tuple(requests))


def submission(zygote: Timed, asked: Asked) -> Iterator[float]:
    """Yield the seconds that each of `PHASES` takes for one submission."""
    with SandboxedStudent(zygote, asked.cells, seed=0) as student:
        begun = time.perf_counter()
        assert student.load_failures == (None,) * len(asked.cells)
        loaded = time.perf_counter()
        for requests in asked.by_step:
            student.ask_all(requests, [None] * len(requests))
        called = time.perf_counter()
    yield zygote.forking
    yield loaded - begun - zygote.forking
    yield called - loaded
    yield zygote.ending


def in_process(library: str, asked: Asked) -> Iterator[float]:
    """Yield the same for the code run in this very process, where nothing is forked or ended."""
    yield 0.0
    begun = time.perf_counter()
    names: dict[str, Any] = {"__name__": "submission"}
    for cell in asked.cells:
        exec(compile(cell, "cell", "exec"), names)
    loaded = time.perf_counter()
    yield loaded - begun
    student = InProcess(names, library)
    for request in asked.requests:
        student.ask(request)
    yield time.perf_counter() - loaded
    yield 0.0


def measure(exercise: Exercise, arguments: argparse.Namespace, _: Path) -> Iterator[Figure]:
    """Print what each set of layers costs, and give what all of them add."""
    reference = read_reference(exercise.folder)
    kinds: dict[str, tuple[str, ...]] = {ALL: (), NONE: LAYERS}
    kinds |= {f"without {name}": (name,) for name in LAYERS}
    with ExitStack() as stack:
        zygotes = {
            kind: stack.enter_context(
                Timed(exercise.library, exercise.limits, allow_process=True, without=without)
            )
            for kind, without in kinds.items()
        }
        asked = record(reference, zygotes[ALL])
        seen = {kind: Seen([], []) for kind in (*kinds, IN_PROCESS)}
        for _turn in range(WARM_UP + arguments.turns):
            seen[IN_PROCESS].add(in_process(exercise.library, asked), time.process_time)
            for kind, zygote in zygotes.items():
                seen[kind].add(submission(zygote, asked), zygote.used)
    print(f"{exercise.name}: {len(asked.requests)} calls, medians of {arguments.turns}")
    for kind, each in seen.items():
        _print_line(kind, each)
    yield from _added(exercise.name, seen)


def _added(exercise: str, seen: Mapping[str, Seen]) -> Iterator[Figure]:
    """Give what all layers add, from what was measured one right after the other."""
    for kind in (NONE, IN_PROCESS):
        for name in ("wall", "processor"):
            over, under = (getattr(seen[each], name)[WARM_UP:] for each in (ALL, kind))
            more = [1000 * (long - short) for long, short in zip(over, under)]
            yield Figure.of(8, f"{ALL} over {kind}: {TIME[name]}", exercise, more, "ms")
            yield Figure.of(8, f"{ALL} ÷ {kind}: {TIME[name]}", exercise, ratios(over, under))


def _print_line(kind: str, seen: Seen) -> None:
    rows = seen.phases[WARM_UP:]
    parts = (1000 * median(row[number] for row in rows) for number in range(len(PHASES)))
    phases = ", ".join(f"{name} {part:.1f}" for name, part in zip(PHASES, parts))
    whole, processor = (1000 * median(each[WARM_UP:]) for each in (seen.wall, seen.processor))
    print(f"  {kind:20} {whole:6.1f} ms ({phases}), {processor:6.1f} ms of the processor")


def main() -> None:
    """Print the figures of a NumPy and of a PyTorch exercise, or of those that are named."""
    parser = options(__doc__, hand_ins=1, turns=ROUNDS)
    show(measure, parser.parse_args())


if __name__ == "__main__":
    main()
