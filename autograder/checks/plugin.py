"""The pytest plugin that judges submissions with a grader file.

pytest collects `graders.py` once, in the trusted process; its run loop then goes
over the submissions and runs every check against each of them. A verdict is made
of what the checks raise. `CheckFailed` is about the student, and so is an error that
only the student's answers cause. Anything else is a fault of ours: it becomes
`infrastructure`, never a zero.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from autograder.checks.attribution import OURS, Playback, ReplyRecorder, of_ours, of_the_student
from autograder.checks.author_error import author_error
from autograder.checks.chain import Chain, Run, broken_by, traced_back
from autograder.checks.check_questions import parameters
from autograder.checks.draw import Draw
from autograder.checks.marks import needs_only_ours, step_of, title_of
from autograder.checks.one_piece import Asked, OnePiece, is_in_one_piece, probes
from autograder.checks.own_layer import charged, end_to_end, faulty_steps
from autograder.checks.reference import Reference, load_module
from autograder.checks.replay import suspects_after
from autograder.checks.standing import standing_checks
from autograder.checks.student import Recorder, Student
from autograder.checks.whole_layer import WholeLayer, with_layer
from autograder.errors import KitError
from autograder.judging.conditions import STANDING
from autograder.judging.expectation import CheckFailed, Expectation, judge
from autograder.judging.reconciliation import PassedQuestion, reconciled
from autograder.model.exercise import GRADERS, SOLUTION, Step
from autograder.model.request import Reply, Request, Respondent
from autograder.model.verdict import ChainVerdict, CheckVerdict, Finding, Outcome, StepVerdict

# A step that ends like this takes the whole worker with it, and all the time until then.
STUCK = (Outcome.TIMED_OUT, Outcome.OUT_OF_MEMORY, Outcome.CRASHED, Outcome.OUTPUT_LIMIT)
# No other check of the step could see anything new.
FINAL = (Outcome.NOT_WRITTEN, Outcome.INFRASTRUCTURE, *STUCK)
# What says nothing against the code that is judged.
UNSEEN = (Outcome.PASSED, Outcome.INFRASTRUCTURE)
KEPT = ("distribution", "layers")  # what a layer makes once and keeps
NAMED = re.compile(r"`(\w+)[^`]*`")  # the step in "`Layer.forward` is not written yet."


@dataclass(frozen=True)
class JudgedSteps:
    """The steps and the chain of one submission, as the checks saw them."""

    steps: tuple[StepVerdict, ...]
    chain: ChainVerdict
    seconds: float


@dataclass
class _Running:
    """What the fixtures hand to the check that runs now."""

    respondent: Respondent | None = None
    leaning_on: tuple[str, ...] = ()
    naming: bool = True
    record: Recorder | None = None
    suspects: frozenset[str] | None = None  # the pairs of mistakes that are left; None: all
    finding: Finding | None = None
    chain: ChainVerdict | None = None
    errors: list[BaseException] = field(default_factory=list)


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
        self._items: list[pytest.Item] = []
        self._running = _Running()
        self._seed: int | None = None  # of the inputs; None: the exercise's own
        self._layer = WholeLayer(reference, self._sees)

    # What pytest calls.

    def pytest_configure(self, config: pytest.Config) -> None:
        """Register the marks of a grader file."""
        config.addinivalue_line("markers", "step(name): the step that the check belongs to")
        config.addinivalue_line(
            "markers", "public(**sizes): also given to students, as a worked example"
        )
        config.addinivalue_line(
            "markers", "stays(reason): why a check stays that catches nothing of its own"
        )
        config.addinivalue_line("markers", "chain_of_steps: the student's steps end to end")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Put the checks in the order of the steps; a step without a check is an error."""
        order = {step.name: index for index, step in enumerate(self.reference.exercise.steps)}
        for item in items:
            if step_of(item) not in order and not item.get_closest_marker("chain_of_steps"):
                raise self._wrong(f"the check {item.name} names no step", "mark it with its step")
        checked = {step_of(item) for item in items}
        for name in order:
            if name not in checked:
                raise self._wrong(f"the step {name} has no check", "write one in graders.py")
        items += standing_checks(self.reference, items, public=self._public)
        items.sort(key=lambda item: order.get(step_of(item) or "", len(order)))
        self._items = list(items)  # a copy: pytest empties its own when it deselects

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Say why a grader file cannot be collected, rather than that its checks are missing."""
        if report.failed:
            reason = str(report.longrepr).splitlines()[-1].removeprefix("E").strip()
            raise self._wrong(f"the checks cannot be collected: {reason}", "correct the file")

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
            error = call.excinfo.value
            if isinstance(error, CheckFailed):
                self._running.finding = error.finding
            else:
                self._running.errors.append(error)
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
        return self._student(request.node)

    @pytest.fixture
    def draw(self, request: pytest.FixtureRequest) -> Draw:
        """Random inputs of named axes; parametrize it (indirect) with other sizes."""
        return self._draw(request.node, getattr(request, "param", {}))

    @pytest.fixture
    def chain(self) -> Callable[[Run], None]:
        """Judges the student's own steps end to end."""
        return self._judge_chain

    def _student(self, item: pytest.Item) -> Student:
        step = step_of(item)
        running = self._running
        assert step and running.respondent
        return Student(
            step,
            self.reference,
            running.respondent,
            running.leaning_on,
            running.record,
            running.naming,
            running.suspects,
        )

    def _draw(self, item: pytest.Item, sizes: Mapping[str, int]) -> Draw:
        exercise = self.reference.exercise
        mark = item.get_closest_marker("public")
        if self._public and mark:
            name = getattr(item, "originalname", item.name)
            return Draw.worked(exercise, name, mark.kwargs)
        return Draw.hidden(exercise, item.name, sizes, self._seed)

    def _judge_chain(self, run: Run) -> None:
        assert self._running.respondent
        self._running.chain = Chain(self.reference, self._running.respondent).judged(run)

    # What the judge calls.

    @property
    def collected(self) -> tuple[pytest.Item, ...]:
        """The checks, in the order of the steps."""
        return tuple(self._items)

    def judged_by(
        self,
        respondent: Respondent,
        on_step: Callable[[StepVerdict], None] = lambda step: None,
        *,
        seed: int | None = None,
        layer_earns_steps: bool = True,
    ) -> JudgedSteps:
        """Run every check against `respondent`, step by step, then the chain.

        `on_step` gets the verdict on each step as soon as it is known. The hidden inputs are drawn
        from `seed`, or from the exercise's own when it is None. With `layer_earns_steps`, a layer
        that is right by itself earns the points of steps that are not written and that it does.
        """
        begun = time.monotonic()
        self._draw_from(seed)
        judged: list[StepVerdict] = []
        alone: dict[str, StepVerdict] = {}
        for step in self.reference.exercise.steps:
            judged.append(self._step(step, respondent, _stuck(judged) is not None, alone))
            on_step(judged[-1])
        steps = self._charged(tuple(judged), alone, respondent)
        # A step that does not end by itself would not end in the chain either.
        stuck = _stuck(steps)
        chain = broken_by(stuck) if stuck else traced_back(self._chain(respondent), steps)
        chain = end_to_end(chain, steps, self.reference.layers)
        chain = with_layer(chain, self._layer.verdict(steps))
        earned = self._layer.credited(steps) if layer_earns_steps else steps
        told = tuple(self._diagnosed(step, earned, respondent) for step in earned)
        return JudgedSteps(told, chain, time.monotonic() - begun)

    def recorded(self, item: pytest.Item, respondent: Respondent, record: Recorder) -> None:
        """Run one check, which has to pass, and hand every question that it asks to `record`."""
        verdict = self._run(item, _Running(respondent, record=record))
        for error in self._running.errors:
            raise author_error(item, error) from error
        if verdict.finding:
            raise self._wrong(
                f"the reference fails the check {item.name}: {verdict.finding.message}",
                "correct the check or the reference",
            )

    def items(self, mark: str) -> list[pytest.Item]:
        """Return the collected checks that carry a mark, each test of an author once."""
        functions = {
            (step_of(item), _function_of(item)): item
            for item in reversed(self._items)
            if item.get_closest_marker(mark)
        }
        return list(reversed(functions.values()))

    def _diagnosed(
        self, step: StepVerdict, steps: tuple[StepVerdict, ...], respondent: Respondent
    ) -> StepVerdict:
        """Say what is wrong inside a layer that is written in one piece; no outcome changes."""
        layer = self._layer.step
        if layer is None or step.name != layer.name or not is_in_one_piece(layer.name, steps):
            return step
        failing = step.failing
        if failing is None or failing.finding is None:
            return step
        asked = probes(self.reference, self._asked(step))
        inside = OnePiece(self.reference, respondent, asked).diagnosed(failing.finding)
        checks = (
            replace(check, finding=inside) if check is failing else check for check in step.checks
        )
        return replace(step, checks=tuple(checks))

    def _asked(self, step: StepVerdict) -> list[Request]:
        """Return what the failing checks of a step ask, on these inputs and on others."""
        asked = Asked(self.reference)
        names = {check.name for check in step.checks if check.finding}
        kept = self._seed
        for seed in (kept, (kept or 0) + 1):
            self._seed = seed
            for item in self._items:
                if step_of(item) == step.name and item.name in names:
                    self._run(item, _Running(asked, naming=False))
        self._seed = kept
        return asked.requests

    def _sees(self, step: Step, respondent: Respondent) -> bool:
        """Say whether a check of a step finds something wrong, on the exercise's own inputs."""
        kept = self._seed
        self._draw_from(None)
        try:
            items = (item for item in self._items if step_of(item) == step.name)
            checks = (self._run(item, _Running(respondent, naming=False)) for item in items)
            outcomes = (check.outcome for check in checks)
            return any(outcome not in UNSEEN for outcome in outcomes)
        finally:
            self._draw_from(kept)

    def _draw_from(self, seed: int | None) -> None:
        if seed != self._seed:
            self.reference.forget()  # these inputs do not come back, and would pile up
        self._seed = seed

    def _step(
        self, step: Step, respondent: Respondent, stuck: bool, alone: dict[str, StepVerdict]
    ) -> StepVerdict:
        """Judge one step; when an earlier one got stuck, only with the reference in its place.

        The verdict on the step with the student's own earlier steps is added to `alone`.
        """
        # What is wrong is named in the run that counts: the second, where there are two.
        before = self.reference.exercise.before(step.name)
        if not stuck:
            checks = self._checks(step, _Running(respondent, naming=not before))
            own = alone[step.name] = StepVerdict.of(step, checks)
            if own.passes or not before or _unwritten(own):
                return own
        # Also where it got stuck: an earlier step of the student's may be the cause.
        checks = self._checks(step, _Running(respondent, leaning_on=before))
        return StepVerdict.of(step, checks, leaning=all(check.passes for check in checks))

    def _charged(
        self,
        steps: tuple[StepVerdict, ...],
        alone: Mapping[str, StepVerdict],
        respondent: Respondent,
    ) -> tuple[StepVerdict, ...]:
        """Charge steps that pass alone and spoil a later one that leans on the reference."""
        exercise = self.reference.exercise
        for name in [step.name for step in steps if step.leaning and step.name in alone]:
            before = exercise.before(name)
            passes = partial(self._passes, exercise.step(name), respondent)
            makers = [step.name for step in exercise.steps if step.compare in KEPT]
            faulty = faulty_steps(before, steps[: len(before)], makers, passes)
            if faulty:
                steps = charged(exercise, steps, faulty, alone[name])
            elif all(step.passes for step in steps[: len(before)]):
                # It is not right, and no step is to blame for it.
                steps = tuple(alone[name] if step.name == name else step for step in steps)
        return steps

    def _passes(
        self, step: Step, respondent: Respondent, leaning_on: tuple[str, ...]
    ) -> bool | None:
        """Say whether all checks of a step pass while it leans; None when the code got stuck."""
        running = _Running(respondent, leaning_on=leaning_on, naming=False)
        outcomes = {check.outcome for check in self._checks(step, running)}
        return None if outcomes & {*STUCK, Outcome.INFRASTRUCTURE} else outcomes == {Outcome.PASSED}

    def _checks(self, step: Step, running: _Running) -> tuple[CheckVerdict, ...]:
        checks: list[CheckVerdict] = []
        suspects: frozenset[str] | None = None
        passed: list[PassedQuestion] = []
        for item in self._items:
            if step_of(item) == step.name:
                if checks and checks[-1].outcome in FINAL:
                    break
                if item.name.startswith(STANDING) and not all(each.passes for each in checks):
                    break
                asked: list[PassedQuestion] = []
                note = _noting(asked)
                checks.append(self._run(item, replace(running, suspects=suspects, record=note)))
                suspects = suspects_after(checks[-1].finding, suspects)
                # A check ends with the first question that is not answered right.
                passed += asked if checks[-1].passes else asked[:-1]
        if not checks:  # nothing was asked, so nothing is right
            raise self._wrong(f"the step {step.name} has no check", "write one in graders.py")
        found = [check.finding for check in checks]
        findings = reconciled(found, passed, lambda name: self._shows(name, passed))
        return tuple(
            CheckVerdict.of(check.name, check.title, finding)
            for check, finding in zip(checks, findings)
        )

    def _shows(self, name: str, passed: Iterable[PassedQuestion]) -> bool:
        """Say whether a known mistake would have failed a question that was answered right."""
        for each in passed:
            known = self.reference.replay.again(each.request, name)
            if known and judge(each.expectation, each.request, known.reply, ()):
                return True
        return False

    def _chain(self, respondent: Respondent) -> ChainVerdict:
        items = [item for item in self._items if item.get_closest_marker("chain_of_steps")]
        verdict = ChainVerdict(Outcome.PASSED, asked=bool(items))
        for item in items:
            check = self._run(item, _Running(respondent))
            if check.finding:
                return ChainVerdict(check.outcome, None, check.finding)
            chain = self._running.chain
            if chain is None:
                raise self._wrong(f"the check {item.name} runs no chain", "call `chain` in it")
            if chain.outcome is not Outcome.PASSED:
                return chain
        return verdict

    def _run(self, item: pytest.Item, running: _Running) -> CheckVerdict:
        """Run one check; what it raises is an outcome of somebody's. Raises MemoryError."""
        assert running.respondent
        witness = ReplyRecorder(running.respondent)
        seen = self._protocol(item, replace(running, respondent=witness))
        finding = seen.finding
        for error in seen.errors:
            if isinstance(error, MemoryError):
                raise error  # a bound of this process: its starter knows whose fault that is
        if seen.errors:
            finding = self._attributed(item, running, witness.replies, seen.errors)
        self._running = seen
        return CheckVerdict.of(item.name, title_of(item), finding)

    def _protocol(self, item: pytest.Item, running: _Running) -> _Running:
        """Run one check and return what it raised.

        It is called directly if it needs nothing but our fixtures, else through pytest's own
        set-up, call and tear-down, which take longer than many a check.
        """
        self._running = replace(running, finding=None, chain=None, errors=[])
        if isinstance(item, pytest.Function) and needs_only_ours(item):
            self._called(item)
            return self._running
        index = self._items.index(item)
        following = self._items[(index + 1) % len(self._items)]
        runtestprotocol(item, log=False, nextitem=following)
        return self._running

    def _called(self, item: pytest.Function) -> None:
        given = dict(parameters(item))
        own: dict[str, Callable[[], Any]] = {
            "student": lambda: self._student(item),
            "draw": lambda: self._draw(item, given.get("draw", {})),
            "chain": lambda: self._judge_chain,
        }
        given |= {name: make() for name, make in own.items() if name in item.fixturenames}
        needed = item._fixtureinfo.argnames
        try:
            item.obj(**{name: given[name] for name in needed})
        except CheckFailed as failed:
            self._running.finding = failed.finding
        except (KeyboardInterrupt, pytest.exit.Exception):
            raise
        except BaseException as error:  # as pytest does, which tells it from what a test may raise
            self._running.errors.append(error)

    def _attributed(
        self,
        item: pytest.Item,
        running: _Running,
        replies: list[Reply],
        errors: list[BaseException],
    ) -> Finding:
        """Say whose doing the errors of a check are, with the same inputs asked again."""
        first = errors[0]
        if not isinstance(first, OURS) and self._goes_through(item, running):
            played = replace(running, respondent=Playback(replies), record=None)
            again = self._protocol(item, played)
            if any(type(error) is type(first) for error in again.errors):
                return of_the_student(item.name, replies[-1] if replies else None, first)
        return of_ours(item.name, *errors)

    def _goes_through(self, item: pytest.Item, running: _Running) -> bool:
        """Say whether the reference passes a check, in the student's place."""
        # A module of its own: the chain puts the student's steps into the other one.
        folder = self.reference.exercise.folder.resolve()
        module = load_module(folder / SOLUTION, "respondent")
        reference = replace(self.reference, module=module)
        seen = self._protocol(item, replace(running, respondent=reference, record=None))
        chain = seen.chain is None or seen.chain.outcome is Outcome.PASSED
        return chain and not seen.errors and seen.finding is None

    def _wrong(self, fact: str, cure: str) -> KitError:
        return KitError(fact, place=str(self.reference.exercise.folder / GRADERS), cure=cure)


def _function_of(item: pytest.Item) -> str:
    """The name of a check, without the values of its parameters if an author gave it any."""
    standing = item.name.startswith(STANDING)
    return item.name if standing else getattr(item, "originalname", item.name)


def _noting(asked: list[PassedQuestion]) -> Recorder:
    """Return a recorder that puts every question into `asked`."""

    def record(request: Request, expectation: Expectation) -> None:
        asked.append(PassedQuestion(request, expectation))

    return record


def _stuck(steps: Iterable[StepVerdict]) -> StepVerdict | None:
    return next((step for step in steps if step.outcome in STUCK), None)


def _unwritten(step: StepVerdict) -> bool:
    """Whether the step itself is not written, which no earlier step can change."""
    if step.finding is None or step.finding.outcome is not Outcome.NOT_WRITTEN:
        return False
    named = NAMED.search(step.finding.fact)
    return named is not None and named[1] == step.name
