"""The layers of the package, and the imports between its modules, read from the source.

The sources are read with `ast`, not imported, so that an import inside a function counts too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "autograder"

# From the ground up. A name is a module or a package right below `autograder`.
LAYERS = (
    ("errors",),
    ("protocol",),
    ("model", "worker"),
    ("judging", "sandbox"),
    ("submission", "checks", "heatmaps", "building"),
    ("reports", "notebook", "grading", "doctor", "releasing"),
    ("course", "learning", "verification"),
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


def module_path(package: Path, module: str) -> Path:
    parts = module.split(".")[1:]
    folder = package.joinpath(*parts)
    return folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")


def module_name(package: Path, path: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_below(package: Path) -> Iterator[Import]:
    for path in sorted(package.rglob("*.py")):
        yield from imports_in(package, path)


def imports_in(package: Path, path: Path) -> Iterator[Import]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    late = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or only_for_types(node)
        for inner in ast.walk(node)
    }
    name = module_name(package, path)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for target in targets_of(package, node, name):
                yield Import(name, target, node.lineno, node in late)


def only_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def targets_of(package: Path, node: ast.Import | ast.ImportFrom, name: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    assert node.level == 0, f"{name}:{node.lineno}: imports are written in full here"
    assert node.module
    for alias in node.names:
        inner = f"{node.module}.{alias.name}"
        ours = node.module.split(".")[0] == package.name
        yield inner if ours and module_path(package, inner).is_file() else node.module
