"""The closing page: the finish of an exercise as HTML, without a script and anything outside.

The same body stands in a notebook, where the theme gives the colors.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from autograder.model.closing import FurtherReading
from autograder.reports.finding import folded_html, html
from autograder.reports.finish import NONE, Finish, FinishedStep

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
