"""What a check of the learner's own work found: plain values from the child for the parent.

They are sent as JSON, so the parent does not need NumPy. As everywhere else, a `StepVerdict` says
what is right and wrong. Beside it is what only a learner is shown.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from autograder.judging.time_limit import NOWHERE, CodePlace, at
from autograder.submission.cells import parsed, top_level
from autograder.submission.syntax_tree import methods_of
from autograder.values.exercise import Definition, Exercise, Step, signature_in
from autograder.values.symbols import EXIT, PRINT
from autograder.values.verdict import (
    CheckVerdict,
    Finding,
    Outcome,
    StepVerdict,
    finding_facts,
    told_once,
)

FORMAT_VERSION = 1


@dataclass(frozen=True)
class CheckRun:
    """One public check: its verdict, what the code printed, and the inputs in words.

    token: what is wrong of the token that the text follows, where the check is its example. drawn:
    what is drawn of it, as `step_pictures` reads it.
    """

    verdict: CheckVerdict
    printed: str = ""
    inputs: tuple[str, ...] = ()
    token: str = ""
    drawn: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StepRun:
    """One step and its public checks, in order; their verdicts make up `verdict`, each told once.

    total: how many public checks there are; some are asked only once the others pass. does: the
    steps that need not be written, because this one is a layer that passes and does their work.
    picture: what a notebook draws of it, as `step_pictures` reads it.
    """

    step: Step
    verdict: StepVerdict
    checks: tuple[CheckRun, ...]
    total: int = 0
    does: tuple[str, ...] = ()
    picture: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        step: Step,
        checks: tuple[CheckRun, ...],
        total: int = 0,
        does: Iterable[str] = (),
        picture: Mapping[str, Any] | None = None,
    ) -> StepRun:
        """Return the run of a step with these checks; one that passes `does` the work of others."""
        verdict = StepVerdict.of(step, told_once(check.verdict for check in checks))
        total = max(total, len(verdict.checks))
        does = tuple(does) if verdict.passes else ()
        return cls(step, verdict, checks, total, does, picture or {})

    def beside(self, others: Iterable[StepRun]) -> StepRun:
        """Return the run: done by the layer, if it is open and one of the `others` does it."""
        done = any(self.step.name in other.does for other in others)
        if not (done and self.verdict.never_written):
            return self
        return replace(self, verdict=StepVerdict.of(self.step, self.verdict.checks, by_layer=True))

    @property
    def elsewhere(self) -> bool:
        """Whether a step that the layer does seems to be written, where or as it does not count."""
        finding = self.verdict.finding
        return self.verdict.by_layer and finding is not None and bool(finding.look)

    @property
    def checks_passed(self) -> int:
        """How many checks passed, each counted once."""
        return self.verdict.checks_passed

    @property
    def token(self) -> str:
        """What is wrong of the token that the text follows, where numbers are what is wrong."""
        told = self.verdict.finding
        if told is None or told.outcome is not Outcome.WRONG_VALUES:
            return ""
        return next((check.token for check in self.checks if check.token), "")

    @property
    def failing(self) -> CheckRun | None:
        """The first check with a finding, or None if every check passed."""
        found = self.verdict.failing
        return next((check for check in self.checks if check.verdict is found), None)


@dataclass(frozen=True)
class Checkup:
    """The answer to one `attn check`: what was run, and the result of each requested step.

    troubles: why parts of the file could not be run, before any step was asked. printed: what the
    file printed while it was loaded.
    """

    exercise: Exercise
    file: Path
    cells: tuple[str, ...]
    steps: tuple[StepRun, ...]
    remarks: tuple[str, ...] = ()
    troubles: tuple[Finding, ...] = ()
    printed: str = ""

    @property
    def passes(self) -> bool:
        """Whether every requested step is done."""
        return self.next is None

    @property
    def next(self) -> StepRun | None:
        """The first step that is not done, or None."""
        return next((run for run in self.steps if not run.verdict.is_done), None)

    @property
    def points(self) -> float:
        """The points of the steps that are done."""
        return sum(run.verdict.points for run in self.steps)

    @property
    def max_points(self) -> float:
        """The points of all requested steps."""
        return sum(run.verdict.max_points for run in self.steps)

    def document(self) -> dict[str, Any]:
        """Return what `attn check --json` prints; its keys must not change."""
        first = self.next
        return {
            "format_version": FORMAT_VERSION,
            "exercise": self.exercise.name,
            "file": str(self.file),
            "passes": self.passes,
            "points": self.points,
            "max_points": self.max_points,
            "steps": [_step_facts(run) for run in self.steps],
            "next": _next_facts(first) if first else None,
            "troubles": [trouble.message for trouble in self.troubles],
            "remarks": list(self.remarks),
            "printed": self.printed,
        }


def _step_facts(run: StepRun) -> dict[str, Any]:
    told = {id(verdict) for verdict in run.verdict.checks}
    return {
        "name": run.verdict.name,
        "title": run.verdict.title,
        "passes": run.verdict.passes,
        "points": run.verdict.points,
        "max_points": run.verdict.max_points,
        "checks": [
            {
                "title": check.verdict.title,
                "passes": check.verdict.passes,
                "finding": finding_facts(check.verdict.finding),
                "printed": check.printed,
            }
            for check in run.checks
            if id(check.verdict) in told
        ],
    }


def _next_facts(run: StepRun) -> dict[str, Any]:
    assert run.verdict.finding
    return {
        "step": run.verdict.name,
        "message": run.verdict.finding.message,
        "hint": run.step.hints[0] if run.step.hints else "",
    }


# Sentences about files and steps that end Python, or print without end.


def ended_python(step: str, how: str) -> Finding:
    """Return the finding on a step that ended the process; `how` is what the system says."""
    fact = f"`{step}` ended Python instead of returning a result."
    look = f"{EXIT} Calling a library with sizes that do not fit can do it too."
    return Finding(Outcome.CRASHED, fact, look=look, details=(how,) if how else ())


def printed_too_much(kilobytes: int, place: CodePlace, step: str = "") -> Finding:
    """Return the finding on a step that prints without end, or on a file while it is loaded."""
    who = f"`{step}`" if step else "The top of your file"
    fact = f"{who} printed more than {kilobytes} kB{at(place, step)}, and was stopped."
    return Finding(Outcome.OUTPUT_LIMIT, fact, look=PRINT)


def calls_blocked(name: str) -> Finding:
    """Return the finding on a step that calls another step that does not return."""
    fact = f"It calls `{name}`, which does not return yet."
    return Finding(Outcome.WAITS, fact, look=f"Correct `{name}` first, then check this again.")


def not_reached(seconds: float) -> Finding:
    """Return the finding on a step for which there was no time left."""
    fact = f"It was not checked: all steps together ran for more than {seconds:g} s."
    return Finding(Outcome.TIMED_OUT, fact, look="Look at the steps before it first.")


def top_still_running(seconds: float, place: CodePlace = NOWHERE) -> Finding:
    """Return the finding on a file whose top level does not end."""
    fact = f"The top of your file was still running after {seconds:g} s{at(place)}."
    look = "The code outside your functions runs at every check. Does it have to be there?"
    return Finding(Outcome.TIMED_OUT, fact, look=look)


def top_ended_python(place: CodePlace = NOWHERE, how: str = "") -> Finding:
    """Return the finding on a file that ends the process while it is loaded."""
    fact = f"The top of your file ends Python{at(place)}."
    return Finding(Outcome.CRASHED, fact, look=EXIT, details=(how,) if how else ())


# The parameters of the steps as they were handed out: their names, and the axes of each.

Parameters = Sequence[tuple[str, str | None]]


def parameters_handed_out(given: str) -> dict[str, Parameters]:
    """Return the parameters of the functions and methods in the text that was handed out, by name.

    A class has those of its `__init__`, a method a name such as "Layer.forward".
    """
    tree, found = parsed(given), dict[str, Parameters]()
    for node in top_level(tree) if tree else ():
        if isinstance(node, ast.ClassDef):
            methods = methods_of(node).items()
            found |= {f"{node.name}.{name}": _of(method) for name, method in methods}
            found[node.name] = found.pop(f"{node.name}.__init__", ())
        else:
            found[node.name] = _of(node)
    return found


def _of(node: Definition) -> Parameters:
    try:
        return signature_in(node).parameters
    except SyntaxError:  # an annotation in quotes that is no Python
        return ()
