"""Answers what a page asks: runs in the browser's Python, with the kit's own checks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from autograder.errors import KitError
from autograder.ladder.rungs import FILE as RUNGS
from autograder.ladder.rungs import read_rungs
from autograder.learning.runner.checking import Checking
from autograder.learning.runner.line_order import LineOrder
from autograder.learning.runner.results import Checkup, StepRun
from autograder.learning.runner.same_process import SameProcess
from autograder.learning.runner.step_pictures import picture_of_run
from autograder.model.exercise import SOLUTION, Step, generated, read_exercise
from autograder.model.shipped import handed_out
from autograder.notebook.card import Card
from autograder.notebook.prose import shown_in_page
from autograder.play.mistake_costs import read_costs
from autograder.play.performance import hear
from autograder.play.speech_words import loss_words, mistake_words
from autograder.reports.finding import html, step_text
from autograder.site.script_pieces import ScriptPieces
from autograder.submission.cells import find_definitions
from autograder.submission.file_text import plain_text
from autograder.submission.reading import Submission

TellPiece = Callable[[str], None]  # is given what is there already, as JSON
Cells = Sequence[tuple[str, str]]  # the text of each, with what it is called in tracebacks


class Page:
    """The checks of one exercise, whose code is a cell for each editor."""

    def __init__(self, folder: str) -> None:
        self._exercise = read_exercise(Path(folder))
        self._jobs = SameProcess(self._exercise, self._heard)
        self._tell: TellPiece = lambda piece: None
        # The first use of everything takes longer, and nobody has to wait for it here.
        self._checkup([], self._exercise.steps[:1])

    def answer(self, question: str, tell: TellPiece) -> str:
        """Answer a question, both as JSON; `tell` is given pieces of the answer as they come.

        It is to check a step of these cells, to try an order of lines, to end the exercise with
        its cells, or to cut a file.
        """
        asked, self._tell = json.loads(question), tell
        if "file" in asked:
            return json.dumps(self.loaded(asked["file"]))
        if "order" in asked:
            return json.dumps({"html": self.ordered(asked["step"], asked["order"])})
        if "met" in asked:
            return json.dumps({"html": self.finale(asked["cells"], asked["met"])})
        return json.dumps(self.check(asked["cells"], asked["step"]))

    def ordered(self, step: str, order: Iterable[int]) -> str:
        """Return the answer to the lines of a step in this order, given by their numbers from 0."""
        folder = self._exercise.folder
        rungs = read_rungs(generated(folder, RUNGS))[step]
        solution = (folder / SOLUTION).read_text(encoding="utf-8")
        chosen = tuple(rungs.lines[number] for number in order)
        lines = LineOrder(
            self._exercise, rungs, chosen, ScriptPieces.of(solution, [step]).above[step]
        )
        checkup = lines.checked(self._jobs)
        said = [*lines.words(checkup), *(trouble.message for trouble in checkup.troubles)]
        if lines.is_right(checkup):
            said.append("Now write it in the editor, without looking here.")
        told = _paragraphs(said)
        (run,) = checkup.steps
        return told if run.verdict.passes or checkup.troubles else told + _card(run, ()).html()

    def finale(self, cells: Cells, met: Iterable[str]) -> str:
        """Run the last cells, let the model speak, and return what it says about loss and mistakes.

        met: the names of the mistakes that checks found.
        """
        folder, speaker = self._exercise.folder, self._exercise.speaker
        try:
            with shown_in_page(lambda page: self._tell(json.dumps({"html": page}))):
                loss = hear(self._checking(cells, ()), speaker, self._jobs, lambda text: None)
        except KitError as error:
            return f"<p>{html(error.fact)}</p>"
        paragraphs = [(loss_words(loss),), *mistake_words(read_costs(folder), met)]
        return "".join(f"<p>{'<br>'.join(map(html, lines))}</p>" for lines in paragraphs)

    def _heard(self, message: Mapping[str, Any]) -> None:
        if message["event"] == "spoke":
            self._tell(json.dumps({"text": message["text"]}))

    def loaded(self, text: str) -> dict[str, str]:
        """Return the code for each editor that a file has, and a question before it goes there."""
        names = [step.name for step in self._exercise.steps]
        code = ScriptPieces.of(handed_out(self._exercise), names).own_code(plain_text(text))
        defined = {each.name for each in find_definitions("\n".join(code.values()))}
        missing = [name for name in names if name not in defined]
        asked = f"Put {len(code)} of {len(names)} steps in the place of your code here?"
        lacks = f" The file does not define {', '.join(missing)}." if missing else ""
        return {**code, "question": asked + lacks}

    def check(self, cells: Cells, name: str) -> dict[str, Any]:
        """Check one step; `document` is what `attn check --json` prints."""
        try:
            checkup = self._checkup(cells, (self._exercise.step(name),))
        except KitError as error:
            return {"passes": False, "html": f"<p>{html(str(error))}</p>", "printed": ""}
        (run,) = checkup.steps
        told = run.verdict.finding.fact if run.verdict.finding else ""
        others = [each.message for each in checkup.troubles if each.fact != told]
        return {
            "passes": run.verdict.is_done,
            "mistake": run.verdict.finding.misconception if run.verdict.finding else None,
            "document": checkup.document(),
            "html": _card(run, checkup.remarks).html() + _paragraphs(others),
            "printed": "".join((checkup.printed, *(check.printed for check in run.checks))),
        }

    def _checkup(self, cells: Cells, steps: Sequence[Step]) -> Checkup:
        return self._checking(cells, steps).run(self._jobs)

    def _checking(self, cells: Cells, steps: Sequence[Step]) -> Checking:
        file = self._exercise.folder / f"{self._exercise.name}.ipynb"
        code = tuple(text for _, text in cells)
        submission = Submission("you", self._exercise.name, code, file)
        names = tuple(name for name, _ in cells)
        return Checking(self._exercise, submission, steps, names=names)


def _paragraphs(said: Iterable[str]) -> str:
    return "".join(f"<p>{html(words)}</p>" for words in said)


def _card(run: StepRun, remarks: Sequence[str]) -> Card:
    """Return the card of a step, as a notebook shows it."""
    picture = picture_of_run(run)
    return Card(
        headline=f"{run.step.name}: {run.checks_passed} of {run.total} checks pass.",
        step=step_text(run.verdict),
        later=run.total - len(run.verdict.checks),
        caption=picture.caption,
        panels=picture.panels,
        foot=" ".join(remarks),
    )
