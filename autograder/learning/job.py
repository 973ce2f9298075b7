"""One job: loads a learner's cells, asks the steps, reports; in a child, or in this process.

If the code raises, exits, or runs or prints without end, only the step that does it fails, with a
sentence that says so. Only when the process ends does the parent have to report it.
"""

from __future__ import annotations
import __future__

import ast
import contextlib
import importlib
import io
import json
import linecache
import os
import signal
import sys
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from autograder.errors import KitError
from autograder.judging import time_limit
from autograder.judging.asking import (
    AskedExample,
    ask_example,
    is_asked_after,
    public_checks,
    settled,
)
from autograder.judging.diagnosis import failure
from autograder.judging.examples import Example, done_by, read_examples
from autograder.judging.expectation import may_be_slow
from autograder.judging.explanation import not_python
from autograder.judging.inprocess import InProcess, report, undisturbed
from autograder.judging.time_limit import StillRunning, Watchdog
from autograder.judging.value_words import shape_words
from autograder.learning import results
from autograder.learning.results import Parameters
from autograder.learning.step_pictures import MOST_GIVEN, GivenInput, check_picture, numbers
from autograder.reports.picture import followed_token, picture_of
from autograder.submission.missing_import import statements
from autograder.tracing.home import LayerBlame
from autograder.values.exercise import Exercise, signature_of
from autograder.values.request import ExceptionReport, Failed, Request
from autograder.values.verdict import Finding, Outcome, check_facts, finding_facts
from autograder.worker.arrays import ImportGuard
from autograder.worker.wire import Linear, Seed, Value

if TYPE_CHECKING:
    pass

# What a worked example hands to the learner's code: named as in their own signature.
#
# The axes are those of the exercise: a learner may leave out the annotations, or write a
# `lambda`.


def inputs_to_show(
    request: Request, names: Mapping[str, Any], given: Mapping[str, Parameters]
) -> Iterator[GivenInput]:
    """Give the arguments, the options, and the weights that are put into a layer, in their order.

    names: what the learner's code defines. given: the parameters that were handed out.
    """
    target, method = names.get(request.target), request.method or ""
    made = _known(_parameters(target), given.get(request.target, ()))
    called = _parameters(getattr(target, method, None))
    called = _known(called, given.get(f"{request.target}.{method}", ()))
    yield from _named(request.arguments, made)
    yield from _named(request.method_arguments, called)
    for name, value in request.keywords.items():
        yield _input(name, None, value)
    for name, value in request.attributes.items():
        yield _input(f"self.{name}", None, value, drawn=False)


def _parameters(function: Any) -> Parameters:
    try:
        return signature_of(function).parameters if callable(function) else ()
    except KitError:  # the learner's own annotations cannot be read
        return ()


def _known(own: Parameters, given: Parameters) -> Parameters:
    """Return the learner's own names with the axes that were handed out, as far as each goes."""
    both = [(name, axes) for (name, _), (_, axes) in zip(own, given)]
    return [*both, *own[len(both) :], *given[len(both) :]]


def _named(values: tuple[Value, ...], parameters: Parameters) -> Iterator[GivenInput]:
    for number, value in enumerate(values, start=1):
        known = number <= len(parameters)
        name, axes = parameters[number - 1] if known else (f"argument {number}", None)
        yield _input(name, axes, value)


def _input(name: str, axes: str | None, value: Value, *, drawn: bool = True) -> GivenInput:
    if isinstance(value, np.ndarray):
        words = f"{name} {shape_words(value.shape, axes)}"
        small = numbers(value, MOST_GIVEN) if drawn and value.ndim else None
        return GivenInput(name, axes, words, small)
    return GivenInput(name, None, f"{name} = {_words(value)}")


def _words(value: Value) -> str:
    match value:
        case Seed(seed=seed):
            return f"a generator with the seed {seed}"
        case Linear(weight=weight, bias=bias):
            outputs, inputs = weight.shape
            without = "" if bias is not None else ", without a bias"
            return f"a linear layer from {inputs} to {outputs}{without}"
    return repr(value)


# Collects what the learner's code prints while it is checked, up to a limit.

KEPT = 4000  # characters that are shown; the rest is only counted


class TooMuchPrinted(BaseException):
    """The code printed more than is allowed. Not an `Exception`, so that code rarely catches it."""


class Printed(io.TextIOBase):
    """A text stream that keeps the beginning; past `most` characters it raises `TooMuchPrinted`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: list[str] = []
        self._written = 0

    def writable(self) -> bool:
        """True."""
        return True

    def write(self, text: str) -> int:
        """Keep the part of `text` that fits; raise `TooMuchPrinted` past the limit."""
        if self._written < KEPT:
            self._parts.append(text[: KEPT - self._written])
        self._written += len(text)
        if self._written > self._most:
            raise TooMuchPrinted
        return len(text)

    @property
    def text(self) -> str:
        """What was printed, and how much of it was left out."""
        left = self._written - KEPT
        rest = f"\n… and {left} more characters" if left > 0 else ""
        return "".join(self._parts) + rest


@contextlib.contextmanager
def printed(most: int) -> Iterator[Printed]:
    """Collect what the body prints to stdout and stderr, at most `most` characters."""
    stream = Printed(most)
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        yield stream


MODULE = "submission"
KILOBYTE = 1024
Send = Callable[..., None]


class Blocked(BaseException):
    """A step was called that is known not to return; `name` says which."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class OwnCode:
    """A learner's code in a module of its own, whose names are `names`; see `Job` for the facts.

    lines: of each cell that was read, by its name in tracebacks.
    """

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self._facts, self._file = facts, Path(facts["file"])
        self._module = types.ModuleType(MODULE)
        self.names: dict[str, Any] = vars(self._module)
        self.lines: dict[str, list[str]] = {}

    def begin(self) -> None:
        """Make the module known, refuse packages that there are not, and run missing imports."""
        sys.modules[MODULE] = self._module
        ImportGuard(self._facts["packages"], self.lines.keys()).install()
        exec("\n".join(self._facts["imports"]), self.names)

    def read(self, number: int) -> tuple[str, str]:
        """Return a cell and its name, whose lines tracebacks then show."""
        cell, script = self._facts["cells"][number], self._file.suffix == ".py"
        name = str(self._file) if script else f"{self._file.name}, cell {number + 1}"
        name = self._facts["names"][number] if self._facts["names"] else name
        # Of a file that is cut in pieces, each begins with blank lines in place of those before.
        both = zip_longest(self.lines.get(name, ()), cell.split("\n"), fillvalue="")
        self.lines[name] = lines = [before or own for before, own in both]
        # A traceback then shows the line that was run, even if the file was saved since.
        linecache.cache[name] = (len(cell), None, [f"{line}\n" for line in lines], name)
        return cell, name


class Job:
    """One file to load and its steps to ask, as the parent's message `facts` says.

    library: of the exercise. file, cells, names: the code, and what each cell is called, if not by
    its number. imports: the lines of import that it lacks. given: the parameters that were handed
    out. packages: those that it may import. skipped: the numbers of cells not to run. steps: the
    steps to ask. beside: those to ask, too, if they are layers that do the work of one that is not
    written. act: what is done with a layer in the end, if anything: the module that does it, and
    what it has to know. blocked: steps that are known not to return. seconds, loading_seconds,
    megabytes, kilobytes: the limits.
    """

    def __init__(self, facts: dict[str, Any], examples: Sequence[Example], send: Send) -> None:
        self._facts, self._examples, self._send = facts, examples, send
        self._code = OwnCode(facts)
        self._names = self._code.names
        self._respondent = InProcess(self._names, facts["library"])
        self._blocked: set[str] = set()
        self._watchdog = Watchdog(self._last_words)

    def run(self) -> None:
        """Do the job, and send a message when it is done; warnings are hidden by who runs it."""
        self._code.begin()
        for number in range(len(self._facts["cells"])):
            if number not in self._facts["skipped"]:
                self._load(number)
        for name in self._facts["blocked"]:
            self._stand_in(name)
        unwritten = {name for name in self._facts["steps"] if not self._ask(name)}
        for name in self._facts["beside"]:
            if unwritten.intersection(done_by(name, self._examples)):
                self._ask(name)
        if act := self._facts.get("act"):
            self._perform(act)
        self._send(event="done")

    def _load(self, number: int) -> None:
        self._send(event="loading", cell=number)
        with printed(self._facts["kilobytes"] * KILOBYTE) as stream:
            trouble = self._trouble(*self._code.read(number))
        self._send(event="loaded", printed=stream.text, trouble=finding_facts(trouble))

    def _trouble(self, cell: str, name: str) -> Finding | None:
        """Run one cell; return what stopped it, or None."""
        try:
            with self._watchdog.limit(self._facts["loading_seconds"]):
                return run_cell(cell, name, self._names)
        except SyntaxError as error:
            return self._not_python(error, name)
        except SystemExit as error:
            return results.top_ended_python(self._place(error))
        except StillRunning as error:
            return results.top_still_running(error.seconds, self._place(error))
        except TooMuchPrinted as error:
            return results.printed_too_much(self._facts["kilobytes"], self._place(error))
        except Exception as error:
            return failure(Failed(Outcome.RAISED, exception=report(error)))

    def _ask(self, name: str) -> bool:
        """Ask a step, and report what comes of it; return whether anything of it is written."""
        asked, drawn = list[AskedExample](), False
        total = public_checks(name, self._examples)
        for example in self._examples:
            if example.step != name or not is_asked_after(example, asked):
                continue
            facts = {"check": example.check, "title": example.title, "total": total}
            self._send(event="asking", step=name, **facts)
            with printed(self._facts["kilobytes"] * KILOBYTE) as stream:
                asked.append(self._answer(example))
            inputs = list(inputs_to_show(example.request, self._names, self._facts["given"]))
            # A step that passes shows the example of the text, or else its first.
            shown = asked[-1].finding or example.expectation.form.tokens or not drawn
            picture = _facts_of(check_picture, asked[-1], inputs) if shown else {}
            drawn = drawn or bool(picture)
            run = {
                "verdict": check_facts(asked[-1].verdict),
                "printed": stream.text,
                "inputs": [each.words for each in inputs],
                "token": followed_token(asked[-1]),
                "drawn": picture,
            }
            self._send(event="checked", run=run)
            if name in self._blocked:
                break
        told = self._told(settled(asked))
        self._send(
            event="asked",
            step=name,
            checks=[check_facts(each.verdict) for each in told],
            does=done_by(name, self._examples),
            picture=_facts_of(picture_of, told),
        )
        return any(each.verdict.outcome is not Outcome.NOT_WRITTEN for each in asked)

    def _told(self, asked: tuple[AskedExample, ...]) -> tuple[AskedExample, ...]:
        """Say more about a wrong layer; where that takes too long, its findings stay."""
        told = asked
        quiet = printed(self._facts["kilobytes"] * KILOBYTE)
        limit = self._watchdog.limit(self._facts["seconds"])
        blame = LayerBlame(
            self._names, self._facts["library"], self._examples, lambda step: self._respondent
        )
        with suppress(StillRunning, TooMuchPrinted, Blocked), quiet, limit:
            told = blame.told(asked)
            for step, check in blame.charged.items():
                self._send(event="charged", step=step, check=check_facts(check))
        return told

    def _perform(self, act: dict[str, Any]) -> None:
        layer = act["layer"]
        performer = importlib.import_module(act["module"])
        try:
            with printed(self._facts["kilobytes"] * KILOBYTE):
                performer.perform(self._names, act, self._send, self._watchdog.limit)
        except StillRunning as error:
            finding = time_limit.still_running(layer, error.seconds, self._place(error))
            self._send(event="unable", why=finding.fact)
        except TooMuchPrinted:
            self._send(event="unable", why=f"`{layer}` prints too much.")

    def _answer(self, example: Example) -> AskedExample:
        try:
            with self._watchdog.limit(self._facts["seconds"]):
                return ask_example(example, self._respondent)
        except (StillRunning, TooMuchPrinted, Blocked) as error:
            if isinstance(error, StillRunning) and may_be_slow(example.expectation):
                return AskedExample(example, None, None)
            return AskedExample(example, None, self._stopped(example.step, error))

    def _stopped(self, step: str, error: StillRunning | TooMuchPrinted | Blocked) -> Finding:
        """Say why a step was stopped; block it, unless another step is the reason."""
        if isinstance(error, Blocked):
            return results.calls_blocked(error.name)
        self._block(step)
        if isinstance(error, StillRunning):
            return time_limit.still_running(step, error.seconds, self._place(error))
        return results.printed_too_much(self._facts["kilobytes"], self._place(error), step)

    def _block(self, name: str) -> None:
        """Note that the step `name` does not return, and tell the parent for the next child."""
        self._blocked.add(name)
        self._stand_in(name)
        self._send(event="blocked", step=name)

    def _stand_in(self, name: str) -> None:
        """Replace the step `name` by a function that raises `Blocked`."""

        def blocked(*arguments: Any, **keywords: Any) -> NoReturn:
            raise Blocked(name)

        self._names[name] = blocked

    def _not_python(self, error: SyntaxError, name: str) -> Finding:
        if error.filename != name:
            return failure(Failed(Outcome.RAISED, exception=report(error)))
        code = (error.text or "").strip()
        exception = ExceptionReport(type(error).__name__, error.msg, error.lineno or 0, code)
        return not_python(exception)

    def _place(self, error: BaseException) -> time_limit.CodePlace:
        """Return the innermost line of the learner's own code in a traceback."""
        trace, found = error.__traceback__, time_limit.NOWHERE
        while trace is not None:
            found = self._line(trace.tb_frame, trace.tb_lineno) or found
            trace = trace.tb_next
        return found

    def _line(self, frame: FrameType, number: int | None) -> time_limit.CodePlace | None:
        lines = self._code.lines.get(frame.f_code.co_filename)
        if lines is None or number is None:
            return None
        text = lines[number - 1].strip() if 0 < number <= len(lines) else ""
        name = frame.f_code.co_name
        return number, text, "" if name.startswith("<") else name

    def _last_words(self, frame: FrameType | None, seconds: float) -> None:
        """Send the line of code that cannot be interrupted; the process ends after this."""
        place = None
        while frame is not None and place is None:
            place = self._line(frame, frame.f_lineno)
            frame = frame.f_back
        self._send(event="stuck", seconds=seconds, place=place or time_limit.NOWHERE)


def _facts_of(draw: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    """Return what is drawn, as facts; nothing where the learner's code keeps NumPy from it."""
    with suppress(Exception):
        found = draw(*arguments)
        return asdict(found) if found else {}
    return {}


_AS_TEXT = __future__.annotations.compiler_flag


def run_cell(cell: str, name: str, names: dict[str, Any]) -> Finding | None:
    """Run a cell in `names` and, where a line raises, what stands below it.

    Return the first failure. Raises SyntaxError, and what is no `Exception`.
    """
    code = compile(cell, name, "exec", dont_inherit=True)
    if sys.version_info >= (3, 14) and not code.co_flags & _AS_TEXT:
        code = compile(with_annotations(cell), name, "exec", dont_inherit=True)
    try:
        exec(code, names)
    except SyntaxError:
        raise
    except Exception as error:
        finding = failure(Failed(Outcome.RAISED, exception=report(error)))
        below = _line_in(error, name)
        flags = code.co_flags & _AS_TEXT
        for statement in statements(cell):
            if below and len(statement) - len(statement.lstrip("\n")) >= below:
                with suppress(Exception):  # it may follow from the first
                    exec(compile(statement, name, "exec", flags, True), names)
        return finding
    return None


class _Annotated(ast.NodeTransformer):
    """Puts the annotations of what is defined, as plain expressions, before its definition."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> list[ast.stmt]:
        """Leave the body as it is: what is defined in there is defined when it is called."""
        every = node.args
        arguments = [*every.posonlyargs, *every.args, *every.kwonlyargs]
        arguments += [each for each in (every.vararg, every.kwarg) if each]
        hints = [*(each.annotation for each in arguments), node.returns]
        own = getattr(node, "type_params", [])  # may be used in the annotations
        return [*(ast.Expr(each) for each in hints if each and not own), node]

    visit_AsyncFunctionDef: Any = visit_FunctionDef

    def visit_AnnAssign(self, node: ast.AnnAssign) -> list[ast.stmt]:
        """Put the annotation of a variable after its value, as it is evaluated."""
        return [node, ast.Expr(node.annotation)]


def with_annotations(cell: str) -> ast.Module:
    """Return code that evaluates its annotations when it is run, as Python before 3.14 does."""
    tree = ast.parse(cell)
    _Annotated().visit(tree)
    return ast.fix_missing_locations(tree)


def _line_in(error: BaseException, name: str) -> int:
    """Return the line of the cell `name` at its top level where an error arose, 0 if none."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == name:
            return trace.tb_lineno
        trace = trace.tb_next
    return 0


# Does the jobs of a check in this very process, where there are no others, as in a browser.
#
# The messages are those of a child. What a job changes in Python is put back after it. Code that
# cannot be interrupted stops everything: whoever runs this Python has to end it.


class _PythonEnded(BaseException):
    """The learner's code ended Python. Not an `Exception`, so that code rarely catches it."""


class SameProcess:
    """A `JobRunner` for one exercise that works here, and may be used again and again.

    `heard` is given each message as soon as it is there, while the job goes on.
    """

    def __init__(
        self, exercise: Exercise, heard: Callable[[Mapping[str, Any]], None] = lambda message: None
    ) -> None:
        self._heard = heard
        self._folder = exercise.folder.resolve()
        self._examples = read_examples(self._folder)
        self._messages = deque[str]()

    def wait_until_ready(self, stop: object = None) -> None:
        """Do nothing: it is ready."""

    def send(self, job: Mapping[str, Any]) -> None:
        """Do a job."""
        self._messages.clear()
        try:
            with undisturbed(), _restored(self._folder, job["packages"]):
                # As it would arrive elsewhere.
                Job(json.loads(json.dumps(job)), self._examples, self._say).run()
        except _PythonEnded as error:
            self._say(event="ended", how=str(error))
        except BaseException as error:
            self._say(event="raised", how=_described(error))

    def receive(self, seconds: float, stop: object = None) -> dict[str, Any]:
        """Return the next message."""
        message: dict[str, Any] = json.loads(self._messages.popleft())
        return message

    def end(self) -> None:
        """Do nothing: this process goes on."""

    def another(self) -> SameProcess:
        """Return this one, which takes the next job as well."""
        return self

    def _say(self, **message: Any) -> None:
        self._messages.append(json.dumps(message, default=lambda array: array.tolist()))
        self._heard(message)


@contextmanager
def _restored(folder: Path, packages: Iterable[str]) -> Iterator[None]:
    """Work in `folder`; put back afterwards what code may change of the process itself.

    The names in these packages and in Python's own modules, too: `np.exp = None` ends with the job.
    """
    importers, paths, known = [*sys.meta_path], [*sys.path], {**sys.modules}
    place, environment, depth = os.getcwd(), dict(os.environ), sys.getrecursionlimit()
    interrupted = signal.getsignal(signal.SIGINT)
    changeable = {*sys.stdlib_module_names, *packages}
    held = [
        (vars(module), {**vars(module)})
        for name, module in known.items()
        if name.partition(".")[0] in changeable and isinstance(module, ModuleType)
    ]
    try:
        os.chdir(folder)
        os.environ["MPLBACKEND"] = "Agg"
        os._exit = _end
        sys.path.append(str(folder))
        yield
    finally:
        for names, before in held:  # first and without a built-in, which may be another by now
            names.update(before)
        for names, before in held:
            for name in names.keys() - before.keys():
                if not isinstance(names[name], ModuleType):  # a part of a package, imported since
                    del names[name]
        sys.modules.update(known)
        signal.signal(signal.SIGINT, interrupted)
        sys.setrecursionlimit(depth)
        os.chdir(place)
        os.environ.clear()
        os.environ.update(environment)
        sys.meta_path[:], sys.path[:] = importers, paths
        for name in sys.modules.keys() - known.keys():
            # The learner may save it before the next job.
            file = getattr(sys.modules[name], "__file__", None)
            if file is not None and Path(file).is_relative_to(folder):
                del sys.modules[name]


def _described(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}".removesuffix(": ")
    except BaseException:  # its words are the learner's code, too
        return type(error).__name__


def _end(status: int) -> NoReturn:
    raise _PythonEnded(f"exit code {status}")
