"""The answer to a check in a notebook: the verdict on the step, and a picture.

The notebook, the terminal and nbgrader's Validate say the same about the same code. There is one
place that asks the examples, and one that puts findings into words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from autograder.heatmaps.picture import Picture, picture_of
from autograder.judging.asking import ask_examples, public_checks
from autograder.judging.examples import Example
from autograder.judging.layer_blame import LayerBlame
from autograder.model.asked_checks import told_once
from autograder.model.exercise import Step
from autograder.model.request import Respondent
from autograder.model.symbols import BY_LAYER
from autograder.model.verdict import StepVerdict
from autograder.notebook.card import Card
from autograder.reports.finding import FindingText, StepText, step_text

DONE_BY_LAYER = "not written, but your layer did its work when it was last checked."


@dataclass(frozen=True)
class StepReport:
    """The verdict on one step by its public checks, and a picture of its result.

    of: how many public checks there are; some are asked only once the others pass. remarks:
    sentences about the code that was checked, and about who else checks it.
    """

    step: Step
    verdict: StepVerdict
    picture: Picture
    of: int
    remarks: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        """One line: which step, and how many of its checks passed."""
        passed = self.verdict.checks_passed
        if self.verdict.by_layer:
            return f"{self.step.name}: {DONE_BY_LAYER}"
        return f"{self.step.name}: {passed} of {self.of} checks pass."

    def by_layer(self) -> StepReport:
        """Return the report on a step that is not written, but whose work the layer does."""
        checks = self.verdict.checks
        return replace(self, verdict=StepVerdict.of(self.step, checks, by_layer=True))

    @property
    def card(self) -> Card:
        """The whole report as a person reads it; the cell below asks the lesson's question."""
        if self.verdict.by_layer:
            return Card(self.headline, StepText(BY_LAYER, (), FindingText()))
        return Card(
            headline=self.headline,
            step=step_text(self.verdict),
            later=self.of - len(self.verdict.checks),
            caption=self.picture.caption,
            panels=self.picture.panels,
            hints=() if self.verdict.passes else self.step.hints,
            similar=self.step.similar,
            foot=" ".join(self.remarks),
        )

    def lines(self) -> tuple[str, ...]:
        """The report as lines of plain text."""
        return self.card.lines()

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return self.card.html()

    def _ipython_display_(self) -> None:
        # Displayed, not returned as the cell's result: nbgrader reads a result as points, and
        # warns about each one that is not a number.
        from IPython.display import display

        display({"text/plain": repr(self), "text/html": self._repr_html_()}, raw=True)


def report_on(
    step: Step,
    examples: Sequence[Example],
    respondent: Respondent,
    blame: LayerBlame | None = None,
) -> StepReport:
    """Ask a learner's code the worked examples of one step, and report the answers.

    `blame` says more about a layer that is wrong.
    """
    answered = ask_examples(step, examples, respondent, blame.told if blame else tuple)
    of = public_checks(step.name, examples)
    verdict = replace(answered.verdict, checks=told_once(answered.verdict.checks))
    return StepReport(step, verdict, picture_of(answered.asked), of)
