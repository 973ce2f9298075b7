"""The names that a submission's code makes known outside its functions, and inside them."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autograder.submission.definitions import DefinitionNode
from autograder.submission.slip import names_bound_in
from autograder.submission.statement_names import names_of_statements


@dataclass(frozen=True)
class CodeNames:
    """What the code as a whole makes known: the statement that sets each name, and functions.

    library: the array library of the exercise. live: whether it runs in the kernel of a notebook,
    which knows what ran there before. imported: the names of modules, and of what is from them.
    """

    statements: Mapping[str, ast.stmt]
    functions: Mapping[str, frozenset[str]]
    steps: tuple[str, ...]
    notebook: bool
    library: str
    live: bool
    imported: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        trees: Sequence[ast.Module],
        steps: Sequence[str],
        library: str,
        *,
        notebook: bool,
        live: bool,
    ) -> CodeNames:
        """Collect the names of cells."""
        statements: dict[str, ast.stmt] = {}
        functions: dict[str, frozenset[str]] = {}
        imported: set[str] = set()
        for tree in trees:
            for node, names in zip(tree.body, names_of_statements(tree), strict=True):
                # Of a large statement, only these names are told.
                bound = names.bound if names.whole else frozenset(names_bound_in(node))
                if isinstance(node, DefinitionNode):
                    functions[node.name] = bound - {node.name}
                    statements[node.name] = node
                else:
                    if isinstance(node, ast.Import | ast.ImportFrom):
                        imported |= bound
                    statements |= dict.fromkeys(bound, node)
        return cls(
            statements, functions, tuple(steps), notebook, library, live, frozenset(imported)
        )
