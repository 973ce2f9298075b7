"""The prose of an exercise as students read it: in the notebook, in the terminal, as a page."""

from __future__ import annotations

import html
import re
import runpy
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from autograder.authoring.regions import Solution
from autograder.authoring.stub import Cell, Diagram, path_picture, picture, read_diagram
from autograder.errors import KitError
from autograder.values.exercise import WALKTHROUGH, Exercise

# The prose before and after a step as students read it: with its diagram and its numbers.
#
# In `solution.py`, prose holds places to be filled in, such as `{{ diagram }}` or `{{ row(scores,
# "it") }}`. The diagram is that of the exercise, with the step below marked, and `{{ path }}` the
# picture of the way through it. Every other place is an expression of `walkthrough.py`, which
# asks the reference. So a number in the prose is always the reference's own, and students get the
# number and never the expression. The same holds in a cell of code that only the notebook has.

DIAGRAM, PATH = "diagram", "path"
PLACE = re.compile(r"\{\{ (.+?) \}\}")


def taught(
    exercise: Exercise, solution: Solution, cells: Sequence[Cell], whole: Path | None = None
) -> tuple[Cell, ...]:
    """Return `cells` with every place in the prose, and in code of the notebook alone, filled in.

    The walkthrough is that of the folder `whole`, or the exercise's own. Raises `KitError` when the
    diagram is wrong, a place has no value, or the value is no text, and ImportError when the
    walkthrough needs what is not installed.
    """
    lesson = _Lesson(exercise, solution, (whole or exercise.folder) / WALKTHROUGH)
    return tuple(
        replace(cell, brief=lesson.filled(cell.brief, step))
        if cell.code and not cell.notebook_only
        else replace(cell, source=lesson.filled(cell.source, step))
        for cell, step in zip(cells, _steps_below(cells), strict=True)
    )


def _steps_below(cells: Sequence[Cell]) -> Iterator[str]:
    """Give for each cell the step that is written in it or comes next, "" after the last."""
    for number in range(len(cells)):
        yield next((cell.step for cell in cells[number:] if cell.step), "")


class _Lesson:
    def __init__(self, exercise: Exercise, solution: Solution, walkthrough: Path) -> None:
        self._exercise, self._solution, self._file = exercise, solution, walkthrough
        self._diagram: Diagram = read_diagram(exercise, solution)

    def filled(self, prose: str, step: str) -> str:
        return PLACE.sub(lambda place: self._value(place[1], step), prose)

    def _value(self, expression: str, step: str) -> str:
        if expression == DIAGRAM:
            return self._drawn(step)
        if expression == PATH:
            return path_picture(self._exercise, step)
        names = {"picture": picture, **self._walkthrough}
        try:
            value = eval(expression, names)
        except Exception as error:
            raised = f"{type(error).__name__}: {error}"
            raise self._wrong(expression, f"cannot be filled in: {raised}") from error
        if not isinstance(value, str):
            raise self._wrong(expression, f"is not text, but {type(value).__name__}")
        return value

    def _drawn(self, step: str) -> str:
        try:
            return self._diagram.marked(step)
        except KeyError:
            about = f"the step {step}" if step else "no step"
            raise KitError(
                f"the diagram is asked for {about}, which no line of it belongs to",
                place=self._line_of(DIAGRAM),
                cure="name the step before the bar of a line of `diagram` in exercise.toml, "
                "or leave the diagram out of this prose",
            ) from None

    @cached_property
    def _walkthrough(self) -> dict[str, Any]:
        path = self._file
        if not path.is_file():
            raise KitError(
                f"the prose asks for values, but there is no {WALKTHROUGH}",
                place=str(path.parent),
                cure=f"write {WALKTHROUGH}, which computes them with the reference",
            )
        try:
            return runpy.run_path(str(path))
        except Exception as error:
            if isinstance(error, KitError | ImportError):
                raise  # an ImportError is about this machine
            raise KitError(
                f"{WALKTHROUGH} cannot be run: {type(error).__name__}: {error}",
                place=_line_in(path, error),
                cure="correct that line, or the prose that says otherwise",
            ) from error

    def _wrong(self, expression: str, fact: str) -> KitError:
        return KitError(
            f"`{expression}` in the prose {fact}",
            place=self._line_of(expression),
            cure=f"write an expression of {WALKTHROUGH} that gives a text",
        )

    def _line_of(self, expression: str) -> str:
        lines = enumerate(self._solution.lines, start=1)
        place = f"{{{{ {expression} }}}}"
        return f"{self._solution.path}:{next((n for n, line in lines if place in line), 1)}"


def _line_in(path: Path, error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == path]
    return f"{path}:{lines[-1]}" if lines else str(path)


# Questions with a folded answer: HTML in the notebook and on the page of the lesson.
#
# In `solution.py` each stands as a notebook shows it:
#
#     <details>
#     <summary><b>Before you code.</b> What is the question?</summary>
#
#     The answer.
#
#     </details>

_FOLDED = re.compile(
    r"^<details>\n<summary><b>(?P<when>[^<>]+)</b> (?P<question>[^<>]+)</summary>\n\n"
    r"(?P<answer>(?:(?!</?details>).)+?)\n\n</details>$",
    re.MULTILINE | re.DOTALL,
)
_QUESTION = re.compile(r"^<summary>.*</summary>$", re.MULTILINE)
_CODE = re.compile(r"`([^`]+)`")
_TAG = re.compile(r"</?(?:details|summary|b)>")


@dataclass(frozen=True)
class FoldedAnswer:
    """A question, when it is asked ("Before you code."), and its answer, in Markdown."""

    when: str
    question: str
    answer: str

    @property
    def folded(self) -> str:
        """The question with its answer, as an author writes them."""
        asked = f"<summary><b>{self.when}</b> {self.question}</summary>"
        return f"<details>\n{asked}\n\n{self.answer}\n\n</details>"


def folded_answers(prose: str) -> tuple[FoldedAnswer, ...]:
    """Return the questions in `prose`, in order."""
    return tuple(FoldedAnswer(**found.groupdict()) for found in _FOLDED.finditer(prose))


def replaced_answers(prose: str, told: Callable[[FoldedAnswer], str]) -> str:
    """Return `prose` with what is `told` of each question in its place."""
    return _FOLDED.sub(lambda found: told(FoldedAnswer(**found.groupdict())), prose)


def only_folded(prose: str) -> str:
    """Return of `prose` the questions with their answers."""
    return "\n\n".join(each.folded for each in folded_answers(prose))


def without_folded(prose: str) -> str:
    """Return `prose` without the questions and their answers."""
    return _FOLDED.sub("", prose).rstrip()


def with_code_in_questions(prose: str) -> str:
    """Return `prose` for a notebook: JupyterLab shows Markdown inside HTML as it is written."""
    return _QUESTION.sub(lambda line: _CODE.sub(r"<code>\1</code>", line[0]), prose)


def without_tags(prose: str) -> str:
    """Return `prose` with questions and answers, but without the HTML that folds them."""
    return _TAG.sub("", prose)


def refuse_badly_folded(solution: Solution, proses: Iterable[str]) -> None:
    """Raise `KitError` when HTML of a folded answer is not written in the one form."""
    for prose in proses:
        if found := _TAG.search(_FOLDED.sub("", prose)):
            line = prose[: found.start()].count("\n")
            raise KitError(
                "a folded answer is not written as every other one",
                place=f"{solution.path}, at the line: {prose.splitlines()[line]}",
                cure="write <details>, then <summary><b>When.</b> Question?</summary>, "
                "an empty line, the answer, an empty line, </details>",
            )


# Text whose columns have to stay below each other: drawings, and rows of numbers.
#
# JupyterLab breaks the lines of a code fence where a window is narrow, and then no column stands
# below its head. So a notebook gets HTML that scrolls sideways; its sanitizer keeps this style.

_FENCE = re.compile(r"^```\n(?P<text>.*?)\n```$", re.MULTILINE | re.DOTALL)
_OPENING = '<pre style="white-space: pre; overflow-x: auto">'


def with_fixed_columns(prose: str) -> str:
    """Return Markdown `prose` with each code fence that names no language as such HTML."""
    return _FENCE.sub(
        lambda fence: f"{_OPENING}\n{html.escape(fence['text'], quote=False)}\n</pre>", prose
    )


# The whole lesson as a page beside the stub: self-contained, formulas set, answers folded.
#
# It is made from the same cells as the notebook, without what only runs there. Nothing is fetched
# from anywhere, and there is no script.

GUIDE = "guide.html"
# What stands between the parts of Markdown in which a dollar sign is a dollar sign.
_CODE_IN_PAGE = re.compile(r"^```.*?^```$|`[^`\n]+`|\]\(data:[^)]*\)", re.MULTILINE | re.DOTALL)
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
    for code in _CODE_IN_PAGE.finditer(text):
        parts += [change(text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, change(text[end:])])
