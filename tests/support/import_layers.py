"""The layers of the package, and the imports between its modules, read from the source.

`make layers` runs it: `python tests/support/import_layers.py` prints each floor with its rooms,
and what each of them imports. The sources are read with `ast`, not imported, so that an import
inside a function counts too, and so does `import_module("autograder...")` with its name in quotes.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "autograder"

# The only name that a module of ours takes from `autograder` itself. The others are for notebooks,
# and come from a room, so whoever takes them there hides an arrow.
FREE = "__version__"
BY_CALL = ("import_module", "__import__")

# From the ground up. A name is a module or a package right below `autograder`.
LAYERS = (
    ("errors", "worker"),
    ("values",),
    ("judging", "tracing", "sandbox"),
    ("submission", "checks", "reports"),
    ("grading",),
    ("authoring", "course", "cluster"),
    ("learning", "platforms"),
    ("play",),
    ("site",),
    ("cli",),
)


@dataclass(frozen=True)
class Import:
    """One import: the module that has it, what it names, its line, and whether it waits."""

    module: str
    target: str
    line: int
    late: bool

    @property
    def place(self) -> str:
        """Where to look, as `autograder/grading/run.py:76`."""
        path = module_path(PACKAGE, self.module)
        return f"{path.relative_to(PACKAGE.parent)}:{self.line}"


@dataclass(frozen=True)
class Room:
    """A room of the package: its floor, its name, the rooms that it imports."""

    floor: int
    name: str
    imports: frozenset[str]


def module_path(package: Path, module: str) -> Path:
    parts = module.split(".")[1:]
    folder = package.joinpath(*parts)
    return folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")


def module_name(package: Path, path: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports_below(package: Path) -> tuple[Import, ...]:
    """All imports in a package, which is read once: it takes a second."""
    return tuple(
        found for path in sorted(package.rglob("*.py")) for found in imports_in(package, path)
    )


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports_in(package: Path, path: Path) -> Iterator[Import]:
    tree = parsed(path)
    late = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or only_for_types(node)
        for inner in ast.walk(node)
    }
    name = module_name(package, path)
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt | ast.expr):
            for target in targets_of(package, node, name):
                yield Import(name, target, node.lineno, node in late)


def only_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def targets_of(package: Path, node: ast.stmt | ast.expr, name: str) -> Iterator[str]:
    """The modules that a node of module `name` imports, in whichever way."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from from_targets(package, node, name)
    elif called := named_in_call(node):
        assert called[0] != ".", f"{name}:{node.lineno}: imports are written in full here"
        yield called
    elif (attribute := attribute_of(package, node)) and is_module(package, attribute):
        yield attribute


def from_targets(package: Path, node: ast.ImportFrom, name: str) -> Iterator[str]:
    assert node.level == 0, f"{name}:{node.lineno}: imports are written in full here"
    assert node.module
    for alias in node.names:
        inner = f"{node.module}.{alias.name}"
        yield inner if is_module(package, inner) else node.module


def is_module(package: Path, name: str) -> bool:
    return name.split(".")[0] == package.name and module_path(package, name).is_file()


def named_in_call(node: ast.AST) -> str:
    """The module in `import_module("autograder.values")`, "" for a node that is no such call."""
    if not isinstance(node, ast.Call):
        return ""
    called = getattr(node.func, "attr", getattr(node.func, "id", ""))
    named = [*node.args[:1], *(each.value for each in node.keywords if each.arg == "name")]
    if called not in BY_CALL or not named or not isinstance(named[0], ast.Constant):
        return ""
    return str(named[0].value)


def attribute_of(package: Path, node: ast.AST) -> str:
    """The name in full of an attribute of `autograder`, "" for every other node."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return ""
    return f"{package.name}.{node.attr}" if node.value.id == package.name else ""


def through_the_door(package: Path) -> list[str]:
    """Say of every use of `autograder` itself, other than for its version, where it is."""
    return [
        f"{module_path(PACKAGE, name).relative_to(PACKAGE.parent)}:{node.lineno}: "
        f"{name} uses {used}, which hides where it comes from: import it from its own module"
        for path in sorted(package.rglob("*.py"))
        for name in [module_name(package, path)]
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.stmt | ast.expr)
        for used in door_names(package, node)
    ]


def door_names(package: Path, node: ast.AST) -> Iterator[str]:
    """What a node takes from `autograder` itself, in full; the whole package is "autograder"."""
    names = [named_in_call(node), attribute_of(package, node)]
    if isinstance(node, ast.ImportFrom) and node.module == package.name:
        names += [f"{package.name}.{alias.name}" for alias in node.names]
    if isinstance(node, ast.Import):
        names += [alias.name for alias in node.names]
    for name in names:
        inside = name.rpartition(".")[0] == package.name and name != f"{package.name}.{FREE}"
        if name == package.name or (inside and not is_module(package, name)):
            yield name


def between_rooms(package: Path) -> Iterator[Import]:
    """The imports of ours in a room; `autograder` itself is a door, and stands on no floor."""
    for found in imports_below(package):
        if found.module != package.name and found.target.startswith(f"{package.name}."):
            yield found


def room_of(module: str) -> str:
    return module.split(".")[1]


def layer(module: str) -> int:
    """The number of the layer that a module of ours is in."""
    part = room_of(module)
    found = [number for number, names in enumerate(LAYERS) if part in names]
    assert found, f"{module} has no layer: add {part} to LAYERS"
    return found[0]


def upward(package: Path) -> list[str]:
    """Say of every import that points up which one it is."""
    return [
        f"{found.place}: {found.module} imports {found.target}, which is above it: "
        "move what both need down, or hand it in as an argument"
        for found in between_rooms(package)
        if layer(found.target) > layer(found.module)
    ]


def rooms(package: Path) -> tuple[Room, ...]:
    """The rooms from the ground up, each with the rooms that its modules import."""
    arrows: dict[str, set[str]] = {}
    for found in between_rooms(package):
        arrows.setdefault(room_of(found.module), set()).add(room_of(found.target))
    return tuple(
        Room(floor, name, frozenset(arrows.get(name, set()) - {name}))
        for floor, names in enumerate(LAYERS, start=1)
        for name in names
    )


def package_needs(package: Path) -> dict[str, set[str]]:
    """Which package needs which others: the rooms, and the folders within a room too."""
    needs: dict[str, set[str]] = {}
    for found in between_rooms(package):
        one, other = (package_of(package, name) for name in (found.module, found.target))
        if one != other:
            needs.setdefault(one, set()).add(other)
    return needs


def package_of(package: Path, module: str) -> str:
    """The package that a module of ours lies in."""
    path = module_path(package, module)
    return module if path.name == "__init__.py" else module.rpartition(".")[0]


def circle(needs: dict[str, set[str]]) -> str:
    """Return a circle of packages in words, "" when there is none."""
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        return " -> ".join(error.args[1])
    return ""


def faults(package: Path) -> tuple[str, ...]:
    """What is against the plan: arrows that point up, a circle of packages, uses of the door."""
    found = circle(package_needs(package))
    circles = [f"these packages need each other: {found}"] if found else []
    return (*upward(package), *circles, *through_the_door(package))


def drawn(package: Path) -> str:
    """The floors from the top down, a line for each room, and what is so of the whole."""
    there = rooms(package)
    lines = []
    for floor in range(len(LAYERS), 0, -1):
        lines.append(f"floor {floor}")
        for room in (one for one in there if one.floor == floor):
            lines.append(f"  {room.name:12} -> {', '.join(sorted(room.imports)) or 'nothing'}")
    facts = faults(package) or ("no arrow points up", "no package circle")
    return "\n".join([*lines, "", *facts]) + "\n"


def main() -> None:
    """Print the layers of this repository; exit with 1 when an arrow is wrong."""
    print(drawn(PACKAGE), end="")
    sys.exit(bool(faults(PACKAGE)))


if __name__ == "__main__":
    main()
