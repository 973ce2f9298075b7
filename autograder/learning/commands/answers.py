"""What an answer to a save changes in a watch: the progress, the news, the current step."""

from __future__ import annotations

from dataclasses import replace

from autograder.learning.commands.lesson_text import question_after
from autograder.learning.runner.background import BackgroundAnswer
from autograder.learning.runner.results import Checkup
from autograder.learning.terminal.view import View
from autograder.model.symbols import mark
from autograder.model.verdict import Outcome

MOST_NEWS = 3


def answered(view: View, answer: BackgroundAnswer) -> View:
    """Return the view after an answer, with saved progress and the news."""
    if answer.exercise.name != view.exercise.name:
        return view
    outcome = answer.outcome
    if not isinstance(outcome, Checkup):
        return replace(view, outcome=outcome, news=(), extra=(), held=False, busy="")
    before = set(view.session.progress.passed(view.exercise))
    session = view.session.checked(outcome)
    new = [run.step.name for run in outcome.steps if run.verdict.is_done]
    passing = [run.step.name for run in outcome.steps if run.verdict.passes]
    right = mark(Outcome.PASSED).sign
    news = tuple(f"{right} {name} passes." for name in passing if name not in before)
    focus = "" if view.focus in new else view.focus  # on to what is not right yet
    if len(news) > MOST_NEWS:
        news = (f"{right} {len(passing)} of {len(outcome.steps)} steps pass.",)
    extra = view.extra if view.held else ()
    now = [name for name in passing if name not in before]
    seen = replace(view, session=session, outcome=outcome, focus=focus, news=news)
    if now:
        question = question_after(view.exercise, now[-1])
        more = (f"{question}  (a: the answer)",) if question else ()
        seen = replace(seen, passed=now[-1], news=(*news, *more))
    return replace(seen, extra=extra, held=False, busy="")
