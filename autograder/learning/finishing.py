"""`attn finish`: what was built, how long it took, which mistakes were met, what to read next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.console import Console, RenderableType
from rich.text import Text

from autograder.errors import KitError
from autograder.judging.examples import mistake_words_of, read_examples
from autograder.learning.checking import check_work
from autograder.learning.once import next_after, without_formulas
from autograder.learning.process import Child
from autograder.learning.progress import Say, open_session
from autograder.learning.results import Checkup
from autograder.learning.screen import Indented, command
from autograder.learning.step_lesson import finish_of
from autograder.reports.finding import Finish, FinishedStep, finish_page, needed_steps
from autograder.values.exercise import Step
from autograder.values.files import write_whole

# The closing words of an exercise in a terminal, readable in 40 columns and without color.


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


SUFFIX = ".html"
UNKNOWN = (
    "What you did before the first check is not noted.",
    "Mistakes that have no name, and those that you saw before any check, are not counted.",
)


def finish(folder: Path, words: str | None, page: Path | None, console: Console, say: Say) -> bool:
    """Check an exercise and, when it is done, show its closing words; return whether it is done.

    With `page`, they are also written there as a page. Raises `KitError`.
    """
    if page and page.suffix.lower() != SUFFIX:
        raise KitError(
            f"the closing page is HTML, and {page.name} does not end with {SUFFIX}",
            place=str(page),
            cure=f"attn finish --save {page.with_suffix(SUFFIX).name}",
        )
    session = open_session(folder, say)
    exercise = session.exercise(words)
    with Child(exercise) as child:
        checkup = check_work(exercise, exercise.steps, child=child)
    session = session.passed(checkup)
    still_open = [run.step for run in checkup.steps if not run.verdict.is_done]
    left = [step for step in needed_steps(exercise) if step in still_open]
    if left:
        _show_what_is_left(checkup, left[0], console)
        return False
    told = mistake_words_of(read_examples(exercise.folder))
    found = finish_of(exercise, session.progress, told, UNKNOWN, shown=without_formulas)
    for line in finish_lines(found):
        console.print(line)
    if page:
        write_whole(page, finish_page(found))
        console.print(Text(f"saved as {page}"))
    console.print(Text("Continue with:"))
    if not page:
        console.print(command(f"attn finish {exercise.name} --save finish.html", "to keep it"))
    if exercise.plays:
        console.print(command(f"attn play {exercise.name}", "your layer at work"))
    console.print(command(next_after(session, exercise)))
    return True


def _show_what_is_left(checkup: Checkup, step: Step, console: Console) -> None:
    exercise = checkup.exercise
    done, number = sum(run.verdict.is_done for run in checkup.steps), exercise.steps.index(step) + 1
    for remark in checkup.remarks:
        console.print(Text(remark))
    console.print(Text(f"{exercise.title}: {done} of {len(exercise.steps)} steps pass."))
    console.print(Text(f"The closing words come after the last. Next: step {number}, {step.name}."))
    console.print(command(f"attn check {exercise.name}.{step.name}", "says what to look at"))
