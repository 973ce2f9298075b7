"""A finding in words, by the same rule for page, notebook, terminal and nbgrader's cells.

The order is: what is right, the one fact, where to look. Folded away are the details, and then
what other checks found. Each reason is given once. All text is cleaned and cut here, and text
between backticks is code. Each medium adds only its own frame.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from html import escape

from autograder.model.sanitize import clean
from autograder.model.symbols import BY_LAYER, LAYER_DOES_IT, Mark, mark
from autograder.model.verdict import ChainVerdict, CheckVerdict, Finding, Outcome, StepVerdict

LONGEST = 2000  # characters of one text
MOST_DETAILS = 12
_SHORT = 200
# Between two sentences: behind a point, which may have a quote or a bracket behind it.
_GAPS = re.compile(r"(?<=[.!?])\s+|(?<=[.!?][\"”’)])\s+|\n+\s*")
SAME = " (for the same reason)"
# Outcomes that leave nothing for the student to look at.
NOT_TOLD = (Outcome.PASSED, Outcome.INFRASTRUCTURE)


@dataclass(frozen=True)
class FindingText:
    """The text of a finding; a part is "" when there is nothing to say."""

    right: str = ""
    fact: str = ""
    look: str = ""
    details: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        """What is right, what is not, and where to look: one paragraph each."""
        return tuple(part for part in (self.right, self.fact, self.look) if part)


@dataclass(frozen=True)
class CheckText:
    """One check in one line: its mark and its title."""

    mark: Mark
    title: str


@dataclass(frozen=True)
class StepText:
    """The text of a step: its mark, its checks, and the first finding."""

    mark: Mark
    checks: tuple[CheckText, ...]
    finding: FindingText

    @property
    def passed(self) -> str:
        """The titles of the checks that passed, as one sentence; "" if none passed."""
        words = "; ".join(self.passed_titles)
        return f"{words[:1].upper()}{words[1:]}." if words else ""

    @property
    def passed_titles(self) -> tuple[str, ...]:
        """The titles of the checks that passed.

        One that runs at several sizes has one title, and has passed if it did at all of them.
        """
        right = mark(Outcome.PASSED)
        wrong = {check.title.removesuffix(SAME) for check in self.checks if check.mark != right}
        titles = dict.fromkeys(check.title for check in self.checks if check.mark == right)
        return tuple(title for title in titles if title not in wrong)


def step_text(step: StepVerdict) -> StepText:
    """Return the text of a step."""
    if step.by_layer:  # nothing of it ran, and nothing is missed
        return StepText(BY_LAYER, (), step_finding(step))
    checks = tuple(
        CheckText(mark(check.outcome), shown(check.title) + _repeated(step, check))
        for check in step.checks
    )
    return StepText(mark(step.outcome), checks, step_finding(step))


def step_finding(step: StepVerdict) -> FindingText:
    """Return the text of what was found in a step."""
    if step.by_layer and step.finding and step.finding.look:  # it is written, but elsewhere
        return replace(finding_text(step.finding), right=LAYER_DOES_IT)
    if step.by_layer:
        return FindingText(right=BY_LAYER.sentence)
    if step.outcome in NOT_TOLD:
        return FindingText()
    return finding_text(told(step), _others(step))


def finding_text(finding: Finding, more: Iterable[str] = ()) -> FindingText:
    """Return the text of a finding; `more` is folded away with its details."""
    details = dict.fromkeys(shown(detail) for detail in (*finding.details, *more))
    return FindingText(
        shown(finding.right),
        shown(finding.fact),
        shown(finding.look),
        tuple(details)[:MOST_DETAILS],
    )


def told(judged: StepVerdict | ChainVerdict) -> Finding:
    """Return the finding, or one with the sentence of the outcome if there is none."""
    return judged.finding or Finding(judged.outcome, mark(judged.outcome).sentence)


def shown(text: str) -> str:
    """Return `text` as plain text: cleaned, and cut if it is too long."""
    return _short(text) if len(text) <= _SHORT else clean(text, LONGEST)


@lru_cache(maxsize=4_096)
def _short(text: str) -> str:
    # Titles, signs and names are on every page, and most pages of a class say the same things.
    return clean(text, LONGEST)


def sentences(text: str) -> tuple[tuple[int, int], ...]:
    """Return where the sentences of `text` begin and end: at a point, or where a line ends.

    >>> text = "Your 0.5 is `x. y`. Why? (See [1, 2].)"
    >>> [text[start:end] for start, end in sentences(text)]
    ['Your 0.5 is `x. y`.', 'Why?', '(See [1, 2].)']
    """
    found, start = [], 0
    for gap in _GAPS.finditer(text):
        if text.count("`", start, gap.start()) % 2 == 0:  # a point inside code ends nothing
            found.append((start, gap.start()))
            start = gap.end()
    return tuple(each for each in (*found, (start, len(text))) if text[slice(*each)].strip())


def first_sentence(text: str) -> tuple[str, str]:
    """Return the first sentence of `text`, and the rest of it."""
    end = next((end for _, end in sentences(text)), 0)
    return text[:end].strip(), text[end:].strip()


def html(text: str) -> str:
    """Return `text` as a piece of HTML, with the parts between backticks as code."""
    parts = escape(shown(text)).replace("\n", "<br>").split("`")
    if len(parts) % 2 == 0:  # a backtick has no partner, so all of it is plain text
        return "`".join(parts)
    return "".join(
        f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts)
    )


def folded_html(summary: str, details: Iterable[str]) -> str:
    """Return details as HTML that a click unfolds, or "" without details."""
    inner = "".join(f"<p>{html(detail)}</p>" for detail in details)
    return f"<details><summary>{html(summary)}</summary>{inner}</details>" if inner else ""


def _others(step: StepVerdict) -> tuple[str, ...]:
    """Return the findings of later checks that differ from the first finding."""
    facts = [told(step).fact]
    messages = []
    for check in step.checks:
        if check.finding and check.finding.fact not in facts:
            facts.append(check.finding.fact)
            messages.append(check.finding.message)
    return tuple(messages)


def _repeated(step: StepVerdict, check: CheckVerdict) -> str:
    """Return what to add to the title of a check that fails for the first check's reason."""
    finding = check.finding
    if finding is None or check.outcome is Outcome.NOT_WRITTEN:  # the sign says so already
        return ""
    first = step.finding
    if first is None or check is step.failing:
        return ""
    same = finding.fact == first.fact or finding.message in first.details
    return SAME if same else ""
