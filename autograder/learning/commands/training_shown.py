"""What `attn play` shows of an exercise in PyTorch: a model is trained through the layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.columns import Columns
from rich.console import Console, RenderableType
from rich.text import Text

from autograder.errors import KitError
from autograder.heatmaps import terminal_panels
from autograder.learning.runner.process import Child
from autograder.learning.runner.watched_training import watch_training
from autograder.learning.terminal.indented import Indented
from autograder.model.exercise import Exercise, LayerTraining
from autograder.model.sanitize import clean
from autograder.training_tasks.digit_pictures import shaded_lines
from autograder.training_tasks.training_costs import MeasuredTrainings, read_trainings
from autograder.training_tasks.training_result import MOMENTS, Drawing, Moment
from autograder.training_tasks.training_words import (
    moment_words,
    result_words,
    tried_words,
    words_before,
)

LONGEST = 2000  # characters of what is said at once
DRAWN_EVERY = MOMENTS // 2  # at the beginning, in the middle and at the end


def show_trainings(
    exercise: Exercise, console: Console, most_steps: int | None = None
) -> MeasuredTrainings | None:
    """Train on each task of the exercise through the learner's layers, and show how it goes.

    Return what was measured of the exercise beforehand. most_steps: for a quick look, those of
    each task if not given. Raises `KitError` when the first layer gives nothing; a later one may
    not be written yet, and that is said.
    """
    measured = read_trainings(exercise.folder)
    for number, training in enumerate(exercise.trainings):
        if number:
            console.print()
        try:
            _show_training(exercise, training, console, measured, most_steps)
        except KitError as error:
            if not number:
                raise
            fact = f"{error.fact[:1].upper()}{error.fact[1:]}"
            _say(console, f"The next training needs {_needed(exercise, training)}. {fact}")
    return measured


def _needed(exercise: Exercise, training: LayerTraining) -> str:
    """Say what a later training needs that the first may do without."""
    bonuses = [step.name for step in exercise.steps if not step.points]
    if training.layer in bonuses:
        return f"`{training.layer}`, the bonus step"
    return f"`{training.layer}` with a causal mask" if training.causal else f"`{training.layer}`"


def _show_training(
    exercise: Exercise,
    training: LayerTraining,
    console: Console,
    measured: MeasuredTrainings | None,
    most_steps: int | None,
) -> None:
    head = Text(words_before(training.task), "bold")
    with Child(exercise) as child:
        result = watch_training(exercise, training, child, _teller(console, head), most_steps)
    for tried in result.tried:
        console.print(Indented(Text(tried_words(tried)), 2, 4))
    for sentence in result_words(result, measured, causal=training.causal):
        _say(console, sentence)


def _teller(console: Console, head: Text) -> Callable[[Moment], None]:
    told = 0

    def tell(moment: Moment) -> None:
        nonlocal told
        if not told:  # not before it is sure that there is something to see
            console.print(Indented(head, 0, 0))
        console.print(Text(moment_words(moment)))
        if moment.drawings and told % DRAWN_EVERY == 0:
            console.print(_drawn(moment.drawings))
        told += 1

    return tell


def _drawn(drawings: Sequence[Drawing]) -> RenderableType:
    """Return heat maps; before each, the picture that the model reads, if it reads one."""
    panels = terminal_panels([each.panel() for each in drawings])
    pictures = [
        Text("\n".join([each.shows, *shaded_lines(each.picture)]))
        for each in drawings
        if each.shows
    ]
    return Columns([*pictures, panels], padding=(0, 2)) if pictures else panels


def _say(console: Console, sentence: str) -> None:
    console.print(Indented(Text(clean(sentence, LONGEST)), 0, 0))
