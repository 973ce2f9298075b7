"""The card under a check: as HTML for a notebook, as lines of text for everything else.

A card with colors of its own would be unreadable in one of the themes: text takes the
theme's color, and only the bar at the left and the cells of a heat map have one. nbgrader's
feedback takes styles out, so the order of the words has to carry the meaning alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

from autograder.heatmaps.page import render_panels
from autograder.heatmaps.panel import Panel
from autograder.heatmaps.text import text_lines

RIGHT, WRONG, WAITING = "✓", "✗", "·"
COLORS = {
    RIGHT: "var(--jp-success-color1, #388e3c)",
    WRONG: "var(--jp-warn-color1, #e67700)",
    WAITING: "var(--jp-border-color1, #9e9e9e)",
}
CARD = "padding:.1em 0 .1em 1em;max-width:52em"
ROW = "list-style:none;margin:0;padding-left:1.2em;text-indent:-1.2em"
PARAGRAPH = "margin:.4em 0"


@dataclass(frozen=True)
class Card:
    """What a person reads about one step.

    mark: ✓ right, ✗ wrong, · not written yet. marks: a mark and the title of each check.
    words: what is right, what is not, where to look. caption and panels: a picture.
    hints: unfold one after the other. seen: what the check saw, folded away. foot: last.
    """

    mark: str
    headline: str
    marks: tuple[tuple[str, str], ...]
    words: tuple[str, ...] = ()
    caption: str = ""
    panels: tuple[Panel, ...] = ()
    hints: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    foot: str = ""

    def lines(self) -> tuple[str, ...]:
        """The card as lines of plain text, with the first hint only."""
        parts = [
            (self.headline, *(f"  {mark} {title}" for mark, title in self.marks)),
            self.words,
            (self.caption, *text_lines(self.panels)) if self.panels else (),
            (f"Hint 1 of {len(self.hints)}: {self.hints[0]}",) if self.hints else (),
            (self.foot,) if self.foot else (),
        ]
        spaced = [line for part in parts if part for line in ("", *part)]
        return tuple(spaced[1:])

    def html(self) -> str:
        """The card as HTML, every text escaped."""
        marks = "".join(
            f"<li style='{ROW}'>{mark} {_html(title)}</li>" for mark, title in self.marks
        )
        words = "".join(_paragraph(word) for word in self.words)
        return (
            f"<div style='{CARD};border-left:4px solid {COLORS[self.mark]}'>"
            f"<strong>{_html(self.headline)}</strong>"
            f"<ul style='margin:.3em 0;padding:0'>{marks}</ul>"
            f"{words}{self._picture()}{self._folds()}"
            f"{_paragraph(self.foot, 'font-size:85%') if self.foot else ''}</div>"
        )

    def _picture(self) -> str:
        return _paragraph(self.caption) + render_panels(self.panels) if self.panels else ""

    def _folds(self) -> str:
        hints = "".join(
            f"<details><summary>Hint {number} of {len(self.hints)}</summary>{_html(hint)}"
            for number, hint in enumerate(self.hints, start=1)
        )
        # Each rung lies within the one before it: it unfolds only after that.
        hints += "</details>" * len(self.hints)
        if not self.seen:
            return hints
        seen = "<br>".join(_html(detail) for detail in self.seen)
        return f"{hints}<details><summary>What the check saw</summary>{seen}</details>"


def _paragraph(text: str, style: str = "") -> str:
    return f"<p style='{PARAGRAPH};{style}'>{_html(text)}</p>"


def _html(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
