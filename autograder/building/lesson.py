"""The prose before and after a step as students read it: with its diagram and its numbers.

In `solution.py`, prose holds places to be filled in, such as `{{ diagram }}` or
`{{ row(scores, "it") }}`. The diagram is that of the exercise, with the step below marked, and
`{{ path }}` the picture of the way through it. Every
other place is an expression of `walkthrough.py`, which asks the reference. So a number in the
prose is always the reference's own, and students get the number and never the expression. The
same holds in a cell of code that only the notebook has.
"""

from __future__ import annotations

import html
import re
import runpy
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from autograder.building.regions import Solution
from autograder.building.stub import Cell, Diagram, path_picture, picture, read_diagram
from autograder.errors import KitError
from autograder.model.exercise import WALKTHROUGH, Exercise

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
