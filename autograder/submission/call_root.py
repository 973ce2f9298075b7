"""The name that a chain of calls and attributes begins with: `np` in `np.random.rand(3).sum()`."""

from __future__ import annotations

import ast


class CallRoots:
    """The roots of the chains in one syntax tree, each looked up once, however deep they nest."""

    def __init__(self) -> None:
        # By identity, so the tree has to stay alive while this is used.
        self._known: dict[int, str] = {}

    def of(self, node: ast.expr) -> str:
        """Return the name that `node` begins with, "" when there is none."""
        passed = []
        while isinstance(node, ast.Call | ast.Attribute) and id(node) not in self._known:
            passed.append(id(node))
            node = node.func if isinstance(node, ast.Call) else node.value
        root = node.id if isinstance(node, ast.Name) else self._known.get(id(node), "")
        self._known.update(dict.fromkeys(passed, root))
        return root
