"""Runs one check against one respondent. What the check raises is an outcome of somebody's.

`CheckFailed` is about the student, and so is an error that only the student's answers cause.
Anything else is a fault of ours: it becomes `infrastructure`, never a zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from autograder.checks.marks import (
    BY_HAND,
    OURS,
    Draw,
    Playback,
    author_error,
    by_purpose,
    failed_by_reference,
    marks_of,
    of_ours,
    of_the_student,
    step_of,
    tokens_of,
    wrong_checks,
)
from autograder.checks.memory import InputSeeds, PassingReplies
from autograder.checks.own_layer import Chain, Run
from autograder.checks.reference import Reference
from autograder.checks.standing import standing_checks
from autograder.checks.student import CheckTerms, Conversation, KnownPairs, RunningCheck, Student
from autograder.checks.varied_request import parameters
from autograder.judging.conditions import STANDING
from autograder.judging.examples import AnswerForm, AnswerPair
from autograder.judging.expectation import Expectation, Refused
from autograder.values.request import Request, Respondent
from autograder.values.verdict import Finding, Outcome

# The checks of an exercise, as pytest collects them from its grader file.

_CHAIN = "chain_of_steps"
Purposes = tuple[list[pytest.Item], list[pytest.Item], list[pytest.Item]]


@dataclass(frozen=True)
class CollectedChecks:
    """The checks of an exercise in the order of its steps; those of the chain come last.

    by_hand: the examples that the text works by hand, in the order of the steps. They are written
    down for students, and asked in no class.
    """

    items: tuple[pytest.Item, ...] = ()
    by_hand: tuple[pytest.Item, ...] = ()

    @classmethod
    def of(
        cls, reference: Reference, items: Sequence[pytest.Item], *, public: bool
    ) -> CollectedChecks:
        """Return an author's checks in order, each step's standing checks after its own.

        Checks of a step that is left out are, too. If `public`, the standing checks are asked as
        worked examples. Raises `KitError` when a
        check names no step, or a step has no check.
        """
        exercise = reference.exercise
        items = [item for item in items if step_of(item) not in exercise.grading.left_out]
        order = {step.name: index for index, step in enumerate(exercise.steps)}
        for item in items:
            if step_of(item) not in order and not item.get_closest_marker(_CHAIN):
                fact = f"the check {item.name} names no step"
                raise wrong_checks(exercise, fact, "mark it with its step")
        by_hand = [item for item in items if item.get_closest_marker(BY_HAND)]
        items = [item for item in items if item not in by_hand]
        checked = {step_of(item) for item in items}
        for name in order:
            if name not in checked:
                fact = f"the step {name} has no check"
                raise wrong_checks(exercise, fact, "write one in graders.py")
        for item in items:
            if item.get_closest_marker(_CHAIN):
                # Its steps have been asked with inputs of a hand-in's own.
                marks_of(item).shares_inputs = True
        known = [*items, *standing_checks(reference, items, public=public)]

        def in_order(checks: list[pytest.Item]) -> tuple[pytest.Item, ...]:
            return tuple(
                sorted(checks, key=lambda each: order.get(step_of(each) or "", len(order)))
            )

        return cls(in_order(known), in_order(by_hand))

    @cached_property
    def of_the_chain(self) -> tuple[pytest.Item, ...]:
        """The checks of the student's steps end to end."""
        return tuple(item for item in self.items if item.get_closest_marker(_CHAIN))

    def of_step(self, name: str) -> tuple[pytest.Item, ...]:
        """Return the checks that belong to a step."""
        return self._by_step.get(name, ())

    def by_purpose(self, name: str) -> Purposes:
        """Return the checks of a step that decide, those that only tell, and the standing ones."""
        return self._by_purpose.get(name, ([], [], []))

    @cached_property
    def _by_purpose(self) -> dict[str | None, Purposes]:
        return {name: by_purpose(items) for name, items in self._by_step.items()}

    @cached_property
    def _by_step(self) -> dict[str | None, tuple[pytest.Item, ...]]:
        names = {step_of(item) for item in self.items}
        return {name: tuple(item for item in self.items if step_of(item) == name) for name in names}

    def place_of(self, item: pytest.Item) -> int:
        """Return the place of a check among all. Names do not tell standing checks apart."""
        return self.items.index(item)

    @cached_property
    def shown(self) -> tuple[pytest.Item, ...]:
        """What is written down for students, in the order of the steps.

        Each test of an author that is marked as public comes once, then the standing checks. What
        the text works by hand comes last: its few round numbers tell less of a mistake.
        """
        functions = {
            (step_of(item), _function_of(item)): item
            for item in reversed(self.items)
            if item.get_closest_marker("public")
        }
        public = list(reversed(functions.values()))
        steps = dict.fromkeys(step_of(item) for item in public)
        return tuple(
            item for step in steps for item in (*public, *self.by_hand) if step_of(item) == step
        )

    def after(self, item: pytest.Item) -> pytest.Item:
        """Return the check that follows; after the last one, the first."""
        return self.items[(self.place_of(item) + 1) % len(self.items)]


def _function_of(item: pytest.Item) -> str:
    """The name of a check, without the values of its parameters if an author gave it any."""
    standing = item.name.startswith(STANDING)
    return item.name if standing else getattr(item, "originalname", item.name)


# Gets a question, and of the last one of a check all of them, with what is compared of them.
Recorder = Callable[[Request, Expectation, tuple[Request, ...], tuple[AnswerPair, ...]], None]


class CheckRunner:
    """Runs the collected `checks` of an exercise, and gives each what it asks for.

    Hidden inputs are drawn from `seeds`, which `draw_from` sets.
    """

    def __init__(self, reference: Reference, *, public: bool) -> None:
        self.reference = reference
        self.checks = CollectedChecks()
        self.seeds = InputSeeds()
        self._public = public
        self._now: RunningCheck | None = None

    def draw_from(self, seeds: InputSeeds) -> None:
        """Draw the inputs from `seeds` from now on."""
        if seeds.own != self.seeds.own:
            self.reference.memories.forget_hand_in()  # what comes back no more would pile up
        self.seeds = seeds

    def run(self, item: pytest.Item, terms: CheckTerms) -> RunningCheck:
        """Run one check; its finding says whose doing any errors are. Raises MemoryError."""
        return self.judge(self.begin(item, terms))

    def begin(self, item: pytest.Item, terms: CheckTerms) -> RunningCheck:
        """Have a check say what it asks and expects; nothing is asked yet, if that can wait.

        It is called directly if it needs nothing but our fixtures; where it was called with these
        inputs before, what it asked then is asked again. Else it is run through pytest's own
        set-up, call and tear-down, and is judged meanwhile.
        """
        shared = self.seeds.shared_by(item)
        self.reference.memories.use(shared)
        direct = marks_of(item).is_direct
        passing = self._passing(item, terms) if direct and shared is not None else None
        conversation = Conversation(
            terms.respondent, terms.leaning_on, eager=not direct, passing=passing
        )
        run = self._now = RunningCheck(item, terms, conversation)
        if passing and passing.requests:
            for request in passing.requests:
                conversation.put(request)
            run.called = False
        elif direct:
            self._call(run)
        return run

    def judge(self, run: RunningCheck) -> RunningCheck:
        """Judge what a check has asked; its finding says whose doing any errors are.

        Raises MemoryError.
        """
        run.judged = True
        passing = run.conversation.passing
        if not run.called and passing and passing.hold(run.conversation.replies):
            return run
        self.in_full(run)
        if passing and run.finding is None:
            passing.keep(run.conversation.replies)
        return run

    def in_full(self, run: RunningCheck) -> RunningCheck:
        """Judge what a check has asked by what it expects, also where that is known to pass."""
        if not run.called:
            before, run.called = run.conversation, True
            run.conversation = Conversation(
                before.respondent, before.leaning_on, passing=before.passing, given=before.replies
            )
            run.conversation.suspects = before.suspects
            self._now = run
            self._use_seed_of(run.item)
            self._call(run)
        self._settle(run)
        for error in run.errors:
            if isinstance(error, MemoryError):
                raise error  # a bound of this process: its starter knows whose fault that is
        if run.errors:
            run.finding = self._attributed(run)
        return run

    def recorded(self, item: pytest.Item, respondent: Respondent, record: Recorder) -> None:
        """Run one check, which has to pass, and hand every question that it asks to `record`.

        Raises `KitError` when it does not pass.
        """
        run = self.run(item, CheckTerms(respondent))
        talk = run.conversation
        for number, (question, _) in enumerate(talk.judged, start=1):
            # What was compared is asked behind the last question.
            asked = tuple(talk.requests) if talk.compared and number == len(talk.judged) else ()
            form = replace(question.expectation.form, tokens=tokens_of(item))
            expectation = replace(question.expectation, form=form)
            pairs: tuple[AnswerPair, ...] = ()
            if asked and not isinstance(expectation, Refused):
                answer = AnswerForm(expectation.expected, expectation.form)
                known = KnownPairs(self.reference.replay, talk, answer)
                pairs = tuple(
                    replace(each, mistakes=tuple(known.mistakes(each))) for each in talk.compared
                )
            record(question.request, expectation, asked, pairs)
        for error in run.errors:
            raise author_error(item, error) from error
        if run.finding:
            raise failed_by_reference(self.reference.exercise, item, run.finding.message)

    # What the check that runs now is given, and what it raises.

    def student(self, item: pytest.Item) -> Student:
        """Return the code under check, for the step that the check is marked with."""
        step, now = step_of(item), self._running
        assert step
        return Student(step, self.reference, now.conversation, lambda: now.terms.names)

    def draw(self, item: pytest.Item, sizes: Mapping[str, int]) -> Draw:
        """Return the inputs of a check; `sizes` override those of the exercise."""
        exercise = self.reference.exercise
        mark = item.get_closest_marker("public") if self._public else None
        if mark:
            name = getattr(item, "originalname", item.name)
            return Draw.worked(exercise, name, mark.kwargs)
        return Draw.hidden(exercise, item.name, sizes, self.seeds.of(item))

    def chain(self, run: Run) -> None:
        """Judge the student's own steps end to end."""
        now = self._running
        chain = Chain(self.reference, now.terms.respondent, now.item.nodeid)
        now.chain = chain.judged(run)

    def caught(self, error: BaseException) -> None:
        """Keep what the check that runs now has raised."""
        self._running.caught(error)

    @property
    def _running(self) -> RunningCheck:
        assert self._now
        return self._now

    def _settle(self, run: RunningCheck) -> None:
        """Make the judgements of a check, and keep what they raise."""
        self._now = run
        self._use_seed_of(run.item)
        if run.conversation.eager:
            runtestprotocol(run.item, log=False, nextitem=self.checks.after(run.item))
        elif run.finding is None:
            raised = [*run.errors]
            # A line that raises was run after the lines that are judged now.
            run.errors.clear()
            self._caught(run.conversation.settle)
            if run.finding is None and not run.errors:
                run.errors += raised

    def _use_seed_of(self, item: pytest.Item) -> None:
        self.reference.memories.use(self.seeds.shared_by(item))

    def _passing(self, item: pytest.Item, terms: CheckTerms) -> PassingReplies | None:
        """Return the replies that passed a check before, if it is asked as it was then.

        `item` is called directly, and hand-ins share its inputs, whose memory is in use.
        """
        # What a chain asks hangs on the replies before; see `chain`.
        if not terms.together or step_of(item) is None:
            return None
        kept = self.reference.memories.now.passing
        return kept.setdefault(self.checks.place_of(item), PassingReplies())

    def _call(self, run: RunningCheck) -> None:
        item, passing = run.item, run.conversation.passing
        assert isinstance(item, pytest.Function)
        given = dict(parameters(item))
        own: dict[str, Callable[[], Any]] = {
            "student": lambda: self.student(item),
            "draw": lambda: self.draw(item, given.get("draw", {})),
            "chain": lambda: self.chain,
        }
        given |= {name: make() for name, make in own.items() if name in item.fixturenames}
        needed = {name: given[name] for name in item._fixtureinfo.argnames}
        self._caught(lambda: item.obj(**needed))
        # A check that looks at a reply before it goes on may ask something else the next time.
        looked = run.conversation.exchanged or run.errors or run.finding or run.chain
        if passing and not looked:
            passing.requests = tuple(run.conversation.requests)

    def _caught(self, work: Callable[[], None]) -> None:
        """Do `work`, and keep what it raises."""
        try:
            work()
        except (KeyboardInterrupt, pytest.exit.Exception):
            raise
        except BaseException as error:  # as pytest does, which tells it from what a test may raise
            self.caught(error)

    def _attributed(self, run: RunningCheck) -> Finding:
        """Say whose doing the errors of a check are, with the same inputs asked again."""
        item, terms, first = run.item, run.terms, run.errors[0]
        if not isinstance(first, OURS) and self._goes_through(item, terms):
            exchanged = run.conversation.exchanged
            again = self.begin(item, replace(terms, respondent=Playback(exchanged)))
            self._settle(again)
            if any(type(error) is type(first) for error in again.errors):
                return of_the_student(item.name, exchanged[-1][1] if exchanged else None, first)
        return of_ours(item.name, *run.errors)

    def _goes_through(self, item: pytest.Item, terms: CheckTerms) -> bool:
        """Say whether the reference passes a check, in the student's place."""
        # The chain puts the student's steps into the other one.
        seen = self.begin(item, replace(terms, respondent=self.reference.apart))
        self._settle(seen)
        chain = seen.chain is None or seen.chain.outcome is Outcome.PASSED
        return chain and not seen.errors and seen.finding is None
