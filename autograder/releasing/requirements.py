"""What a student's `pip install` gets: the kit's wheel, and each package in one version.

The versions are those beside which the instructor grades, so that nobody's check differs from
the grade because a library did. PyTorch's own requirements are left to pip: they differ from
system to system.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

LEFT_TO_PIP = ("torch",)
CPU_INDEX = "--extra-index-url=https://download.pytorch.org/whl/cpu"
CPU_REASON = "# PyTorch for the CPU, which is enough here and the smallest download on Linux."


@dataclass(frozen=True)
class Package:
    """One package that a student needs; `installed` is the one found here, if there is one."""

    name: str
    line: str
    installed: Distribution | None

    @property
    def size(self) -> int:
        """How many bytes it takes when it is installed; 0 when it is not installed here."""
        files = (self.installed.files if self.installed else None) or ()
        paths = [Path(str(file.locate())) for file in files if ".." not in file.parts]
        return sum(path.stat().st_size for path in paths if path.is_file())


def needed(requires: Sequence[str], extras: Sequence[str] = ()) -> tuple[Package, ...]:
    """Return all packages that these requirements lead to, by name; each is named once."""
    found: dict[str, Package] = {}
    for requirement in _apply(requires, extras):
        _walk(requirement, found)
    return tuple(found[name] for name in sorted(found))


def total_size(packages: Sequence[Package]) -> int:
    """Return how many bytes the packages take; 0 when that is not known of all of them."""
    known = all(each.installed and each.name not in LEFT_TO_PIP for each in packages)
    return sum(each.size for each in packages) if known else 0


def requirements_text(wheel: str, packages: Sequence[Package]) -> str:
    """Return a requirements.txt with the wheel (a path) and the packages."""
    index = [CPU_REASON, CPU_INDEX] if any(each.name == "torch" for each in packages) else []
    return "\n".join([*index, wheel, *(each.line for each in packages)]) + "\n"


def _walk(requirement: Requirement, found: dict[str, Package]) -> None:
    name = canonicalize_name(requirement.name)
    if name in found and not requirement.extras:
        return
    try:
        installed = distribution(name)
    except PackageNotFoundError:
        found[name] = Package(name, f"{name}{requirement.specifier}", None)
        return
    # A build for one processor (+cpu) has a version that others do not find.
    version = Version(installed.version).public
    found[name] = Package(name, f"{name}=={version}", installed)
    if name not in LEFT_TO_PIP:
        for each in _apply(installed.requires or [], sorted(requirement.extras)):
            _walk(each, found)


def _apply(requires: Sequence[str], extras: Sequence[str]) -> Iterator[Requirement]:
    """The requirements that hold here, with these extras."""
    for text in requires:
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield requirement
