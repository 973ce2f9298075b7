"""What a checklist tells students to keep is what the checks ask for, and no more."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.judging.examples import read_examples
from autograder.submission.cells import top_level
from support.learner_workspace import NAME, ROOT, start, stub_file
from support.typed_commands import typed

KEPT = "and the names of parameters that have a default."
FOLDERS = sorted(ROOT.glob("assignments/*_*"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_only_parameters_with_a_default_are_asked_for_by_name(folder: Path) -> None:
    assert KEPT in (folder / "README.md").read_text(encoding="utf-8")
    tree = ast.parse((folder / f"{folder.name}.py").read_text(encoding="utf-8"))
    nodes = {node.name: node for node in top_level(tree)}
    for example in read_examples(folder):
        request, node = example.request, nodes[example.request.target]
        name = request.method or ("__init__" if isinstance(node, ast.ClassDef) else node.name)
        written = [each for each in functions(node) if each.name == name]
        if not written and isinstance(node, ast.ClassDef):  # it inherits from an earlier step
            (base,) = (each.id for each in node.bases if isinstance(each, ast.Name))
            written = [each for each in functions(nodes[base]) if each.name == name]
        (function,) = written
        count = len(function.args.args) - len(function.args.defaults)
        with_default = {each.arg for each in function.args.args[count:]}
        assert {*request.keywords} <= with_default, example.title


def functions(node: ast.AST) -> Iterator[ast.FunctionDef]:
    return (each for each in ast.walk(node) if isinstance(each, ast.FunctionDef))


def test_a_parameter_with_another_name_passes(tmp_path: Path) -> None:
    workspace = start(tmp_path / "work")
    body = "def softmax(s):\n    e = np.exp(s - s.max(-1, keepdims=True))\n"
    script = f"import numpy as np\n{body}    return e / e.sum(-1, keepdims=True)\n"
    stub_file(workspace).write_text(script, encoding="utf-8")
    assert typed("check", f"{NAME}.softmax", folder=workspace).code == 0
