"""The closing words of an exercise in a terminal, readable in 40 columns and without color."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import RenderableType
from rich.text import Text

from autograder.learning.terminal.indented import Indented
from autograder.reports.finish import Finish, FinishedStep


def finish_lines(finish: Finish) -> Iterator[RenderableType]:
    """Yield what is known of an exercise that is done, and what to read next."""
    yield Text(finish.headline, "bold")
    if finish.built:
        yield from _part("What you have built", (finish.built,))
    yield from _part("How long it took", finish.took)
    yield from _part("Mistakes that you met", (finish.met,))
    for step in finish.steps:
        yield from _step(step)
    if finish.reading:
        yield from _part("What to read next", ())
    for reading in finish.reading:
        yield Indented(Text(reading.title, "italic"), later=4)
        yield Indented(Text(f"{reading.source}."), 4, 4)
        yield Indented(Text(reading.why), 4, 4)
    yield from _part("What is not known here", finish.unknown)
    yield Text()


def _part(head: str, words: Iterable[str]) -> Iterator[RenderableType]:
    yield Text()
    yield Text(head, "bold")
    for each in words:
        yield Indented(Text(each))


def _step(step: FinishedStep) -> Iterator[RenderableType]:
    """Yield the lines of a step that has something to tell."""
    if not (step.mistakes or step.help or step.open):
        return
    yield Indented(Text(step.heading.replace("`", "")), later=4)
    for words in step.mistakes:
        yield Indented(Text(words), 4, 4)
    if step.help:
        yield Indented(Text(f"With help: {step.help}.", "dim"), 4, 4)
