"""The lines to sort hold what they promise: the right ones pass, and each wrong one is refused.

A worked example refused every wrong line when `attn build` chose it. Here the hidden checks have to
refuse it too, and every check has to accept the step that is put together from the right lines.
"""

from __future__ import annotations

from collections.abc import Iterator

from autograder.judging.time_limit import StillRunning
from autograder.ladder.making import defined
from autograder.ladder.quiet_run import quiet_run
from autograder.ladder.rungs import FILE, GAP, Rungs, read_rungs
from autograder.verification.trial import Trial


def rung_gaps(trial: Trial) -> tuple[str, ...]:
    """Return a sentence for each line that is not what it is shown as; none without the file.

    Raises `KitError` when the file cannot be read.
    """
    exercise = trial.reference.exercise
    file = exercise.folder / FILE
    if not file.is_file():
        return ()  # `attn build --check` says so
    steps = {step.name for step in exercise.steps}
    return tuple(
        gap
        for rungs in read_rungs(file).values()
        if rungs.step in steps
        for gap in (*_line_gaps(trial, rungs), *_filling_gaps(trial, rungs))
    )


def _line_gaps(trial: Trial, rungs: Rungs) -> Iterator[str]:
    refused = _refusing(trial, rungs.step, rungs.code(rungs.true))
    if refused:
        yield (
            f"the lines of {rungs.step} in {FILE}, in the right order, are refused by {refused}: "
            "run `attn build`"
        )
    for line in rungs.wrong:
        if not _refusing(trial, rungs.step, rungs.code(rungs.with_wrong(line))):
            yield (
                f"the line `{line.text.strip()}` is offered as a wrong one for {rungs.step}, and "
                "no check refuses it: run `attn build`, or write a check that does"
            )


def _filling_gaps(trial: Trial, rungs: Rungs) -> Iterator[str]:
    if rungs.gap is None:
        return
    filled = rungs.code(rungs.with_gap()).replace(GAP, f"({rungs.filling})")
    refused = _refusing(trial, rungs.step, filled)
    if refused:
        yield f"the gap of {rungs.step}, filled with `{rungs.filling}`, is refused by {refused}"


def _refusing(trial: Trial, step: str, code: str) -> str:
    """Return the name of the first check that refuses this code of a step, "" if none does."""
    exercise = trial.reference.exercise
    try:
        with quiet_run(exercise.library, exercise.limits.seconds_per_submission):
            made = defined(vars(trial.module), step, code)[step]
            with trial.replaced({step: made}):
                for check in trial.checks_of(step):
                    if trial.run(check, naming=False).finding:
                        return str(check.name)
    except StillRunning:
        return "the time limit"
    return ""
