"""What `attn watch` says when you leave it: what passes, the points, and what comes next."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from autograder.learning.terminal.listing import points_words
from autograder.learning.terminal.screen import command
from autograder.learning.terminal.view import View


def summary(view: View) -> tuple[RenderableType, ...]:
    """Return the last lines of a watch."""
    exercise, session = view.exercise, view.session
    passed = session.progress.passed(exercise)
    points = points_words(session, exercise)
    when = "pass" if view.checkup else "passed when last checked"
    lines: list[RenderableType] = [
        Text(),
        Text(f"{exercise.title}: {len(passed)} of {len(exercise.steps)} steps {when}, {points}."),
    ]
    if 0 < len(passed) < len(exercise.steps):
        lines.append(Text(f"Right so far: {', '.join(passed)}."))
    after = session.next_exercise(exercise)
    if len(passed) < len(exercise.steps):
        step = session.open_step(exercise)
        place = exercise.steps.index(step) + 1
        lines.append(Text(f"Next: step {place}, {step.name}."))
        lines.append(command(f"attn watch {exercise.name}", "goes on there"))
        return tuple(lines)
    if exercise.plays:
        lines.append(command(f"attn play {exercise.name}", "your layer at work"))
    lines.append(command(f"attn finish {exercise.name}", "what you built, and what to read next"))
    if after:
        lines.append(Text(f"Next: {after.title}."))
        lines.append(command(f"attn watch {after.name}", "begins there"))
    else:
        lines.append(Text("Every step of every exercise here passes."))
    return tuple(lines)
