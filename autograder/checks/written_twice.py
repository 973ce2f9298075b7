"""Names that an author wrote twice in one place, so that Python lets the first one vanish."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from autograder.errors import KitError
from autograder.model.origin import at_its_origin

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def written_twice(body: list[ast.stmt]) -> Iterator[tuple[str, int, int]]:
    """Give (name, first line, second line) for each name that is bound again in `body`."""
    first: dict[str, int] = {}
    for node in body:
        for name in _bound(node):
            if name in first:
                yield name, first[name], node.lineno
            first.setdefault(name, node.lineno)


def refuse_checks_of_one_name(graders: Path) -> None:
    """Raise `KitError` when two checks in a grader file have one name."""
    for name, first, second in written_twice(ast.parse(graders.read_text("utf-8")).body):
        if name.startswith("test"):
            raise KitError(
                f"two checks have the name {name}: only the second would be run",
                place=f"{graders}:{second}",
                cure="give each a name of its own; the first is "
                + at_its_origin(f"{graders}:{first}"),
            )


def _bound(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.Assign():
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case _ if isinstance(node, _DEFINITIONS):
            yield node.name
