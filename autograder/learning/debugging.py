"""`attn check --debug`: Python's debugger at the first line of the learner's own function."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.text import Text

from autograder.errors import KitError
from autograder.judging.examples import Example
from autograder.judging.expectation import Agrees
from autograder.judging.value_words import shape_words
from autograder.learning.checking import Checking
from autograder.learning.process import Child, Stop
from autograder.learning.progress import Say, open_session
from autograder.learning.results import StepRun
from autograder.learning.screen import Indented, command, finding_pieces, show
from autograder.learning.workspace import read_work
from autograder.values.exercise import Exercise
from autograder.values.sanitize import clean
from autograder.values.verdict import Outcome

KEYS = "n next line   s into a call   p NAME a value   c to the end   q leaves   h help"
LONGEST = 2000  # characters of what is said at once


def debug(folder: Path, words: str | None, console: Console, say: Say) -> None:
    """Check a step, then stop in the first call that fails; raises `KitError`."""
    if sys.stdin is None:
        raise KitError(
            "there is nobody to type, and no file with commands",
            place="the standard input",
            cure="type it in a terminal, or give it commands: attn check STEP --debug < FILE",
        )
    session = open_session(folder, say)
    exercise, step = session.step(words)
    name = session.name_of(exercise, step)
    checking = Checking(exercise, read_work(exercise), (step,), lambda words: None, Stop())
    with Child(exercise) as child:
        (run,) = checking.run(child).steps
    _refuse_unwritten(run, exercise, name)

    from autograder.learning.debugger import DebuggedWork
    from autograder.learning.job import Questions

    examples = Questions.read(exercise.folder, exercise.library).of(step.name)
    number = run.checks.index(run.failing) if run.failing else 0

    def tell(text: str) -> None:
        console.print(Text(clean(text, LONGEST)))

    work = DebuggedWork(checking.job(), tell)
    here = Path.cwd()
    try:
        work.load(exercise.folder.resolve())
        if step.name not in work.names:
            show(console, finding_pieces(run))
            raise _unreadable(exercise, name)
        _introduce(console, run, examples[number])
        endless = run.verdict.outcome is Outcome.TIMED_OUT  # perhaps in a call before
        ended = work.ask(examples[number], exercise.library, everywhere=endless)
    finally:
        os.chdir(here)
    console.print(Text(f"{step.name} came to its end." if ended else "You have left the debugger."))
    console.print(command(f"attn check {name}", "after your next change"))


def _refuse_unwritten(run: StepRun, exercise: Exercise, name: str) -> None:
    if run.verdict.outcome is Outcome.NOT_WRITTEN:
        raise KitError(
            f"{run.step.name} is not written yet, so there is no line of yours to stop at",
            place=str(exercise.folder),
            cure=f"write it first; attn hint {name} tells how to begin",
        )


def _unreadable(exercise: Exercise, name: str) -> KitError:
    return KitError(
        f"the part of your file with {name} could not be run, so there is no line to stop at",
        place=str(exercise.folder),
        cure=f"mend it first; attn check {name} says what is wrong",
    )


def _introduce(console: Console, run: StepRun, example: Example) -> None:
    """Say which call it is, what came of it, and what was expected."""
    console.print(Text(f"{run.step.name}: {example.title}.", "bold"))
    if run.failing:
        show(console, finding_pieces(run))
        inputs = run.failing.inputs
    else:
        console.print(Indented(Text("It passes. Here is the call of its first check.")))
        inputs = run.checks[0].inputs if run.checks else ()
    if inputs:
        words = "; ".join(given.words for given in inputs)
        console.print(Indented(Text(f"Called with: {words}.")))
    for words in _expected_words(example):
        console.print(Indented(Text(words)))
    console.print(Text(f"You are at the first line of your own {run.step.name}."))
    console.print(Text(KEYS, "dim"))


def _expected_words(example: Example) -> Iterator[str]:
    expectation = example.expectation
    if not isinstance(expectation, Agrees):
        return
    form = expectation.form
    values = (expectation.expected,) if len(form.names) == 1 else expectation.expected
    parts = (
        f"{name} {shape_words(value.shape, axes)}"
        for name, axes, value in zip(form.names, form.axes, values)
        if hasattr(value, "shape")
    )
    yield f"Expected: {', '.join(parts)}. The name `expected` holds it."
