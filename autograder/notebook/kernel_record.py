"""What the checks have found since this kernel was started: it knows nothing of other days."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from autograder.model.exercise import Exercise
from autograder.model.work_time import WorkTime


@dataclass
class KernelRecord:
    """What the checks of a kernel have found: which steps pass, mistakes by step, and the time."""

    passed: dict[str, bool] = field(default_factory=dict)
    mistakes: dict[str, dict[str, None]] = field(default_factory=dict)
    work_time: WorkTime = field(default_factory=WorkTime)

    def note(
        self, step: str, mistake: str | None, *, passes: bool, does: Iterable[str] = ()
    ) -> None:
        """Note a check of a step, and the mistake that it named, if any.

        `does` are the steps whose work it does if it passes: those that were not checked are known.
        """
        self.passed[step] = passes
        for name in does if passes else ():
            self.passed.setdefault(name, True)
        self.work_time = self.work_time.after_check(time.time())
        if mistake:
            self.mistakes.setdefault(step, {})[mistake] = None


_records: dict[tuple[str, Path], KernelRecord] = {}


def kernel_record(exercise: Exercise) -> KernelRecord:
    """Return the record of an exercise: in a kernel, the one that its cells have begun, if any.

    So it is not lost when the cell that opens the exercise runs again.
    """
    ipython = sys.modules.get("IPython")
    if not ipython or not ipython.get_ipython():
        return KernelRecord()
    return _records.setdefault((exercise.name, exercise.folder.resolve()), KernelRecord())
