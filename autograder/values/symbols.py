"""The signs and words of every outcome, what it is worth, and how a run was protected."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from autograder.values.verdict import NOT_JUDGED, Finding, Outcome, StepVerdict, Verdict

# The sign and the words of every outcome, for the class and for a learner alike.
#
# A sign is never alone: it stands beside words or above a key, so that nobody has to tell
# outcomes apart by color. No word here depends on the sandbox. Sentences that people read in
# several places have their home here too.

RIGHT, WRONG, ABSENT = "✓", "✗", "·"
# Above the code of a third hint.
SIMILAR = "Similar code, for another job:"
GUESS = "Now guess"  # before the question for who has written a step
HIDDEN = "In a course, hidden graders ask the same with other inputs, after you hand in."
NEEDS_PYTHON = "it needs Python "  # with what the grader has, behind it
NOT_YET = "it has not been judged as it is now"
OUR_FAULT = "The fault is on our side and costs you nothing."
UNWRITTEN = "is not written yet"  # a stub says so of itself, and is known by these words
# What to look for in code that does not return.
LOOP = "Is there an endless loop, a wait such as `sleep`, or too much work?"
PRINT = "Is there a `print` inside a loop?"
EXIT = "Is there a call such as `exit()` or `os._exit()`?"


@dataclass(frozen=True)
class Mark:
    """How an outcome is shown: `sign` in a cell, `words` beside it, `sentence` to the student."""

    sign: str
    words: str
    sentence: str


MARKS: dict[Outcome, Mark] = {
    Outcome.PASSED: Mark(RIGHT, "right", "This step is right."),
    Outcome.WRONG_TYPE: Mark(
        WRONG, "wrong type", "Your code returns a value of a different type than expected."
    ),
    Outcome.WRONG_SHAPE: Mark(
        WRONG, "wrong shape", "Your code returns an array of a different shape than expected."
    ),
    Outcome.WRONG_VALUES: Mark(
        WRONG, "wrong values", "Your code returns values that differ from the expected ones."
    ),
    Outcome.RAISED: Mark("!", "stopped with an error", "Your code stops with an error."),
    Outcome.NOT_WRITTEN: Mark(ABSENT, "not written yet", f"This step {UNWRITTEN}."),
    Outcome.TIMED_OUT: Mark("∞", "took too long", "Your code runs past the time limit."),
    Outcome.OUT_OF_MEMORY: Mark(
        "☠", "ran out of memory", "Your code asks for more memory than the limit allows."
    ),
    Outcome.CRASHED: Mark("☠", "ended Python", "Your code ends Python before it returns."),
    Outcome.OUTPUT_LIMIT: Mark(
        "☠", "printed too much", "Your code prints more text than the limit allows."
    ),
    Outcome.PROTOCOL: Mark(
        "☠", "answer not readable", "What your code gives back cannot be read as arrays."
    ),
    Outcome.REJECTED: Mark(
        "⊘", "not accepted", "What you handed in cannot be read, so no step was run."
    ),
    Outcome.INFRASTRUCTURE: Mark(
        "?", "not judged yet", f"This step is not judged yet. {OUR_FAULT}"
    ),
    Outcome.WAITS: Mark(
        "…", "waits for an earlier step", "This step calls an earlier one that is not right yet."
    ),
}

LAYER_DOES_IT = "Your layer does its work, so you get its points."
# A step that is not written, whose points come from a right layer that does its work.
BY_LAYER = Mark(
    "+",
    "done by your layer",
    f"You did not write this step as a function. {LAYER_DOES_IT}",
)

# What each sign stands for, in the order of a legend.
KEY: dict[str, str] = {
    RIGHT: "right",
    BY_LAYER.sign: "done by the layer",
    WRONG: "wrong",
    MARKS[Outcome.RAISED].sign: "error",
    ABSENT: "not written",
    MARKS[Outcome.WAITS].sign: "waits for an earlier step",
    MARKS[Outcome.TIMED_OUT].sign: "too slow",
    MARKS[Outcome.CRASHED].sign: "crashed, or out of memory or output",
    MARKS[Outcome.REJECTED].sign: "not accepted",
    MARKS[Outcome.INFRASTRUCTURE].sign: "not judged (our fault)",
}


# What a terminal calls the color of each tone.
STYLES = {"right": "green", "wrong": "red", "other": "yellow"}


def mark(outcome: Outcome) -> Mark:
    """Return the mark of `outcome`; every outcome has one."""
    return MARKS[outcome]


def step_mark(step: StepVerdict) -> Mark:
    """Return the mark of a step: that of its outcome, unless the layer does its work."""
    return BY_LAYER if step.by_layer else mark(step.outcome)


def key(outcomes: Iterable[Outcome], *more: Mark) -> tuple[str, ...]:
    """Return what the signs of these outcomes, and of `more` marks, stand for, as "✓ right".

    They are in the order of KEY.
    """
    signs = {mark(outcome).sign for outcome in outcomes} | {each.sign for each in more}
    return tuple(f"{sign} {words}" for sign, words in KEY.items() if sign in signs)


def tone(sign: str) -> str:
    """Return the color family of a sign: "right", "wrong" or "other"."""
    return {RIGHT: "right", BY_LAYER.sign: "right", WRONG: "wrong", "!": "wrong", "☠": "wrong"}.get(
        sign, "other"
    )


def style(sign: str) -> str:
    """Return the color of a sign in a terminal."""
    return STYLES[tone(sign)]


def our_fault(details: tuple[str, ...], subject: str = "It could not be judged") -> Finding:
    """Return the finding on what failed on our side; `details` are for the instructor."""
    look = "Your instructor has been told."
    return Finding(Outcome.INFRASTRUCTURE, not_your_fault(subject), look=look, details=details)


def why_not_graded(verdict: Verdict) -> str:
    """Return why there is no mark, in sentences for the instructor; "" when there is one."""
    failed = [step for step in verdict.steps if step.outcome in NOT_JUDGED]
    ours = [step for step in failed if step.outcome is Outcome.INFRASTRUCTURE]
    if ours:
        details = "; ".join(ours[0].finding.details) if ours[0].finding else ""
        if details == NOT_YET:
            return f"{NOT_YET}."
        if details.startswith(NEEDS_PYTHON):
            return f"{details}: a fault of the course, and no zero."
        return f"a fault of the grader ({details})." if details else "a fault of the grader."
    if not failed:
        return ""
    return failed[0].finding.fact if failed[0].finding else mark(failed[0].outcome).sentence


def not_your_fault(subject: str) -> str:
    """Return the sentence on what failed on our side; `subject` says what could not be done."""
    return f"{subject}, through no fault of yours."


def not_there(name: str, within: str = "") -> str:
    """Return the sentence on a name that the code, or the class `within` it, does not have."""
    place = f" in `{within}`" if within else ""
    return f"There is no `{name}`{place} yet."


def not_written(name: str) -> str:
    """Return the sentence on a function that is still as it was handed out."""
    return f"`{name}` {UNWRITTEN}."


def number(points: float) -> str:
    """Return `points` as people write them: 2 and not 2.0, 1.5, 0.33."""
    return f"{round(points, 2) + 0.0:g}"  # -0 is 0


def count(amount: float, noun: str) -> str:
    """Return "1 student", "2 students", "1.5 points"."""
    shown = str(amount) if isinstance(amount, int) else number(amount)
    return f"{shown} {noun}" if amount == 1 else f"{shown} {noun}s"


# How a verdict is turned into points, where courses differ.

PARTS = 4  # points for a part of the checks are counted in quarters


@dataclass(frozen=True)
class MarkingRules:
    """What a course gives points for.

    With `layer_earns_steps`, a right layer earns the points of the steps that it does. With
    `partial_points`, a step that is not right earns its share of the checks that pass.
    """

    layer_earns_steps: bool = True
    partial_points: bool = False

    def marked(self, verdict: Verdict) -> Verdict:
        """Return `verdict` with the points that these rules give; nobody is judged for that."""
        if not self.partial_points:
            return verdict
        return replace(verdict, steps=tuple(map(_partly_marked, verdict.steps)))


DEFAULT_RULES = MarkingRules()


def _partly_marked(step: StepVerdict) -> StepVerdict:
    if step.is_done or step.outcome is Outcome.INFRASTRUCTURE:
        return step
    return replace(step, points=part_of(step.max_points, step))


def part_of(points: float, step: StepVerdict) -> float:
    """Return the part of `points` that the checks earn which `step` passes, in quarters.

    It is rounded down: a step that is not right never has all of its points.
    """
    return quarters_of(points, share_of_checks(step))


def share_of_checks(step: StepVerdict) -> float:
    """Return which part of a step's checks passes, from 0 to 1."""
    return step.checks_passed / len(step.checks) if step.checks else 0.0


def quarters_of(points: float, share: float) -> float:
    """Return a share of points, rounded down to quarters of a point."""
    return math.floor(PARTS * points * share) / PARTS


def is_partly_marked(step: StepVerdict) -> bool:
    """Whether a step has points although it is not right, nor done by the layer."""
    return bool(step.points) and not step.is_done


# How well a submission was isolated while it was graded; every verdict records it.


class Protection(enum.StrEnum):
    """The level that was measured, strongest first."""

    FULL = "full"  # namespaces, Landlock, system call filter, limits
    LANDLOCK = "landlock"  # Landlock, system call filter, limits: most containers
    NAMESPACES = "namespaces"  # namespaces, system call filter, limits: an older kernel
    PROCESS = "process"  # only a process of its own, which is nothing to rely on


# How long somebody worked, as far as the moments of their checks tell.

LONGEST_PAUSE = 15 * 60  # seconds between two checks; a longer pause is no work


@dataclass(frozen=True)
class WorkTime:
    """The moments of the first and the last check, the seconds of work, and how many checks.

    Moments are seconds since 1970.
    """

    first: float = 0.0
    last: float = 0.0
    seconds: float = 0.0
    checks: int = 0

    def after_check(self, now: float) -> WorkTime:
        """Return the time after a check at the moment `now`."""
        pause = now - self.last
        worked = pause if self.checks and 0 <= pause <= LONGEST_PAUSE else 0.0
        return WorkTime(self.first or now, now, self.seconds + worked, self.checks + 1)


def read_work_time(facts: Mapping[str, Any]) -> WorkTime:
    """Return what was noted; what is missing or no number counts as nothing."""
    try:
        first, last, seconds = (float(facts[name]) for name in ("first", "last", "seconds"))
        return WorkTime(first, last, seconds, int(facts["checks"]))
    except (KeyError, TypeError, ValueError, OverflowError):
        return WorkTime()
