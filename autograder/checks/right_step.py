"""A step that is right is not blamed for a layer that does as a mistake in it would.

And of two layers that show the same, the first one is where to look.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from autograder.judging.diagnosis import PLACE
from autograder.model.verdict import Finding, StepVerdict


def without_blame(
    steps: tuple[StepVerdict, ...], layers: Collection[str]
) -> tuple[StepVerdict, ...]:
    """Return the verdicts, where no finding on one of the `layers` blames a step that is right.

    Such a finding rests on a known mistake in that step, which gives the layer's own result.
    """
    right = {step.name for step in steps if step.passes and not step.leaning}
    return tuple(_told(step, right) if step.name in layers else step for step in steps)


def led_to_the_first(
    steps: tuple[StepVerdict, ...], layers: Collection[str]
) -> tuple[StepVerdict, ...]:
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
    checks = (
        replace(check, finding=replace(check.finding, look=look))
        if check is step.failing and check.finding
        else check
        for check in step.checks
    )
    return replace(step, checks=tuple(checks))


def _told(step: StepVerdict, right: Collection[str]) -> StepVerdict:
    checks = (
        replace(check, finding=_reworded(check.finding, right)) if check.finding else check
        for check in step.checks
    )
    return replace(step, checks=tuple(checks))


def _reworded(finding: Finding, right: Collection[str]) -> Finding:
    found = PLACE.match(finding.fact)
    if found is None or found["step"] not in right:
        return finding
    method, name = found["method"], found["step"]
    mistake = finding.fact[found.end() :]
    kept = "" if method == "__init__" else ", and at what `__init__` keeps for them"
    return replace(
        finding,
        fact=f"Your `{name}` is right by itself, but your `{method}` gives the same result as "
        f"with this mistake in it: “{mistake}”",
        look=f"Look at the lines of `{method}` that call it, or that do its work{kept}.",
    )
