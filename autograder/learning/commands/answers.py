"""What an answer to a save changes in a watch: the progress, the news, the current step."""

from __future__ import annotations

from dataclasses import replace

from autograder.learning.commands.lesson_text import question_after
from autograder.learning.runner.background import BackgroundAnswer
from autograder.learning.runner.results import Checkup
from autograder.learning.terminal.view import View
from autograder.model.symbols import mark
from autograder.model.verdict import Outcome
from autograder.submission.definitions import find_in_piece

MOST_NEWS = 3


def answered(view: View, answer: BackgroundAnswer, *, keys: bool = False) -> View:
    """Return the view after an answer, with saved progress and the news.

    With `keys`, a step that passes is shown until the learner goes on.
    """
    if answer.exercise.name != view.exercise.name:
        return view
    outcome = answer.outcome
    if not isinstance(outcome, Checkup):
        return replace(view, outcome=outcome, news=(), extra=(), held=False, busy="", page=0)
    outcome = view.session.with_words_on_saving(outcome)
    before = set(view.session.progress.passed(view.exercise))
    session = view.session.checked(outcome)
    new = [run.step.name for run in outcome.steps if run.verdict.is_done]
    passing = [run.step.name for run in outcome.steps if run.verdict.passes]
    right = mark(Outcome.PASSED).sign
    now = [name for name in passing if name not in before]
    news = tuple(f"{right} {name} passes." for name in now)
    if len(news) > MOST_NEWS:
        news = (f"{right} {len(passing)} of {len(outcome.steps)} steps pass.",)
    focus = "" if view.focus in new else view.focus  # on to what is not right yet
    seen = replace(view, session=session, outcome=outcome, focus=focus, news=news)
    if now:
        seen = _passed(seen, now[-1], stays=keys and view.checkup is not None and not focus)
    elif view.stays and not _goes_on(view, outcome):
        seen = replace(seen, focus=view.passed)
    else:
        seen = replace(seen, focus=_worked_on(view, seen), passed="", asked="")
    extra = view.extra if view.held else ()
    return replace(seen, extra=extra, held=False, busy="", page=0)


def _passed(view: View, step: str, *, stays: bool) -> View:
    """Return the view of a step that has just passed; where it does not stay, with its question."""
    view = replace(view, passed=step, asked=question_after(view.exercise, step))
    if stays and view.open:
        return replace(view, focus=step)
    more = (f"{view.asked}  (a: the answer)",) if view.asked else ()
    return replace(view, news=(*view.news, *more))


def _worked_on(before: View, now: View) -> str:
    """Return the step to look at: the open one whose code was changed by the last save, if any."""
    if before.checkup is None or now.checkup is None or before.checkup.file != now.checkup.file:
        return now.focus
    old, new = _code_of(before.checkup), _code_of(now.checkup)
    names = [run.step.name for run in now.open]
    changed = [name for name in names if name in new and new[name] != old.get(name)]
    if not changed or (now.at and now.at.step.name in changed):
        return now.focus
    return changed[0]


def _code_of(checkup: Checkup) -> dict[str, str]:
    """Return the text of every definition in a file, by its name."""
    return {
        each.name: "\n".join(cell.split("\n")[each.first - 1 : each.last])
        for cell in checkup.cells
        for each in find_in_piece(cell)
    }


def _goes_on(view: View, outcome: Checkup) -> bool:
    """Whether the learner has changed anything but the step that is shown since it passed."""
    before = _beside(view.checkup, view.passed) if view.checkup else []
    return before != _beside(outcome, view.passed)


def _beside(checkup: Checkup, name: str) -> list[str]:
    """Return the lines of a file that do not define a step, without blank ones."""
    lines = list[str]()
    for cell in checkup.cells:
        own = next((each for each in find_in_piece(cell) if each.name == name), None)
        text = cell.split("\n")
        lines += text[: own.first - 1] + text[own.last :] if own else text
    return [line for line in lines if line.strip()]
