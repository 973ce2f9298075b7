"""Findings on a layer, told by the step or the call that is at fault and not by its numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from autograder.judging.diagnosis import PLACE, place_in, place_inside
from autograder.judging.layer_calls import LayerCall
from autograder.judging.precision import apart
from autograder.judging.value_words import type_words
from autograder.model.request import Returned
from autograder.model.symbols import UNWRITTEN
from autograder.model.verdict import Finding, Outcome
from autograder.protocol.wire import Value

PASSING = "Each step that your layer calls passes its own check."
# Of the largest number: right answers in double precision are much nearer, also where a step has
# computed with single precision.
SMALL = 5e-7
_UNFIT = "passes its own check, but is not right with what a right layer passes to it"


@dataclass(frozen=True)
class WrongStep:
    """A step that does not pass its own check: its name, its number (from 1), what that says.

    `use` is what the step that waits for it does with it. What `passes` its own check all the same
    is wrong with what a layer passes to it.
    """

    name: str
    number: int
    seen: Finding
    use: str = "calls"
    passes: bool = False

    @property
    def state(self) -> str:
        """What to say of it in the sentence on what waits for it."""
        if self.passes:
            return _UNFIT
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


def small_error(given: Value, expected: Value) -> Finding | None:
    """Return what is wrong with the numbers of a step by less than its own checks can see, if any.

    Both are in double precision, in which right answers agree to many more digits. Such an error is
    small in the step, and may grow in what a layer makes of it.
    """
    largest, difference = apart(given, expected)
    if difference <= SMALL * largest:
        return None
    return Finding(
        Outcome.WRONG_VALUES,
        f"Its numbers are nearly right: they differ by up to {difference:.1g}, and the largest is "
        f"{largest:.2g}.",
        look="That is too much for what the layer makes of them. Is a small number added "
        "somewhere, or a bound set, that is not expected?",
    )


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


def without_name(finding: Finding, step: str, method: str) -> Finding:
    """Return a finding that named a mistake in a step that is right by itself."""
    raised = finding.outcome is Outcome.RAISED
    if raised and finding.evidence:
        return finding.evidence.bare
    seen = finding.details[-1] if finding.details else finding.fact
    # Many mistakes end in the same exception, so that it does not tell them apart.
    look = (
        ""
        if raised
        else (
            f"The same comes out of a right `{method}` where `{step}` has this mistake: "
            f"“{PLACE.sub('', finding.fact)}” Which line of your class has that effect?"
        )
    )
    return reworded(replace(finding, evidence=None), seen, look)


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
