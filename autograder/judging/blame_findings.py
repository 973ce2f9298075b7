"""Findings on a layer, told by the step or the call that is at fault and not by its numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from autograder.judging.diagnosis import PLACE, place_in, place_inside
from autograder.judging.layer_calls import LayerCall
from autograder.judging.value_words import type_words
from autograder.model.request import Returned
from autograder.model.symbols import UNWRITTEN
from autograder.model.verdict import Finding, Outcome

PASSING = "Each step that your layer calls passes its own check."


@dataclass(frozen=True)
class WrongStep:
    """A step that does not pass its own check: its name, its number (from 1), what that says.

    `use` is what the step that waits for it does with it.
    """

    name: str
    number: int
    seen: Finding
    use: str = "calls"


def waiting(finding: Finding, wrong: WrongStep, caller: str) -> Finding:
    """Return a finding on code that calls or extends a step which is wrong: it waits for it.

    Whether the code itself is right cannot be known before, since what it gets is not.
    """
    unwritten = wrong.seen.outcome is Outcome.NOT_WRITTEN
    state = UNWRITTEN if unwritten else "does not pass its own check"
    fact = f"`{caller}` {wrong.use} your `{wrong.name}`, which {state}. "
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
