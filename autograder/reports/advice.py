"""Sentences about the whole: the chain end to end, together with every step alone.

A student whose step 4 is wrong sees wrong results from step 4 on. The sentence
made here says which later steps are still right, and where to begin.
"""

from __future__ import annotations

from collections.abc import Sequence

from autograder.model.exercise import Exercise
from autograder.model.marking import is_partly_marked
from autograder.model.symbols import OUR_FAULT
from autograder.model.verdict import Finding, LayerVerdict, Outcome, StepVerdict, Verdict
from autograder.reports.finding import told

_PURPOSE = "The steps are its parts as functions, so that each part can be checked by itself."


def chain_sentence(exercise: Exercise, verdict: Verdict) -> str:
    """Return the sentence that says how the steps work end to end, and where to begin."""
    chain = verdict.chain
    first = first_missed(verdict)
    if not chain.asked and chain.outcome is Outcome.PASSED:
        return _each_alone(verdict, first)
    if chain.outcome is Outcome.INFRASTRUCTURE:
        begin = f" Until then, look at step {first} first." if first else ""
        return f"Your steps have not been run end to end yet. {OUR_FAULT}{begin}"
    if layer_leads(verdict):
        return _whole_layer(exercise, verdict)
    return _chain_words(exercise, verdict)


def own_layer(verdict: Verdict) -> LayerVerdict | None:
    """Return the student's own layer when it is right by itself, else None."""
    layer = verdict.chain.layer
    return layer if layer and layer.is_right else None


def unwritten(verdict: Verdict) -> tuple[int, ...]:
    """Return the numbers (from 1) of the steps worth points that are not written."""
    return tuple(
        position
        for position, step in enumerate(verdict.steps, start=1)
        if step.max_points and step.outcome is Outcome.NOT_WRITTEN
    )


def chain_finding(verdict: Verdict) -> Finding | None:
    """Return what was found end to end, unless a right layer does without the step that stops."""
    chain = verdict.chain
    beside = own_layer(verdict) and chain.outcome is Outcome.NOT_WRITTEN
    return None if beside else chain.finding


def layer_leads(verdict: Verdict) -> bool:
    """Whether the first thing to say is that the whole layer is right."""
    return own_layer(verdict) is not None and verdict.chain.outcome is not Outcome.PASSED


def _whole_layer(exercise: Exercise, verdict: Verdict) -> str:
    layer = own_layer(verdict)
    assert layer
    lead = f"Your layer is complete and right: `{layer.name}` passes all of its checks by itself."
    if all(step.passes for step in verdict.steps):
        return f"{lead} {_chain_words(exercise, verdict)}"
    parts = [lead, _PURPOSE]
    earned = [n for n, step in enumerate(verdict.steps, start=1) if step.by_layer]
    if earned:
        parts.append(_earned(earned))
    first = first_missed(verdict)
    if first in unwritten(verdict):
        parts.append(f"Next comes step {first}, which is not written yet and has its own points.")
    elif first:
        parts.append(f"Step {first}, judged alone, is not right yet, so look there first.")
    return " ".join(parts)


def _earned(positions: Sequence[int]) -> str:
    which, its = steps_words(positions), "its" if len(positions) == 1 else "their"
    written = f"You did not write {which} as {'a function' if its == 'its' else 'functions'}"
    return f"{written}. Your layer does {its} work, so you get {its} points."


def _chain_words(exercise: Exercise, verdict: Verdict) -> str:
    chain, first = verdict.chain, first_missed(verdict)
    if chain.breaks_at is not None:
        return _broken(verdict, [step.name for step in exercise.steps].index(chain.breaks_at) + 1)
    if chain.outcome is not Outcome.PASSED:
        if first:
            return f"Your steps are not right end to end yet; look at step {first} first."
        return "Every step is right alone; joined end to end, your steps do not fit together yet."
    if first:
        return (
            f"Your steps joined end to end give the right result; step {first}, judged alone, "
            "does not yet, so look there first."
        )
    if verdict.infrastructure:
        return "Your steps joined end to end give the right result."
    return "Every step is right, alone and joined end to end."


def _each_alone(verdict: Verdict, first: int) -> str:
    """Return the sentence where nobody asked how the steps work together."""
    if first:
        return f"Look at step {first} first."
    return "" if verdict.infrastructure else "Every step is right."


def first_missed(verdict: Verdict) -> int:
    """Return the number (from 1) of the first step that the student should correct, or 0."""
    for position, step in enumerate(verdict.steps, start=1):
        # A bonus is worth no points, so nobody has to correct it, unless nothing is worth any.
        missed = step.outcome not in (Outcome.PASSED, Outcome.INFRASTRUCTURE)
        counts = step.max_points or not verdict.max_points
        if counts and missed and not step.by_layer:
            return position
    return 0


def first_line(verdict: Verdict) -> tuple[int, str]:
    """Return the first thing to look at in one line, and the number of its step.

    The number is 0 when the line is not about a single step. A step that was not judged comes
    first, because no points are written for it.
    """
    outcomes = [step.outcome for step in verdict.steps]
    if verdict.infrastructure:
        position = outcomes.index(Outcome.INFRASTRUCTURE) + 1
    else:
        position = first_missed(verdict)
    if position:
        step = verdict.steps[position - 1]
        alone = step.outcome is Outcome.NOT_WRITTEN and own_layer(verdict)
        lead = "the whole layer is right; " if alone else ""
        return (0 if step.outcome is Outcome.REJECTED else position), lead + told(step).line
    if any(step.by_layer for step in verdict.steps):
        return 0, "the whole layer is right, and does the work of the steps that are not written"
    if verdict.chain.outcome is Outcome.PASSED and not verdict.chain.asked:
        return 0, "every step is right"
    if verdict.chain.outcome is Outcome.PASSED:
        return 0, "every step is right, alone and end to end"
    return 0, f"end to end: {told(verdict.chain).line}"


def step_note(exercise: Exercise, verdict: Verdict, step: StepVerdict) -> str:
    """Return what to add to "right" for a step that had correct inputs or earlier steps.

    Where it is not right and has points all the same, return what they are for.
    """
    if is_partly_marked(step):
        return f"in {len(step.checks) - step.checks_passed} of {len(step.checks)} checks"
    if step.outcome is not Outcome.PASSED:
        return ""
    if step.leaning:
        return "with correct earlier steps in place of yours"
    breaks_at = verdict.chain.breaks_at
    if breaks_at is not None and breaks_at in exercise.before(step.name):
        return "given correct inputs"
    return ""


def steps_words(positions: Sequence[int]) -> str:
    """Return "step 6", "steps 6 and 7" or "steps 1 to 3, 5 and 8", for sorted positions."""
    runs: list[list[int]] = []
    for position in positions:
        if runs and runs[-1][-1] == position - 1:
            runs[-1].append(position)
        else:
            runs.append([position])
    # Two in a row are listed: "6 and 7", not "6 to 7".
    parts = [
        part
        for run in runs
        for part in ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else [str(n) for n in run])
    ]
    listed = " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]
    return f"step {listed}" if len(positions) == 1 else f"steps {listed}"


def _broken(verdict: Verdict, broken: int) -> str:
    right = [n for n, s in enumerate(verdict.steps, start=1) if s.outcome is Outcome.PASSED]
    before = [n for n in right if n < broken]
    after = [n for n in right if n > broken]
    first = first_missed(verdict)
    if 0 < first < broken:  # joined, its fault does not show before
        end = f"joined end to end, the first difference shows at step {broken}"
        return f"Step {first}, judged alone, is not right yet, so look there first; {end}."
    if broken in right:
        return (
            f"{_sentence(_are(before + [broken]))} right alone; joined, the first difference "
            f"shows at step {broken}, so look at what it gets from the steps before it."
        )
    known = [f"{_are(before)} right"] if before else []
    known += [f"{_are(after)} right given correct inputs"] if after else []
    if verdict.steps[broken - 1].outcome is Outcome.NOT_WRITTEN:
        end = f"your chain stops at step {broken}, which is not written yet, so continue there"
    else:
        end = f"your chain breaks at step {broken}, so look there first"
    return _sentence(f"{', and '.join(known)}; {end}" if known else end) + "."


def _are(positions: Sequence[int]) -> str:
    return f"{steps_words(positions)} {'is' if len(positions) == 1 else 'are'}"


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:]
