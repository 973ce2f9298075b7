"""How a learner's code does on the worked examples of one step, and what there is to see.

The notebook, the terminal and nbgrader's Validate say the same of the same code, so the
answer is made here once: marks, the one finding to look at, a picture. Where values differ,
the picture sets the learner's beside the expected ones; where a right result says which
token attends to which, it shows that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from autograder.heatmaps.panel import Panel, comparison, is_attention, panel
from autograder.judging.compare import FLOOR, arrays_of, compare_form
from autograder.judging.diagnosis import reconciled
from autograder.judging.examples import Example
from autograder.judging.expectation import Agrees, judge
from autograder.model.exercise import Step
from autograder.model.request import Reply, Respondent, Returned
from autograder.model.verdict import Finding, Outcome
from autograder.notebook.card import RIGHT, WAITING, WRONG, Card

HIDDEN = "Hidden graders ask the same of other inputs, after you hand in."
SAME = " (for the same reason)"


@dataclass(frozen=True)
class Picture:
    """Heat maps, and what they are of."""

    caption: str = ""
    panels: tuple[Panel, ...] = ()


@dataclass(frozen=True)
class Checked:
    """The public checks of one step: the title and the finding of each, in order."""

    step: Step
    results: tuple[tuple[str, Finding | None], ...]
    picture: Picture = Picture()

    @property
    def passed(self) -> int:
        """How many checks passed."""
        return sum(finding is None for _, finding in self.results)

    @property
    def finding(self) -> Finding | None:
        """The first thing to look at, or None."""
        return next((finding for _, finding in self.results if finding), None)

    @property
    def headline(self) -> str:
        """One line: which step, and how many of its public checks passed."""
        return f"{self.step.name}: {self.passed} of {len(self.results)} public checks pass."

    @property
    def mark(self) -> str:
        """The mark of the step: ✓ right, ✗ wrong, · not written yet."""
        return mark_of(self.finding)

    @property
    def marked(self) -> tuple[tuple[str, str], ...]:
        """A mark and the title of each check."""
        return tuple(
            (mark_of(finding), title + (SAME if self._repeats(finding) else ""))
            for title, finding in self.results
        )

    @property
    def words(self) -> tuple[str, ...]:
        """What is right, the one thing that is not, and where to look; empty when all is right."""
        finding = self.finding
        parts = (finding.right, finding.fact, finding.look) if finding else ()
        return tuple(part for part in parts if part)

    @property
    def hint(self) -> str:
        """The first rung of the step's hints: a question to think about."""
        return f"Hint 1 of {len(self.step.hints)}: {self.step.hints[0]}"

    @property
    def card(self) -> Card:
        """All of it as a person reads it."""
        finding = self.finding
        return Card(
            mark=self.mark,
            headline=self.headline,
            marks=self.marked,
            words=self.words,
            caption=self.picture.caption,
            panels=self.picture.panels,
            hints=self.step.hints if finding else (),
            seen=finding.details if finding else (),
            foot="" if finding else HIDDEN,
        )

    def lines(self) -> tuple[str, ...]:
        """The result as lines of plain text."""
        return self.card.lines()

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return self.card.html()

    def _ipython_display_(self) -> None:
        # Displayed, not returned as the cell's result: nbgrader reads a result as a number
        # of points and warns about every one that is none.
        from IPython.display import display

        display({"text/plain": repr(self), "text/html": self._repr_html_()}, raw=True)

    def _repeats(self, finding: Finding | None) -> bool:
        """Whether one mistake fails this check and an earlier one: its title is no news then."""
        first = self.finding
        if finding is None or first is None or finding is first or mark_of(finding) == WAITING:
            return False
        if finding.misconception and finding.misconception == first.misconception:
            return True
        return finding == first or finding.message in first.details


def mark_of(finding: Finding | None) -> str:
    """✓ when there is no finding, · when the step is not written yet, else ✗."""
    if finding is None:
        return RIGHT
    return WAITING if finding.outcome is Outcome.NOT_WRITTEN else WRONG


def ask_examples(step: Step, examples: Sequence[Example], respondent: Respondent) -> Checked:
    """Ask a learner's code the worked examples of one step."""
    asked = [example for example in examples if example.step == step.name]
    replies = [respondent.ask(example.request) for example in asked]
    findings = reconciled(
        [
            judge(example.expectation, example.request, reply, example.mistakes)
            for example, reply in zip(asked, replies)
        ]
    )
    results = tuple(zip([example.title for example in asked], findings))
    return Checked(step, results, _picture(asked, replies, findings))


def _picture(
    asked: Sequence[Example], replies: Sequence[Reply], findings: Sequence[Finding | None]
) -> Picture:
    for example, reply, finding in zip(asked, replies, findings):
        if finding:
            return _counter_example(example, reply, finding)
    return _own_attention(asked, replies)


def _counter_example(example: Example, reply: Reply, finding: Finding) -> Picture:
    """Yours, expected and the difference, where type and shape are right."""
    expectation = example.expectation
    if finding.outcome is not Outcome.WRONG_VALUES or not isinstance(expectation, Agrees):
        return Picture()
    form, expected = expectation.form, expectation.expected
    if not isinstance(reply, Returned) or example.request.read:
        return Picture()
    if compare_form(reply.value, expected, form):
        return Picture()
    ours, theirs = arrays_of(reply.value, form), arrays_of(expected, form)
    for name, axes, one, due in zip(form.names, form.axes, ours, theirs):
        compared = comparison(one, due, axes=axes, precision=form.precision)
        if compared.differs:
            of = f" Of `{name}`:" if len(ours) > 1 else ""
            return Picture(f"In the check “{example.title}”:{of} {compared.words}", compared.panels)
    return Picture()


def _own_attention(asked: Sequence[Example], replies: Sequence[Reply]) -> Picture:
    """The learner's own scores, mask or weights: with the causal triangle, if a check has one."""
    shown = [
        (example, array, axes)
        for example, reply in zip(asked, replies)
        for array, axes in _attention(example, reply)
    ]
    if not shown:
        return Picture()
    example, array, axes = next((each for each in shown if _is_causal(each[1])), shown[0])
    tokens = [f"token {number}" for number in range(array.shape[-1])]
    drawn = panel(array, title=f"your {example.step}", axes=axes, labels=tokens)
    return Picture(f"What yours gives in the check “{example.title}”:", (drawn,))


def _attention(example: Example, reply: Reply) -> list[tuple[np.ndarray, str]]:
    """The result and its axes, when it has a query and a key axis at its end."""
    expectation = example.expectation
    if not isinstance(expectation, Agrees) or not isinstance(reply, Returned):
        return []
    axes, value = expectation.form.axes[0], reply.value
    fits = axes is not None and is_attention(axes) and isinstance(value, np.ndarray)
    return [(value, axes)] if fits and axes else []


def _is_causal(array: np.ndarray) -> bool:
    above = array[..., *np.triu_indices(array.shape[-1], k=1)]
    return bool(above.size and ((above == 0) | (above <= FLOOR)).all())
