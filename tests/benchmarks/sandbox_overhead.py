"""What the sandbox adds to one submission: run with `make bench`.

The right answer of an exercise is forked, loaded, asked everything that its graders ask,
killed and reaped, by zygotes that differ only in their layers, in turn, so that what else the
machine does falls on all of them alike. Figures are medians of one run; the processor time of
all processes together, a mean, says more on a busy machine. Some leave out one layer: what the
whole costs without it is what the rest costs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from autograder.checks.grader_run import run_graders
from autograder.checks.plugin import GradingPlugin
from autograder.checks.reference import Reference, read_reference
from autograder.judging.inprocess import InProcess
from autograder.model.request import Reply, Request
from autograder.protocol.clock import processor_clock
from autograder.sandbox import SandboxedStudent, Zygote
from autograder.sandbox.ending import Ending
from autograder.sandbox.zygote import Worker

ROOT = Path(__file__).parents[2]
LAYERS = ("namespaces", "landlock", "seccomp", "rlimits")
TARGETS = {"numpy_single_head": 5.0, "torch_multi_head": 15.0}  # milliseconds that it may add
PHASES = ("fork", "load", "calls", "end")
ROUNDS = 40
WARM_UP = 3


@dataclass(frozen=True)
class Asked:
    """A right answer's cells, and all that the graders ask about it."""

    cells: tuple[str, ...]
    requests: tuple[Request, ...]


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

    @property
    def processor(self) -> float:
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
        for request in asked.requests:
            student.ask(request)
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


def measure(folder: Path, target: float) -> None:
    """Print what each set of layers costs a submission of the exercise in `folder`."""
    reference = read_reference(folder)
    exercise = reference.exercise
    kinds: dict[str, tuple[str, ...]] = {"all layers": (), "no layers": LAYERS}
    kinds |= {f"without {name}": (name,) for name in LAYERS}
    with ExitStack() as stack:
        zygotes = {
            kind: stack.enter_context(
                Timed(exercise.library, exercise.limits, allow_process=True, without=without)
            )
            for kind, without in kinds.items()
        }
        asked = record(reference, zygotes["all layers"])
        seen: dict[str, list[tuple[float, ...]]] = {kind: [] for kind in (*kinds, "in process")}
        used = dict.fromkeys(seen, 0.0)
        for number in range(WARM_UP + ROUNDS):
            counts = number >= WARM_UP
            begun = time.process_time()
            seen["in process"].append(tuple(in_process(exercise.library, asked)))
            used["in process"] += counts * (time.process_time() - begun)
            for kind, zygote in zygotes.items():
                begun = zygote.processor
                seen[kind].append(tuple(submission(zygote, asked)))
                used[kind] += counts * (zygote.processor - begun)
    print(f"{exercise.name}: {len(asked.requests)} calls, medians of {ROUNDS}")
    for kind, rows in seen.items():
        _print_line(kind, rows[WARM_UP:], 1000 * used[kind] / ROUNDS)
    for kind in ("no layers", "in process"):
        wall = _added(seen["all layers"], seen[kind])
        processor = 1000 * (used["all layers"] - used[kind]) / ROUNDS
        limit = f"; {target:.0f} are allowed" if kind == "no layers" else ""
        print(
            f"  all layers add to {kind}: {wall:.1f} ms, {processor:.1f} of the processor{limit}",
            flush=True,
        )


def _print_line(kind: str, rows: list[tuple[float, ...]], processor: float) -> None:
    parts = (_milliseconds(row[number] for row in rows) for number in range(len(PHASES)))
    phases = ", ".join(f"{name} {part:.1f}" for name, part in zip(PHASES, parts))
    whole = _milliseconds(sum(row) for row in rows)
    print(f"  {kind:20} {whole:6.1f} ms ({phases}), {processor:6.1f} ms of the processor")


def _added(more: list[tuple[float, ...]], less: list[tuple[float, ...]]) -> float:
    """Return the median difference of what was measured one right after the other."""
    pairs = zip(more[WARM_UP:], less[WARM_UP:])
    return _milliseconds(sum(longer) - sum(shorter) for longer, shorter in pairs)


def _milliseconds(seconds: Iterator[float]) -> float:
    return 1000 * median(seconds)


def main() -> None:
    """Print the figures of a NumPy and of a PyTorch exercise, or of those that are named."""
    for name in sys.argv[1:] or TARGETS:
        measure(ROOT / "solutions" / name, TARGETS.get(name, max(TARGETS.values())))


if __name__ == "__main__":
    main()
