"""Which protection really holds, and what to do about what is missing.

Sandboxes that quietly do less on a lesser machine have failed open before. So
the level is what was measured from inside a worker, it is written into every
result, and below the default demand grading does not start unless asked by name.
"""

from __future__ import annotations

import enum
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field

from autograder.errors import KitError


class Protection(enum.StrEnum):
    """The level that was measured, strongest first."""

    FULL = "full"  # namespaces, Landlock, system call filter, limits
    LANDLOCK = "landlock"  # Landlock, system call filter, limits: most containers
    NAMESPACES = "namespaces"  # namespaces, system call filter, limits: an older kernel
    PROCESS = "process"  # a process of its own, and nothing to rely on


CURES = {
    "files": "use a kernel with Landlock (Linux 5.13 or newer, `lsm=landlock,...`), or allow user "
    "namespaces (`sysctl kernel.apparmor_restrict_unprivileged_userns=0`)",
    "network": "allow user namespaces, or install libseccomp",
    "processes": "allow user namespaces, or use a kernel with Landlock and install libseccomp",
    "system calls": "install libseccomp (`apt install libseccomp2`) and `pip install pyseccomp`",
    "resources": "grade on Linux, where a process can be given limits",
}


@dataclass(frozen=True)
class Measured:
    """What a probe saw: the layers in force, and for each demand not met what it saw instead.

    `landlock` is the version in force (0: none), `uid` the worker's user,
    `missing` says of each layer that is not there why.
    """

    namespaces: bool
    landlock: int
    seccomp: bool
    uid: int
    missing: Mapping[str, str] = field(default_factory=dict)
    gaps: Mapping[str, str] = field(default_factory=dict)

    @property
    def protection(self) -> Protection:
        """The level that the facts amount to."""
        if self.gaps or not self.seccomp:
            return Protection.PROCESS
        if self.namespaces and self.landlock:
            return Protection.FULL
        if self.landlock:
            return Protection.LANDLOCK
        return Protection.NAMESPACES if self.namespaces else Protection.PROCESS

    @property
    def layers(self) -> str:
        """The layers in one line, for a log or a message."""
        landlock = f"version {self.landlock}" if self.landlock else "no"
        have = {
            "namespaces": "yes" if self.namespaces else "no",
            "landlock": landlock,
            "seccomp": "yes" if self.seccomp else "no",
        }
        for name, reason in self.missing.items():
            have[name] = f"no ({reason})"
        return ", ".join(f"{name} {state}" for name, state in have.items())


def demand(measured: Measured) -> None:
    """Raise `KitError` that names what is missing, unless every demand is met."""
    if measured.protection is not Protection.PROCESS:
        return
    gaps = dict(measured.gaps)
    if not measured.seccomp:
        gaps.setdefault("system calls", "no filter of system calls is in force")
    cures = "; ".join(CURES[name] for name in gaps) or CURES["files"]
    raise KitError(
        "this machine does not protect the grader from what it grades: "
        + "; ".join(gaps.values() or ("files are not hidden",)),
        place=f"{platform.system()} {platform.release()}: {measured.layers}",
        cure=f"{cures}; or say --allow-protection=process, only for code that you trust",
    )
