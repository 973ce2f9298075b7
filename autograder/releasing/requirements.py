"""What a student's `pip install` installs: the kit's wheel, and one version of each package.

These are the versions with which the instructor grades, so that no check differs from the grade
because of a library. PyTorch's own requirements differ between systems, so they are left to pip.
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
    """One package that a student needs; `installed` is the copy found here, if there is one."""

    name: str
    line: str
    installed: Distribution | None

    @property
    def size(self) -> int:
        """The installed size in bytes, or 0 if it is not installed here."""
        files = (self.installed.files if self.installed else None) or ()
        paths = [Path(str(file.locate())) for file in files if ".." not in file.parts]
        return sum(path.stat().st_size for path in paths if path.is_file())


def needed(requires: Sequence[str], extras: Sequence[str] = ()) -> tuple[Package, ...]:
    """Return all packages that these requirements need, directly or not, sorted by name."""
    found: dict[str, Package] = {}
    for requirement in _apply(requires, extras):
        _walk(requirement, found)
    return tuple(found[name] for name in sorted(found))


def total_size(packages: Sequence[Package]) -> int:
    """Return the installed size of the packages in bytes, or 0 if one of them is unknown."""
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
    # Other systems do not find the version of a build for one processor (+cpu).
    version = Version(installed.version).public
    found[name] = Package(name, f"{name}=={version}", installed)
    if name not in LEFT_TO_PIP:
        for each in _apply(installed.requires or [], sorted(requirement.extras)):
            _walk(each, found)


def _apply(requires: Sequence[str], extras: Sequence[str]) -> Iterator[Requirement]:
    """Give the requirements that apply here, with these extras."""
    for text in requires:
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield requirement
