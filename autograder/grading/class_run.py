"""Grade one class for one exercise, with what the journal holds and a progress bar."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import product

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn
from rich.table import Column
from rich.text import Text

from autograder.errors import KitError
from autograder.grading.class_task import ClassTask, GradingOptions, claim_output, input_secret
from autograder.grading.classroom import IncomingVerdicts, JudgedClass, judge_class, read_class
from autograder.grading.grader_pool import GraderPool, Pool, sandbox_start
from autograder.grading.journal import (
    JOURNAL,
    GradingRun,
    Journal,
    JournalFault,
    exercise_hash,
    not_yet_judged,
)
from autograder.grading.watched_process import Bounds
from autograder.sandbox.measurement import demand_linux
from autograder.submission.reading import Submission
from autograder.values.value_file import LazySequence, ValueFile
from autograder.values.verdict import Verdict

# The bar that is shown while a class is graded: how many, how fast, how long, with what result.

_FULL, _PART, _NONE, _FAULT = "all right", "in part", "nothing right", "not graded"


class ClassProgress(Progress):
    """A bar over the hand-ins of one exercise, of which `kept` are known. A context manager."""

    def __init__(
        self, console: Console, exercise: str, total: int, kept: Iterable[Verdict]
    ) -> None:
        super().__init__(*_COLUMNS, console=console, expand=True)
        self._results = Counter(map(_result, kept))
        done = self._results.total()
        self._grading = self.add_task(
            exercise, total=total, completed=done, before=done, results=self._words
        )

    def add(self, verdict: Verdict) -> None:
        """Count one more verdict."""
        self._results[_result(verdict)] += 1
        self.update(self._grading, advance=1, results=self._words)

    @property
    def _words(self) -> str:
        order = (_FULL, _PART, _NONE, _FAULT)
        return ", ".join(f"{self._results[each]} {each}" for each in order if self._results[each])


class _Pace(ProgressColumn):
    """Hand-ins in a second since the beginning; the time left at that pace, then the time taken."""

    def render(self, task: Task) -> Text:
        """Return both in words."""
        judged, elapsed = task.completed - task.fields["before"], task.elapsed or 0.0
        if not elapsed or not judged:
            return Text(_clock(elapsed))
        pace = judged / elapsed
        rate = f"{pace:.1f}/s" if pace < 10 else f"{pace:.0f}/s"
        left = f"{_clock(task.remaining / pace)} left" if task.remaining else _clock(elapsed)
        return Text(f"{rate} {left}")


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def _result(verdict: Verdict) -> str:
    if not verdict.graded:
        return _FAULT
    earned, most = verdict.points, verdict.max_points
    if not most:  # an optional exercise: its steps count
        earned, most = sum(step.passes for step in verdict.steps), len(verdict.steps)
    if earned == most:
        return _FULL
    return _PART if earned else _NONE


_COLUMNS = (
    TextColumn("grading {task.description}"),
    BarColumn(bar_width=None),
    MofNCompleteColumn(),
    _Pace(table_column=Column(no_wrap=True)),
    TextColumn("{task.fields[results]}"),
)

_WITH = {True: "with", False: "without"}
_ALONE = "`--steps-earn-alone` (in a course, `layer_earns_steps = false`)"
_ALLOWED = "`--allow-protection process`"
_UNBOUNDED = Bounds(0.0, 0.0)  # nobody's hand-in is in it


@contextmanager
def grade_task(
    task: ClassTask,
    pool: GraderPool,
    options: GradingOptions,
    console: Console,
    *,
    judges: Pool | None = None,
) -> Iterator[JudgedClass]:
    """Read and grade with a progress bar; what the journal holds is not judged again.

    The class can be read until the block ends. `pool` reads, `judges` judges (default: `pool`).
    Where others judge, they measure their own sandboxes.
    """
    journal, exercise = Journal(task.output / JOURNAL), task.exercise
    digest = exercise_hash(exercise.folder)  # while grader processes start
    if (judges is None and not journal.path.exists()) or sys.platform != "linux":
        _demand_protection(task, pool, options)  # a refusal leaves nothing behind
    _claim(task, console)
    if broken := journal.prepare():
        console.print(Text(broken, style="yellow"))
    with ValueFile(task.output) as file:
        submissions = read_class(pool, exercise, task.hand_ins, file=file)
        incoming = IncomingVerdicts(submissions, task.rules_for(options), file)
        run = _run(task, options)
        again = (run.key(each, digest) for each in submissions if options.again)
        with _usable(journal), journal.judged_anew(again):
            for _, verdict in run.found(submissions, digest, exercise):
                incoming.add(verdict)
            left = incoming.missing
            if len(left) < len(submissions):
                count = f"{len(submissions) - len(left)} of {len(submissions)} submissions"
                console.print(Text(f"{count} were judged before and have not changed since"))
            run = replace(run, secret=input_secret(task.secret))
            waiting = LazySequence.picked(submissions, left)
            bar = ClassProgress(console, exercise.name, len(submissions), incoming.outlines)
            with journal.held_open(), bar:
                for verdict in judge_class(exercise, waiting, judges or pool, run):
                    bar.add(incoming.add(verdict))
        yield incoming.whole_class()


@contextmanager
def kept_task(
    task: ClassTask, pool: GraderPool, options: GradingOptions, console: Console
) -> Iterator[JudgedClass]:
    """Read a class that was graded before, with its verdicts; nobody is judged.

    The class can be read until the block ends. Who has not been judged as it is now, for example
    since that failed or a new hand-in has come, has no mark. Raises `KitError` when that is so of
    everybody who could be judged.
    """
    journal, exercise = Journal(task.output / JOURNAL), task.exercise
    if not journal.path.exists():
        raise _not_judged(task, "this class has not been graded yet")
    _claim(task, console)
    with ValueFile(task.output) as file:
        submissions = read_class(pool, exercise, task.hand_ins, file=file)
        digest, run = exercise_hash(exercise.folder), _run(task, options)
        incoming = IncomingVerdicts(submissions, task.rules_for(options), file)
        with _usable(journal):
            journal.put_back()  # a killed run may have put verdicts aside
            for _, verdict in run.found(submissions, digest, exercise):
                incoming.add(verdict)
        left = [not_yet_judged(exercise, submissions[place]) for place in incoming.missing]
        nobody = len(left) == len(submissions)
        if nobody and any(each.infrastructure for each in left):
            raise _nobody_judged(task, run, submissions, digest)
        for verdict in left:
            incoming.add(verdict)
        yield incoming.whole_class()


def _claim(task: ClassTask, console: Console) -> None:
    named, secret = task.output_named, task.secret
    copied = claim_output(task.output, task.graded, task.exercise.name, named=named, secret=secret)
    if copied:
        console.print(Text(copied, style="yellow"))


def _not_judged(task: ClassTask, fact: str) -> KitError:
    return KitError(fact, place=str(task.graded), cure="run `attn grade` on the same class first")


def _run(task: ClassTask, options: GradingOptions) -> GradingRun:
    """Return how the class is judged, but for the secret of its inputs."""
    return GradingRun(
        task.output / JOURNAL,
        allow_process=options.allow_process,
        graded=task.graded,
        layer_earns_steps=task.rules_for(options).layer_earns_steps,
    )


def _nobody_judged(
    task: ClassTask, now: GradingRun, submissions: Sequence[Submission], digest: str
) -> KitError:
    """Return the error for a class with verdicts, but none by the checks and settings of now."""
    for allowed, earned in product((False, True), repeat=2):
        then = replace(now, allow_process=allowed, layer_earns_steps=earned)
        words = [
            *([f"{_WITH[not earned]} {_ALONE}"] if earned != now.layer_earns_steps else []),
            *([f"{_WITH[allowed]} {_ALLOWED}"] if allowed != now.allow_process else []),
        ]
        if words and any(then.found(submissions, digest, task.exercise)):
            return KitError(
                f"this class was graded {' and '.join(words)}, which is not so now",
                place=str(task.graded),
                cure="name the same settings here for the results of then; for those of now, run "
                "`attn grade` with them on the same class, which loses nothing",
            )
    return _not_judged(task, "nobody in this class has been judged by the checks of now")


def _demand_protection(task: ClassTask, pool: GraderPool, options: GradingOptions) -> None:
    """Raise `KitError` where this machine does not isolate submissions.

    A grader process is asked, which measures the sandbox that it will judge in.
    """
    demand_linux()
    if options.allow_process:
        return
    start = sandbox_start(task, options)
    for _ in pool.results(start, [None], _UNBOUNDED):
        pass


@contextmanager
def _usable(journal: Journal) -> Iterator[None]:
    try:
        yield
    except JournalFault as fault:
        raise KitError(
            str(fault), place=str(journal.path), cure="run the same command again"
        ) from fault
