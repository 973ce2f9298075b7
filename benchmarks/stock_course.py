"""A plain nbgrader course with the same steps, and hidden test cells as an instructor writes them.

Every cell draws inputs of two sizes, and compares with a solution that stands in the cell. None
looks for more than values, shapes, changed arguments and, of a layer, gradients.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.course.creation import notebook_name
from autograder.values.exercise import SOLUTION, Exercise

CONFIG = "c = get_config()\nc.CourseDirectory.course_id = 'stock'\n"
SIZES = {
    "numpy_single_head": "dict(B=2, S=5, D=8), dict(B=3, S=4, D=6)",
    "torch_multi_head": "dict(B=2, S=5, C=24, h=4, d=6), dict(B=4, S=7, C=10, h=2, d=5)",
}
HEAD = {
    "numpy_single_head": """\
import numpy as np
rng = np.random.default_rng(3)
draw = lambda *shape: rng.standard_normal(shape)
same = lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8)
""",
    "torch_multi_head": """\
import torch
generator = torch.Generator().manual_seed(3)
draw = lambda *shape: torch.randn(shape, generator=generator)
same = lambda a, b: torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
""",
}
# What each cell does for the sizes in `s`; `right` holds the steps of the solution.
TESTS = {
    "numpy_single_head": {
        "softmax": """\
x = draw(s['B'], s['S'], s['S'])
kept = x.copy()
same(softmax(x), right['softmax'](kept))
same(x, kept)
same(softmax(x + 1e4), right['softmax'](x))""",
        "initialize_weights": """\
made = initialize_weights(64, np.random.default_rng(1))
assert len(made) == 4
for matrix in made:
    assert matrix.shape == (64, 64) and abs(matrix.std() - 0.02) < 0.002
assert not np.array_equal(made[0], made[1])""",
        "project_qkv": """\
given = [draw(s['B'], s['S'], s['D']), *(draw(s['D'], s['D']) for _ in range(3))]
for ours, theirs in zip(project_qkv(*given), right['project_qkv'](*given)):
    same(ours, theirs)""",
        "compute_attention_scores": """\
given = [draw(s['B'], s['S'], s['D']) for _ in range(2)]
same(compute_attention_scores(*given), right['compute_attention_scores'](*given))""",
        "scale_scores": """\
x = draw(s['B'], s['S'], s['S'])
kept = x.copy()
same(scale_scores(x, s['D']), right['scale_scores'](kept, s['D']))
same(x, kept)""",
        "create_causal_mask": """\
same(np.asarray(create_causal_mask(s['S']), float), right['create_causal_mask'](s['S']))""",
        "apply_mask": """\
x, mask = draw(s['B'], s['S'], s['S']), np.tril(np.ones((s['S'], s['S'])))
found, expected = apply_mask(x.copy(), mask), right['apply_mask'](x, mask)
same(np.maximum(found, -1e4), np.maximum(expected, -1e4))""",
        "compute_attention_weights": """\
x = draw(s['B'], s['S'], s['S'])
same(compute_attention_weights(x), right['compute_attention_weights'](x))""",
        "apply_attention": """\
given = [right['softmax'](draw(s['B'], s['S'], s['S'])), draw(s['B'], s['S'], s['D'])]
same(apply_attention(*given), right['apply_attention'](*given))""",
        "project_output": """\
given = [draw(s['B'], s['S'], s['D']), draw(s['D'], s['D'])]
same(project_output(*given), right['project_output'](*given))""",
        "SingleHeadAttention": """\
ours = SingleHeadAttention(s['D'], np.random.default_rng(1))
theirs = right['SingleHeadAttention'](s['D'], np.random.default_rng(1))
for name in ('query_weights', 'key_weights', 'value_weights', 'output_weights'):
    matrix = draw(s['D'], s['D'])
    setattr(ours, name, matrix)
    setattr(theirs, name, matrix)
x = draw(s['B'], s['S'], s['D'])
for causal in (False, True):
    same(ours.forward(x, causal=causal), theirs.forward(x, causal=causal))""",
    },
    "torch_multi_head": {
        "create_projections": """\
first, second = create_projections(s['C'])
assert first.weight.shape == (3 * s['C'], s['C']) and second.weight.shape == (s['C'], s['C'])
assert first.bias is not None and create_projections(s['C'], bias=False)[0].bias is None""",
        "split_heads": """\
x = draw(s['B'], s['S'], 3 * s['C'])
for ours, theirs in zip(split_heads(x, s['h']), right['split_heads'](x, s['h'])):
    same(ours, theirs)""",
        "compute_attention_scores": """\
given = [draw(s['B'], s['h'], s['S'], s['d']) for _ in range(2)]
same(compute_attention_scores(*given), right['compute_attention_scores'](*given))""",
        "scale_scores": """\
x = draw(s['B'], s['h'], s['S'], s['S'])
kept = x.clone()
same(scale_scores(x, s['d']), right['scale_scores'](kept, s['d']))
same(x, kept)""",
        "compute_attention_weights": """\
x = draw(s['B'], s['h'], s['S'], s['S'])
same(compute_attention_weights(x), right['compute_attention_weights'](x))""",
        "apply_attention": """\
given = [draw(s['B'], s['h'], s['S'], s['S']).softmax(-1), draw(s['B'], s['h'], s['S'], s['d'])]
same(apply_attention(*given), right['apply_attention'](*given))""",
        "merge_heads": """\
x = draw(s['B'], s['h'], s['S'], s['d'])
same(merge_heads(x), right['merge_heads'](x))""",
        "project_output": """\
x, layer = draw(s['B'], s['S'], s['C']), torch.nn.Linear(s['C'], s['C'])
same(project_output(x, layer), right['project_output'](x, layer))""",
        "MultiHeadAttention": """\
ours = MultiHeadAttention(s['C'], s['h'])
theirs = right['MultiHeadAttention'](s['C'], s['h'])
theirs.load_state_dict(ours.state_dict())
x, arriving = draw(s['B'], s['S'], s['C']), draw(s['B'], s['S'], s['C'])
for layer in (ours, theirs):
    layer(x).backward(arriving)
same(ours(x), theirs(x))
for mine, other in zip(ours.parameters(), theirs.parameters()):
    same(mine.grad, other.grad)
same(ours.eval()(x), theirs(x))
same(ours.double()(x.double()), theirs.double()(x.double()))""",
        "CausalMultiHeadAttention": """\
ours = CausalMultiHeadAttention(s['C'], s['h'])
theirs = right['CausalMultiHeadAttention'](s['C'], s['h'])
theirs.load_state_dict(ours.state_dict())
x = draw(s['B'], s['S'], s['C'])
for causal in (False, True):
    same(ours(x, causal=causal), theirs(x, causal=causal))""",
    },
}


def definitions(text: str) -> dict[str, str]:
    """Return the functions and classes of a hand-in, by their names."""
    nodes = ast.parse(text).body
    return {
        node.name: ast.unparse(node)
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }


def filled(release: Path, exercise: Exercise, text: str) -> NotebookNode:
    """Return the released notebook with the steps of a hand-in in its cells."""
    own = definitions(text)
    path = release / notebook_name(exercise.name)
    notebook: NotebookNode = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        cell.source = own.get(name, cell.source)
    return notebook


def hand_in(course: Path, exercise: Exercise, texts: list[str]) -> None:
    """Put hand-ins into `submitted/`, in notebooks of the course's own release."""
    for number, text in enumerate(texts):
        folder = course / "submitted" / f"s{number:05}" / exercise.name
        folder.mkdir(parents=True)
        notebook = filled(course / "release" / exercise.name, exercise, text)
        nbformat.write(notebook, folder / notebook_name(exercise.name))


def make_stock_course(folder: Path, exercise: Exercise, assignments: Path) -> None:
    """Write a course of plain nbgrader, and release its exercise."""
    notebook = nbformat.read(
        assignments / exercise.name / notebook_name(exercise.name), as_version=4
    )
    text = (exercise.folder / SOLUTION).read_text(encoding="utf-8")
    solution = ast.unparse(ast.parse(text))  # without the marks of its regions
    right, kept = definitions(solution), []
    for cell in notebook.cells:
        facts = cell.metadata.get("nbgrader", {})
        name = facts.get("grade_id", "")
        if name in right:
            cell.source = f"### BEGIN SOLUTION\n{right[name]}\n### END SOLUTION"
        elif facts.get("grade"):
            cell.source = _hidden(exercise.name, name.removeprefix("check_"), solution)
        elif cell.cell_type == "code" and ("autograder" in cell.source or "show_" in cell.source):
            continue  # the kit's own calls
        kept.append(cell)
    notebook.cells = kept
    source = folder / "source" / exercise.name
    source.mkdir(parents=True)
    nbformat.write(notebook, source / notebook_name(exercise.name))
    (folder / "nbgrader_config.py").write_text(CONFIG, encoding="utf-8")
    command = [sys.executable, "-m", "nbgrader", "generate_assignment", exercise.name, "--create"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env=environment())


def plain_tests(exercise: Exercise) -> str:
    """Return the same tests as a file for pytest, beside a hand-in in `submission.py`."""
    text = (exercise.folder / SOLUTION).read_text(encoding="utf-8")
    solution = ast.unparse(ast.parse(text))
    tests = (
        f"@pytest.mark.parametrize('s', SIZES)\ndef test_{step}(s):\n    {_indented(body)}\n"
        for step, body in TESTS[exercise.name].items()
    )
    head = (
        f"import pytest\n{HEAD[exercise.name]}from submission import *\n"
        f"right = {{}}\nexec({solution!r}, right)\nSIZES = ({SIZES[exercise.name]})\n"
    )
    return "\n\n".join((head, *tests))


def environment() -> dict[str, str]:
    """Return the variables that nbgrader and the kit are run with: nbgrader calls alembic."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {
        "PATH": path
    }


def _hidden(exercise: str, step: str, solution: str) -> str:
    body = _indented(TESTS[exercise][step])
    return (
        f"assert callable({step})\n### BEGIN HIDDEN TESTS\n{HEAD[exercise]}"
        f"right = {{}}\nexec({solution!r}, right)\n"
        f"for s in ({SIZES[exercise]}):\n    {body}\n### END HIDDEN TESTS"
    )


def _indented(body: str) -> str:
    return body.replace("\n", "\n    ")
