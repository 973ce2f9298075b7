"""Examines the machine as grading would find it: starts the sandbox, tries what must be denied.

Nothing is concluded from the name of the system or the version of the kernel. A
layer counts if a worker had it. A demand counts if each attempt was denied while
the control next to it succeeded. On systems other than Linux, nothing is tried.
"""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path

from autograder.doctor.installation import LEARNING, PLACE, Part, installation
from autograder.errors import KitError
from autograder.model.exercise import Limits
from autograder.model.protection import Protection
from autograder.sandbox import access, measurement, probe
from autograder.sandbox.measurement import DEMANDS, Attempt, Measured
from autograder.sandbox.package_folders import PackageFolders, find_package_folders, needed_for
from autograder.sandbox.workers import SandboxedStudent
from autograder.sandbox.zygote import Zygote

SYSTEMS = {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}
_LIMITS = Limits(seconds_per_call=1.0, memory_megabytes=256, output_kilobytes=64)
_NAMESPACES = ("mount", "pid", "network", "ipc")
_DEMANDS = {
    "files": "files hidden",
    "network": "network closed",
    "processes": "processes out of reach",
    "system calls": "system calls filtered",
    "resources": "memory, time, output bounded",
    "user": "workers are not root",
}


@dataclass(frozen=True)
class Layer:
    """One layer of the sandbox: whether it holds, what it is or why it fails, and the remedy."""

    name: str
    held: bool
    fact: str
    remedy: str = ""


@dataclass(frozen=True)
class Demand:
    """One demand that grading makes, whether it is met, and what was tried to find out."""

    name: str
    met: bool
    trials: tuple[Attempt, ...]


@dataclass(frozen=True)
class Examination:
    """Everything that was found; `shortfall` says why grading would be refused, or is None."""

    system: str
    user: str
    layers: tuple[Layer, ...]
    demands: tuple[Demand, ...]
    level: Protection | None
    shortfall: KitError | None
    parts: tuple[Part, ...]

    @property
    def learning(self) -> bool:
        """Whether the exercises can be worked on here."""
        return all(part.found for part in self.parts if part.need in (LEARNING, PLACE))

    @property
    def grading(self) -> bool:
        """Whether untrusted code can be graded here with the default demands."""
        needed = all(part.found for part in self.parts if part.need == LEARNING)
        return needed and self.shortfall is None


def examine(folder: Path) -> Examination:
    """Examine this machine and this installation, for work in `folder`."""
    system = SYSTEMS.get(sys.platform, sys.platform)
    parts = installation(folder)
    if sys.platform != "linux":
        return Examination(system, "", (), (), None, _no_sandbox(system), parts)
    measured, trials, shortfall = _try_out(folder)
    layers = _layers(measured)
    return Examination(
        system=f"{system} {platform.release()}, {platform.machine()}",
        user="root" if os.geteuid() == 0 else f"user {os.geteuid()}",
        layers=layers,
        demands=_demands(measured, trials),
        level=measured.protection if layers else None,
        shortfall=shortfall,
        parts=parts,
    )


def _no_sandbox(system: str) -> KitError:
    return KitError(
        f"{system} cannot hide files and processes from a submission, so grading is refused "
        "rather than done without protection",
        place=sys.platform,
        cure="grade in a Linux virtual machine or container (Lima, Docker, WSL 2), and run "
        "`attn doctor` in there",
    )


def _try_out(folder: Path) -> tuple[Measured, tuple[Attempt, ...], KitError | None]:
    """Return what was measured, every trial, and why grading would be refused."""
    kept = (Path("solutions"), folder / "solutions")
    secrets = tuple(dict.fromkeys(path.resolve() for path in kept if path.is_dir()))
    strict = Zygote("numpy", _LIMITS, secrets=secrets or None)
    try:
        with strict:
            return strict.measured, (*strict.measured.trials, *_bounds(strict)), None
    except KitError as error:
        shortfall = error
    # Grading is refused. Try again without the demands, to see which layers still hold.
    lenient = Zygote("numpy", _LIMITS, allow_process=True, secrets=secrets or None)
    try:
        with lenient:
            return (
                _weaker(strict, lenient),
                (*lenient.measured.trials, *_bounds(lenient)),
                shortfall,
            )
    except KitError:
        return strict.measured, strict.measured.trials, shortfall


def _weaker(strict: Zygote, lenient: Zygote) -> Measured:
    """Return the measurement with the demands, if there is one, or else the one without."""
    return strict.measured if strict.measured.trials else lenient.measured


def _bounds(zygote: Zygote) -> tuple[Attempt, ...]:
    cells = (probe.ATTEMPTS.read_text(encoding="utf-8"),)
    with SandboxedStudent(zygote, cells, seed=0) as attempts:
        return probe.try_without_end(attempts.ask)


def _layers(measured: Measured) -> tuple[Layer, ...]:
    if measured == Measured((), 0, False, measured.uid):
        return ()  # without a worker, nothing is known about any layer
    return (*_namespaces(measured), _landlock(measured), *_others(measured))


def _namespaces(measured: Measured) -> tuple[Layer, ...]:
    why = measured.missing.get("namespaces", "")
    layers = []
    for name in (f"{kind} namespace" for kind in _NAMESPACES):
        held = name.removesuffix(" namespace") in measured.namespaces
        fact = "its own" if held else measured.missing.get(name) or f"not used: {why}"
        layers.append(
            Layer(name, held, fact, "" if held else measurement.remedy_for("namespaces", why))
        )
    return tuple(layers)


def _landlock(measured: Measured) -> Layer:
    why = measured.missing.get("landlock", "not used")
    if measured.landlock:
        return Layer("Landlock", True, f"version {measured.landlock}")
    return Layer("Landlock", False, why, measurement.remedy_for("landlock", why))


def _others(measured: Measured) -> tuple[Layer, ...]:
    why = measured.missing.get("seccomp", "not used")
    calls = Layer("system call filter", measured.seccomp, "an allow-list, enforced by libseccomp")
    if not measured.seccomp:
        calls = Layer(calls.name, False, why, measurement.remedy_for("seccomp", why))
    bounded = "resources" not in measured.gaps and bool(measured.trials)
    unbounded = "not in force" if "resources" in measured.gaps else "no worker could be asked"
    limits = "of memory, processor time, files, threads" if bounded else unbounded
    return (
        calls,
        Layer(
            "limits", bounded, limits, measurement.LIMITS if "resources" in measured.gaps else ""
        ),
        _other_user(measured),
        _interpreter(measured),
    )


def _other_user(measured: Measured) -> Layer:
    if "user" in measured.gaps:
        return Layer("other user", False, measured.gaps["user"], measurement.USER)
    if access.throw_away_uid():
        return Layer("other user", True, f"root's workers become user {measured.uid}")
    if os.geteuid() == 0:
        return Layer("other user", True, "root only inside a user namespace, without root's rights")
    return Layer("other user", True, "not needed: you are not root, so workers are not root either")


def _interpreter(measured: Measured) -> Layer:
    name, held = "interpreter in reach", bool(measured.trials)
    folders, uid = find_package_folders(), access.throw_away_uid()
    needed = needed_for("numpy")
    closed = next(iter(access.unreadable_paths(needed).values()), None) if uid else None
    if closed and measured.namespaces:
        bound = f"{closed} is closed to other users; it is bound into place"
        return Layer(name, held, _shown(folders, bound))
    if closed and (not held or "user" in measured.gaps):  # a worker that stays root can enter it
        error = access.out_of_reach(uid, "", needed)
        cure = error.cure if error else ""
        return Layer(name, False, f"other users may not enter {closed}", cure)
    return Layer(name, held, _shown(folders, sys.prefix) if held else "no worker could be asked")


def _shown(folders: PackageFolders, interpreter: str) -> str:
    """Say where workers find packages beside the `interpreter`, and which are hidden."""
    kept = (f"not shown: {each.folder} ({each.reason})" for each in folders.exclusions)
    return "; ".join((interpreter, *folders.further, *kept))


def _demands(measured: Measured, trials: tuple[Attempt, ...]) -> tuple[Demand, ...]:
    found = []
    for name in DEMANDS:
        tried = tuple(trial for trial in trials if trial.demand == name)
        gap = measured.gaps.get(name, "") or next((trial.gap for trial in tried if trial.gap), "")
        if name == "user":
            tried = (Attempt(name, "ask the worker who it is", f"user {measured.uid}", "", gap),)
        found.append(Demand(_DEMANDS[name], bool(tried and trials) and not gap, tried))
    return tuple(found)
