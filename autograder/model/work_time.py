"""How long somebody worked, as far as the moments of their checks tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LONGEST_PAUSE = 15 * 60  # seconds between two checks; a longer pause is no work


@dataclass(frozen=True)
class WorkTime:
    """The moments of the first and the last check, the seconds of work, and how many checks.

    Moments are seconds since 1970.
    """

    first: float = 0.0
    last: float = 0.0
    seconds: float = 0.0
    checks: int = 0

    def after_check(self, now: float) -> WorkTime:
        """Return the time after a check at the moment `now`."""
        pause = now - self.last
        worked = pause if self.checks and 0 <= pause <= LONGEST_PAUSE else 0.0
        return WorkTime(self.first or now, now, self.seconds + worked, self.checks + 1)


def read_work_time(facts: Mapping[str, Any]) -> WorkTime:
    """Return what was noted; what is missing or no number counts as nothing."""
    try:
        first, last, seconds = (float(facts[name]) for name in ("first", "last", "seconds"))
        return WorkTime(first, last, seconds, int(facts["checks"]))
    except (KeyError, TypeError, ValueError, OverflowError):
        return WorkTime()
