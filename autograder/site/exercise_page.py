"""The page of an exercise: its guide, with an editor where each stub stands.

Nothing is fetched from elsewhere and no script stands in the page. What the scripts need to know is
beside them, as data.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from html import escape, unescape

from autograder.building.guide import STUB
from autograder.model.exercise import Exercise
from autograder.site.script_pieces import ScriptPieces

POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; "
    "connect-src 'self'; img-src data:; style-src 'self' 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'"
)
KEYS = "In an editor, Ctrl+Enter checks the step, and Escape and then Tab leaves the editor."
_STYLE = re.compile(r"<style>\n(.*?)</style>", re.DOTALL)
_MAIN = re.compile(r"<main>\n(.*)</main>", re.DOTALL)


@dataclass(frozen=True)
class ExercisePage:
    """An exercise as a page shows it: its guide, and its script in pieces."""

    exercise: Exercise
    guide: str
    script: ScriptPieces

    @property
    def style(self) -> str:
        """The style of the guide, which the page shares."""
        found = _STYLE.search(self.guide)
        return found[1] if found else ""

    def html(self) -> str:
        """Return the page."""
        exercise, main = self.exercise, _MAIN.search(self.guide)
        lesson = STUB.sub(self._step, main[1]) if main else ""
        facts = {
            "exercise": exercise.name,
            "below": self.script.below,
            "steps": [
                {
                    "name": step.name,
                    "above": self.script.above[step.name],
                    "hints": step.hints,
                    "similar": step.similar.strip(),
                }
                for step in exercise.steps
            ],
        }
        data = json.dumps(facts).replace("</", "<\\/")  # it cannot end the element
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n'
            f"<title>{escape(exercise.title)}</title>\n"
            '<link rel="stylesheet" href="page.css">\n'
            f'<script type="application/json" id="facts">{data}</script>\n'
            '<script type="module" src="page.js"></script>\n</head>\n<body>\n'
            '<header><span id="count"></span> <button id="save">Save as .py</button> '
            '<label>Load a .py <input id="load" type="file" accept=".py"></label> '
            '<span id="python" role="status"></span> <span id="kept" role="status"></span></header>'
            f'\n<main>\n<p class="keys">{KEYS}</p>\n{lesson}</main>\n</body>\n</html>\n'
        )

    def _step(self, stub: re.Match[str]) -> str:
        """Return what stands in the place of a stub: an editor, buttons, room for an answer."""
        name = unescape(stub["step"])
        buttons = " ".join(
            f'<button data-act="{act}">{words}</button>'
            for act, words in (("check", "Check"), ("hint", "Hint"), ("reset", "Put the stub back"))
        )
        return (
            f'<section class="step" id="{escape(name)}" data-step="{escape(name)}">'
            f'<div class="editor"><pre><code>{stub["code"]}</code></pre></div>'
            f'<p>{buttons}</p><div class="answer" aria-live="polite"></div>'
            '<div class="hints" aria-live="polite"></div></section>'
        )


def start_page(exercises: dict[str, str], style: str = "page.css") -> str:
    """Return the page that leads to every exercise, given by the title of each page's name."""
    links = "".join(
        f'<li><a href="{escape(name)}.html">{escape(title)}</a></li>\n'
        for name, title in exercises.items()
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<title>Build attention step by step</title>\n<link rel="stylesheet" href="{style}">\n'
        "</head>\n<body>\n<main>\n<h1>Build attention step by step</h1>\n"
        "<p>Nothing to install: what you write stays in this browser, and nothing is graded.</p>\n"
        f"<ul>\n{links}</ul>\n</main>\n</body>\n</html>\n"
    )
