"""Findings on a layer, told by a step or call at fault; steps that only a layer shows wrong."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from autograder.judging.conditions import explained
from autograder.judging.diagnosis import PLACE, place_in, place_inside
from autograder.judging.expectation import Agrees, Expectation, judge
from autograder.judging.value_words import type_words
from autograder.tracing.calls import small_error
from autograder.values.request import Failed, Reply, Request, Returned
from autograder.values.symbols import UNWRITTEN
from autograder.values.verdict import CheckVerdict, Finding, Outcome
from autograder.worker.call import LayerCall
from autograder.worker.wire import Value

PASSING = "Each step that your layer calls passes its own check."
IN_THE_LAYER = "in_the_layer"
_TITLE = "it works where your own code calls it"


@dataclass(frozen=True)
class Spoiler:
    """A step that passes its own checks and makes a layer wrong all the same.

    What is wrong with its answers is a `fault`; `when` says what it got. If it `is_small`, it is
    less than the step's own checks can see.
    """

    step: str
    fault: Finding
    when: str
    is_small: bool = False

    def verdict(self, layer: str, shown: Finding) -> CheckVerdict:
        """Return the check that the step fails, of which the layer has `shown` something."""
        fault = self.fault
        # Of an answer that is wrong under several conditions, the answer itself.
        seen = fault.details[0] if fault.details else f"{fault.fact} {fault.look}".strip()
        finding = Finding(
            fault.outcome,
            f"With {self.when}, `{self.step}` does not give what is expected.",
            right="With the inputs of its own checks, it gives what is expected.",
            look=seen,
            details=(f"What your `{layer}` shows: {shown.fact} {shown.look}".strip(),),
        )
        return CheckVerdict.of(IN_THE_LAYER, _TITLE, finding)


@dataclass(frozen=True)
class LayerCalls(ABC):
    """Asks steps alone what a right layer passes to them: in class and at home, in one way."""

    library: str

    @property
    @abstractmethod
    def calls(self) -> Sequence[Request]:
        """The calls, in the order of the layer."""

    @abstractmethod
    def ask(self, request: Request) -> Reply:
        """Put a call to the student's step."""

    @abstractmethod
    def expectation(self, request: Request) -> Agrees | None:
        """Return what is expected of a call, None where nothing is known."""

    @abstractmethod
    def begin_afresh(self) -> None:
        """Have what is asked next answered where nothing was asked before, if possible."""

    def spoilers(self, layer: str, steps: Sequence[str]) -> Iterator[Spoiler]:
        """Give those of `steps` that are wrong with what a right `layer` passes to them.

        The surest ones come first. Whether the layer is wrong by one of them, somebody else says.
        """
        given = f"what a right `{layer}` passes to it"
        ways: tuple[tuple[Callable[[str], Finding | None], str, bool], ...] = (
            (self.fault, given, False),
            (self._fault_in_other_orders, f"{given}, in another order in memory", False),
            (self._small_fault, given, True),
        )
        for find, when, is_small in ways:
            for step in steps:
                if fault := find(step):
                    yield Spoiler(step, fault, when, is_small)

    def fault(self, step: str) -> Finding | None:
        """Return what is wrong with the answers of a step, None if nothing is.

        All steps are asked what they are asked in the layer, in that order, so that what one
        leaves behind for another is there.
        """
        return self._fault(step, self.calls)

    def _fault_in_other_orders(self, step: str) -> Finding | None:
        """Return what is wrong with a step once what it gets lies in another order in memory."""
        own = (call for call in self.calls if call.target == step)
        return self._fault(step, [other for call in own for other in _in_other_orders(call)])

    def _small_fault(self, step: str) -> Finding | None:
        """Return what is wrong with a step by less than its own checks can see, if anything is.

        It is asked in double precision (see `small_error`).
        """
        double = "float64" if self.library == "torch" else ""
        calls = (replace(call, dtype=double, backward=None) for call in self.calls)
        for call, reply in self._replies(step, calls):
            wanted = self.expectation(call)
            if wanted is None or wanted.form.compare != "values" or isinstance(reply, Failed):
                continue
            if finding := small_error(reply.value, wanted.expected):
                return finding
        return None

    def _fault(self, step: str, calls: Iterable[Request]) -> Finding | None:
        for call, reply in self._replies(step, calls):
            wanted = self.expectation(call)
            finding = wanted and judge(wanted, call, reply, ())
            if wanted and finding:
                return explained(finding, call, wanted, self._asked_again)
        return None

    def _asked_again(self, request: Request, expectation: Expectation) -> Finding | None:
        return judge(expectation, request, self.ask(request), ())

    def _replies(self, step: str, calls: Iterable[Request]) -> Iterator[tuple[Request, Reply]]:
        """Make calls of steps where nothing was asked before; yield those of one step, answered."""
        self.begin_afresh()
        for call in calls:
            reply = self.ask(call)
            if call.target == step:
                yield call, reply


def _in_other_orders(call: Request) -> Iterator[Request]:
    """Give a call of a step with its arrays in other orders in memory: two axes exchanged."""
    axes = max((each.ndim for each in call.arguments if isinstance(each, np.ndarray)), default=0)
    for pair in combinations(range(axes), 2):
        yield replace(call, layouts=tuple(_exchanged(each, pair) for each in call.arguments))


def _exchanged(value: Value, pair: tuple[int, int]) -> tuple[int, ...] | None:
    if not isinstance(value, np.ndarray) or value.ndim <= pair[1]:
        return None
    order = list(range(value.ndim))
    order[pair[0]], order[pair[1]] = pair[1], pair[0]
    return tuple(order)


@dataclass(frozen=True)
class WrongStep:
    """A step that does not pass its own check: its name, its number (from 1), what that says.

    `use` is what the step that waits for it does with it. What passes its own check all the same
    is wrong `when` it gets something else.
    """

    name: str
    number: int
    seen: Finding
    use: str = "calls"
    when: str = ""

    @property
    def state(self) -> str:
        """What to say of it in the sentence on what waits for it."""
        if self.when:
            return f"passes its own check, but is not right with {self.when}"
        unwritten = self.seen.outcome is Outcome.NOT_WRITTEN
        return UNWRITTEN if unwritten else "does not pass its own check"


def waiting(finding: Finding, wrong: WrongStep, caller: str) -> Finding:
    """Return a finding on code that calls or extends a step which is wrong: it waits for it.

    Whether the code itself is right cannot be known before, since what it gets is not.
    """
    unwritten = wrong.seen.outcome is Outcome.NOT_WRITTEN
    fact = f"`{caller}` {wrong.use} your `{wrong.name}`, which {wrong.state}. "
    fact += f"So this step waits for step {wrong.number}."
    own = "" if unwritten else f" {PLACE.sub('', wrong.seen.fact)} {wrong.seen.look}"
    told = reworded(finding, fact, f"Look there first.{own}".strip())
    misconception = wrong.seen.misconception
    return replace(told, outcome=Outcome.WAITS, right="", misconception=misconception)


def reworded(finding: Finding, fact: str, look: str) -> Finding:
    """Return a finding in words that were computed, without the name of a mistake."""
    bare = finding.evidence.bare if finding.evidence else finding
    seen = bare.message if bare is not finding else " ".join((finding.fact, finding.look)).strip()
    right = f"{finding.right} {PASSING}".strip()
    return replace(
        finding,
        fact=fact,
        look=look,
        right=right,
        misconception=None,
        matches=(),
        details=(*bare.details, seen) if seen not in fact else bare.details,
        vague=False,
        cause=True,
    )


def without_way_back(finding: Finding, reply: Returned) -> Finding:
    """Return a finding on gradients of a layer that returns no tensor."""
    given = type_words(reply.value, "tensor")
    fact = f"The layer returns {given}, and no gradient can be sent back through that."
    return replace(finding, fact=fact, look="", misconception=None, vague=False, cause=True)


def right_by_itself(finding: Finding, right: Collection[str]) -> Finding:
    """Return a finding that names a mistake in a step of those that are `right`, told so.

    The step is not blamed for a layer that does as a mistake in it would.
    """
    found = PLACE.match(finding.fact)
    if found is None or found["step"] not in right:
        return finding
    method, name = found["method"], found["step"]
    mistake = finding.fact[found.end() :]
    kept = "" if method == "__init__" else ", and at what `__init__` keeps for them"
    return replace(
        finding,
        fact=f"Your `{name}` is right by itself. But your `{method}` gives the same result as "
        f"with this mistake in it: “{mistake}”",
        look=f"Look at the lines of `{method}` that call it, or that do its work{kept}.",
    )


def bare(finding: Finding) -> Finding:
    """Return what was seen where a finding names a mistake that only ends in the same exception.

    Many do, so that it does not tell them apart.
    """
    seen = finding.details[-1] if finding.details else finding.fact
    return reworded(finding, seen, "")


def nameless(finding: Finding) -> Finding:
    """Return a finding that names a mistake with what was seen, and without the name."""
    if finding.misconception is None:
        return finding
    *others, seen = finding.details or (finding.fact,)
    details = tuple(others)
    bare = replace(finding, misconception=None, matches=(), fact=seen, look="", details=details)
    return replace(bare, vague=True)


def in_one_place(finding: Finding, step: str, method: str) -> Finding:
    """Return a finding on a mistake in what the layer does by itself, and not in the step."""
    here = place_inside(step)
    return replace(finding, fact=finding.fact.replace(place_in(step, method), here))


def placed_call(finding: Finding, calls: Sequence[LayerCall]) -> Finding:
    """Say in which step the line is that raises, and where that step is called."""
    if finding.outcome is not Outcome.RAISED or not calls or calls[-1].answered:
        return finding
    last = calls[-1]

    def placed(words: str) -> str:
        where = rf"Line \1 of `{last.step}`, called in line {last.line}, "
        return re.sub(rf"^Line (?!{last.line},)(\d+), ", where, words)

    details = tuple(map(placed, finding.details))
    return replace(finding, fact=placed(finding.fact), details=details)
