"""`attn read`: the lesson of a step in the terminal, the same that stands in the notebook.

A terminal folds nothing and sets no formulas. So an answer is shown only when it is asked for, and
formulas are written as text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType
from rich.markdown import Markdown
from rich.text import Text

from autograder.building.folded_answer import FoldedAnswer, folded_answers, replaced_answers
from autograder.building.guide import FORMULA, outside_code
from autograder.errors import KitError
from autograder.learning.state.session import Say, open_session
from autograder.learning.terminal.screen import command
from autograder.model.exercise import Exercise
from autograder.model.files import read_small
from autograder.model.shipped import original

MOST_BYTES = 20_000_000  # of a notebook, with what it has printed
AFTER = "After the check."
ASKS = ("Before you code.", AFTER, "When you have tried.")
_COLUMNS = re.compile(r"<pre[^>]*>\n(.*?)\n</pre>", re.DOTALL)
_PICTURE = re.compile(r"!\[([^\]]*)\]\(data:[^)]*\)")
_CODE = re.compile(r"<code>(.*?)</code>")


@dataclass(frozen=True)
class Lesson:
    """What stands above a step and below it in the notebook, in Markdown."""

    step: str
    above: str
    below: str

    @property
    def after(self) -> FoldedAnswer | None:
        """The question for who has written the step, or None."""
        return next(iter(folded_answers(self.below)), None)

    @property
    def trials(self) -> str:
        """What the learner tries: all that stands below the step, without that question."""
        told = replaced_answers(self.below, lambda each: "" if each.when == AFTER else each.folded)
        return told.strip()


def read_step(
    folder: Path, words: str | None, console: Console, say: Say, *, answers: bool = False
) -> None:
    """Show the lesson of a step, with the answers to its questions if they are asked for."""
    session = open_session(folder, say)
    exercise, step = session.step(words)
    found = lesson_of(exercise, step.name)
    for piece in lesson_lines(found, answers=answers):
        console.print(piece)
        console.print()
    if not answers and folded_answers(f"{found.above}\n{found.below}"):
        console.print(command(f"attn read {step.name} --answers", "with the answers"))
    console.print(command(f"attn check {step.name}", "checks what you have written"))


def lesson_of(exercise: Exercise, step: str) -> Lesson:
    """Return the lesson of a step from the notebook beside the exercise, or from the kit's own.

    Raises `KitError` where neither has it.
    """
    for file in (exercise.folder / f"{exercise.name}.ipynb", _shipped(exercise)):
        found = file and _lesson_in(file, step)
        if found:
            return found
    raise KitError(
        f"the lesson of {step} is not here",
        place=str(exercise.folder),
        cure=f"put {exercise.name}.ipynb back from where you got the exercise",
    )


def _shipped(exercise: Exercise) -> Path | None:
    try:
        return original(exercise, f"{exercise.name}.ipynb")
    except KitError:
        return None


def _lesson_in(file: Path, step: str) -> Lesson | None:
    try:
        cells = json.loads(read_small(file, MOST_BYTES))["cells"]
        places = [number for number, cell in enumerate(cells) if _grade_id(cell) == step]
        after = cells[places[0] + 1 :]
        folds = _prose_down(after)  # what folds may stand between the step and its check
        above = "\n\n".join(filter(None, (_prose_up(cells[: places[0]]), folds)))
        below = _prose_down(after[_check_in(after) + 1 :])
    except (OSError, KitError, ValueError, LookupError, TypeError, AttributeError, StopIteration):
        return None  # a notebook that somebody has changed so
    return Lesson(step, _as_written(above), _as_written(below))


def _as_written(prose: str) -> str:
    """Return Markdown as its author wrote it, without the HTML that a notebook needs."""
    text = _COLUMNS.sub(lambda found: f"```\n{unescape(found[1])}\n```", prose)
    return _CODE.sub(r"`\1`", text)


def _grade_id(cell: dict[str, Any]) -> Any:
    return cell.get("metadata", {}).get("nbgrader", {}).get("grade_id")


def _check_in(cells: list[dict[str, Any]]) -> int:
    return next(number for number, cell in enumerate(cells) if cell["cell_type"] == "code")


def _prose_up(cells: list[dict[str, Any]]) -> str:
    texts: list[str] = []
    for cell in reversed(cells):
        if cell["cell_type"] != "markdown":
            break
        texts.insert(0, "".join(cell["source"]))
        if texts[0].startswith("#"):  # what is above this heading belongs to the step before
            break
    return "\n\n".join(texts)


def _prose_down(cells: list[dict[str, Any]]) -> str:
    texts: list[str] = []
    for cell in cells:
        text = "".join(cell["source"])
        if cell["cell_type"] != "markdown" or text.startswith("#"):
            break
        texts.append(text)
    return "\n\n".join(texts)


def lesson_lines(lesson: Lesson, *, answers: bool = False) -> tuple[RenderableType, ...]:
    """Return the lesson as a terminal shows it; without `answers`, the questions alone.

    The question after the check comes with the answers: it is for who has written the step.
    """
    parts = (lesson.above, lesson.below if answers else lesson.trials)
    return tuple(Markdown(plain(part, answers=answers), code_theme="bw") for part in parts if part)


def answer_lines(lesson: Lesson) -> tuple[RenderableType, ...]:
    """Return the questions of a step with their answers."""
    asked = folded_answers(f"{lesson.above}\n\n{lesson.below}")
    found = [each for each in asked if each.when in ASKS]
    texts = [f"**{each.when}** {each.question}\n\n{each.answer}" for each in found]
    if not texts:
        return (Text(f"No question is asked at {lesson.step}."),)
    return tuple(Markdown(plain(text), code_theme="bw") for text in texts)


def question_after(exercise: Exercise, step: str) -> str:
    """Return the question for who has written a step, "" where there is none."""
    try:
        asked = lesson_of(exercise, step).after
    except KitError:
        return ""
    return f"Now guess: {plain(asked.question)}" if asked else ""


def plain(prose: str, *, answers: bool = True) -> str:
    """Return prose of a notebook in Markdown that a terminal can show."""

    def told(folded: FoldedAnswer) -> str:
        hidden = folded.when in ASKS and not answers
        return f"**{folded.when}** {folded.question}" + ("" if hidden else f"\n\n{folded.answer}")

    text = replaced_answers(prose, told)
    text = _PICTURE.sub(r"*\1*", text)
    return outside_code(text, _without_formulas())


def _without_formulas() -> Callable[[str], str]:
    from pylatexenc.latex2text import LatexNodes2Text

    reader = LatexNodes2Text(math_mode="text", keep_comments=True)

    def written(formula: re.Match[str]) -> str:
        latex = (formula["display"] or formula["inline"]).replace(r"\mathit", r"\mathrm")
        text = reader.latex_to_text(latex.replace("%", r"\%")).strip()
        return f"\n\n```\n{text}\n```\n\n" if formula["display"] else text.replace("_", r"\_")

    return lambda part: FORMULA.sub(written, part)
