"""Every text of an exercise that a student can read, and its place.

Some texts are written in the files: titles, hints, misconceptions, prose, docstrings. The checks
compose the others from what is right, a fact and where to look. Those are collected while the
trial runs. For this, the trial also runs code that no known mistake explains.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from autograder.building.folded_answer import without_tags
from autograder.building.lesson import taught
from autograder.building.regions import read_solution
from autograder.building.stub import Cell, read_cells
from autograder.checks.known_mistake import Misconception
from autograder.checks.marks import step_of, title_of
from autograder.checks.reference import Reference
from autograder.checks.replay import words_for
from autograder.model.exercise import Step
from autograder.model.request import Reply, Request, Returned
from autograder.model.signature import signature_of
from autograder.verification.trial import Trial

RUNGS = ("first", "second", "third")
# Markdown's fences, which hold drawings and columns of numbers; its tables, formulas and headings;
# and its marks for lists and bold type.
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_NO_PROSE = re.compile(r"^(?:\||\$\$|#|!\[).*$", re.MULTILINE)  # nor a picture
_MARKUP = re.compile(r"^- |\*\*", re.MULTILINE)
_PARAGRAPH = re.compile(r"\n\s*\n|\n(?=- )")
_WORD = re.compile(r"[A-Z]?[a-z]+")


@dataclass(frozen=True)
class StudentText:
    """A text that a student reads in one go, and the name of its place."""

    place: str
    text: str


def written_texts(trial: Trial) -> Iterator[StudentText]:
    """Give the texts for students in the files of an exercise."""
    exercise = trial.reference.exercise
    for step in exercise.steps:
        yield StudentText(f"the title of {step.name}", step.title)
        yield from _hints(step)
    for remark in exercise.remarks:
        yield StudentText(f"the remark on {remark.uses}", remark.words)
    for check in trial.checks:
        yield StudentText(f"the title of {check.originalname}", title_of(check))
    for known in trial.reference.misconceptions:
        yield StudentText(f"the misconception {known.name}", known.words)
    yield StudentText("what is said at the end", exercise.closing.built)
    for each in exercise.closing.reading:
        yield StudentText(f"why to read “{each.title}”", each.why)
    yield from _pairs(trial.reference)
    solution = read_solution(exercise)
    for cell in taught(exercise, solution, read_cells(solution)):
        yield from _docstrings(cell) if cell.code else _paragraphs(cell)


def _hints(step: Step) -> Iterator[StudentText]:
    for number, hint in enumerate(step.hints, start=1):
        rung = dict(enumerate(RUNGS, start=1)).get(number, f"{number}th")
        yield StudentText(f"the {rung} hint of {step.name}", hint)


def _pairs(reference: Reference) -> Iterator[StudentText]:
    """Give each mistake in a class together with the longest other one, the longest such pair."""
    for layer in reference.layers:
        known = [each for each in reference.misconceptions if each.step != layer]
        for first in known:
            others = [each for each in known if each.step != first.step]
            second = max(others, key=_fact_length, default=None)
            if second:
                words = words_for(Request(layer, method="forward"), (first, second))
                yield StudentText(f"the misconceptions {first.name} and {second.name}", words)


def _fact_length(known: Misconception) -> int:
    return len(known.words.partition("\n\n")[0].split())


def _paragraphs(cell: Cell) -> Iterator[StudentText]:
    prose = _NO_PROSE.sub("", _FENCE.sub("", without_tags(cell.source)))
    for paragraph in _PARAGRAPH.split(prose):
        text = _MARKUP.sub("", paragraph).strip()
        if text:
            yield StudentText("a paragraph of solution.py", text)


def _docstrings(cell: Cell) -> Iterator[StudentText]:
    for node in ast.walk(ast.parse(cell.source)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and (text := ast.get_docstring(node)):
            yield StudentText(f"the docstring of {node.name}", text)


def compose_texts(trial: Trial) -> None:
    """Run every check so that it composes the messages that are not shown for a named mistake.

    The checks run over every known mistake without naming it, and over code that gives the same
    answer to every question. The trial's own listener hears the messages. If a check is run with
    several parameters, the first is enough.
    """
    checks = {check.originalname: check for check in reversed(trial.checks) if step_of(check)}
    for check in checks.values():
        trial.run(check, naming=False, respondent=SameAnswer(trial))
    classes = trial.reference.layers
    for known in trial.reference.misconceptions:
        with trial.replaced({known.step: known.wrong}):
            for check in checks.values():
                if step_of(check) in (known.step, *classes):
                    trial.run(check, naming=False)


class SameAnswer:
    """A `Respondent` that gives the reference's first answer to every question, and never refuses.

    No known mistake does that, but some checks exist only for it and have their own words.
    """

    def __init__(self, trial: Trial) -> None:
        self._reference = trial.reference
        self._answer: Reply | None = None

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        """Answer as the first time; if the reference refuses, answer with None."""
        if self._answer is None:
            reply = self._reference.ask(request)
            nothing = Returned(None, attributes=dict.fromkeys(request.read))
            self._answer = reply if isinstance(reply, Returned) else nothing
        return self._answer


def terms_of(reference: Reference) -> frozenset[str]:
    """Return the words that an exercise teaches: those of its titles and signatures."""
    steps = reference.exercise.steps
    parameters = [
        name
        for step in steps
        for name, _ in signature_of(getattr(reference.module, step.name)).parameters
    ]
    titles = [reference.exercise.title, *(step.title for step in steps)]
    names = [*titles, *(step.name for step in steps), *parameters]
    return frozenset(word.lower() for name in names for word in _WORD.findall(name))
