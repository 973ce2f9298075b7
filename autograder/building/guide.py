"""The whole lesson as a page beside the stub: self-contained, formulas set, answers folded.

It is made from the same cells as the notebook, without what only runs there. Nothing is fetched
from anywhere, and there is no script.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape

from autograder.building.lesson import with_code_in_questions
from autograder.building.stub import Cell
from autograder.model.exercise import Exercise

GUIDE = "guide.html"
# What stands between the parts of Markdown in which a dollar sign is a dollar sign.
_CODE = re.compile(r"^```.*?^```$|`[^`\n]+`|\]\(data:[^)]*\)", re.MULTILINE | re.DOTALL)
FORMULA = re.compile(r"\$\$(?P<display>.+?)\$\$|\$(?P<inline>[^$\n]+?)\$", re.DOTALL)
# A stub of the page, as `_part` writes it: where a site puts an editor.
STUB = re.compile(r'<pre id="(?P<step>\w+)"><code>(?P<code>.*?)</code></pre>', re.DOTALL)
_PICTURE = "data:image/svg+xml;base64,"
_PLACE = "\ue000{}\ue001"  # of private use, so no text has them
_PLACES = re.compile(r"\ue000(\d+)\ue001")
GUIDE_STYLE = """\
:root { --text: #1c2126; --soft: #525b66; --ground: #ffffff; --line: #d4d9df; --code: #f4f6f8; }
@media screen and (prefers-color-scheme: dark) {
  :root { --text: #e7eaee; --soft: #aab3bd; --ground: #14171a; --line: #3a424a; --code: #1f252b; }
}
* { box-sizing: border-box; }
body {
  margin: 0; color: var(--text); background: var(--ground);
  font: 1.05rem/1.6 system-ui, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif;
}
main { max-width: 46rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.25; } h2 { font-size: 1.3rem; margin-top: 3rem; }
pre { background: var(--code); padding: .7rem .9rem; overflow-x: auto; border-radius: .4rem; }
code { font: .9em/1.45 ui-monospace, "SF Mono", Consolas, "DejaVu Sans Mono", monospace; }
table {
  border-collapse: collapse; display: block; overflow-x: auto;
  background: /* a shade where more lies at a side; the ground hides it where nothing does */
    linear-gradient(to right, var(--ground) 40%, transparent) 0 / 2.5rem 100% local,
    linear-gradient(to left, var(--ground) 40%, transparent) 100% / 2.5rem 100% local,
    linear-gradient(to right, var(--soft), transparent) 0 / 1rem 100% scroll,
    linear-gradient(to left, var(--soft), transparent) 100% / 1rem 100% scroll;
  background-repeat: no-repeat;
}
th, td { border-bottom: 1px solid var(--line); padding: .3rem .8rem .3rem 0; text-align: left; }
details { border-left: 3px solid var(--line); padding: .2rem 0 .2rem .9rem; margin: 1rem 0; }
summary { cursor: pointer; } nav { color: var(--soft); } img { max-width: 100%; }
math[display="block"] { margin: 1rem 0; overflow-x: auto; }
@media print { main { max-width: none; padding: 0; } h2 { break-after: avoid; } }
"""


def render_guide(exercise: Exercise, cells: tuple[Cell, ...]) -> str:
    """Return the page: what stands before a step, the step to write, and what comes after it."""
    body = "\n".join(_part(cell) for cell in cells if not cell.notebook_only)
    end = 0
    for step in exercise.steps:  # a link leads to the lesson of a step, not past it
        stub = body.find(f'<pre id="{step.name}">', end)
        heading, place = body.rfind("<h2>", end, stub), f' id="about-{step.name}">'
        if heading >= 0:
            body = f"{body[:heading]}<h2{place}{body[heading + len('<h2>') :]}"
        else:
            body = f"{body[:stub]}<div{place}</div>{body[stub:]}"
        end = body.index(f'<pre id="{step.name}">')
    links = " · ".join(
        f'<a href="#about-{step.name}">{number} {escape(step.title)}</a>'
        for number, step in enumerate(exercise.steps, start=1)
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; '
        "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
        f"<title>{escape(exercise.title)}</title>\n<style>\n{GUIDE_STYLE}</style>\n</head>\n<body>\n"
        f"<main>\n<nav>{links}</nav>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _part(cell: Cell) -> str:
    if not cell.code:
        return markdown_html(cell.source)
    anchor = f' id="{cell.step}"' if cell.step else ""
    return f"<pre{anchor}><code>{escape(cell.source)}</code></pre>"


def markdown_html(text: str) -> str:
    """Return Markdown as HTML, with its formulas as MathML."""
    from latex2mathml.converter import convert
    from markdown_it import MarkdownIt

    formulas: list[str] = []

    def kept(formula: re.Match[str]) -> str:
        shown = "block" if formula["display"] else "inline"
        formulas.append(convert(formula["display"] or formula["inline"], display=shown))
        return _PLACE.format(len(formulas) - 1)

    text = with_code_in_questions(text)
    marked = outside_code(text, lambda part: FORMULA.sub(kept, part))
    reader = MarkdownIt("commonmark", {"html": True}).enable("table")
    allowed = reader.validateLink
    # It refuses pictures of this kind, which could hold scripts: ours are drawn here.
    reader.validateLink = lambda address: address.startswith(_PICTURE) or allowed(address)  # type: ignore[assignment]
    page: str = reader.render(marked)
    return _PLACES.sub(lambda place: formulas[int(place[1])], page)


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Return Markdown in which what is no code was changed."""
    parts, end = list[str](), 0
    for code in _CODE.finditer(text):
        parts += [change(text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, change(text[end:])])
