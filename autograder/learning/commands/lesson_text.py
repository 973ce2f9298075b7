"""`attn read`: the lesson of a step in the terminal, the same that stands in the notebook.

A terminal folds nothing and sets no formulas. So an answer is shown only when it is asked for, and
formulas are written as text.
"""

from __future__ import annotations

import re
from pathlib import Path

from rich.console import Console, RenderableType
from rich.markdown import Markdown
from rich.text import Text

from autograder.building.guide import FORMULA, outside_code
from autograder.building.lesson import FoldedAnswer, folded_answers, replaced_answers
from autograder.learning.state.session import Say, open_session
from autograder.learning.step_lesson import AFTER, ASKS, Lesson, asked_after, lesson_of
from autograder.learning.terminal.screen import command
from autograder.model.exercise import Exercise
from autograder.model.symbols import GUESS

_PICTURE = re.compile(r"!\[([^\]]*)\]\(data:[^)]*\)")


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
    name = session.name_of(exercise, step)
    if not answers and folded_answers(f"{found.above}\n{found.below}"):
        console.print(command(f"attn read {name} --answers", "with the answers"))
    console.print(command(f"attn check {name}", "checks what you have written"))


def lesson_lines(lesson: Lesson, *, answers: bool = False) -> tuple[RenderableType, ...]:
    """Return the lesson as a terminal shows it; without `answers`, the questions alone.

    The question after the check comes with the answers: it is for who has written the step.
    """
    parts = (lesson.above, lesson.below if answers else lesson.trials)
    return tuple(Markdown(plain(part, answers=answers), code_theme="bw") for part in parts if part)


def answer_lines(
    lesson: Lesson, *, after: bool = False, written: bool = True
) -> tuple[RenderableType, ...]:
    """Return the questions of a step with their answers; `after`: the one for who has written it.

    That question stands on the screen already. Before a step is `written`, it is not answered.
    """
    asked = folded_answers(f"{lesson.above}\n\n{lesson.below}")
    kinds = (AFTER,) if after else ASKS if written else ASKS[:1]
    found = [each for each in asked if each.when in kinds]
    texts = [
        each.answer if after else f"**{each.when}** {each.question}\n\n{each.answer}"
        for each in found
    ]
    if not texts:
        return (Text(f"No question is asked at {lesson.step}."),)
    return tuple(Markdown(plain(text), code_theme="bw") for text in texts)


def question_after(exercise: Exercise, step: str) -> str:
    """Return the question for who has written a step, "" where there is none."""
    asked = asked_after(exercise, step)
    return f"{GUESS}: {without_formulas(asked.question)}" if asked else ""


def plain(prose: str, *, answers: bool = True) -> str:
    """Return prose of a notebook in Markdown that a terminal can show."""

    def told(folded: FoldedAnswer) -> str:
        hidden = folded.when in ASKS and not answers
        return f"**{folded.when}** {folded.question}" + ("" if hidden else f"\n\n{folded.answer}")

    text = replaced_answers(prose, told)
    text = _PICTURE.sub(r"*\1*", text)
    return without_formulas(text, markdown=True)


def without_formulas(text: str, *, markdown: bool = False) -> str:
    """Return text with its formulas written as text, in which `markdown` reads no sign."""
    from pylatexenc.latex2text import LatexNodes2Text

    reader = LatexNodes2Text(math_mode="text", keep_comments=True)

    def written(formula: re.Match[str]) -> str:
        latex = (formula["display"] or formula["inline"]).replace(r"\mathit", r"\mathrm")
        words: str = reader.latex_to_text(latex.replace("%", r"\%")).strip()
        if formula["display"]:
            return f"\n\n```\n{words}\n```\n\n"
        return words.replace("_", r"\_") if markdown else words

    return outside_code(text, lambda part: FORMULA.sub(written, part))
