"""Which protection really holds, and what to do about what is missing.

Sandboxes that quietly do less on a weaker machine have failed open before. So
the level is measured from inside a worker and written into every result. Below
the default demand, grading starts only when somebody asks for it by name.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from autograder.errors import KitError
from autograder.values.symbols import Protection
from autograder.values.this_machine import ANSWERS, TOO_FEW_FILES, limit_named_in, no_proc
from autograder.worker.control import FILE_MEGABYTES, OPEN_FILES, TOO_LOW

# What to do about a missing layer, on the machine where it is missing.
#
# The same refusal has different causes: a setting of the distribution, a container, an old
# kernel. A wrong remedy costs an instructor an evening. So the settings are read, and where the
# cause cannot be known, the remedy offers alternatives.

# A setting, the value that forbids ordinary users to make namespaces, and the one that allows it.
_SWITCHES = (
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
    ("kernel/unprivileged_userns_clone", "0", "1"),
    ("user/max_user_namespaces", "0", "15000"),
)
_CONTAINERS = ("/.dockerenv", "/run/.containerenv")
_IN_A_CONTAINER = (
    "start the container so that it may make namespaces (`docker run --cap-add SYS_ADMIN "
    "--security-opt apparmor=unconfined`), which weakens the container itself"
)
MOVE = (
    "move what can be read away from the interpreter and its environment, which every worker reads"
)
USER = (
    "grade as an ordinary user, or as a root that can switch its workers to another user "
    "(not within a user namespace that maps only root)"
)
LIMITS = "grade on Linux, where a process can be given limits"
OWN_LIMITS = "raise it in the shell that grades (`ulimit -a` shows all), or have it raised for you"
CONFINEMENT = (
    "grade as an ordinary user, or where namespaces are allowed; `attn doctor` says what is missing"
)
REPORT = "run `attn doctor`; if it shows nothing missing, report it with this message"


def remedy_for(layer: str, reason: str, system: Path = Path("/")) -> str:
    """Return what to do about `layer` (namespaces, landlock, seccomp), missing for `reason`.

    `system` is the root of the machine whose switches are read.
    """
    if layer == "namespaces":
        return _namespaces(system)
    if layer == "landlock":
        return _landlock(reason)
    if "pyseccomp" in reason:
        return "`pip install pyseccomp`, which talks to libseccomp"
    return "install libseccomp (`apt install libseccomp2`) and `pip install pyseccomp`"


def _namespaces(system: Path) -> str:
    for name, forbids, allows in _SWITCHES:
        switch = system / "proc/sys" / name
        if switch.is_file() and switch.read_text("ascii").strip() == forbids:
            return f"allow user namespaces (`sysctl {name.replace('/', '.')}={allows}`)"
    if any((system / name.lstrip("/")).exists() for name in _CONTAINERS):
        return _IN_A_CONTAINER
    return "allow user namespaces for this user, or grade as root outside a container"


def _landlock(reason: str) -> str:
    if "switched off" in reason:
        return "switch Landlock on (kernel parameter `lsm=landlock,...`, then the other names)"
    return "use a kernel with Landlock (Linux 5.13 or newer, and not hidden by the container)"


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
        return remedy_for(layer, measured.missing.get(layer, ""))

    gaps, found = measured.gaps, []
    if not measured.seccomp:
        found.append(remedy("seccomp"))
    if "files" in gaps or "processes" in gaps:
        if measured.namespaces or measured.landlock:
            found.append(MOVE)
        else:
            found.append(f"{remedy('landlock')}, or {remedy('namespaces')}")
    if "user" in gaps:
        found.append(USER)
    if "resources" in gaps:
        found.append(LIMITS)
    return tuple(found) or (REPORT,)


# What a machine needs before a sandbox can be started at all, and what is missing.
#
# A submission is promised a number of open files and a size of files; the grader needs no less.

SYSTEMS = {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}
_OF_PROC = ("/proc/self/statm", "/proc/self/task", "/proc/self/ns/mnt")


def demand_linux() -> None:
    """Raise `KitError` on a system that has no sandbox."""
    if sys.platform != "linux":
        raise no_sandbox()


def no_sandbox() -> KitError:
    """Return the error about a system that has no sandbox."""
    return KitError(
        f"{SYSTEMS.get(sys.platform, sys.platform)} cannot hide files and processes from a "
        "submission, so grading is refused rather than done without protection",
        place=sys.platform,
        cure="grade in a Linux virtual machine or container (Lima, Docker, WSL 2), and run "
        "`attn doctor` in there",
    )


def demand_no_answers() -> None:
    """Raise `KitError` where the kit has solutions in it, which the code of students could read."""
    if ANSWERS.exists():
        raise KitError(
            "this installation of the kit is one for learning alone: it holds the solutions, where "
            "the code that is graded could read them",
            place=str(ANSWERS),
            cure="grade with the kit from its repository (`pip install '.[grading]'`), "
            "or with a wheel that was released without --with-answers",
        )


def demand_preconditions() -> None:
    """Raise `KitError` without /proc, or when the limits on open files or file size are too low.

    Only on Linux: elsewhere nothing is started.
    """
    if sys.platform != "linux":
        return
    import resource

    if not all(Path(path).exists() for path in _OF_PROC):
        raise no_proc()
    _demand(
        resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        OPEN_FILES,
        "only {} files may be open at once",
        *TOO_FEW_FILES,
    )
    _demand(
        resource.getrlimit(resource.RLIMIT_FSIZE)[0],
        FILE_MEGABYTES << 20,
        "a file may hold only {} bytes",
        "the limit on the size of files of this process (`ulimit -f`)",
        "raise it (`ulimit -f unlimited`), and run the same command again",
    )


def unconfined(why: str) -> KitError:
    """Return the error about a worker that cannot be confined, for the reason that it gave."""
    limited = TOO_LOW in why
    return limit_named_in(why) or KitError(
        f"a worker cannot be confined: {why}",
        place="the limits of this process" if limited else f"{sys.prefix} and {sys.base_prefix}",
        cure=OWN_LIMITS if limited else CONFINEMENT,
    )


def _demand(allowed: int, least: int, words: str, place: str, cure: str) -> None:
    if 0 <= allowed < least:  # no limit at all is a negative number
        fact = f"{words.format(f'{allowed:,}')}, but grading needs {least:,}"
        raise KitError(fact, place=place, cure=cure)
