"""The card under a check: HTML for a notebook, lines of text for everything else.

Fixed colors would be unreadable in one of the themes. So text has the theme's color, and only
the bar on the left and the cells of a heat map have colors. nbgrader's feedback removes styles,
so the words and their order must be enough.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any

from autograder.reports.finding import StepText, first_sentence, folded_html, html, step_text
from autograder.reports.picture import Panel, Picture, render_panels, text_lines
from autograder.values.symbols import RIGHT, SIMILAR, count, tone
from autograder.values.verdict import StepVerdict

COLORS = {
    "right": "var(--jp-success-color1, #388e3c)",
    "wrong": "var(--jp-warn-color1, #e67700)",
    "other": "var(--jp-border-color1, #9e9e9e)",
}
CARD = "padding:.1em 0 .1em 1em;max-width:52em"
ROW = "list-style:none;margin:0;padding-left:1.2em;text-indent:-1.2em"
PARAGRAPH = "margin:.4em 0"
LEAD = "display:block;margin:.4em 0"
SEEN = "What the checks saw"


@dataclass(frozen=True)
class Card:
    """What a person reads about one step: what is right, the one thing to look at, the picture.

    headline: how many checks pass. step: its mark, its checks, and the finding with folded details.
    later: how many checks are not asked yet. caption, panels: the picture. hints: they unfold one
    after the other. similar: code under the last of them. foot: the last line.
    """

    headline: str
    step: StepText
    later: int = 0
    caption: str = ""
    panels: tuple[Panel, ...] = ()
    hints: tuple[str, ...] = ()
    similar: str = ""
    foot: str = ""

    @classmethod
    def of(
        cls, verdict: StepVerdict, checks: int, picture: Picture, remarks: Sequence[str]
    ) -> Card:
        """Return the card of a step with so many `checks`, of which some may not be asked yet."""
        return cls(
            headline=f"{verdict.name}: {verdict.checks_passed} of {checks} checks pass.",
            step=step_text(verdict),
            later=checks - len(verdict.checks),
            caption=picture.caption,
            panels=picture.panels,
            foot=" ".join(remarks),
        )

    def lines(self) -> tuple[str, ...]:
        """The card as lines of plain text, with the first hint only and what is folded left out."""
        told = self._told
        picture = (self.caption, *text_lines(self.panels)) if self.caption else ()
        hint = (f"Hint 1 of {len(self.hints)}: {self.hints[0]}",) if self.hints else ()
        checks = (self.headline, *(f"  {row}" for row in self._rows))
        first, last = (told, checks) if told else (checks, ())
        parts = [first, picture, hint, last, (self.foot,) if self.foot else ()]
        spaced = [line for part in parts if part for line in ("", *part)]
        return tuple(spaced[1:])

    def html(self) -> str:
        """The card as HTML, with all text escaped."""
        return (
            f"<div style='{CARD};border-left:4px solid {COLORS[tone(self.step.mark.sign)]}'>"
            f"{self._told_html()}{self._picture()}{self._folds()}"
            f"{_paragraph(self.foot, 'font-size:85%') if self.foot else ''}</div>"
        )

    @property
    def _told(self) -> tuple[str, ...]:
        """What is right, what is not, and where to look; nothing when there is nothing to tell."""
        finding = self.step.finding
        right = (f"{RIGHT} {self._right}",) if self._right else ()
        return (*right, *finding.parts[bool(finding.right) :]) if finding.parts else ()

    @property
    def _right(self) -> str:
        """What is right so far, in one short line: of several checks that pass, the first."""
        first, *more = self.step.passed_titles or ("",)
        others = f", and {count(len(more), 'more check')}" if more else ""
        return self.step.finding.right or (
            f"{first[:1].upper()}{first[1:]}{others}." if first else ""
        )

    @property
    def _rows(self) -> tuple[str, ...]:
        """A row for each check, and one for those that are not asked yet, if there are any."""
        rows = (f"{check.mark.sign} {check.title}" for check in self.step.checks)
        which = "1 more check comes" if self.later == 1 else f"{self.later} more checks come"
        return (*rows, *((f"… {which} when these pass",) if self.later else ()))

    def _told_html(self) -> str:
        finding = self.step.finding
        if not finding.parts:
            return f"<strong style='{LEAD}'>{html(self.headline)}</strong>"
        right = _paragraph(f"{RIGHT} {self._right}") if self._right else ""
        lead, rest = first_sentence(finding.fact)
        more = "".join(_paragraph(each) for each in (rest, finding.look) if each)
        return f"{right}<strong style='{LEAD}'>{html(lead)}</strong>{more}"

    def _picture(self) -> str:
        drawn = render_panels(self.panels) if self.panels else ""
        return _paragraph(self.caption) + drawn if self.caption else ""

    def _folds(self) -> str:
        hints = "".join(
            f"<details><summary>Hint {number} of {len(self.hints)}</summary>{html(hint)}"
            for number, hint in enumerate(self.hints, start=1)
        )
        if self.hints and self.similar.strip():
            hints += (
                f"<br>{html(SIMILAR)}<pre style='margin:.4em'>{html(self.similar.strip())}</pre>"
            )
        # Each hint is inside the one before it, so it can be unfolded only after that one.
        hints += "</details>" * len(self.hints)
        seen = folded_html(SEEN, self.step.finding.details)
        return f"{hints}{self._checks()}{seen}"

    def _checks(self) -> str:
        if not self._rows:
            return ""
        summary = self.headline if self.step.finding.parts else "What was asked"
        rows = "".join(f"<li style='{ROW}'>{html(row)}</li>" for row in self._rows)
        return (
            f"<details><summary>{html(summary)}</summary>"
            f"<ul style='margin:.3em 0;padding:0'>{rows}</ul></details>"
        )


def _paragraph(text: str, style: str = "") -> str:
    return f"<p style='{PARAGRAPH};{style}'>{html(text)}</p>"


# Sentences under a cell: text that fits the page in a notebook, lines of 72 letters elsewhere.
#
# A notebook breaks printed lines where its page ends, so lines that end earlier would break
# twice.

WIDTH = 72
_STYLE = "margin:.3em 0;max-width:52em"
_pages: list[Callable[[str], None]] = []  # who gets HTML, where there is a page and no notebook


def shell() -> Any:
    """Return the IPython that runs this code, None where there is none."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython else None


@contextmanager
def shown_in_page(show: Callable[[str], None]) -> Iterator[None]:
    """Hand what is displayed to `show`, as HTML."""
    _pages.append(show)
    try:
        yield
    finally:
        _pages.pop()


def display(text: str, page: str) -> None:
    """Show `page`, which is HTML, where that can be shown, and elsewhere `text`."""
    if _pages:
        _pages[-1](page)
    elif shell() is None:
        print(text)
    else:
        shown = {"text/plain": text, "text/html": page}
        sys.modules["IPython"].display.display(shown, raw=True)


def show_text(text: str, *, is_table: bool = False) -> None:
    """Show text line by line; a table scrolls where it is too wide, and other lines break."""
    # Printed in a notebook, a line would break anywhere, even within a word or a number.
    wide = "pre" if is_table else "pre-wrap;overflow-wrap:break-word"
    style = f"{_STYLE};white-space:{wide};word-break:normal;overflow-x:auto"
    display(text, f"<pre style='{style}'>{escape(text)}</pre>")


def filled(sentences: Iterable[str]) -> str:
    """Return sentences as lines of text, each from the beginning of a line."""
    return "\n".join(textwrap.fill(each, WIDTH, break_long_words=False) for each in sentences)


def say(*sentences: str) -> None:
    """Show sentences, each in a line or paragraph of its own, close to each other."""
    display(filled(sentences), f"<div style='{_STYLE}'>{'<br>'.join(map(html, sentences))}</div>")
