"""The pytest plugin that judges submissions with a grader file, or writes its questions down.

pytest collects `graders.py` once, in the trusted process; its run loop then goes
over the submissions and runs every check against each of them.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder.checks.check_runner import CheckRunner, CollectedChecks, Recorder
from autograder.checks.marks import (
    BY_HAND,
    Draw,
    refuse_checks_of_one_name,
    step_of,
    title_of,
    wrong_checks,
)
from autograder.checks.memory import COLLECTING
from autograder.checks.own_layer import Run
from autograder.checks.reference import Reference, read_reference
from autograder.checks.student import Student
from autograder.checks.submission_judge import SubmissionJudge
from autograder.errors import Faults, KitError
from autograder.judging.compare import arrays_of
from autograder.judging.conditions import STANDING, without_conditions
from autograder.judging.diagnosis import Candidate
from autograder.judging.distribution import Distributed, fault_in_draw
from autograder.judging.examples import AnswerPair, Example, write_examples
from autograder.judging.expectation import Agrees, Expectation, Refused, judge
from autograder.judging.value_words import type_words
from autograder.values.exercise import GRADERS, SOLUTION, signature_of
from autograder.values.request import Request, Returned
from autograder.worker import arrays
from autograder.worker.call import LayerCall
from autograder.worker.wire import Linear, Opaque, Value, arrays_in, round_tripped

# How pytest, and Python in a SyntaxError, name a line of the grader file.
_LINE_OF_CHECKS = re.compile(rf'{re.escape(GRADERS)}(?::|", line )(\d+)')


class GradingPlugin:
    """Runs every collected check against every respondent that `judge` passes to `judged_by`.

    pytest's run loop calls `judge`; afterwards the caller reads what it kept.
    """

    def __init__(
        self,
        reference: Reference,
        judge: Callable[[GradingPlugin], None],
        *,
        public: bool = False,
    ) -> None:
        self.reference = reference
        self._judge = judge
        self._public = public
        self._runner = CheckRunner(reference, public=public)
        submissions = SubmissionJudge(self._runner)
        self.judged_by, self.steps_of_layer = submissions.judged, submissions.steps_of_layer
        self.recorded = self._runner.recorded

    # What pytest calls.

    def pytest_configure(self, config: pytest.Config) -> None:
        """Register the marks of a grader file."""
        for line in (
            "step(name): the step that the check belongs to",
            "public(**sizes): also given to students, as a worked example",
            f"{BY_HAND}(tokens, followed): the example of the text, only given to students",
            "stays(reason): why a check stays that catches nothing of its own",
            "chain_of_steps: the student's steps end to end",
        ):
            config.addinivalue_line("markers", line)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Put the checks in the order of the steps; a step without a check is an error."""
        self.reference.memories.use(COLLECTING)
        checks = CollectedChecks.of(self.reference, items, public=self._public)
        self._runner.checks = checks
        items[:] = checks.items

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Say why a grader file cannot be collected, rather than that its checks are missing."""
        if report.failed:
            told = str(report.longrepr)
            reason = told.splitlines()[-1].removeprefix("E").strip()
            lines = _LINE_OF_CHECKS.findall(told)
            fact = f"the checks cannot be collected: {reason}"
            cure = "correct that line" if lines else "correct the file"
            raise wrong_checks(self.reference.exercise, fact, cure, *lines[-1:])

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Judge, in place of pytest's own loop over the checks."""
        if session.testsfailed:
            raise session.Interrupted("the grader file cannot be collected")
        self._judge(self)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> pytest.TestReport:
        """Keep what a check raised, without pytest's own slow report on it."""
        if call.excinfo is not None:
            self._runner.caught(call.excinfo.value)
        outcome: Any = "passed" if call.excinfo is None else "failed"
        return pytest.TestReport(
            item.nodeid,
            item.location,
            {},
            outcome,
            longrepr=None,
            when=call.when,  # type: ignore[arg-type]
        )

    @pytest.fixture
    def student(self, request: pytest.FixtureRequest) -> Student:
        """The code under check, for the step that the check is marked with."""
        return self._runner.student(request.node)

    @pytest.fixture
    def draw(self, request: pytest.FixtureRequest) -> Draw:
        """Random inputs of named axes; parametrize it (indirect) with other sizes."""
        return self._runner.draw(request.node, getattr(request, "param", {}))

    @pytest.fixture
    def chain(self) -> Callable[[Run], None]:
        """Judges the student's own steps end to end."""
        return self._runner.chain

    # What the judge calls.

    @property
    def collected(self) -> CollectedChecks:
        """The checks, in the order of the steps."""
        return self._runner.checks


# Have pytest collect one grader file, and nothing else, and run the loop of a plugin over it.

_AUTOLOAD = "PYTEST_DISABLE_PLUGIN_AUTOLOAD"


def run_graders(plugin: GradingPlugin) -> None:
    """Let pytest collect the grader file of the plugin's exercise and run its loop.

    Raises `KitError` when the file cannot be collected or holds no checks, and MemoryError.
    """
    graders = plugin.reference.exercise.folder.resolve() / GRADERS
    raised: list[KitError | MemoryError] = []
    exit_code = _collected(graders, plugin, raised)
    if raised:
        raise raised[0]
    if exit_code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise KitError(
            f"pytest cannot run the checks ({exit_code!r})",
            place=str(graders),
            cure=f"run `python -m pytest --collect-only {graders}` and correct what it says",
        )


def _collected(graders: Path, plugin: GradingPlugin, raised: list[KitError | MemoryError]) -> int:
    options = "-s --assert=plain --strict-markers --noconftest --import-mode=importlib"
    # Each of them would look at every check of every submission, or write where nobody reads.
    without = (
        "cacheprovider terminal logging warnings faulthandler junitxml unraisableexception "
        "threadexception setuponly setupplan unittest anyio"
    )
    arguments = [*options.split(), "-c", "/dev/null", "--rootdir", str(graders.parent)]
    arguments += [word for name in without.split() for word in ("-p", f"no:{name}")]

    class Errors:
        """Keeps an error that pytest would only print."""

        @pytest.hookimpl(tryfirst=True)
        def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> bool:
            if isinstance(excinfo.value, KitError | MemoryError):
                raised.append(excinfo.value)
                return True
            return False

    # pytest keeps the file by its bare name, which is the same in every exercise.
    sys.modules.pop(graders.stem, None)
    with _without_pytest_settings():
        return pytest.main([*arguments, str(graders)], plugins=[plugin, Errors()])


@contextmanager
def _without_pytest_settings() -> Iterator[None]:
    """Keep settings that are meant for other uses of pytest from changing the checks."""
    settings = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS")
    kept = {name: os.environ.pop(name, None) for name in (*settings, _AUTOLOAD)}
    os.environ[_AUTOLOAD] = "1"
    try:
        yield
    finally:
        del os.environ[_AUTOLOAD]
        os.environ.update({name: value for name, value in kept.items() if value is not None})


# Write down the public checks as worked examples, the reference standing in for the student.

# Do the axes in the reference's annotations hold for the arrays of a worked example?
#
# Notebook, checklist and messages name axes as the annotations do, and nothing else would notice
# a wrong letter. So while an example is recorded, each letter gets the size that it has in the
# first array of the call, and must keep it in all others.


def refuse_wrong_axes(reference: Reference, request: Request, reply: Returned) -> None:
    """Raise `KitError` when an array of a request or of its reply contradicts an annotation."""
    place = str(reference.exercise.folder / SOLUTION)
    target = getattr(reference.module, request.target)
    called, name = target, request.target
    if request.method is not None:
        _Sizes(f"{name}.__init__", place).bind(target, request.arguments, {})
    if request.method:
        called, name = getattr(target, request.method), f"{name}.{request.method}"
    sizes = _Sizes(name, place)
    if request.method:
        sizes.bind(called, (None, *request.method_arguments), request.keywords)
    elif request.method is None:
        sizes.bind(called, request.arguments, request.keywords)
    if request.method != "" and not request.read:
        sizes.hold_in_results(called, reply.value, reference.form(request.target, request.method))


@dataclass
class _Sizes:
    """The size of each axis in one call of `function`, and the array that it was first seen in."""

    function: str
    place: str
    first: dict[str, tuple[int, str]] = field(default_factory=dict)

    def bind(self, called: Callable[..., Any], arguments: tuple[Value, ...], keywords: Any) -> None:
        """Give every letter of the parameters its size."""
        axes = dict(signature_of(called).parameters)
        given = inspect.signature(called).bind(*arguments, **keywords).arguments
        for parameter, value in given.items():
            if isinstance(value, np.ndarray):
                self._hold(f"the parameter {parameter}", value, axes.get(parameter))

    def hold_in_results(self, called: Callable[..., Any], value: Value, form: Any) -> None:
        """Hold the results to the sizes of the parameters."""
        axes = signature_of(called).returns
        parts = arrays_of(value, form)
        if len(parts) != len(axes) or (len(axes) == 1 and isinstance(value, tuple)):
            count = len(value) if isinstance(value, tuple) else 1
            raise self._wrong(
                f"{self.function} returns {count} values ({type_words(value)}), but its "
                f"annotation has {len(axes)}",
                "write the annotation of every result, as tuple[..., ...] if there are several",
            )
        for name, part, letters in zip(form.names, parts, axes):
            if isinstance(part, np.ndarray):
                self._hold(name if "result" in name else f"the result {name}", part, letters)
            elif letters:
                raise self._wrong(
                    f"{self.function}, {name}: the annotation is an array of axes {letters!r}, "
                    f"but what is returned is {type_words(part)}",
                    "correct the annotation, or what is returned",
                )

    def _hold(self, what: str, array: np.ndarray, axes: str | None) -> None:
        if axes is None:
            return
        letters = axes.split()
        if (pairs := _paired(letters, array.shape)) is None:
            raise self._wrong(
                f"{self.function}, {what}: the annotation has the axes {axes!r}, but the array has "
                f"the shape {array.shape}",
                "name every axis in the annotation, or correct the check's inputs",
            )
        for letter, size in pairs:
            known, where = self.first.setdefault(letter, (size, what))
            if known != size:
                raise self._wrong(
                    f"{self.function}, {what}: the axis {letter} has the size {size} here, but "
                    f"{known} in {where}",
                    "correct the letters in the annotation, or the sizes in the check",
                )

    def _wrong(self, fact: str, cure: str) -> KitError:
        return KitError(fact, place=self.place, cure=cure)


def _paired(letters: list[str], shape: tuple[int, ...]) -> list[tuple[str, int]] | None:
    """Return every named axis with its size, or None when there are more or fewer axes.

    "..." and "*batch" stand for any number of axes; "_" has no name, and "#S" may be 1.
    """
    variadic = [at for at, letter in enumerate(letters) if letter.startswith(("*", "..."))]
    if variadic:
        after = len(letters) - variadic[0] - 1
        if len(shape) < len(letters) - 1:
            return None
        letters = [*letters[: variadic[0]], *letters[variadic[0] + 1 :]]
        shape = (*shape[: variadic[0]], *shape[len(shape) - after :])
    if len(letters) != len(shape):
        return None
    return list(_named(letters, shape))


def _named(letters: list[str], shape: tuple[int, ...]) -> Iterator[tuple[str, int]]:
    for letter, size in zip(letters, shape):
        name = letter.rpartition("=")[2] if "=" in letter else letter
        if name.startswith("#"):
            if size != 1:
                yield name[1:], size
        elif name.isdecimal():
            yield from ((name, int(name)), (name, size))  # an axis that is called by its size
        elif not name.startswith("_"):
            yield name, size


# What a check hands to a student's code has to cross the wire to the sandbox.
#
# In this process any object can be handed over, so nobody would notice before the first hand-in.


def refuse_what_cannot_cross(check: str, request: Request, reference: Reference) -> None:
    """Raise `KitError` when a value of a request would not reach a worker as it is."""
    for name, value in _given(request):
        kind = _lost(value)
        if kind:
            raise KitError(
                f"the check {check} hands over a {kind} ({name}), which does not reach a "
                "student's code in the sandbox",
                place=str(reference.exercise.folder / GRADERS),
                cure="hand over arrays, numbers, text, bool, None, tuples of these, "
                "draw.seed() or linear layers",
            )


def _given(request: Request) -> Iterator[tuple[str, Value]]:
    for number, value in enumerate(request.arguments, start=1):
        yield f"argument {number}", value
    for number, value in enumerate(request.method_arguments, start=1):
        yield f"argument {number} of {request.method}", value
    yield from request.keywords.items()
    yield from request.attributes.items()
    yield "backward", request.backward


def _lost(value: Value) -> str:
    """Return the name of the type that would not arrive as it is, or ""."""
    if isinstance(value, tuple):
        return next(filter(None, map(_lost, value)), "")
    if isinstance(value, list):  # a tuple would arrive
        return "list"
    arrived = value if isinstance(value, Linear) else round_tripped(value, "numpy")
    return arrived.type_name if isinstance(arrived, Opaque) else ""


MOST_NUMBERS = 4_000  # in the calls of one layer that are written down


def record_examples(folder: Path) -> bytes:
    """Return the content of the examples file of the exercise in `folder`.

    Raises `KitError` when a step has no public check, hence no worked example, or when a check
    cannot be run, hands over what does not cross, or contradicts the annotations; it tells all of
    these.
    """
    reference = read_reference(folder)
    refuse_checks_of_one_name(folder / GRADERS)
    faults = Faults()
    examples = _recorded(reference, faults)
    faults.refuse()  # a check that does not run has written no example
    shown = {example.step for example in examples}
    for step in reference.exercise.steps:
        if step.name not in shown:
            with faults.noted():
                raise KitError(
                    f"the step {step.name} has no worked example",
                    place=str(folder / GRADERS),
                    cure="mark one of its checks as public, and let it compare: "
                    "student(...).agrees()",
                )
    faults.refuse()
    return write_examples(reference.exercise.name, examples)


def record_other_examples(folder: Path, step: str, seed: int) -> bytes:
    """Return the content of an examples file with one step's examples, drawn from another seed.

    Raises `KitError` as `record_examples` does.
    """
    reference = read_reference(folder)
    grading = replace(reference.exercise.grading, public_seed=seed)
    drawn = replace(reference, exercise=replace(reference.exercise, grading=grading))
    faults = Faults()
    examples = _recorded(drawn, faults, step)
    faults.refuse()
    return write_examples(drawn.exercise.name, examples)


def _recorded(reference: Reference, faults: Faults, step: str = "") -> list[Example]:
    """Return the worked examples of one step, or of all; note the faults of checks."""
    examples: list[Example] = []
    does: dict[str, tuple[str, ...]] = {}

    def judge(plugin: GradingPlugin) -> None:
        reference.forget()  # what was drawn while the checks were collected is not repeatable
        sound: dict[str | None, bool] = {}
        for item in plugin.collected.shown:
            own = step_of(item)
            # As in grading: a step that fails a check is held to nothing more.
            held = not item.name.startswith(STANDING) or sound.get(own, True)
            if step in ("", own) and held:
                arrays.seed(0)  # every call draws new layers, but a build must be repeatable
                sound[own] = False
                with faults.noted():
                    plugin.recorded(item, reference, _recorder(reference, item, examples))
                    sound[own] = True
        if not step:
            does.update([plugin.steps_of_layer()])

    run_graders(GradingPlugin(reference, judge, public=True))
    # The first one about a layer says which steps a right one does.
    return [replace(each, does=does.pop(each.step, ())) for each in examples]


def _recorder(reference: Reference, item: pytest.Item, examples: list[Example]) -> Recorder:
    def record(
        request: Request,
        expectation: Expectation,
        asked: tuple[Request, ...],
        pairs: tuple[AnswerPair, ...],
    ) -> None:
        refuse_what_cannot_cross(item.name, request, reference)
        if not isinstance(expectation, Refused):
            reply = reference.expected(replace(request, dtype=""))
            if isinstance(reply, Returned):
                refuse_wrong_axes(reference, request, reply)
        step = step_of(item) or ""
        known = {
            mistake.name for each in examples if each.step == step for mistake in each.mistakes
        }
        # A standing check is asked about code that shows none of the others.
        told = known if item.name.startswith(STANDING) else set()
        named = not isinstance(expectation, Refused)
        shown = (
            candidate
            for candidate in (reference.replay.singles(request) if named else ())
            # One that does not show on these inputs has nothing to say about them.
            if candidate.name not in told and judge(expectation, request, candidate.reply, ())
        )
        mistakes = tuple(_written(expectation, shown))
        name = getattr(item, "originalname", item.name)
        about = step, name, title_of(item)
        calls = _calls_of(reference, request, expectation)
        examples.append(Example(*about, request, expectation, mistakes, asked, pairs, calls))

    return record


def _written(expectation: Expectation, mistakes: Iterable[Candidate]) -> Iterator[Candidate]:
    """Give mistakes as they are written down: of a random draw, only what is wrong with it."""
    for each in mistakes:
        if not isinstance(expectation, Distributed):
            yield each
        elif reply := fault_in_draw(expectation, each.reply):
            yield replace(each, reply=reply)


def _calls_of(
    reference: Reference, request: Request, expectation: Expectation
) -> tuple[LayerCall, ...]:
    """Return the calls that the reference's class makes of its steps, asked under no condition.

    What a step draws anew each time is left out, and so are all calls if they hold too much.
    """
    if request.method is None or isinstance(expectation, Refused):
        return ()
    if isinstance(expectation, Agrees) and not request.read:
        request, _ = without_conditions(request, expectation)
    calls = reference.calls(request)
    held = sum(a.size for call in calls for a in arrays_in((*call.arguments, call.result)))
    return calls if held <= MOST_NUMBERS else ()
