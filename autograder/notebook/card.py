"""The card under a check: HTML for a notebook, lines of text for everything else.

Fixed colors would be unreadable in one of the themes. So text has the theme's color, and only
the bar on the left and the cells of a heat map have colors. nbgrader's feedback removes styles,
so the words and their order must be enough.
"""

from __future__ import annotations

from dataclasses import dataclass

from autograder.heatmaps.html_table import render_panels
from autograder.heatmaps.panel import Panel
from autograder.heatmaps.text import text_lines
from autograder.model.symbols import SIMILAR, tone
from autograder.reports.finding import StepText, folded_html, html

COLORS = {
    "right": "var(--jp-success-color1, #388e3c)",
    "wrong": "var(--jp-warn-color1, #e67700)",
    "other": "var(--jp-border-color1, #9e9e9e)",
}
CARD = "padding:.1em 0 .1em 1em;max-width:52em"
ROW = "list-style:none;margin:0;padding-left:1.2em;text-indent:-1.2em"
PARAGRAPH = "margin:.4em 0"
SEEN = "What the checks saw"


@dataclass(frozen=True)
class Card:
    """What a person reads about one step.

    step: its mark, its checks, and the finding with folded details. later: how many checks are not
    asked yet. caption, panels: the
    picture. hints: they unfold one after the other. similar: code under the last of them. foot: the
    last line.
    """

    headline: str
    step: StepText
    later: int = 0
    caption: str = ""
    panels: tuple[Panel, ...] = ()
    hints: tuple[str, ...] = ()
    similar: str = ""
    foot: str = ""

    def lines(self) -> tuple[str, ...]:
        """The card as lines of plain text, with the first hint only and without the details."""
        checks = (f"  {check.mark.sign} {check.title}" for check in self.step.checks)
        parts = [
            (self.headline, *checks, *self._later()),
            self.step.finding.parts,
            (self.caption, *text_lines(self.panels)) if self.panels else (),
            (f"Hint 1 of {len(self.hints)}: {self.hints[0]}",) if self.hints else (),
            (self.foot,) if self.foot else (),
        ]
        spaced = [line for part in parts if part for line in ("", *part)]
        return tuple(spaced[1:])

    def html(self) -> str:
        """The card as HTML, with all text escaped."""
        rows = (f"{check.mark.sign} {check.title}" for check in self.step.checks)
        checks = "".join(
            f"<li style='{ROW}'>{html(row)}</li>"
            for row in (*rows, *(each.strip() for each in self._later()))
        )
        words = "".join(_paragraph(part) for part in self.step.finding.parts)
        return (
            f"<div style='{CARD};border-left:4px solid {COLORS[tone(self.step.mark.sign)]}'>"
            f"<strong>{html(self.headline)}</strong>"
            f"<ul style='margin:.3em 0;padding:0'>{checks}</ul>"
            f"{words}{self._picture()}{self._folds()}"
            f"{_paragraph(self.foot, 'font-size:85%') if self.foot else ''}</div>"
        )

    def _later(self) -> tuple[str, ...]:
        """The row for the checks that are not asked yet, if there are any."""
        which = "1 more check comes" if self.later == 1 else f"{self.later} more checks come"
        return (f"  … {which} when these pass",) if self.later else ()

    def _picture(self) -> str:
        return _paragraph(self.caption) + render_panels(self.panels) if self.panels else ""

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
        return hints + folded_html(SEEN, self.step.finding.details)


def _paragraph(text: str, style: str = "") -> str:
    return f"<p style='{PARAGRAPH};{style}'>{html(text)}</p>"
