"""Says whether this machine can grade untrusted code or only run the exercises, and why."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib import import_module, metadata
from pathlib import Path

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from autograder.errors import KitError
from autograder.sandbox import access, measurement
from autograder.sandbox.access import PackageFolders, find_package_folders, location, needed_for
from autograder.sandbox.measurement import DEMANDS, SYSTEMS, Attempt, Measured
from autograder.sandbox.workers import SandboxedStudent
from autograder.sandbox.zygote import ATTEMPTS, Zygote, try_without_end
from autograder.values.exercise import MANIFEST, Limits, read_exercise
from autograder.values.symbols import ABSENT, RIGHT, WRONG, Protection
from autograder.values.this_machine import requirement_of

# What is installed, and who needs it: learners need little, instructors more.
#
# Versions come from the packages' metadata, so nothing heavy is imported. A student without
# nbgrader or PyTorch is not told that anything is wrong.

OLDEST = (3, 11)
LEARNING, PLACE = "the exercises", "a place to work"
TORCH, COURSE, GRADING = "PyTorch", "a course", "grading"
_LEAST_MEGABYTES = 100
_MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Part:
    """One thing to have installed: whether it is there, which one, and what it is for.

    `need` is one of "the exercises", "a place to work", "PyTorch", "a course" and "grading".
    """

    name: str
    found: bool
    fact: str
    need: str
    purpose: str
    remedy: str = ""


def installation(folder: Path) -> tuple[Part, ...]:
    """Return the parts, with those that everybody needs first; work is done in `folder`."""
    linux = sys.platform == "linux"
    return (
        _python(),
        _package("numpy", LEARNING, "every exercise", "pip install numpy"),
        _package("pytest", LEARNING, "the checks", "pip install pytest"),
        *_disk(folder),
        _package("torch", TORCH, _for_torch(folder), f"pip install {requirement_of('torch')}"),
        _package("jupyterlab", COURSE, "the notebooks", "pip install jupyterlab"),
        _package(
            "nbgrader",
            COURSE,
            "a course with nbgrader",
            f"pip install {requirement_of('nbgrader')}",
        ),
        *((_libseccomp(),) if linux else ()),
    )


def _python() -> Part:
    wanted = ".".join(map(str, OLDEST))
    fact = f"{platform.python_version()} in {sys.prefix}"
    found = sys.version_info >= OLDEST
    cure = "" if found else f"install Python {wanted} or newer"
    return Part("Python", found, fact, LEARNING, f"{wanted} or newer", cure)


def _package(name: str, need: str, purpose: str, cure: str) -> Part:
    if fact := _version(name):
        return Part(name, True, fact, need, purpose)
    return Part(name, False, "not installed", need, purpose, cure)


def _version(name: str) -> str:
    """Return a package's version, or its place if no version is recorded, or ""."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        where = location(name)
        return f"no version recorded, in {where.parent}" if where else ""


def _for_torch(folder: Path) -> str:
    names = _exercises_of("torch", (folder / "assignments", folder / "solutions"))
    return f"only for {', '.join(names)}" if names else "only for the exercises in PyTorch"


def _exercises_of(library: str, roots: Iterable[Path]) -> list[str]:
    found = set()
    for manifest in (path for root in roots for path in root.glob(f"*/{MANIFEST}")):
        try:
            exercise = read_exercise(manifest.parent)
        except (KitError, OSError):
            continue  # `attn verify` reports broken exercises
        if exercise.library == library:
            found.add(exercise.name)
    return sorted(found)


def _disk(folder: Path) -> Iterable[Part]:
    yield _place("this folder", folder)
    try:
        yield _place("temporary files", Path(tempfile.gettempdir()))
    except FileNotFoundError as error:
        cure = "free some disk space, or set TMPDIR to a folder that you may write to"
        yield Part("temporary files", False, str(error), PLACE, "can be written", cure)


def _place(name: str, folder: Path) -> Part:
    purpose = "can be written"
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(4096))
            file.flush()
        fact, free = str(folder.resolve()), shutil.disk_usage(folder).free // _MEGABYTE
    except OSError as error:
        cure = "work in a folder that you may write to, on a disk with free space"
        return Part(name, False, f"{folder}: {error.strerror}", PLACE, purpose, cure)
    enough = free >= _LEAST_MEGABYTES
    cure = "" if enough else f"free some disk space: up to {_LEAST_MEGABYTES} MB are needed"
    return Part(name, enough, f"{fact}, {free:,} MB free", PLACE, purpose, cure)


def _libseccomp() -> Part:
    purpose = "the filter of system calls"
    try:
        import_module("pyseccomp")  # the import itself looks for the library
    except (ImportError, RuntimeError) as error:
        why = str(error)
        return Part(
            "libseccomp", False, why, GRADING, purpose, measurement.remedy_for("seccomp", why)
        )
    return Part("libseccomp", True, f"pyseccomp {_version('pyseccomp')}", GRADING, purpose)


# Examines the machine as grading would find it: starts the sandbox, tries what must be denied.
#
# Nothing is concluded from the name of the system or the version of the kernel. A layer counts if
# a worker had it. A demand counts if each attempt was denied while the control next to it
# succeeded. On systems other than Linux, nothing is tried.

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
        return Examination(system, "", (), (), None, measurement.no_sandbox(), parts)
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
            # What was measured with the demands counts, if anything was.
            measured = strict.measured if strict.measured.trials else lenient.measured
            return measured, (*lenient.measured.trials, *_bounds(lenient)), shortfall
    except KitError:
        return strict.measured, strict.measured.trials, shortfall


def _bounds(zygote: Zygote) -> tuple[Attempt, ...]:
    cells = (ATTEMPTS.read_text(encoding="utf-8"),)
    with SandboxedStudent(zygote, cells, seed=0) as attempts:
        return try_without_end(attempts.ask)


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


# The examination in words, for a terminal with or without color, and as JSON.
#
# A reader wants two answers (can I work here, can I grade here) and a remedy for each thing that
# is missing. These come last, where the reader ends.

_LEVELS = {
    Protection.FULL: "namespaces, Landlock, filter and limits",
    Protection.LANDLOCK: "Landlock, filter and limits, no namespaces",
    Protection.NAMESPACES: "namespaces, filter and limits, no Landlock",
    Protection.PROCESS: "a separate process, and nothing to rely on",
}


def tell(found: Examination) -> Group:
    """Return the examination for a console: tables, then the answers and the remedies."""
    parts: list[RenderableType] = []
    if found.layers:
        title = f"Layers of the sandbox on {found.system}, as {found.user}"
        rows = [(_sign(layer.held), layer.name, layer.fact) for layer in found.layers]
        parts += [_table(title, ("layer", "what it is, or why not"), rows), Text()]
        parts += [_trials(found), Text()]
    rows = [(_sign_of(part), part.name, f"{part.fact} ({part.purpose})") for part in found.parts]
    parts += [_table("Installed", ("part", "which, and what for"), rows), Text()]
    return Group(*parts, *_answers(found))


def as_json(found: Examination) -> str:
    """Return the examination as JSON text; `grading` is what the exit code says."""
    refused = found.shortfall
    facts = asdict(found) | {
        "shortfall": {"fact": refused.fact, "place": refused.place, "cure": refused.cure}
        if refused
        else None,
        "learning": found.learning,
        "grading": found.grading,
    }
    return json.dumps(facts, indent=2, ensure_ascii=False)


def _table(title: str, columns: tuple[str, str], rows: list[tuple[Text, str, str]]) -> Table:
    table = _empty(title, *columns)
    for sign, name, fact in rows:
        table.add_row(sign, Text(name), Text(fact))
    return table


def _trials(found: Examination) -> Table:
    title = "What a worker must be denied, while the control next to it succeeds"
    table = _empty(title, "a worker tries to", "ends in", "control")
    for demand in found.demands:
        table.add_row(_sign(demand.met), Text(demand.name, style="bold"), "", "")
        for trial in demand.trials:
            row = (f"  {trial.tried}", trial.ended, trial.control)
            table.add_row(Text() if demand.met else _sign(not trial.gap), *map(Text, row))
        if not demand.trials:
            table.add_row("", Text("  nothing could be tried"), "", "")
    return table


def _empty(title: str, *columns: str) -> Table:
    table = Table(
        title=Text(title, style="bold"),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
    )
    table.add_column("", width=1)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _sign(held: bool) -> Text:
    return Text(RIGHT, style="green") if held else Text(WRONG, style="red")


def _sign_of(part: Part) -> Text:
    """Return the sign of a part; a missing part that only some people need is not an error."""
    return _sign(part.found) if part.found or part.need in (LEARNING, PLACE) else Text(ABSENT)


def _answers(found: Examination) -> list[Text]:
    lines = []
    if found.level:
        lines.append(Text(f"level: {found.level} ({_LEVELS[found.level]})", style="bold"))
    lines.append(_answer("work on the exercises here", found.learning))
    lines.append(_answer("grade untrusted code here", found.grading))
    if found.shortfall:
        lines += [Text(f"  why:  {found.shortfall.fact}"), Text(f"  cure: {found.shortfall.cure}")]
    missing = _remedies(found)
    if missing and found.learning and found.grading:
        lines.append(Text("The missing parts are not needed for that:"))
    return [*lines, *(Text(line, style="yellow") for line in missing)]


def _answer(words: str, possible: bool) -> Text:
    return Text(f"{words}: {'yes' if possible else 'no'}", style="green" if possible else "red")


def _remedies(found: Examination) -> list[str]:
    """Say once how to get each missing layer or part, which may not be needed."""
    missing = [(layer.remedy, layer.name) for layer in found.layers]
    missing += [(part.remedy, f"{part.name} ({part.purpose})") for part in found.parts]
    names: dict[str, list[str]] = {}
    for cure, name in missing:
        if cure:
            names.setdefault(cure, []).append(name)
    return [f"missing: {', '.join(those)}\n  cure: {remedy}" for remedy, those in names.items()]
