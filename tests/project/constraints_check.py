"""Check that every pin of constraints.txt holds on the oldest Python that pyproject.toml promises.

`make check` runs it: `python tests/project/constraints_check.py`. It needs no network: what a
package needs is in its own installed record. A pin whose package is not installed cannot be
checked, so that is a problem too, and so is a package that is pulled in without a pin.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
REFRESH = (
    "run `make check`, which installs what is pinned (after `rm -f .venv/.ready .venv/.browser`)"
)

# What comes with PyTorch's build from the default index only. Nothing of the kit uses it.
_FOR_GRAPHICS_CARDS = ("cuda-", "nvidia-", "triton")

Environment = Mapping[str, str]
Find = Callable[[str], Distribution | None]


@dataclass(frozen=True)
class Project:
    """What pyproject.toml says: its name, its oldest Python, and its requirements by extra."""

    name: str
    oldest: Version
    requires: Mapping[str, tuple[str, ...]]  # "" is what everybody installs

    @classmethod
    def read(cls, text: str) -> Project:
        """Read the text of pyproject.toml; raise ValueError where no oldest Python is promised."""
        facts: dict[str, Any] = tomllib.loads(text)["project"]
        (promised,) = SpecifierSet(facts["requires-python"])
        if promised.operator != ">=":
            raise ValueError(f"requires-python is {promised}, which names no oldest Python")
        release = (*Version(promised.version).release, 0, 0)[:3]
        extras = {name: tuple(them) for name, them in facts["optional-dependencies"].items()}
        return cls(
            canonicalize_name(facts["name"]),
            Version(".".join(map(str, release))),
            {"": tuple(facts["dependencies"]), **extras},
        )


def installed(name: str) -> Distribution | None:
    """Return the installed package of that name, None when there is none."""
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def read_pins(text: str) -> dict[str, Version]:
    """Return the pinned version of each package; raise ValueError at a line that pins nothing."""
    pins: dict[str, Version] = {}
    for line in filter(None, (line.partition("#")[0].strip() for line in text.splitlines())):
        requirement = Requirement(line)
        if not (version := _exact(requirement)):
            raise ValueError(f"constraints.txt: {line} pins no version")
        pins[canonicalize_name(requirement.name)] = version
    return pins


def problems(project: Project, pins: Mapping[str, Version], find: Find = installed) -> list[str]:
    """Return a sentence for each pin that does not hold, or that nobody can say it of."""
    found = [_of_a_pin(name, version, project.oldest, find(name)) for name, version in pins.items()]
    return [*filter(None, found), *dict.fromkeys(_not_pinned(project, pins, find))]


def _of_a_pin(name: str, pin: Version, oldest: Version, package: Distribution | None) -> str:
    if package is None:
        return f"{name}=={pin} cannot be checked: it is not installed; cure: {REFRESH}"
    if (here := Version(package.version).public) != str(pin):
        return f"{name}=={pin} cannot be checked: {here} is installed; cure: {REFRESH}"
    return _too_new(package, oldest)


def _too_new(package: Distribution, oldest: Version) -> str:
    needs = SpecifierSet(package.metadata["Requires-Python"] or "")
    if needs.contains(oldest, prereleases=True):
        return ""
    return (
        f"{package.name}=={package.version} needs Python {needs}, and {oldest} is promised; cure: "
        f"pin what `pip index versions {package.name} --python-version {oldest}` offers, or "
        "promise less in pyproject.toml (requires-python)"
    )


def _not_pinned(project: Project, pins: Mapping[str, Version], find: Find) -> Iterator[str]:
    """Speak of each requirement that leads to a package without a pin, or against its pin."""
    for requirement, wanted_by in _requirements(project, find):
        name = canonicalize_name(requirement.name)
        if name in pins:
            if not requirement.specifier.contains(pins[name], prereleases=True):
                yield (
                    f"{name}=={pins[name]} is not what {wanted_by} needs, "
                    f"{requirement.specifier}; cure: pin one of them otherwise"
                )
        elif not (package := find(name)):
            yield f"{name}, for {wanted_by}, is neither pinned nor installed; cure: pin it"
        # What is exact is pinned by who needs it, as PyTorch pins parts of CUDA.
        elif not _exact(requirement) and not name.startswith(_FOR_GRAPHICS_CARDS):
            pin = f"{name}=={package.version}"
            yield f"{name} comes with {wanted_by} and is not pinned; cure: pin {pin}"
        elif words := _too_new(package, project.oldest):
            yield words


def _requirements(project: Project, find: Find) -> Iterator[tuple[Requirement, str]]:
    """Yield what is needed here and on the oldest Python, each with who needs it."""
    oldest = {
        "python_version": ".".join(map(str, project.oldest.release[:2])),
        "python_full_version": str(project.oldest),
    }
    here = {name: str(value) for name, value in default_environment().items()}
    seen: set[str] = set()
    left = [
        (Requirement(text), project.name) for them in project.requires.values() for text in them
    ]
    while left:
        requirement, wanted_by = left.pop()
        key = f"{wanted_by}: {requirement}"
        if key in seen or canonicalize_name(requirement.name) == project.name:
            continue  # its own extras are all in the list
        seen.add(key)
        if wanted_by == project.name and not _applies(requirement, [here, here | oldest], [""]):
            continue
        yield requirement, wanted_by
        package = find(requirement.name)
        for text in (package.requires or ()) if package else ():
            needed = Requirement(text)
            if _applies(needed, [here, here | oldest], ["", *requirement.extras]):
                left.append((needed, canonicalize_name(requirement.name)))


def _applies(
    requirement: Requirement, places: Iterable[Environment], extras: Iterable[str]
) -> bool:
    marker = requirement.marker
    return marker is None or any(
        marker.evaluate({**place, "extra": extra}) for place in places for extra in extras
    )


def _exact(requirement: Requirement) -> Version | None:
    specifiers = list(requirement.specifier)
    if len(specifiers) == 1 and specifiers[0].operator == "==" and "*" not in specifiers[0].version:
        return Version(specifiers[0].version)
    return None


def main() -> None:
    """Check this repository; say what is wrong and exit with 1, or how many pins hold."""
    project = Project.read((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    pins = read_pins((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    found = problems(project, pins)
    for words in found:
        print(f"error: {words}", file=sys.stderr)
    if found:
        sys.exit(1)
    print(f"{len(pins)} pins hold on Python {project.oldest}")


if __name__ == "__main__":
    main()
