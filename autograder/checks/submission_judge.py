"""Judges one submission after the other: its steps, then the whole that they make."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
import pytest

from autograder.checks.check_runner import CheckRunner
from autograder.checks.marks import Draw, marks_of, remark_on, wrong_checks
from autograder.checks.memory import OWN_SEEDS, InputSeeds
from autograder.checks.one_piece import OnePiece, is_in_one_piece, probes
from autograder.checks.own_layer import (
    CallTracing,
    WholeLayer,
    broken_by,
    end_to_end,
    retold,
    traced_back,
)
from autograder.checks.step_judge import STUCK, StepJudge
from autograder.checks.student import CheckQuestion, CheckTerms
from autograder.checks.varied_request import UNFIT, OwnAnswers, parameters, questions_of
from autograder.errors import KitError
from autograder.judging.conditions import STANDING
from autograder.judging.expectation import Agrees, Refused
from autograder.tracing.traced_layer import right_by_itself
from autograder.values.exercise import Step
from autograder.values.request import Failed, Reply, Request, Respondent, Returned
from autograder.values.verdict import ANSWERED, ChainVerdict, Finding, Outcome, StepVerdict
from autograder.worker.wire import Linear, Opaque, Value

# A short code for what a step returns, the same for answers that differ only in rounding.
#
# It tells which wrong answers of a class are the same one; no verdict follows from it.

# Sums of all numbers with random signs stand for an array: a few, so that hardly one of them lies
# where it is rounded now up and now down, and of every entry, so that each one counts.
_SUMS, _DIGITS, _SIGNS_SEED = 4, 2, 20_261_123
_BYTES = 4


def answer_digest(replies: Iterable[Reply]) -> str:
    """Return eight hexadecimal digits for what came back of some questions, in their order.

    Shapes, and numbers to about two digits of their size, decide; types of numbers do not.
    """
    facts = [_reply(reply) for reply in replies]
    return hashlib.blake2b(repr(facts).encode(), digest_size=_BYTES).hexdigest()


def _reply(reply: Reply) -> object:
    if isinstance(reply, Failed):
        raised = reply.exception.type_name if reply.exception else ""
        return (reply.outcome.value, raised)
    return (_value(reply.value), tuple(map(_value, reply.gradients)))


def _value(value: Value) -> object:
    if isinstance(value, np.ndarray):
        return (value.shape, _numbers(value))
    if isinstance(value, tuple):
        return tuple(map(_value, value))
    if isinstance(value, Linear):
        return ("linear", _value(value.weight), _value(value.bias))
    if isinstance(value, bool | int | float):
        return _value(np.asarray(value))
    return ("opaque", value.type_name) if isinstance(value, Opaque) else (str(type(value)), value)


def _numbers(array: np.ndarray) -> object:
    """Return where the numbers of an array are not finite, how large they are, and its sums."""
    kind = np.complex128 if array.dtype.kind == "c" else np.float64
    numbers = np.atleast_1d(array).astype(kind).view(np.float64).ravel()
    finite = np.isfinite(numbers)
    odd = [(int(place), str(numbers[place])) for place in np.flatnonzero(~finite)]
    numbers = np.where(finite, numbers, 0.0)
    largest = float(np.abs(numbers).max(initial=0.0))
    if largest == 0.0:
        return (odd, 0)
    numbers = numbers / largest
    size = math.sqrt(float(numbers @ numbers))  # at least 1, since the largest one is
    signs = np.random.default_rng(_SIGNS_SEED).choice((-1.0, 1.0), (_SUMS, numbers.size))
    sums = np.round(signs @ numbers / size, _DIGITS) + 0.0  # no -0.0
    return (odd, round(math.log(largest) + math.log(size), _DIGITS), sums.tolist())


# A step that is right is not blamed for a layer that does as a mistake in it would.
#
# And of two layers that show the same, the first one is where to look.


Steps = tuple[StepVerdict, ...]


def without_blame(steps: Steps, layers: Collection[str]) -> Steps:
    """Return the verdicts, where no finding on one of the `layers` blames a step that is right.

    Such a finding rests on a known mistake in that step, which gives the layer's own result.
    """
    right = {step.name for step in steps if step.passes and not step.leaning}
    return tuple(_told(step, right) if step.name in layers else step for step in steps)


def led_to_the_first(steps: Steps, layers: Collection[str]) -> Steps:
    """Return the verdicts, where a layer that shows the same as one before it leads to that one.

    That is so of a class which inherits what is wrong.
    """
    wrong = [step for step in steps if step.name in layers and step.finding]
    first = {
        step.name: next((other for other in wrong[:place] if _show_the_same(step, other)), None)
        for place, step in enumerate(wrong)
    }
    return tuple(_led_to(step, first.get(step.name)) for step in steps)


def _show_the_same(layer: StepVerdict, other: StepVerdict) -> bool:
    own = layer.finding
    assert own
    seen = _seen(own).replace(layer.name, other.name)
    found = [check.finding for check in other.checks if check.finding]
    named = own.misconception and own.misconception in {each.misconception for each in found}
    return bool(named) or seen in map(_seen, found)


def _seen(finding: Finding) -> str:
    return finding.details[-1] if finding.details else f"{finding.fact} {finding.look}".strip()


def _led_to(step: StepVerdict, other: StepVerdict | None) -> StepVerdict:
    if other is None:
        return step
    look = f"Your `{other.name}` shows the same. Mend that first, and then look here again."
    return retold(step, lambda finding: replace(finding, look=look))


def _told(step: StepVerdict, right: Collection[str]) -> StepVerdict:
    checks = (
        replace(check, finding=right_by_itself(check.finding, right)) if check.finding else check
        for check in step.checks
    )
    return replace(step, checks=tuple(checks))


# What a wrong step returns on inputs that the whole class gets.
#
# A mistake without a name is known by its answer: whoever returns the same has made the same one.
# Nothing of it decides a verdict, so these inputs need not differ from hand-in to hand-in.


@dataclass(frozen=True)
class CommonAnswers:
    """Asks a respondent what the whole class is asked, with inputs drawn from `seed`.

    `leaning` gives the earlier steps for which the reference answers meanwhile, so that
    a mistake shows alike after right steps and after wrong ones.
    """

    runner: CheckRunner
    respondent: Respondent
    leaning: Callable[[str], tuple[str, ...]]
    seed: int

    def noted(self, step: StepVerdict) -> StepVerdict:
        """Return the verdict with the digest of its answer, if it is a mistake without a name.

        Without one stay right steps, known mistakes, what raises or does not end, now or when it
        was judged, and what only a standing check sees, whose sentence says what it is.
        """
        failing = step.failing
        if failing is None or failing.finding is None or step.by_layer:
            return step
        nameless = failing.finding.misconception is None and failing.outcome in ANSWERED
        if not nameless or failing.name.startswith(STANDING):
            return step
        questions = self._questions(step.name, failing.name)
        if not questions:
            return step
        leaning_on = self.leaning(step.name)
        replies = [self.respondent.ask(each.request, leaning_on) for each in questions]
        if not all(isinstance(reply, Returned) for reply in replies):
            return step  # whatever keeps it from returning now is no answer
        return replace(step, answer=answer_digest(replies))

    def _questions(self, step: str, check: str) -> tuple[CheckQuestion, ...]:
        """Return what a check asks that expects a result and nothing drawn by the code itself."""
        checks = self.runner.checks
        item = next((each for each in checks.of_step(step) if each.name == check), None)
        if not isinstance(item, pytest.Function) or not marks_of(item).is_direct:
            return ()
        reference = self.runner.reference
        sizes = parameters(item).get("draw", {})
        draw = Draw.hidden(reference.exercise, item.name, sizes, self.seed)
        reference.memories.use(self.seed)
        try:
            asked: tuple[CheckQuestion, ...] = reference.drawn(
                ("common", item.nodeid, draw.identity),
                lambda: questions_of(item, reference, draw),
            )
        except UNFIT:  # a check that looks at replies asks nothing that can be told beforehand
            return ()
        finally:
            reference.memories.use(None)
        return tuple(each for each in asked if isinstance(each.expectation, Agrees))


# What says nothing against the code that is judged.
UNSEEN = (Outcome.PASSED, Outcome.INFRASTRUCTURE)


@dataclass(frozen=True)
class JudgedSteps:
    """The steps and the chain of one submission, as the checks saw them.

    `remarks` are about faults of ours that cost nobody a point.
    """

    steps: tuple[StepVerdict, ...]
    chain: ChainVerdict
    seconds: float
    remarks: tuple[str, ...] = ()


class SubmissionJudge:
    """Judges respondents with the checks of `runner`."""

    def __init__(self, runner: CheckRunner) -> None:
        self._runner = runner
        self._layer = WholeLayer(runner.reference, self._sees)

    def judged(
        self,
        respondent: Respondent,
        on_step: Callable[[StepVerdict], None] = lambda step: None,
        *,
        seeds: InputSeeds = OWN_SEEDS,
        layer_earns_steps: bool = True,
        together: bool = True,
    ) -> JudgedSteps:
        """Run every check against `respondent`, step by step, then the chain.

        `on_step` gets the verdict on each step as soon as it is known. The hidden inputs are drawn
        from `seeds`, or from the exercise's own seed. With `layer_earns_steps`, a layer that is
        right by itself earns the points of steps that are not written and that it does. All
        functions are asked `together`, which is faster, or each when its turn comes.
        """
        begun = time.monotonic()
        self._runner.draw_from(seeds)
        chain = cache(partial(self._chain, respondent))
        judge = StepJudge(self._runner, respondent, chain, partial(self._chain, respondent))
        if together:
            judge.ask_functions()
        judged: list[StepVerdict] = []
        for step in self._runner.reference.exercise.steps:
            judged.append(judge.judged(step, judged, _stuck(judged) is not None))
            on_step(judged[-1])
        layers = self._runner.reference.layers
        asked = tuple(judged) if _stuck(judged) else judge.at_length(tuple(judged))
        blamed = without_blame(judge.charged(asked), layers)
        steps = led_to_the_first(blamed, layers)
        whole = self._whole(steps, chain)
        earned = self._layer.credited(steps) if layer_earns_steps else steps
        first = {step.name for step, led in zip(blamed, steps) if step is led and step.finding}
        questions = {} if _stuck(judged) else self._failed(judge, first & set(layers), earned)
        tells: list[Callable[[Steps], Steps]] = [
            partial(self._traced, respondent, questions),
            partial(self._inside, respondent, layer_earns_steps),
        ]
        if seeds.common is not None:
            answers = CommonAnswers(self._runner, respondent, judge.leans_on, seeds.common)
            tells.append(lambda told: tuple(map(answers.noted, told)))
        remarks: dict[str, None] = {}
        for tell in tells:
            try:
                earned = tell(earned)
            except (KitError, MemoryError):
                raise  # about the exercise, or a bound of this process
            except Exception as error:  # a fault of ours: words never cost a grade
                remarks[remark_on(error)] = None
        return JudgedSteps(earned, whole, time.monotonic() - begun, tuple(remarks))

    def steps_of_layer(self) -> tuple[str, tuple[str, ...]]:
        """Return the step that is the layer, "" if none is, and those whose work a right one does.

        They are steps worth points, which need not be written then.
        """
        layer, reference = self._layer.step, self._runner.reference
        if layer is None:
            return "", ()
        worth = [step.name for step in reference.exercise.steps if step.points]
        steps = filter(self._layer.proves, set(worth) & set(reference.functions))
        return layer.name, tuple(sorted(steps, key=worth.index))

    def _whole(self, steps: Steps, judged_chain: Callable[[], ChainVerdict]) -> ChainVerdict:
        """Return the verdict on the steps end to end, and on the layer by itself."""
        # A step that does not end by itself would not end in the chain either.
        stuck = _stuck(steps)
        chain = broken_by(stuck) if stuck else traced_back(judged_chain(), steps)
        chain = end_to_end(chain, steps, self._runner.reference.layers)
        return replace(chain, layer=self._layer.verdict(steps))

    def _chain(self, respondent: Respondent) -> ChainVerdict:
        items = self._runner.checks.of_the_chain
        verdict = ChainVerdict(Outcome.PASSED, asked=bool(items))
        for item in items:
            run = self._runner.run(item, CheckTerms(respondent))
            if run.finding:
                return ChainVerdict(run.finding.outcome, None, run.finding)
            if run.chain is None:
                fact = f"the check {item.name} runs no chain"
                raise wrong_checks(self._runner.reference.exercise, fact, "call `chain` in it")
            if run.chain.outcome is not Outcome.PASSED:
                return run.chain
        return verdict

    def _failed(
        self, judge: StepJudge, names: Collection[str], steps: Iterable[StepVerdict]
    ) -> dict[str, CheckQuestion]:
        """Return the question that each of these steps failed, and that is told of."""
        told = ((step.name, step.failing) for step in steps if step.name in names)
        asked = ((name, judge.failed(name, check.name)) for name, check in told if check)
        return {name: found[0] for name, found in asked if found}

    def _traced(
        self, respondent: Respondent, questions: Mapping[str, CheckQuestion], steps: Steps
    ) -> Steps:
        """Say which call makes a layer wrong that failed one of the `questions`."""
        tracing = CallTracing(self._runner.reference, respondent, steps)
        return tuple(
            tracing.traced(step, questions[step.name]) if step.name in questions else step
            for step in steps
        )

    def _inside(self, respondent: Respondent, layer_earns_steps: bool, steps: Steps) -> Steps:
        """Say what is wrong inside a layer that is in one piece.

        No outcome changes. Where it is the work of one step, the layer earns the points of the
        others that it does.
        """
        layer, reference = self._layer.step, self._runner.reference
        if layer is None or not is_in_one_piece(layer.name, steps):
            return steps
        (own,) = (step for step in steps if step.name == layer.name)
        inside = OnePiece(reference, respondent, *probes(reference, self._asked(own)))
        told = tuple(retold(step, inside.diagnosed) if step is own else step for step in steps)
        faulty = self._faulty(own, inside, respondent) if layer_earns_steps else ()
        return self._layer.credited(without_blame(told, reference.layers), faulty)

    def _faulty(
        self, layer: StepVerdict, inside: OnePiece, respondent: Respondent
    ) -> tuple[str, ...]:
        """Return the steps of which one is done wrong in a layer that is right but for it.

        That is the class itself where nothing is wrong but what it does not refuse.
        """
        items = self._runner.checks.of_step(layer.name)
        seen = {check.name for check in layer.checks}
        failing = {check.name for check in layer.checks if check.finding}
        if failing and all(self._refuses(item) for item in items if item.name in failing):
            terms = CheckTerms(respondent, naming=False)
            rest = (self._runner.run(item, terms) for item in items if item.name not in seen)
            return (layer.name,) if all(run.finding is None for run in rest) else ()
        return inside.faulty_steps()

    def _refuses(self, item: pytest.Item) -> bool:
        """Say whether a check only asks for exceptions."""
        terms = CheckTerms(OwnAnswers(self._runner.reference), naming=False)
        asked = self._runner.run(item, terms).conversation.expected
        return bool(asked) and all(isinstance(each.expectation, Refused) for each in asked)

    def _asked(self, step: StepVerdict) -> list[Request]:
        """Return what the failing checks of a step ask, on these inputs and on others."""
        runner, own = self._runner, OwnAnswers(self._runner.reference)
        names = {check.name for check in step.checks if check.finding}
        kept = runner.seeds
        try:
            for seeds in (kept, InputSeeds((kept.own or 0) + 1)):
                runner.seeds = seeds
                for item in runner.checks.of_step(step.name):
                    if item.name in names:
                        runner.run(item, CheckTerms(own, naming=False))
        finally:
            runner.seeds = kept
        return own.asked

    def _sees(self, step: Step, respondent: Respondent) -> bool:
        """Say whether a check of a step finds something wrong, on the exercise's own inputs."""
        runner, terms = self._runner, CheckTerms(respondent, naming=False)
        kept = runner.seeds
        runner.draw_from(InputSeeds())
        try:
            runs = (runner.run(item, terms) for item in runner.checks.of_step(step.name))
            return any(run.verdict.outcome not in UNSEEN for run in runs)
        finally:
            runner.draw_from(kept)


def _stuck(steps: Iterable[StepVerdict]) -> StepVerdict | None:
    return next((step for step in steps if step.outcome in STUCK), None)
