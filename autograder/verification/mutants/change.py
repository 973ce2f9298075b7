"""One change of a syntax tree."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from autograder.verification.mutants.syntax import TreePlace


@dataclass(frozen=True)
class Change:
    """What stands at `place` becomes `new`; `kind` says in words what that changes."""

    kind: str
    place: TreePlace
    new: ast.AST | list[ast.stmt]
