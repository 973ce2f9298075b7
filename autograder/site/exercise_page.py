"""The page of an exercise: its guide, with an editor where each stub stands.

Nothing is fetched from elsewhere and no script stands in the page. What the scripts need to know is
beside them, as data.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from html import escape, unescape

from autograder.building.guide import STUB, markdown_html
from autograder.learning.step_lesson import asked_after
from autograder.model.exercise import Exercise
from autograder.reports.finish import needed_steps
from autograder.site.script_pieces import ScriptPieces

POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; "
    "connect-src 'self'; img-src data:; style-src 'self' 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'"
)
KEYS = "In an editor, Ctrl+Enter checks the step, and Escape and then Tab leaves the editor."
READS = (
    "Your layer gets the sentence with the numbers and the matrices that you followed by hand: "
    "where does each word look? Then it takes the place of the attention in a small language "
    "model, which has learned plays by Shakespeare, one character after the other. Every character "
    "that you read there went through your code. It takes up to a minute."
)
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
        lesson = main[1] if main else ""
        for question in self._after.values():  # it is asked below the step, once that passes
            lesson = lesson.replace(question, "")
        lesson = STUB.sub(self._step, lesson)
        facts = {
            "exercise": exercise.name,
            "below": self.script.below,
            "finale": _reading_cells(exercise),
            "steps": [
                {
                    "name": step.name,
                    "needed": step in needed_steps(exercise),
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
            f'\n<main>\n<p class="keys">{KEYS}</p>\n{lesson}{_finale(exercise)}</main>\n'
            "</body>\n</html>\n"
        )

    @cached_property
    def _after(self) -> dict[str, str]:
        """The question for who has written a step, its answer folded, by the step's name."""
        names = [step.name for step in self.exercise.steps]
        asked = {name: asked_after(self.exercise, name) for name in names}
        return {name: markdown_html(each.folded).strip() for name, each in asked.items() if each}

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
            '<div class="after" aria-live="polite"><div hidden>'
            f"{self._after.get(name, '')}</div></div>"
            '<div class="hints" aria-live="polite"></div></section>'
        )


def _reading_cells(exercise: Exercise) -> list[str]:
    """Return the cells at the end of the notebook in which the layer reads a sentence, if any."""
    notebook = json.loads((exercise.folder / f"{exercise.name}.ipynb").read_text(encoding="utf-8"))
    code = ["".join(each["source"]) for each in notebook["cells"] if each["cell_type"] == "code"]
    last = code.index(f"check({exercise.steps[-1].name})")
    shown = [number for number, text in enumerate(code) if "show_example(" in text]
    return code[last + 1 : shown[-1] + 1] if shown else []


def _finale(exercise: Exercise) -> str:
    """Return what there is at the end for whoever has written all that is needed."""
    if not exercise.speaker:
        return ""
    reading = "".join(
        f"<li>{escape(each.title)}. {escape(each.source)}. {escape(each.why)}</li>"
        for each in exercise.closing.reading
    )
    return (
        '<section id="finale"><h2>Your layer reads a sentence, and speaks</h2>\n'
        f"<p>{READS}</p>\n<p><button disabled>Let it read and speak</button> "
        "<span>When every step passes, this button works.</span></p>\n"
        '<div class="shown" aria-live="polite"></div>\n'
        f'<div class="built" hidden><h2>What you have built</h2><p>{escape(exercise.closing.built)}'
        f"</p><p>To read:</p><ul>{reading}</ul></div></section>\n"
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
