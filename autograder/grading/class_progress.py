"""The bar that is shown while a class is graded: how many, how fast, how long, with what result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
)
from rich.table import Column
from rich.text import Text

from autograder.model.verdict import Verdict

_FULL, _PART, _NONE, _FAULT = "full", "partial", "zero", "not graded"


class ClassProgress:
    """A bar over the hand-ins of one exercise, of which `kept` are known. A context manager."""

    def __init__(
        self, console: Console, exercise: str, total: int, kept: Iterable[Verdict]
    ) -> None:
        self._results = Counter(map(_result, kept))
        self._bar = Progress(*_COLUMNS, console=console, expand=True)
        done = self._results.total()
        self._task = self._bar.add_task(
            exercise, total=total, completed=done, before=done, results=self._words
        )

    def __enter__(self) -> ClassProgress:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def add(self, verdict: Verdict) -> None:
        """Count one more verdict."""
        self._results[_result(verdict)] += 1
        self._bar.update(self._task, advance=1, results=self._words)

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
