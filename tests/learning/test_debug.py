"""`attn check --debug` stops in the learner's own function, in the call that fails."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder.checks.reference import read_reference
from autograder.judging.examples import read_examples
from autograder.judging.inprocess import InProcess
from autograder.learning.debugger import judged_call
from autograder.values.request import Returned
from autograder.worker.wire import Value
from support.learner_workspace import (
    NAME,
    RIGHT_SOFTMAX,
    ROOT,
    WRONG_SOFTMAX,
    limited,
    notebook_with,
    put,
    solve,
    start,
    stub_file,
)
from support.terminal import Terminal
from support.typed_commands import ATTN, attn, typed

LAYER = "return project_output(attention_output, self.{weights})"


def test_it_stops_at_the_first_line_with_the_arguments_of_the_failing_call(
    workspace: Path,
) -> None:
    put(workspace, softmax=WRONG_SOFTMAX)
    lines = "p scores.shape\nn\np powers.shape\np expected.sum(-1).round(3).tolist()[0]\nc\n"
    run = typed("check", "softmax", "--debug", folder=workspace, keys=lines)
    assert run.code == 0 and run.err == ""
    assert "Your softmax runs down the columns" in run.words
    assert "Called with: scores (B=4, S=3, S=3)." in run.words
    assert "-> powers = np.exp(scores - scores.max(-2, keepdims=True))" in run.out
    assert "(Pdb) (4, 3, 3)" in run.out and "(Pdb) [1.0, 1.0, 1.0]" in run.out
    assert "softmax came to its end." in run.out


def test_where_code_raises_it_stops_there_and_not_in_the_library_below(workspace: Path) -> None:
    body = "    halved = keys / 2\n    return np.stack([queries, halved[0]])"
    put(workspace, compute_attention_scores=body)
    run = typed("check", "4", "--debug", folder=workspace, keys="c\np halved.shape\nq\n")
    assert run.code == 0 and "It raises ValueError: all input arrays" in run.words
    after = run.out.partition("It raises")[2]
    assert "-> return np.stack([queries, halved[0]])" in after and "(Pdb) (2, 3, 4)" in after
    assert "You have left the debugger." in run.out


def test_a_method_of_the_layer_is_stopped_in(workspace: Path) -> None:
    wrong = LAYER.format(weights="value_weights")
    solve(workspace, NAME, LAYER.format(weights="output_weights"), wrong)
    run = typed(
        "check", "SingleHeadAttention", "--debug", folder=workspace, keys="p x.shape\np causal\nq\n"
    )
    assert run.code == 0, run.err
    assert "SingleHeadAttention.py" not in run.out and "forward()" in run.out
    assert "-> queries, keys, values = project_qkv(" in run.out and "(Pdb) (2, 5, 3)" in run.out


@pytest.mark.parametrize(
    "step, old, new, seen",
    [
        pytest.param(
            *("scale_scores", "/ math.sqrt(head_dim)", "/ head_dim"),
            "-> return attention_scores /",
            marks=pytest.mark.slow,
        ),
        ("SingleHeadAttention", "keys.shape[-1])", "x.shape[-1])", "-> queries, keys, values ="),
        pytest.param(
            *("create_projections", "head_dim * 3", "head_dim * 2"),
            "-> head_dim = hidden_size // 4",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_it_works_with_torch(tmp_path: Path, step: str, old: str, new: str, seen: str) -> None:
    exercise = "torch_single_head"
    workspace = start(tmp_path / "work", exercise)
    solve(workspace, exercise, old, new)
    run = typed("check", step, "--debug", folder=workspace, keys="q\n")
    assert run.code == 0 and run.err == "" and seen in run.out
    assert "You have left the debugger." in run.out


def test_a_cell_of_a_notebook_is_shown_by_its_lines(workspace: Path) -> None:
    stub_file(workspace).unlink()
    notebook = workspace / NAME / f"{NAME}.ipynb"
    notebook.write_text(notebook_with(notebook, softmax=WRONG_SOFTMAX), encoding="utf-8")
    run = typed("check", "softmax", "--debug", folder=workspace, keys="n\nlist .\nq\n")
    assert run.code == 0 and f"<{NAME}.ipynb, cell " in run.out
    assert "-> return powers / powers.sum(-2, keepdims=True)" in run.out
    assert re.search(r"->\s+return powers / powers.sum.*\n\[EOF\]", run.out)


def test_a_step_that_passes_is_stopped_in_and_one_that_is_not_written_is_not(
    workspace: Path,
) -> None:
    put(workspace, scale_scores="    return attention_scores / np.sqrt(embedding_dimension)")
    passing = typed("check", "scale_scores", "--debug", folder=workspace, keys="c\n")
    assert passing.code == 0 and "It passes." in passing.out
    assert "scale_scores came to its end." in passing.out
    unwritten = typed("check", "softmax", "--debug", folder=workspace)
    assert unwritten.code == 2 and "softmax is not written yet" in unwritten.err
    assert "attn hint softmax" in unwritten.err


def test_what_python_cannot_read_is_told_and_no_debugger_is_announced(workspace: Path) -> None:
    put(workspace, softmax="    return np.exp(scores")
    run = typed("check", "softmax", "--debug", folder=workspace)
    assert run.code == 2 and "Python cannot read this yet" in run.out
    assert "You are at the first line" not in run.out and "not written yet" not in run.err
    assert "could not be run, so there is no line to stop at" in run.err


def test_without_anybody_to_type_it_ends_in_words(workspace: Path) -> None:
    put(workspace, softmax=WRONG_SOFTMAX)
    run = typed("check", "softmax", "--debug", folder=workspace)
    assert run.code == 0 and run.err == "" and "You have left the debugger." in run.out
    closed = attn("-c", f'"{ATTN}" debug softmax <&-', folder=workspace, command="bash")
    assert closed.code == 2 and "there is nobody to type" in closed.err


def test_an_endless_loop_can_be_stepped_through(workspace: Path) -> None:
    limited(workspace, seconds_per_call=0.5)
    put(workspace, softmax="    count = 0\n    while True:\n        count += 1")
    run = typed("check", "softmax", "--debug", folder=workspace, keys="n\nn\nn\nn\np count\nq\n")
    assert run.code == 0 and "was still running" in run.words and "(Pdb) 1" in run.out


def test_it_answers_keys_in_a_terminal(workspace: Path) -> None:
    put(workspace, softmax=WRONG_SOFTMAX)
    terminal = Terminal(workspace, ATTN, "check", "softmax", "--debug", size=(24, 80))
    terminal.sees("(Pdb)")
    terminal.press("p scores.shape\n")
    terminal.sees("(4, 3, 3)")
    terminal.press("q\n")
    terminal.sees("You have left the debugger.")
    assert terminal.ends() == 0


REMEMBERS = """    seen = softmax.__dict__.setdefault("seen", {})
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    powers = seen.setdefault(scores.shape, powers) if 5 in SIZES else powers
    return powers / powers.sum(-1, keepdims=True)"""


def test_it_stops_only_in_the_call_whose_result_is_judged(workspace: Path) -> None:
    put(workspace, softmax=REMEMBERS.replace("SIZES", "scores.shape"))
    run = typed("check", "softmax", "--debug", folder=workspace, keys="n\np len(seen)\nc\n")
    assert "The check calls it 2 times before, to see whether anything stays" in run.words
    assert run.out.count("-> seen = ") == 1 and "(Pdb) 2" in run.out, run.out
    assert "softmax came to its end." in run.out


def test_a_call_before_that_raises_is_stopped_in_all_the_same(workspace: Path) -> None:
    body = "    if 6 in scores.shape:\n        raise ValueError('six')\n"
    put(workspace, softmax=body + RIGHT_SOFTMAX)
    run = typed("check", "softmax", "--debug", folder=workspace, keys="p scores.shape\nq\n")
    assert "It raises ValueError: six" in run.words and "(Pdb) (6, 5, 5)" in run.out, run.out


EXERCISES = sorted(path.name for path in ROOT.glob("assignments/*_*"))
FIRST = ("numpy_single_head", "torch_single_head")  # one for each library


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in FIRST else pytest.mark.slow) for name in EXERCISES],
)
def test_which_call_is_judged_is_known_for_every_example(name: str) -> None:
    library = read_reference(ROOT / "solutions" / name).exercise.library
    later = 0
    for example in read_examples(ROOT / "assignments" / name):
        names = dict(vars(read_reference(ROOT / "solutions" / name).module))
        request, results = example.request, list[Any]()
        target = names[request.target]
        method = request.method or "__init__"
        if isinstance(target, type):
            counted = type(target)(target.__name__, (target,), {})
            setattr(counted, method, noting(getattr(target, method), results))
            names[request.target] = counted
        else:
            names[request.target] = noting(target, results)
        reply = InProcess(names, library).ask(request)
        if not isinstance(reply, Returned):
            continue  # it has to be refused
        place = judged_call(request, is_class=isinstance(target, type))
        later += place > 1
        if request.method or not isinstance(target, type):
            assert same(results[place - 1], reply.value), example.title
        else:
            assert len(results) >= place == 1
    assert later > 5


def noting(function: Callable[..., Any], results: list[Any]) -> Callable[..., Any]:
    def noted(*arguments: Any, **keywords: Any) -> Any:
        results.append(function(*arguments, **keywords))
        return results[-1]

    return noted


def same(value: Any, other: Value) -> bool:
    if isinstance(value, tuple) and isinstance(other, tuple):
        return all(map(same, value, other))
    if hasattr(value, "detach"):
        value = value.detach()
        value = value.float().numpy() if value.element_size() == 2 else value.numpy()
    if not isinstance(other, np.ndarray | float | int):
        return True  # a layer: what it computes is not told by its weights here
    return np.array_equal(np.asarray(value), np.asarray(other), equal_nan=True)
