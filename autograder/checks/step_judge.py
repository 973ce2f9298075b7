"""Judges the steps of one submission, each alone, by what their checks find."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile

import pytest

from autograder.checks.check_runner import CheckRunner, Purposes
from autograder.checks.marks import is_shown_by_layer, marks_of, step_of, wrong_checks
from autograder.checks.own_layer import (
    Passes,
    ReferenceCalls,
    around,
    changes_in_place,
    charged,
    faulty_steps,
)
from autograder.checks.reference import KEPT, suspects_after
from autograder.checks.student import CheckQuestion, CheckTerms, RunningCheck, ask_together
from autograder.judging.asking import told_together
from autograder.judging.expectation import judge
from autograder.tracing.traced_layer import Spoiler
from autograder.values.exercise import Step
from autograder.values.request import (
    ContinuingRespondent,
    ReadableRespondent,
    Reply,
    Respondent,
)
from autograder.values.verdict import ChainVerdict, CheckVerdict, Finding, Outcome, StepVerdict

# A step that ends like this takes the whole worker with it, and all the time until then.
STUCK = (Outcome.TIMED_OUT, Outcome.OUT_OF_MEMORY, Outcome.CRASHED, Outcome.OUTPUT_LIMIT)
# No other check of the step could see anything new.
FINAL = (Outcome.NOT_WRITTEN, Outcome.INFRASTRUCTURE, *STUCK)
NAMED = re.compile(r"`(\w+)[^`]*`")  # the step in "`Layer.forward` is not written yet."


@dataclass(frozen=True)
class StepJudge:
    """Judges the steps of one submission in their order, and then their use in the layer."""

    runner: CheckRunner
    respondent: Respondent
    # What is asked once all steps are judged.
    asked_last: Callable[[], object] = lambda: None
    # Runs the student's own steps one after the other, without the class.
    chained: Callable[[], ChainVerdict] = lambda: ChainVerdict(Outcome.PASSED, asked=False)
    # The verdicts on the steps with the student's own earlier steps.
    _alone: dict[str, StepVerdict] = field(default_factory=dict)
    # The checks of those, as far as they have begun.
    _begun: dict[pytest.Item, RunningCheck] = field(default_factory=dict)
    # The steps that each step could lean on.
    _leans_on: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # The functions that are asked with long axes by themselves, and not only in a layer.
    _at_length: set[str] = field(default_factory=set)
    # What a step's checks said while it leaned on others: whether all passed, None if it got stuck.
    _leaning: dict[tuple[str, tuple[str, ...]], bool | None] = field(default_factory=dict)

    def ask_functions(self) -> None:
        """Ask all questions of the functions at once, those before the first layer.

        What stays open, as after a step that got stuck, is asked when that is judged.
        """
        reference = self.runner.reference
        steps = takewhile(lambda step: step.name not in reference.layers, reference.exercise.steps)
        runs: list[RunningCheck] = []
        for step in steps:
            own, _, standing = self._by_purpose(step.name)
            runs += self._begin((*own, *standing), self._terms_alone(step))
        ask_together(run.conversation for run in runs)

    def judged(self, step: Step, earlier: Sequence[StepVerdict], stuck: bool) -> StepVerdict:
        """Judge one step; `earlier` are the verdicts on those before it.

        When one of them got `stuck`, it is judged only with the reference in place of all functions
        before it. Raises `KitError` when it has no check.
        """
        before = self.runner.reference.functions_before(step.name)
        missed = {each.name for each in earlier if not each.passes or each.leaning}
        wrong = tuple(name for name in before if name in missed)
        waits = stuck
        if not stuck and not (wrong and self._fails_at_once(step)):
            alone = self._judged_alone(step)
            # After a wrong step, also what calls none is asked in a fresh process: the wrong one
            # may have left something behind, and a way to call it may not be seen in the text.
            if alone.passes or _unwritten(alone) or not (wrong or self.leans_on(step.name)):
                return alone
            waits = alone.outcome in STUCK
        # Also where it got stuck: an earlier step of the student's may be the cause. First of all
        # those that are wrong, which are few and soon answered for. To wait twice would take the
        # time of the steps after it. Where its text calls none of them, that would hardly help.
        if wrong and wrong != before and not waits and self._may_call(step, wrong):
            checks = self._tried(step, wrong)
            if all(check.passes for check in checks):
                return StepVerdict.of(step, checks, leaning=True)
        checks = self._leaned(step, before)
        return StepVerdict.of(step, checks, leaning=all(check.passes for check in checks))

    def at_length(self, steps: tuple[StepVerdict, ...]) -> tuple[StepVerdict, ...]:
        """Ask functions that pass with long axes, where no layer that passes has shown them so.

        Large questions cost time. A layer is asked them in any case, and the functions with it. One
        that fails here is judged anew.
        """
        shown: set[str] = set()
        respondent = self.respondent
        # What fixes a size above those of the layer is asked with larger ones.
        if isinstance(respondent, ReadableRespondent) and not respondent.may_fix_a_large_size():
            shown = {name for step in steps for name in self._shown_by(step, steps, respondent)}
        functions = [step for step in steps if step.name in self.runner.reference.functions]
        for step in functions:
            alone = step.passes and not step.leaning
            if alone and step.name not in shown and self._fails_at_length(step):
                self._at_length.add(step.name)
                self._alone.pop(step.name, None)
        again = list(steps)
        for place, step in enumerate(steps):
            if step.name in self._at_length:
                facts = self.runner.reference.exercise.step(step.name)
                again[place] = self.judged(facts, again[:place], stuck=False)
        return tuple(again)

    def _shown_by(
        self, step: StepVerdict, steps: Sequence[StepVerdict], text: ReadableRespondent
    ) -> tuple[str, ...]:
        """Return the functions of the student's that a layer names, and passes with."""
        if step.name not in self.runner.reference.layers or not step.passes:
            return ()
        functions = self.runner.reference.functions_before(step.name)
        missed = {each.name for each in steps if not each.passes or each.leaning}
        wrong = tuple(name for name in functions if name in missed)
        if step.leaning and not self._leaning.get((step.name, wrong)):
            return ()
        named = text.names_reached(step.name)
        return tuple(name for name in functions if name in named and name not in wrong)

    def _fails_at_length(self, step: StepVerdict) -> bool:
        terms = self._terms_alone(self.runner.reference.exercise.step(step.name))
        items = filter(is_shown_by_layer, self.runner.checks.of_step(step.name))
        return any(map(_found, self._judged_runs(self._asked(items, terms))))

    def _by_purpose(self, name: str) -> Purposes:
        """Return the checks of a step that decide, those that only tell, and the standing ones."""
        own, telling, standing = self.runner.checks.by_purpose(name)
        if name not in self._at_length:
            standing = [item for item in standing if not is_shown_by_layer(item)]
        return own, telling, standing

    def leans_on(self, name: str) -> tuple[str, ...]:
        """Return the steps before one whose right answers could change what it does."""
        if name not in self._leans_on:
            before = self.runner.reference.functions_before(name)
            step = self.runner.reference.exercise.step(name)
            self._leans_on[name] = before if self._may_call(step, before) else ()
        return self._leans_on[name]

    def _judged_alone(self, step: Step) -> StepVerdict:
        """Return the verdict on a step with the student's own earlier steps."""
        if step.name not in self._alone:
            checks = self._checks(step, self._terms_alone(step))
            self._alone[step.name] = StepVerdict.of(step, checks)
        return self._alone[step.name]

    def _terms_alone(self, step: Step) -> CheckTerms:
        # Named is what is wrong in the run that counts.
        return CheckTerms(self.respondent, naming=lambda: not self.leans_on(step.name))

    def _may_call(self, step: Step, others: tuple[str, ...]) -> bool:
        if not others or not isinstance(self.respondent, ReadableRespondent):
            return bool(others)
        return self.respondent.may_call(step.name, others)

    def _fails_at_once(self, step: Step) -> bool:
        """Say whether the first check of values fails, as is likely after a wrong step.

        Then nothing else is asked before the wrong step is answered for.
        """
        runs = self._judged_runs(self._asked(self._first(step), self._terms_alone(step)))
        findings = [run.finding for run in runs if run.finding]
        return any(finding.outcome not in FINAL for finding in findings)

    def _first(self, step: Step) -> list[pytest.Item]:
        """Return the first check of values of a step, if it has any."""
        own, _, _ = self._by_purpose(step.name)
        return [item for item in own if not marks_of(item).shares_inputs][:1]

    def _tried(self, step: Step, wrong: tuple[str, ...]) -> tuple[CheckVerdict, ...]:
        """Let a step lean on wrong ones: a layer where it was asked alone, so no process starts.

        What happened there before may spoil it. So if it fails there, it is asked in a fresh one.
        """
        respondent = self.respondent
        if not isinstance(respondent, ContinuingRespondent):
            return self._leaned(step, wrong, naming=False)
        if step.name in self.runner.reference.layers:
            self._ask_ahead(step)
            respondent.go_on_leaning(wrong)
        checks = self._leaned(step, wrong, naming=False)
        if all(check.passes for check in checks) or not respondent.lean_afresh():
            return checks
        return self._leaned(step, wrong, naming=False)

    def _ask_ahead(self, layer: Step) -> None:
        """Ask what is to be asked alone after a layer, as long as there is a process for it."""
        steps = self.runner.reference.exercise.steps
        later = steps[steps.index(layer) + 1 :]
        runs = [self._begin(self._first(step), self._terms_alone(step)) for step in later]
        ask_together(run.conversation for begun in runs for run in begun)
        self.asked_last()

    def charged(self, steps: tuple[StepVerdict, ...]) -> tuple[StepVerdict, ...]:
        """Charge who spoils a class that is right with the reference's answers for its steps.

        That is a step which passes alone, or the class itself.
        """
        exercise = self.runner.reference.exercise
        leaning = (step.name for step in steps if step.leaning)
        for name in [name for name in leaning if any(run.judged for run in self._runs_alone(name))]:
            before = exercise.before(name)
            passes = partial(self._passes, exercise.step(name))
            makers = [step.name for step in exercise.steps if step.compare in KEPT]
            fine = all(step.passes for step in steps[: len(before)])
            alone = partial(self._judged_alone, exercise.step(name))
            its_own = fine and changes_in_place(alone())
            faulty = () if its_own else faulty_steps(before, steps[: len(before)], makers, passes)
            # What spoils several steps that are right alone, such as autocast, is around them.
            single = faulty[0] if faulty and len(faulty) == 1 else ""
            calls = self._calls_in(name)
            spoiler = single and self._spoiler(name, single, steps[: len(before)], calls, passes)
            if spoiler:
                steps = charged(exercise, steps, spoiler, alone())
            elif fine:
                # It is not right, and no step is to blame for it.
                own = around(alone(), single) if single and calls.have(single) else alone()
                steps = tuple(own if step.name == name else step for step in steps)
        return steps

    def _calls_in(self, name: str) -> ReferenceCalls:
        """Return what a step that fails with the student's own ones passes to those."""
        runs = self._runs_alone(name)
        asked = [run.conversation.judged[-1][0].request for run in runs if run.finding]
        reference = self.runner.reference
        library = reference.exercise.library
        return ReferenceCalls(library, reference, self.respondent, asked)

    def _spoiler(
        self,
        layer: str,
        suspect: str,
        before: Sequence[StepVerdict],
        calls: ReferenceCalls,
        passes: Passes,
    ) -> Spoiler | None:
        """Return the step that is wrong when it gets what the layer passes to it, None if none is.

        With the reference in the place of the `suspect`, the layer is right. It, or a step after it
        of which that is true, too, may rely on how what it gets lies in memory. Two steps may also
        be right by themselves, and not fit each other.
        """
        wrong = tuple(step.name for step in before if not step.passes or step.leaning)
        names = [step.name for step in before]
        # Also the suspect: the layer may be asked with an input that lies in another order.
        later = [name for name in names[names.index(suspect) :] if name not in wrong]
        for spoiler in calls.spoilers(layer, later):
            if spoiler.step == suspect or passes((*wrong, spoiler.step)):
                return spoiler
        calls.begin_afresh()
        chain = self.chained()
        if chain.finding is None or chain.outcome is Outcome.INFRASTRUCTURE:
            return None
        at = chain.breaks_at if chain.breaks_at in names and chain.breaks_at not in wrong else ""
        return Spoiler(at or suspect, chain.finding, "what your other steps give")

    def failed(self, name: str, check: str) -> tuple[CheckQuestion, Reply] | None:
        """Return the question of a check that a step failed with its owner's steps, and the reply.

        None where it passed then, or ended without a reply.
        """
        runs = self._runs_alone(name)
        found = (run for run in runs if run.item.name == check and run.finding)
        return next((run.conversation.judged[-1] for run in found if run.conversation.judged), None)

    def _runs_alone(self, name: str) -> list[RunningCheck]:
        """Return the checks of a step that have begun with the student's own earlier steps."""
        return [run for item, run in self._begun.items() if step_of(item) == name]

    def _passes(self, step: Step, leaning_on: tuple[str, ...]) -> bool | None:
        """Say whether all checks of a step pass while it leans; None when the code got stuck."""
        functions = self.runner.reference.functions_before(step.name)
        leaning_on = tuple(name for name in functions if name in leaning_on)
        if (step.name, leaning_on) not in self._leaning:
            self._leaned(step, leaning_on, naming=False)
        return self._leaning[step.name, leaning_on]

    def _leaned(
        self, step: Step, leaning_on: tuple[str, ...], naming: bool = True
    ) -> tuple[CheckVerdict, ...]:
        checks = self._checks(step, CheckTerms(self.respondent, leaning_on, naming))
        outcomes = {check.outcome for check in checks}
        seen = outcomes.isdisjoint({*STUCK, Outcome.INFRASTRUCTURE})
        self._leaning[step.name, leaning_on] = outcomes == {Outcome.PASSED} if seen else None
        return checks

    def _checks(self, step: Step, terms: CheckTerms) -> tuple[CheckVerdict, ...]:
        own, telling, standing = self._by_purpose(step.name)
        # While it leans on all steps before it, it will hardly pass: then the rest can wait.
        hopeful = not (terms.leaning_on and terms.names)
        runs = self._asked((*own, *standing) if hopeful else own, terms)
        first = self._judged_runs(runs[: len(own)])
        more: list[RunningCheck] = []
        if not any(map(_found, first)):
            rest = runs[len(own) :] if hopeful else self._asked(standing, terms)
            more = self._judged_runs(rest, one=True)
        found = [run.finding for run in (*first, *more) if run.finding]
        told: list[RunningCheck] = []
        if found and not any(finding.outcome in FINAL for finding in found):
            suspects = _suspects(found if not more else ())
            told = self._judged_runs(self._asked(telling, terms), suspects=suspects)
        # What further sizes show is said in their words, which are plainer.
        seen = [*first, *told, *([] if any(map(_found, told)) else more)]
        seen.sort(key=lambda run: self.runner.checks.place_of(run.item))
        if not seen:  # nothing was asked, so nothing is right
            fact = f"the step {step.name} has no check"
            raise wrong_checks(self.runner.reference.exercise, fact, "write one in graders.py")
        if not found:
            return tuple(run.verdict for run in seen)
        passed = [question for run in seen for question in self._passed(run)]
        findings = told_together(
            [run.seen for run in seen], passed, lambda name: self._shows(name, passed)
        )
        return tuple(replace(run, finding=finding).verdict for run, finding in zip(seen, findings))

    def _asked(self, items: Iterable[pytest.Item], terms: CheckTerms) -> list[RunningCheck]:
        """Begin checks, and ask what is open of their questions together."""
        runs = self._begin(items, terms)
        ask_together(run.conversation for run in runs)
        return runs

    def _begin(self, items: Iterable[pytest.Item], terms: CheckTerms) -> list[RunningCheck]:
        """Begin checks; with the student's own steps, each is run only once."""
        if terms.leaning_on:
            return [self.runner.begin(item, terms) for item in items]
        known = self._begun
        return [
            known.get(item) or known.setdefault(item, self.runner.begin(item, terms))
            for item in items
        ]

    def _judged_runs(
        self,
        runs: Iterable[RunningCheck],
        one: bool = False,
        suspects: frozenset[str] | None = None,
    ) -> list[RunningCheck]:
        """Judge checks until nothing new could be seen; if `one`, until one is wrong.

        `suspects` are the pairs of mistakes that checks before these have left (None: all).
        """
        seen: list[RunningCheck] = []
        for run in runs:
            run.conversation.suspects = suspects
            seen.append(run if run.judged else self.runner.judge(run))
            suspects = suspects_after(run.finding, suspects)
            if run.finding and (one or run.finding.outcome in FINAL):
                break
        return seen

    def _passed(self, run: RunningCheck) -> list[CheckQuestion]:
        """Return the questions that were answered right; a check ends with the first wrong one."""
        if not run.called:
            self.runner.in_full(run)
        judged = [question for question, _ in run.conversation.judged]
        return judged[:-1] if run.finding else judged

    def _shows(self, name: str, passed: Iterable[CheckQuestion]) -> bool:
        """Say whether a known mistake would have failed a question that was answered right."""
        for each in passed:
            known = self.runner.reference.replay.again(each.request, name)
            if known and judge(each.expectation, each.request, known.reply, ()):
                return True
        return False


def _found(run: RunningCheck) -> bool:
    return run.finding is not None


def _suspects(findings: Iterable[Finding]) -> frozenset[str] | None:
    """Return the pairs of mistakes that these findings leave (None: all)."""
    left = None
    for finding in findings:
        left = suspects_after(finding, left)
    return left


def _unwritten(step: StepVerdict) -> bool:
    """Whether the step itself is not written, which no earlier step can change."""
    if step.finding is None or step.finding.outcome is not Outcome.NOT_WRITTEN:
        return False
    named = NAMED.search(step.finding.fact)
    return named is not None and named[1] == step.name
