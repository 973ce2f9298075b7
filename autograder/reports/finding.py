"""A finding in words, by the same rule for page, notebook, terminal and nbgrader's cells.

The order is: what is right, the one fact, where to look. Folded away are the details, and then
what other checks found. Each reason is given once. All text is cleaned and cut here, and text
between backticks is code. Each medium adds only its own frame.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from html import escape

from autograder.values.exercise import Exercise, FurtherReading, Step
from autograder.values.sanitize import clean
from autograder.values.symbols import (
    BY_LAYER,
    LAYER_DOES_IT,
    LONGEST_PAUSE,
    Mark,
    WorkTime,
    count,
    mark,
)
from autograder.values.verdict import ChainVerdict, CheckVerdict, Finding, Outcome, StepVerdict

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


# What is known when an exercise is done, in words: for the terminal, a notebook and a page.

NONE = "–"
_PAUSE = LONGEST_PAUSE // 60


@dataclass(frozen=True)
class FinishedStep:
    """A step: its number from 1, and what is known of the way there. Only a bonus may be open.

    hints: the highest that was asked for, 0 also where nobody counts them. mistakes: the words of
    those with a name. question, answer: what is asked of who has written it, or "".
    """

    number: int
    name: str
    title: str
    mistakes: tuple[str, ...]
    hints: int = 0
    solution: bool = False
    open: bool = False
    question: str = ""
    answer: str = ""

    @property
    def help(self) -> str:
        """What help was taken, in words; "" for none."""
        hints = count(self.hints, "hint") if self.hints else ""
        parts = (hints, "the solution" * self.solution)
        return " and ".join(part for part in parts if part)

    @property
    def heading(self) -> str:
        """Its number, title and name."""
        return f"{self.number}. {self.title}: `{self.name}`" + (" (still open)" * self.open)


@dataclass(frozen=True)
class Finish:
    """An exercise that is done.

    built: the author's sentences. took: how long it took. unknown: what nobody noted. counts_help:
    whether hints and solutions are noted.
    """

    title: str
    built: str
    steps: tuple[FinishedStep, ...]
    took: tuple[str, ...]
    unknown: tuple[str, ...]
    reading: tuple[FurtherReading, ...]
    counts_help: bool = True

    @property
    def headline(self) -> str:
        """One line: how many steps are done."""
        still_open = sum(step.open for step in self.steps)
        if not still_open:
            return f"{self.title}: all {len(self.steps)} steps are done."
        done = len(self.steps) - still_open
        ratio = f"{done} of {len(self.steps)} steps are done"
        return f"{self.title}: {ratio}, and what is left is a bonus."

    @property
    def met(self) -> str:
        """How many mistakes were met, in one sentence."""
        met = sum(len(step.mistakes) for step in self.steps)
        if not met:
            return "No check named a mistake of yours."
        return f"The checks named {count(met, 'mistake')} on your way:"


def needed_steps(exercise: Exercise) -> tuple[Step, ...]:
    """Return the steps that have to be done: those with points, or all where none has any."""
    return tuple(step for step in exercise.steps if step.points) or exercise.steps


def took_words(exercise: Exercise, time_spent: WorkTime) -> tuple[str, ...]:
    """Return how long an exercise took, as far as its checks tell."""
    if not time_spent.checks:
        return ("When you worked was not noted.",)
    estimate = f"The estimate for this exercise is {exercise.minutes} minutes."
    first, last = _moment(time_spent.first), _moment(time_spent.last)
    if time_spent.checks == 1:
        return (f"One check was noted, on {last}. {estimate}",)
    return (
        f"{time_spent.checks} checks were noted: the first on {first}, the last on {last}.",
        f"Between them you worked for {_minutes(time_spent.seconds)}, where a pause of more than "
        f"{_PAUSE} minutes does not count. {estimate}",
    )


def mistake_lines(
    met: Iterable[Iterable[str]], words: Mapping[str, str]
) -> Iterator[tuple[str, ...]]:
    """Yield for each step, in order, a line about every mistake that was met there first.

    A layer calls the steps, so its checks name their mistakes once more. met: for each step the
    names of mistakes. words: what is said of each.
    """
    told: set[str] = set()
    for names in met:
        new = [name for name in dict.fromkeys(names) if name in words and name not in told]
        told.update(new)
        # The first sentence about a mistake is in the present tense.
        yield tuple(shown(words[name].partition("\n")[0]) for name in new)


def _moment(moment: float) -> str:
    try:
        return time.strftime("%Y-%m-%d, %H:%M", time.localtime(moment))
    except (OverflowError, OSError, ValueError):  # a record that somebody has edited
        return "a moment that cannot be read"


def _minutes(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 1:
        return "less than a minute"
    return f"about {count(minutes, 'minute')}"


# The closing page: the finish of an exercise as HTML, without a script and anything outside.
#
# The same body stands in a notebook, where the theme gives the colors.

HEADS = ("step", "mistakes", "help")
_CELL = "text-align:left;vertical-align:top;padding:.25em .8em .25em 0"
_HEAD = f"{_CELL};white-space:nowrap"
STYLE = """\
:root { --text: #1c2126; --soft: #525b66; --ground: #ffffff; --line: #d4d9df; }
@media screen and (prefers-color-scheme: dark) {
  :root { --text: #e7eaee; --soft: #aab3bd; --ground: #14171a; --line: #3a424a; }
}
* { box-sizing: border-box; }
body {
  margin: 0; color: var(--text); background: var(--ground);
  font: 1rem/1.55 system-ui, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif;
}
main { max-width: 50rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .5rem; }
h2 { font-size: 1.2rem; line-height: 1.3; margin: 1.8rem 0 .5rem; break-after: avoid; }
table { border-collapse: collapse; width: 100%; }
caption { text-align: left; color: var(--soft); padding-bottom: .4rem; }
tr { break-inside: avoid; border-bottom: 1px solid var(--line); }
li, details { margin: .4rem 0; break-inside: avoid; }
summary { cursor: pointer; } details p { margin: .3rem 0 .6rem 1.1rem; }
code { font: .92em ui-monospace, "SF Mono", Consolas, "DejaVu Sans Mono", monospace; }
@page { margin: 18mm; }
@media print { main { max-width: none; padding: 0; } body { font-size: 10.5pt; } }
"""


def finish_page(finish: Finish) -> str:
    """Return a page of its own, for the screen and for paper."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
        f"<title>{escape(finish.title)}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
        f"<main>\n<h1>{html(finish.headline)}</h1>\n{finish_body(finish)}\n</main>\n"
        "</body>\n</html>\n"
    )


def finish_body(finish: Finish, head: str = "h2") -> str:
    """Return everything below the headline; `head` is the element of its headings."""
    parts = {
        "What you have built": _paragraphs((finish.built,)) if finish.built else "",
        "How long it took": _paragraphs(finish.took),
        "Step by step": _table(finish),
        "Can you still answer?": "".join(map(_question, finish.steps)),
        "What to read next": _list(map(_reading, finish.reading)) if finish.reading else "",
        "What is not known here": _list(map(html, finish.unknown)),
    }
    return "\n".join(f"<{head}>{title}</{head}>\n{body}" for title, body in parts.items() if body)


def _paragraphs(texts: tuple[str, ...]) -> str:
    return "".join(f"<p>{html(text)}</p>" for text in texts)


def _list(items: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"


def _table(finish: Finish) -> str:
    columns = HEADS if finish.counts_help else HEADS[:2]
    heads = "".join(f"<th scope='col' style='{_HEAD}'>{head}</th>" for head in columns)
    rows = "".join(_row(step, len(columns)) for step in finish.steps)
    caption = f"The steps in their order. {finish.met.rstrip('.:')}."
    return (
        f"<table><caption>{html(caption)}</caption><thead><tr>{heads}</tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


def _row(step: FinishedStep, columns: int) -> str:
    mistakes = "<br>".join(map(html, step.mistakes)) or NONE
    texts = (mistakes, html(step.help) or NONE)[: columns - 1]
    cells = "".join(f"<td style='{_CELL}'>{text}</td>" for text in texts)
    return f"<tr><th scope='row' style='{_CELL}'>{html(step.heading)}</th>{cells}</tr>"


def _question(step: FinishedStep) -> str:
    asked = step.question and not step.open
    return folded_html(f"{step.number}. {step.question}", (step.answer,)) if asked else ""


def _reading(reading: FurtherReading) -> str:
    return f"<cite>{html(reading.sentence)}</cite> {html(reading.source)}.<br>{html(reading.why)}"
