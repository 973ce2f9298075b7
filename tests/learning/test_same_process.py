"""Where there are no processes, a check does its work in this one, and leaves it as it was."""

from __future__ import annotations
import __future__

import builtins
import json
import os
import random
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder.judging.examples import read_examples
from autograder.judging.inprocess import InProcess
from autograder.learning.checking import check_work
from autograder.learning.job import SameProcess, with_annotations
from autograder.learning.notebook_check import report_on
from autograder.learning.process import Child
from autograder.learning.step_pictures import picture_of_run
from autograder.reports.picture import render_panels
from autograder.values.exercise import Exercise, read_exercise
from autograder.values.verdict import Outcome
from support.learner_workspace import NAME, REFERENCE
from support.nameless_mistakes import written

Check = Callable[[str], dict[str, Any]]


@pytest.fixture
def exercise(workspace: Path) -> Exercise:
    return read_exercise(workspace / NAME)


@pytest.fixture
def check(exercise: Exercise) -> Check:
    """Check a hand-in with this softmax, in this process."""
    jobs = SameProcess(exercise)

    def checked(softmax: str) -> dict[str, Any]:
        file = exercise.folder / f"{NAME}.py"
        file.write_text(written(NAME, softmax=softmax), encoding="utf-8")
        return check_work(exercise, exercise.steps, child=jobs).document()

    return checked


def body(*lines: str) -> str:
    return "\n    ".join(("def softmax(scores):", *lines))


def test_it_says_what_a_child_says(exercise: Exercise, check: Check) -> None:
    here = check(body("print('here')", "return scores / scores.sum(-1, keepdims=True)"))
    with Child(exercise) as child:
        assert here == check_work(exercise, exercise.steps, child=child).document()


def test_what_a_whole_check_tells_is_not_much(exercise: Exercise) -> None:
    told = list[Any]()
    jobs = SameProcess(exercise, told.append)
    (exercise.folder / f"{NAME}.py").write_text(REFERENCE, encoding="utf-8")
    assert check_work(exercise, exercise.steps, child=jobs).passes
    letters = len(json.dumps(told, default=lambda array: array.tolist()))
    assert 10_000 < letters < 200_000


IN_PLACE = (
    "scores -= scores.max(-1, keepdims=True)",
    "return np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)",
)


@pytest.mark.parametrize(
    "lines, drawn",
    [(("return scores",), 3), (("return scores[..., 0]",), 0), (IN_PLACE, 0)],
    ids=["wrong numbers", "a wrong shape", "right numbers"],
)
def test_the_picture_of_a_step_is_that_of_a_notebook(
    exercise: Exercise, lines: tuple[str, ...], drawn: int
) -> None:
    file, names = exercise.folder / f"{NAME}.py", {"np": np}
    file.write_text(written(NAME, softmax=body(*lines)), encoding="utf-8")
    exec(body(*lines), names)
    (run,) = check_work(exercise, exercise.steps[:1], child=SameProcess(exercise)).steps
    step, examples = run.step, read_examples(exercise.folder)
    shown, notebook = picture_of_run(run), report_on(step, examples, InProcess(names)).picture
    assert (len(shown.panels), shown.caption) == (drawn, notebook.caption)
    assert render_panels(shown.panels) == render_panels(notebook.panels)


@pytest.mark.parametrize(
    "change",
    [
        "np.exp = lambda x: x * 0",
        "del np.exp",
        "np.max = np.linalg.norm = np.random.default_rng = np.isfinite = None",
        "vars(np).clear()",
        "import sys; sys.modules['numpy'] = None",
        "import sys; del sys.modules['numpy']",
        "import sys; sys.modules.clear()",
        "import math; math.sqrt = None",
        "import json; json.dumps = None",
        "import builtins; builtins.len = lambda x: 0",
        "import builtins; del builtins.print",
        "import builtins; vars(builtins).clear()",
        "np.softmax = lambda x: x",
        "exit()",
    ],
)
def test_what_code_changes_in_a_module_ends_with_its_check_and_the_next_one_is_right(
    check: Check, change: str
) -> None:
    modules, numpy, own = {**sys.modules}, {**vars(np)}, {**vars(builtins)}
    with suppress(ValueError):  # the answer may be no JSON where nothing works any more
        check(body(f"{change}", "return scores"))
    assert vars(np) == numpy and vars(builtins) == own
    assert {name: sys.modules.get(name) for name in modules} == modules
    exponential = "powers = np.exp(scores - scores.max(-1, keepdims=True))"
    after = check(body(exponential, "return powers / powers.sum(-1, keepdims=True)"))
    assert after["passes"]


def test_a_step_that_is_wrong_with_what_other_steps_give_fails_at_home_as_in_class(
    exercise: Exercise, in_class: Callable[[Path], Any]
) -> None:
    text = REFERENCE.replace(
        "np.tril(np.ones((sequence_length, sequence_length)))",
        "np.tri(sequence_length, dtype=np.uint8)",
    ).replace(
        "np.where(causal_mask == 1, scaled_scores, -1e9)",
        "scaled_scores + (causal_mask - 1) * 1e9",
    )
    file = exercise.folder / f"{NAME}.py"
    file.write_text(text, encoding="utf-8")
    run = check_work(exercise, exercise.steps, child=SameProcess(exercise))
    home = {each.step.name: each.verdict for each in run.steps if not each.verdict.passes}
    there = {name: each for name, each in in_class(file).items() if each["outcome"] != "passed"}
    # In class, the layer is judged with a right step in place of this one; at home, it waits.
    assert home.pop("SingleHeadAttention").outcome is Outcome.WAITS
    assert list(home) == list(there) == ["apply_mask"]
    fact = "With what your other steps give, `apply_mask` does not give what is expected."
    finding = home["apply_mask"].finding
    assert finding and finding.fact == fact
    assert there["apply_mask"]["checks"][-1]["finding"]["fact"] == fact


def test_a_line_is_quoted_also_of_a_file_in_which_something_is_no_python(check: Check) -> None:
    told = check(body("return scores.nothing") + "\n\nx = = 1\n")
    assert ", `return scores.nothing`, raises" in json.dumps(told)


def test_an_error_whose_words_fail_is_the_code_s_own(check: Check) -> None:
    strange = "class Odd(BaseException):\n    def __str__(self): raise ValueError\n\n"
    told = check(strange + body("raise Odd"))
    assert "`softmax` ended Python" in json.dumps(told)


def test_code_that_ends_python_costs_its_own_step_alone(check: Check) -> None:
    document = check(body("import os", "os._exit(3)"))
    softmax, initialize_weights, *_ = document["steps"]
    finding = softmax["checks"][0]["finding"]
    assert "`softmax` ended Python" in finding["fact"]
    assert finding["details"] == ("exit code 3",) and initialize_weights["passes"]


def state() -> list[Any]:
    return [
        *(os.getcwd(), dict(os.environ), os._exit, builtins.input, signal.getsignal(signal.SIGINT)),
        *([*sys.path], [*sys.meta_path], random.getstate(), np.geterr(), sys.stdout),
        sys.getrecursionlimit(),
    ]


def test_what_code_changes_of_the_process_is_put_back(check: Check) -> None:
    before = state()
    check(
        body(
            "import os, random, sys",
            "os.chdir('/')",
            "os.environ['HOME'] = '/'",
            "sys.path.clear()",
            "sys.meta_path.clear()",
            "random.seed(1)",
            "np.seterr(all='raise')",
            "sys.setrecursionlimit(4321)",
            "return scores",
        )
    )
    assert state() == before


def test_a_module_of_the_learner_is_read_again_at_the_next_check(
    exercise: Exercise, check: Check
) -> None:
    own, code = exercise.folder / "my_axis.py", body("import my_axis", "raise my_axis.Error")
    for name in ("First", "Second!"):
        own.write_text(f"class Error(Exception):\n    __name__ = {name!r}\n\nprint({name!r})\n")
        printed = check(code)["steps"][0]["checks"][0]["printed"]
        assert name in printed, printed


def test_annotations_count_when_code_is_loaded_as_in_pythons_that_read_them_then() -> None:
    later = __future__.annotations.compiler_flag  # as where they are read only when asked for
    code = (
        "def f(x: {}, *y: {}) -> int:\n    z: int = 1\n    return z\n\n\nclass A:\n    a: int = 1\n"
    )
    exec(compile(with_annotations(code.format("int", "'B'")), "own", "exec", later, True), {})
    for hints in (("Floot", "int"), ("int", "Floot")):
        with pytest.raises(NameError, match="Floot"):
            exec(compile(with_annotations(code.format(*hints)), "own", "exec", later, True), {})
