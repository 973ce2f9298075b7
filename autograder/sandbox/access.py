"""Who a worker is on this machine, and which folders that user may and may not see."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.errors import KitError
from autograder.worker.control import PACKAGE, readable

_FIRST_THROW_AWAY_UID, _THROW_AWAY_UIDS = 60001, 512
_ENTER_AS_OTHERS, _READ_AS_OTHERS = 0o001, 0o004
_OPEN_PLACES = ("/tmp", "/var/tmp", "/dev/shm")


def throw_away_uid() -> int:
    """Return the uid that workers become, 0 when this process cannot change their user."""
    uid = _FIRST_THROW_AWAY_UID + os.getpid() % _THROW_AWAY_UIDS
    if os.geteuid() != 0:
        return 0
    try:
        lines = Path("/proc/self/uid_map").read_text("ascii").splitlines()
    except OSError:  # without /proc nothing is graded, and `attn doctor` says so
        return 0
    maps = [line.split() for line in lines]
    mapped = any(int(first) <= uid < int(first) + int(count) for first, _, count in maps)
    return uid if mapped else 0


def blocking_folder(path: Path) -> Path | None:
    """Return the topmost folder on the way to `path` that other users may not enter, or None."""
    real = path.resolve()
    for folder in reversed(real.parents):
        if not folder.stat().st_mode & _ENTER_AS_OTHERS:
            return folder
    return None if real.stat().st_mode & _READ_AS_OTHERS else real


def unreadable_paths(readable: Iterable[str]) -> dict[Path, Path]:
    """Return the `readable` paths that other users cannot reach, each with what closes it."""
    found = {path: blocking_folder(path) for path in map(Path, readable)}
    return {path: closing for path, closing in found.items() if closing}


def out_of_reach(uid: int, detail: str, readable: Iterable[str]) -> KitError | None:
    """Return the error about the `readable` path that user `uid` cannot reach, or None."""
    for path, closing in unreadable_paths(readable).items() if uid else ():
        return KitError(
            f"a worker becomes user {uid}, who needs {path} but may not enter {closing} ({detail})",
            place=str(closing),
            cure="allow namespaces, with which workers see it all the same (`attn doctor` says "
            "what is in the way); or put Python and its environment where every user may read "
            "them, such as /opt; or grade as an ordinary user",
        )
    return None


def folder_for_a_canary(uid: int) -> Path:
    """Make a folder that a worker could enter if nothing held it back.

    A canary behind a closed folder would be protected by that folder, not by the sandbox.
    Raises `KitError` when no folder can be made.
    """
    try:
        own = tempfile.gettempdir()
        places = (own, *_OPEN_PLACES) if uid else (own,)
        usable = [place for place in map(Path, places) if os.access(place, os.W_OK)]
        place = next(
            (place for place in usable if not uid or blocking_folder(place) is None), Path(own)
        )
        _sweep()
        folder = Path(tempfile.mkdtemp(prefix=_prefix(os.getpid()), dir=place))
    except OSError as error:
        raise KitError(
            f"the sandbox has no folder for temporary files: {error}",
            place="TMPDIR, /tmp and /var/tmp",
            cure="free some space there, or set TMPDIR to a folder that you may write to",
        ) from None
    folder.chmod(0o755)
    return folder


def _sweep() -> None:
    """Remove the folders of processes that were killed before they could do so themselves."""
    for folder in _canaries("attn-*-*"):
        owner = folder.name.split("-")[1]
        if owner.isdecimal() and not Path("/proc", owner).exists():
            shutil.rmtree(folder, ignore_errors=True)  # another user's stays


def remove_canaries(pid: int) -> None:
    """Remove the canary folders that a process left behind when it was killed."""
    for folder in _canaries(f"{_prefix(pid)}*"):
        shutil.rmtree(folder, ignore_errors=True)


def _canaries(pattern: str) -> tuple[Path, ...]:
    places = dict.fromkeys((tempfile.gettempdir(), *_OPEN_PLACES))
    return tuple(folder for place in places for folder in Path(place).glob(pattern))


def _prefix(pid: int) -> str:
    return f"attn-{pid}-"


# The folders that the host imports packages from, as far as a worker may see them.
#
# Packages do not only lie below the interpreter: `pip install --user` puts them into the home
# folder, and a `.pth` file may lead anywhere. Workers see all of them, in the order of the host's
# import path, but never a folder that holds something hidden: it is reported instead.

_FOR_PACKAGES = ("site-packages", "dist-packages")
_RECORDS = ("*.dist-info", "*.egg-info", "*.egg", "numpy/__init__.py", "torch/__init__.py")
_ARCHIVES = (".egg", ".zip", ".whl")


@dataclass(frozen=True)
class Exclusion:
    """A folder of the import path that no worker sees, and why: "it holds your home folder"."""

    folder: Path
    reason: str


@dataclass(frozen=True)
class PackageFolders:
    """The host's import path as a worker gets it.

    `path` is in order, and `linked` are the targets of links in it. `exclusions` are the entries
    and the targets that are left out.
    """

    path: tuple[str, ...]
    linked: tuple[str, ...] = ()
    exclusions: tuple[Exclusion, ...] = ()

    @property
    def readable(self) -> tuple[str, ...]:
        """What a worker may read, the interpreter and the system's libraries included."""
        return readable((*self.path, *self.linked))

    @property
    def further(self) -> tuple[str, ...]:
        """The folders that a worker may read from only because packages lie there."""
        own = readable()
        folders = (*self.path, *map(os.path.dirname, self.linked))
        return tuple(each for each in dict.fromkeys(folders) if not _within(Path(each), own))

    def exclusion_of(self, place: Path) -> Exclusion | None:
        """Return the exclusion that `place` falls under, None where there is none."""
        real = place.resolve()
        for each in self.exclusions:
            if place.is_relative_to(each.folder) or real.is_relative_to(each.folder.resolve()):
                return each
        return None

    def shows(self, place: Path) -> bool:
        """Return whether a worker may read `place`, links followed."""
        return _within(place, self.readable)


def find_package_folders(secrets: Iterable[Path] = ()) -> PackageFolders:
    """Return the part of this process's import path that workers may see, without `secrets`.

    An entry that is relative or does not exist is left out silently.
    """
    hidden = tuple(secret.resolve() for secret in secrets)
    path: list[str] = []
    excluded: list[Exclusion] = []
    for entry in dict.fromkeys(filter(_is_place, sys.path)):
        reason = _against(Path(entry), hidden)
        if reason:
            excluded.append(Exclusion(Path(entry), reason))
        else:
            path.append(entry)
    linked: list[str] = []
    for target in _ends_of_links(path):
        if reason := _danger(target, hidden) or _no_package(target):
            excluded.append(Exclusion(target, reason))
        else:
            linked.append(str(target))
    return PackageFolders(tuple(path), tuple(dict.fromkeys(linked)), tuple(excluded))


def location(name: str) -> Path | None:
    """Return the file or folder that `import name` would take here, None where there is none."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):  # a name that is in `sys.modules` without a file
        return None
    if spec is None:
        return None
    places = [*(spec.submodule_search_locations or ()), spec.origin]
    return next((Path(place) for place in places if place and os.path.isabs(place)), None)


def needed_for(library: str) -> tuple[str, ...]:
    """Return what a worker with `library` has to read: the interpreter, our files, the packages."""
    places = (location(name) for name in dict.fromkeys(("numpy", library)))
    return (*readable(), *(str(place) for place in places if place))


def _is_place(entry: object) -> bool:
    return isinstance(entry, str) and os.path.isabs(entry) and os.path.exists(entry)


def _against(entry: Path, hidden: Iterable[Path]) -> str:
    """Say why an entry of the import path is kept from workers, "" where it is not."""
    if _within(entry, readable()):
        return ""  # the interpreter's own, which every worker reads anyway
    real = entry.resolve()
    return _danger(real, hidden) or _not_for_packages(real)


def _danger(real: Path, hidden: Iterable[Path]) -> str:
    """Say which hidden thing a folder holds or lies in, "" when it is harmless."""
    if real == Path("/"):
        return "it is the whole file system"
    for secret in hidden:
        if secret.is_relative_to(real):
            return f"it holds {secret}, which must stay hidden"
        if real.is_relative_to(secret):
            return f"it lies in {secret}, which must stay hidden"
    if _beside_the_solutions(real):
        return f"the kit is imported from {PACKAGE.parent}, where the solutions may lie"
    if real.parent == Path("/home") or any(home.is_relative_to(real) for home in _homes()):
        return "it holds a whole home folder"
    if _current_folder().is_relative_to(real):
        return "it holds the current folder"
    return ""


def _beside_the_solutions(real: Path) -> bool:
    """Return whether a folder holds the folder that the kit is imported from, or lies in it.

    What pip has made (an installed kit, or an environment in that folder) holds no solutions.
    """
    kit = PACKAGE.parent
    if next(kit.glob("attention_kit-*.dist-info"), None):
        return False
    if real.is_relative_to(kit):
        return not set(_FOR_PACKAGES).intersection(real.relative_to(kit).parts)
    return kit.is_relative_to(real)


def _no_package(target: Path) -> str:
    """Say why the target of a link is no other's package, such as somebody's data; else ""."""
    if target.is_relative_to(PACKAGE):
        return "it is the kit itself"
    record = target.suffix in (*_ARCHIVES, ".dist-info", ".egg-info", ".libs", ".data")
    if target.is_file() or record or (target / "__init__.py").exists():
        return ""
    return "it is not a package (it has no __init__.py)"


def _not_for_packages(real: Path) -> str:
    """Say why a folder is not for packages, as with `PYTHONPATH=~/course`; else ""."""
    if real.name in _FOR_PACKAGES or real.suffix in _ARCHIVES:
        return ""
    if any(next(real.glob(record), None) for record in _RECORDS):
        return ""
    return "no package is installed in it (it has no .dist-info)"


def _ends_of_links(path: Iterable[str]) -> Iterator[Path]:
    """Yield the targets of links in the folders of the path."""
    seen = readable(path)
    for folder in filter(os.path.isdir, path):
        with os.scandir(folder) as entries:
            links = sorted(entry.path for entry in entries if entry.is_symlink())
        for real in (Path(link).resolve() for link in links):
            if real.exists() and not _within(real, seen):
                yield real


def _within(place: Path, folders: Iterable[str]) -> bool:
    """Return whether `place`, links followed, lies in one of the folders or is one."""
    real = place.resolve()
    return any(real.is_relative_to(os.path.realpath(folder)) for folder in folders)


def _homes() -> tuple[Path, ...]:
    import pwd  # there is none on Windows, where this module is only imported

    named = [os.environ.get("HOME", "")]
    try:
        named.append(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:  # a user whom the machine does not know, as in a container
        named.append("")
    # A home of "/" means that there is none.
    return tuple(Path(home).resolve() for home in named if os.path.isabs(home) and home != "/")


def _current_folder() -> Path:
    try:
        return Path.cwd()
    except OSError:  # it is gone, or closed
        return Path("/")
