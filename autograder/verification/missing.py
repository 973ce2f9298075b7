"""What an exercise lacks, and what its checks hand over, that no finding would ever tell."""

from __future__ import annotations

from dataclasses import dataclass

from autograder.checks.marks import step_of
from autograder.checks.reference import Reference
from autograder.checks.substitution import unanswerable_steps
from autograder.checks.unsendable import refuse_what_cannot_cross
from autograder.errors import KitError
from autograder.judging.conditions import STANDING
from autograder.model.request import Reply, Request
from autograder.verification.trial import Trial


def missing_gaps(trial: Trial) -> tuple[str, ...]:
    """Return a sentence for each part that is missing: the check of the steps end to end."""
    if any(check.get_closest_marker("chain_of_steps") for check in trial.checks):
        return ()
    return (
        "no check runs the steps end to end: write one with the fixture `chain`, and mark it "
        "`chain_of_steps`",
    )


def crossing_gaps(trial: Trial) -> tuple[str, ...]:
    """Return a sentence for each check that hands over what does not reach a student's code.

    Or that hands a class more than the reference would answer for in the place of a wrong step.

    Raises `KitError` when a check cannot be run.
    """
    found: list[str] = []
    for check in trial.checks:
        # A standing check hands over what these do, and is no author's to mend.
        own = not check.name.startswith(STANDING)
        watched = _Handing(trial.reference, check.name, own)
        if step_of(check):
            trial.run(check, naming=False, respondent=watched)
        found += watched.lost
    return tuple(dict.fromkeys(found))


@dataclass
class _Handing:
    """A `Respondent`: the reference, which looks at what it is asked."""

    reference: Reference
    check: str
    own: bool  # whether an author wrote it
    lost: tuple[str, ...] = ()

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        try:
            if self.own:
                refuse_what_cannot_cross(self.check, request, self.reference)
        except KitError as error:
            self.lost = (f"{error.fact}: {error.cure}",)
        if request.target in self.reference.layers:
            self.lost += tuple(
                f"{self.check} asks {request.target} what the reference does not answer for in the "
                f"place of {step}, which would cost whoever has that wrong both: use smaller sizes"
                for step in unanswerable_steps(self.reference, request)
            )
        return self.reference.ask(request)
