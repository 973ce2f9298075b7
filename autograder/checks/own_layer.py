"""The student's own class with the student's own steps: is it right, and if not, by whose fault?

A class that passes only with the reference's answers in place of steps which had passed alone is
right itself. What is wrong is then one of those steps, in a way that shows only in the layer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from autograder.model.exercise import Exercise
from autograder.model.verdict import ChainVerdict, CheckVerdict, Finding, Outcome, StepVerdict

# Says whether all checks of a step pass with the reference in place of these steps; None when that
# could not be seen, because the code got stuck.
Passes = Callable[[tuple[str, ...]], bool | None]

_IN_PLACE = re.compile("inplace operation|modified inplace|in-place")  # as PyTorch says it
CHECK = "in_the_layer"
TITLE = "it works in your layer, with your other steps"


def faulty_steps(
    before: Sequence[str], steps: Iterable[StepVerdict], exempt: Iterable[str], passes: Passes
) -> tuple[str, ...] | None:
    """Return the steps that are right alone, but that a leaning step cannot do with.

    before: the steps in front of it, all of which the reference answers for when it passes. One
    at a time, those that are right alone are given back to the student, the last one first: a step
    that calls another is tried with the reference's in its place. Those of `exempt` make
    what the layer keeps: what becomes of that is the layer's own doing. None when the code got
    stuck on the way.
    """
    right = [step.name for step in steps if step.passes and not step.leaning]
    wrong = tuple(name for name in before if name not in right)
    explained = passes(wrong)
    if explained or explained is None:
        return None if explained is None else ()
    left = {name for name in exempt if name in right}
    replaced = tuple(name for name in before if name not in left)
    cured = passes(replaced)
    if not cured:
        return None if cured is None else ()
    for name in (name for name in reversed(right) if name not in left):
        fewer = tuple(other for other in replaced if other != name)
        goes = passes(fewer) if name in replaced else False
        if goes is None:
            return None
        replaced = fewer if goes else replaced
    return tuple(name for name in replaced if name in right)


def changes_in_place(layer: StepVerdict) -> bool:
    """Say whether a layer fails because it changes in place what a step gave it.

    A step that did so itself would fail alone, where its arguments and its gradients are looked at.
    The reference's answers are copies, so in the place of a step they would hide it.
    """
    finding = layer.finding
    if finding is None or finding.outcome is not Outcome.RAISED:
        return False
    return bool(_IN_PLACE.search(f"{finding.fact} {' '.join(finding.details)}"))


def charged(
    exercise: Exercise, steps: Sequence[StepVerdict], faulty: Iterable[str], alone: StepVerdict
) -> tuple[StepVerdict, ...]:
    """Return the verdicts, with those on `faulty` steps turned into what `alone` shows.

    alone: the verdict on the class with the student's own steps.
    """
    names = tuple(faulty)
    return tuple(
        StepVerdict.of(exercise.step(step.name), (*step.checks, _in_the_layer(step.name, alone)))
        if step.name in names
        else step
        for step in steps
    )


def _in_the_layer(name: str, alone: StepVerdict) -> CheckVerdict:
    seen = alone.finding
    assert seen
    finding = Finding(
        alone.outcome,
        f"In your `{alone.name}`, together with your other steps, `{name}` does not work. With "
        "another one in its place, the layer is right.",
        right="Alone, it gives what is expected.",
        look=f"What the layer shows: {seen.fact} {seen.look}".strip(),
        details=seen.details,
    )
    return CheckVerdict.of(CHECK, TITLE, finding)


def end_to_end(
    chain: ChainVerdict, steps: Iterable[StepVerdict], layers: Sequence[str]
) -> ChainVerdict:
    """Return the verdict on the whole: the student's own `layers` with the student's own steps.

    The chain passes only if they do, with the student's own steps. Whatever is wrong before them
    was found on the way.
    """
    if chain.outcome is not Outcome.PASSED:
        return chain
    known = tuple(steps)
    for layer in (step for step in known if step.name in layers):
        if not layer.passes:
            return ChainVerdict(layer.outcome, layer.name, layer.finding)
        if layer.leaning:
            cause = next((step for step in known if step.finding), layer)
            fact = f"Your `{layer.name}` is not right with your own steps."
            finding = cause.finding or Finding(Outcome.WRONG_VALUES, fact)
            return ChainVerdict(finding.outcome, cause.name, finding)
    return chain
