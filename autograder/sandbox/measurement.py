"""Which protection really holds, and what to do about what is missing.

Sandboxes that quietly do less on a lesser machine have failed open before. So
the level is what was measured from inside a worker, it is written into every
result, and below the default demand grading does not start unless asked by name.
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

    `ended` is "done" or the error it met, `control` what went through at the same time, so that a
    denial is no accident; `gap` says what a worker can do, and is empty where it was denied.
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
    `uid` the worker's user, `missing` says of each layer that is not there why.
    """

    namespaces: tuple[str, ...]
    landlock: int
    seccomp: bool
    uid: int
    missing: Mapping[str, str] = field(default_factory=dict)
    trials: tuple[Attempt, ...] = ()

    @property
    def gaps(self) -> dict[str, str]:
        """For each demand that is not met what was seen instead; empty when all are."""
        gaps: dict[str, str] = {}
        for trial in self.trials:
            if trial.gap:
                gaps.setdefault(trial.demand, trial.gap)
        if not self.seccomp:
            gaps.setdefault("system calls", "no filter of system calls is in force")
        if not self.namespaces and not self.landlock:
            gaps.setdefault("files", "nothing hides files from a worker")
        if self.uid == 0 and not self.namespaces:  # within namespaces it is root of nothing
            gaps["user"] = _WITHOUT_NAMESPACES
        return gaps

    @property
    def protection(self) -> Protection:
        """The level that the facts amount to; without a trial they amount to nothing."""
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
    """Raise `KitError` that names what is missing, unless every demand is met."""
    if measured.protection is not Protection.PROCESS:
        return
    gaps = measured.gaps or {"files": "nothing was measured"}
    raise KitError(
        "this machine does not protect the grader from what it grades: " + "; ".join(gaps.values()),
        place=f"{platform.system()} {platform.release()}: {measured.layers}",
        cure=f"{'; '.join(cures(measured))}; "
        "or, only for code that you trust, say --allow-protection=process (in nbgrader_config.py: "
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
