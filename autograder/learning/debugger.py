"""`attn check --debug`: Python's debugger at the first line of the learner's own function.

It runs in the learner's own terminal and process, so that they can type.
"""

from __future__ import annotations

import bdb
import functools
import os
import pdb
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from rich.console import Console
from rich.text import Text

from autograder.errors import KitError
from autograder.judging.examples import Example, read_examples
from autograder.judging.expectation import Agrees
from autograder.judging.inprocess import InProcess
from autograder.judging.value_words import shape_words
from autograder.learning.checking import Checking
from autograder.learning.job import OwnCode, run_cell
from autograder.learning.process import Child
from autograder.learning.progress import Say, open_session
from autograder.learning.results import StepRun
from autograder.learning.screen import Indented, command, finding_pieces, show
from autograder.learning.workspace import read_work
from autograder.values.exercise import Exercise
from autograder.values.request import Request
from autograder.values.sanitize import clean
from autograder.values.verdict import Outcome
from autograder.worker.arrays import Generators, to_library
from autograder.worker.wire import copied

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
    checking = Checking(exercise, read_work(exercise), (step,))
    with Child(exercise) as child:
        (run,) = checking.run(child).steps
    _refuse_unwritten(run, exercise, name)

    examples = [each for each in read_examples(exercise.folder) if each.step == step.name]
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
        words = "; ".join(inputs)
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


EXPECTED = "expected"  # the name of the expected result, for who debugs


class LearnersDebugger(pdb.Pdb):
    """A debugger that knows which files are the learner's own."""

    def __init__(self, files: Collection[str]) -> None:
        super().__init__(nosigint=True)
        self._files = files
        self.saw_exception = False
        self.left = False

    def set_quit(self) -> None:
        """Leave: no further call is stopped in."""
        self.left = True
        super().set_quit()

    def user_exception(self, frame: FrameType, exc_info: Any) -> None:
        """Stop at an exception while stepping."""
        self.saw_exception = True
        super().user_exception(frame, exc_info)

    def setup(self, f: FrameType | None, tb: TracebackType | None) -> Any:
        """Go to the innermost line of the learner's own code, not of a library below it."""
        done = super().setup(f, tb)
        own = [n for n, (frame, _) in enumerate(self.stack) if self._is_own(frame)]
        if tb is not None and own:
            self.curindex = own[-1]
            self.curframe = self.stack[self.curindex][0]
            self.curframe_locals = self.curframe.f_locals
        return done

    def _is_own(self, frame: FrameType) -> bool:
        return frame.f_code.co_filename in self._files


class DebuggedWork:
    """A learner's cells, loaded in this process, with a debugger around one function.

    job: what a child would be told to do. tell: shows a sentence.
    """

    def __init__(self, job: Mapping[str, Any], tell: Callable[[str], None]) -> None:
        self._tell = tell
        file, self._cells = Path(job["file"]), range(len(job["cells"]))
        # In brackets, so that the debugger does not look for a file of that name.
        names = [f"<{file.name}, cell {number + 1}>" for number in self._cells]
        self._code = OwnCode({**job, "names": () if file.suffix == ".py" else names})
        self.names = self._code.names
        self._debugger = LearnersDebugger(self._code.lines.keys())
        self._calls = self._inside = 0
        self._judged: int | None = None

    def load(self, folder: Path) -> None:
        """Run the cells as a check does; a cell that cannot be run is left out."""
        os.environ["MPLBACKEND"] = "Agg"
        os.chdir(folder)
        sys.path.append(str(folder))
        self._code.begin()
        for number in self._cells:
            with suppress(SyntaxError, SystemExit):  # the check has told it
                run_cell(*self._code.read(number), self.names)

    def ask(self, example: Example, library: str, *, everywhere: bool) -> bool:
        """Ask an example, and stop in the call that is judged, or `everywhere`.

        Where a call raises, it stops at that line in any case. Return whether it came to its end;
        otherwise the learner has left the debugger.
        """
        if not everywhere and self.names.get(example.request.target):
            is_class = isinstance(self.names[example.request.target], type)
            self._judged = judged_call(example.request, is_class=is_class)
            if self._judged > 1:
                self._tell(_calls_before(self._judged - 1))
        expectation = example.expectation
        if isinstance(expectation, Agrees):
            wanted = to_library(copied(expectation.expected), library, "", Generators())
            self.names.setdefault(EXPECTED, wanted)
        self._wrap(example)
        InProcess(self.names, library).ask(example.request)
        return not self._debugger.left

    def _wrap(self, example: Example) -> None:
        """Put the debugger around the function or the method that the example calls."""
        request = example.request
        target = self.names[request.target]
        if not isinstance(target, type):
            self.names[request.target] = self._debugged(target)
            return
        method = request.method or "__init__"
        if hasattr(target, method):
            setattr(target, method, self._debugged(getattr(target, method)))

    def _debugged(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def stopped(*arguments: Any, **keywords: Any) -> Any:
            if self._debugger.left:
                raise bdb.BdbQuit
            if self._inside:  # it calls itself
                return function(*arguments, **keywords)
            self._calls += 1
            if self._judged is None and self._calls > 1:
                self._tell(f"This check calls it again: call {self._calls}.")
            here = self._judged in (None, self._calls)
            run = functools.partial(self._debugger.runcall, function) if here else function
            self._inside += 1
            try:
                value = run(*arguments, **keywords)
            except Exception as error:
                self._post_mortem(error)
                raise
            finally:
                self._inside -= 1
            if self._debugger.left:  # `runcall` hides that
                raise bdb.BdbQuit
            return value

        return stopped

    def _post_mortem(self, error: Exception) -> None:
        """Stop where an exception came from, unless the learner stepped there."""
        if not self._debugger.saw_exception:
            self._tell(f"It raises {type(error).__name__}: {error}".removesuffix(": "))
            self._tell("You are at the line that raises it. q leaves.")
            self._debugger.reset()
            self._debugger.interaction(None, error.__traceback__)
        self._debugger.left = True


def judged_call(request: Request, *, is_class: bool) -> int:
    """Return which call of its function or method a request is about, from 1.

    The calls before it are those that `autograder/worker/call.py` makes.
    """
    if not request.method:
        return 1 if is_class else len(request.earlier) + 1
    if not request.earlier:
        return request.calls
    # The layer itself is asked twice, with other weights and with its own; between them come the
    # methods of `before`, an earlier call once more, and the layer itself.
    return len(request.earlier) + 2 + 2 * bool(request.before) + request.calls


def _calls_before(count: int) -> str:
    times = "once" if count == 1 else f"{count} times"
    return f"The check calls it {times} before, to see whether anything stays from call to call."
