"""Which protection really holds, and what to do about what is missing.

Sandboxes that quietly do less on a weaker machine have failed open before. So
the level is measured from inside a worker and written into every result. Below
the default demand, grading starts only when somebody asks for it by name.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field

from autograder.errors import KitError
from autograder.model.protection import Protection
from autograder.sandbox import remedies

DEMANDS = ("files", "network", "processes", "system calls", "resources", "user")
_WITHOUT_NAMESPACES = "a worker stays root, since there is no other user for it to become"


@dataclass(frozen=True)
class Attempt:
    """One thing that a worker tried and must not be able to do, beside a control.

    `ended` is "done" or the name of the error, and `control` what worked at the same time, so that
    a denial is no accident. `gap` says what a worker can do; it is empty where that was denied.
    """

    demand: str
    tried: str
    ended: str
    control: str
    gap: str = ""


@dataclass(frozen=True)
class Measured:
    """What was measured: the layers in force, and what a worker could and could not do.

    `namespaces` names those that are not the host's, `landlock` is the version in force (0: none),
    `uid` the worker's user, and `missing` the reason for each missing layer.
    """

    namespaces: tuple[str, ...]
    landlock: int
    seccomp: bool
    uid: int
    missing: Mapping[str, str] = field(default_factory=dict)
    trials: tuple[Attempt, ...] = ()

    @property
    def gaps(self) -> dict[str, str]:
        """What was seen for each demand that is not met; empty when all demands are met."""
        gaps: dict[str, str] = {}
        for trial in self.trials:
            if trial.gap:
                gaps.setdefault(trial.demand, trial.gap)
        if not self.seccomp:
            gaps.setdefault("system calls", "no system call filter is in force")
        if not self.namespaces and not self.landlock:
            gaps.setdefault("files", "nothing hides files from a worker")
        if self.uid == 0 and not self.namespaces:  # within namespaces, root is harmless
            gaps["user"] = _WITHOUT_NAMESPACES
        return gaps

    @property
    def protection(self) -> Protection:
        """The level that follows from the facts; without trials, the lowest."""
        if self.gaps or not self.trials:
            return Protection.PROCESS
        if self.namespaces and self.landlock:
            return Protection.FULL
        return Protection.LANDLOCK if self.landlock else Protection.NAMESPACES

    @property
    def layers(self) -> str:
        """The layers in one line, for a log or a message."""
        have = {
            "namespaces": "yes" if self.namespaces else "no",
            "landlock": f"version {self.landlock}" if self.landlock else "no",
            "seccomp": "yes" if self.seccomp else "no",
        }
        for name in have:
            if name in self.missing:
                have[name] = f"no ({self.missing[name]})"
        return ", ".join(f"{name} {state}" for name, state in have.items())


def demand(measured: Measured) -> None:
    """Raise a `KitError` that names what is missing, unless every demand is met."""
    if measured.protection is not Protection.PROCESS:
        return
    gaps = measured.gaps or {"files": "nothing was measured"}
    raise KitError(
        "this machine does not protect the grader from what it grades: " + "; ".join(gaps.values()),
        place=f"{platform.system()} {platform.release()}: {measured.layers}",
        cure=f"{'; '.join(cures(measured))}; "
        "or, only for code that you trust, add --allow-protection=process (in nbgrader_config.py: "
        'c.WriteVerdict.allow_protection = "process")',
    )


def cures(measured: Measured) -> tuple[str, ...]:
    """Return what to do so that every demand is met, for what is missing on this machine."""

    def remedy(layer: str) -> str:
        return remedies.remedy(layer, measured.missing.get(layer, ""))

    gaps, found = measured.gaps, []
    if not measured.seccomp:
        found.append(remedy("seccomp"))
    if "files" in gaps or "processes" in gaps:
        if measured.namespaces or measured.landlock:
            found.append(remedies.MOVE)
        else:
            found.append(f"{remedy('landlock')}, or {remedy('namespaces')}")
    if "user" in gaps:
        found.append(remedies.USER)
    if "resources" in gaps:
        found.append(remedies.LIMITS)
    return tuple(found) or (remedies.REPORT,)
