"""Which call of a step makes a layer wrong, seen by curing it; how findings on it are told.

A call is cured when somebody else answers it right. Who is blamed is the first call that gets
something wrong, though a later one may have to be cured as well.
"""

from __future__ import annotations

import math
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from autograder.judging.compare import ResultSpec, compare
from autograder.judging.conditions import INFLUENCE, explained, without_conditions
from autograder.judging.diagnosis import PLACE, place_in, place_inside
from autograder.judging.examples import Example
from autograder.judging.expectation import Agrees, Expectation, judge
from autograder.judging.value_words import type_words
from autograder.tracing.call_words import DeviationWords, Told, ending_words, mask_words
from autograder.tracing.calls import CallDeviation, MatchedCalls, ValueOrigin, alike, small_error
from autograder.tracing.layer_code import LayerCode, wrong_size
from autograder.values.request import Failed, Reply, Request, Returned, Watchable, Watched
from autograder.values.symbols import UNWRITTEN
from autograder.values.verdict import CheckVerdict, Finding, Outcome
from autograder.worker.call import ANSWER, ARGUMENTS, BOOLEANS, FIRST, RESULTS, LayerCall, StandIn
from autograder.worker.wire import Value

# Findings on a layer, told by a step or call at fault; steps that only a layer shows wrong.

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


# What may be wrong inside a layer, and not in what keeps it from running at all.
TOLD = (Outcome.WRONG_VALUES, Outcome.WRONG_SHAPE, Outcome.WRONG_TYPE, Outcome.RAISED)


SECONDS = 3.0  # for the steps of a layer, and for its calls; each idea runs the code once more


class TooLong(Exception):
    """The code is slow, and there is more to try."""


class TimeLeft:
    """The end of the time that looking for a fault may take."""

    def __init__(self, seconds: float = math.inf) -> None:
        self._end = time.monotonic() + seconds

    def demand(self) -> None:
        """Raise `TooLong` if there is no time left."""
        if time.monotonic() > self._end:
            raise TooLong


@dataclass(frozen=True)
class KnownSteps:
    """The steps that are functions, in order, with the `forms` of their results.

    `elsewhere` are those that right layers call when they are asked other questions.
    """

    forms: Mapping[str, ResultSpec]
    elsewhere: Collection[str]


@dataclass(frozen=True)
class TracedLayer:
    """A learner's layer that is asked one question, again and again, with its calls of steps.

    The `example` holds the calls of a right layer. `code` is the text of the learner's.
    """

    example: Example
    steps: KnownSteps
    respondent: Watchable
    code: LayerCode
    left: TimeLeft

    @cached_property
    def seen(self) -> Watched:
        """What the layer answers, and the calls that it makes meanwhile."""
        return self.watched({})

    def watched(self, stand_ins: Mapping[int, StandIn]) -> Watched:
        """Return what is seen when some of its calls, by number, are answered otherwise."""
        self.left.demand()
        return self.respondent.watch(self.example.request, tuple(self.steps.forms), stand_ins)

    def is_right_with(self, stand_ins: Mapping[int, StandIn]) -> bool:
        """Say whether the layer is right when some of its calls are answered otherwise."""
        return self._is_right(self.watched(stand_ins).reply)

    def told(self, finding: Finding, mistake: str) -> Finding | None:
        """Return the finding with the call, or the size, that makes the layer wrong.

        It may have named a mistake in the step `mistake`, "" for one of the layer itself, which
        says more. None where nothing of that was seen.
        """
        calls, reply = self.seen.calls, self.seen.reply
        if self._is_right(reply):
            return None
        if self._has_right_values(reply):
            return finding
        if isinstance(reply, Returned) and self._has_no_way_back(reply):
            return without_way_back(finding, reply)
        told = self._of_calls(finding, mistake) or self._of_sizes()
        return placed_call(reworded(finding, *told), calls) if told else None

    def _is_right(self, reply: Reply) -> bool:
        return judge(self.example.expectation, self.example.request, reply, ()) is None

    def _has_right_values(self, reply: Reply) -> bool:
        """Say whether what is wrong is not in the numbers that the layer returns."""
        expected = self.example.expectation
        if not isinstance(expected, Agrees) or isinstance(reply, Failed):
            return False
        if self.example.request.read:
            return False
        return compare(reply.value, expected.expected, expected.form) is None

    def _has_no_way_back(self, reply: Returned) -> bool:
        """Say whether gradients are asked of what is no tensor, through which none can be sent."""
        request = self.example.request
        asked = request.backward is not None and bool(request.read)
        return asked and not isinstance(reply.value, np.ndarray)

    def _of_calls(self, finding: Finding, mistake: str) -> Told | None:
        """Return what is wrong with a call of a step, where that was seen."""
        own, reply = self.seen.calls, self.seen.reply
        if not own or not self.example.calls or (finding.misconception and not mistake):
            return None
        matched = MatchedCalls.of(own, self.example.calls)
        origin = ValueOrigin(self.example, self.steps.forms)
        words = DeviationWords(self.example, self.code, origin, own, matched, reply)
        uncalled = finding.misconception and mistake not in {call.step for call in own}
        caused = finding.cause and not INFLUENCE.match(finding.fact)
        return _CallBlame(self, words, bool(uncalled or caused)).told(finding)

    def _of_sizes(self) -> Told | None:
        """Return what is wrong with a size that the class keeps, if one is."""
        request = self.example.request

        def read(name: str) -> Value:
            asking = replace(request, method="", read=(name,), backward=None)
            self.left.demand()
            reply = self.respondent.ask(asking)
            return reply.attributes.get(name) if isinstance(reply, Returned) else None

        return wrong_size(self.code, request.target, self.example.calls, read)


def plainly(example: Example) -> Example:
    """Return an example without the conditions under which it is asked."""
    if not isinstance(example.expectation, Agrees) or example.request.read:
        return example
    request, expectation = without_conditions(example.request, example.expectation)
    return replace(example, request=request, expectation=expectation)


@dataclass(frozen=True)
class _CallBlame:
    """Finds the wrong call of a layer, which `words` describes.

    Where a known mistake in a step that it does not call, or another cause, was seen, that is
    `named`: only exact words outdo it.
    """

    layer: TracedLayer
    words: DeviationWords
    named: bool

    def told(self, finding: Finding) -> Told | None:
        """Return what is wrong with a call of a step, where that was seen."""
        return (
            self._of_unpacking()
            or self._of_other_case()
            or self._of_more_calls()
            or self._of_deviations()
            or self._of_ending(finding)
        )

    def _of_unpacking(self) -> Told | None:
        """Return the words for results that get each other's names, if that is all."""
        for number, call in enumerate(self.words.own):
            order = self.words.unpacked_order(call)
            if order and self._cures(number, StandIn(RESULTS, order=order)):
                return self.words.unpacked(call)
        return None

    def _of_other_case(self) -> Told | None:
        """Return the words for a call that ends the layer, and belongs to other questions."""
        last, words = self.words.own[-1], self.words
        if last.answered or not last.bound:
            return None
        here = {call.step for call in words.example.calls}
        elsewhere = last.step in self.layer.steps.elsewhere and last.step not in here
        return words.in_other_case(last) if elsewhere else None

    def _of_more_calls(self) -> Told | None:
        for number in self.words.matched.more:
            if self._cures(number, StandIn(FIRST)):
                return self.words.once_more(self.words.own[number])
        return None

    def _of_deviations(self) -> Told | None:
        """Return the words for the first wrong call that matters."""
        words = self.words
        effective = [each for each in words.matched.effective if each.is_comparable]
        for deviation in effective:
            first = effective[0]
            if words.is_raising(deviation):
                wrong = next((each for each in (first, deviation) if self._is_plain(each)), None)
                if wrong:
                    return words.given(wrong)
            told = self._of_cured(deviation)
            if told:
                return words.given(first) if self._outdoes(first, deviation) else told
            if deviation.changes_a_layer and deviation is first:
                return words.given(deviation)
        doubtless = effective and not self.named and words.is_beyond_doubt(effective[0])
        return words.given(effective[0]) if doubtless else None

    def _is_plain(self, deviation: CallDeviation) -> bool:
        """Say whether a call gets something that has a name."""
        return bool(deviation.places) and self.words.is_exact(deviation)

    def _outdoes(self, first: CallDeviation, cured: CallDeviation) -> bool:
        """Say whether the first call is to blame, though a later one cures the layer."""
        if first is cured or self.named or not first.places:
            return False
        return self.words.is_beyond_doubt(first) or self._leads_to(first, cured)

    def _leads_to(self, first: CallDeviation, later: CallDeviation) -> bool:
        """Say whether a later call gets more of what it should as soon as the first is right."""
        stand_in = self._stand_in(first)
        calls = self.layer.watched({first.number: stand_in}).calls if stand_in else ()
        calls = calls[later.number :]
        if not calls or calls[0].step != later.own.step or not calls[0].bound:
            return False
        pairs = list(zip(calls[0].arguments, later.right.arguments))
        return any(alike(*pairs[n]) for n in later.places if n < len(pairs))

    def _of_cured(self, deviation: CallDeviation) -> Told | None:
        """Return the words for a call whose right answer cures the layer, else None."""
        if self.named and not self.words.is_exact(deviation):
            return None
        if not deviation.places and self._cures(deviation.number, StandIn(BOOLEANS)):
            inverts = self.layer.code.inverts(deviation.own.step)
            if words := mask_words(deviation.own, self.words.own, inverts):
                return words
        stand_in = self._stand_in(deviation)
        cured = stand_in is not None and self._cures(deviation.number, stand_in)
        return self.words.cured(deviation) if cured else None

    def _cures(self, number: int, stand_in: StandIn) -> bool:
        """Say whether the layer is right when one of its calls is answered by somebody else."""
        return self.layer.is_right_with({number: stand_in})

    def _stand_in(self, deviation: CallDeviation) -> StandIn | None:
        """Return what may stand in the place of a call: what is right, as far as it is known."""
        if deviation.right.result is not None:
            return StandIn(ANSWER, deviation.right.result)
        return StandIn(ARGUMENTS, order=deviation.order) if deviation.order else None

    def _of_ending(self, finding: Finding) -> Told | None:
        """Return what the layer does after its calls, if all of them are right."""
        request, reply = self.words.example.request, self.words.reply
        if self.named or self.words.matched.effective or not isinstance(reply, Returned):
            return None
        if request.read or not request.method:
            return None
        return ending_words(self.words, finding, reply.value)
