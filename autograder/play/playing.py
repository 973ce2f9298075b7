"""`attn play`: a model speaks, or is trained, through the learner's layer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from rich.columns import Columns
from rich.console import Console, RenderableType
from rich.text import Text

from autograder.errors import KitError
from autograder.learning.checking import Checking
from autograder.learning.once import after_all
from autograder.learning.process import Child
from autograder.learning.progress import LearnerSession, Say, open_session
from autograder.learning.screen import Indented, command
from autograder.learning.workspace import read_work
from autograder.play.language_model import loss_words, read_costs
from autograder.play.language_model import spoken_mistake_words as mistake_words
from autograder.play.performance import hear, watch_training
from autograder.play.training_words import (
    MOMENTS,
    Drawing,
    MeasuredTrainings,
    Moment,
    moment_words,
    read_trainings,
    result_words,
    shaded_lines,
    tried_words,
    words_before,
)
from autograder.play.training_words import mistake_words as trained_mistake_words
from autograder.reports.terminal_text import Blocks
from autograder.values.exercise import Exercise, LayerTraining
from autograder.values.sanitize import clean

# What `attn play` shows of an exercise in PyTorch: a model is trained through the layer.

LONGEST = 2000  # characters of what is said at once
DRAWN_EVERY = MOMENTS // 2  # at the beginning, in the middle and at the end


def show_trainings(exercise: Exercise, console: Console) -> MeasuredTrainings | None:
    """Train on each task of the exercise through the learner's layers, and show how it goes.

    Return what was measured of the exercise beforehand. Raises `KitError` when the first layer
    gives nothing; a later one may not be written yet, and that is said.
    """
    measured = read_trainings(exercise.folder)
    for number, training in enumerate(exercise.trainings):
        if number:
            console.print()
        try:
            _show_training(exercise, training, console, measured)
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
) -> None:
    head = Text(words_before(training.task), "bold")
    with Child(exercise) as child:
        result = watch_training(exercise, training, child, _teller(console, head))
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
    panels = Blocks([each.panel() for each in drawings])
    pictures = [
        Text("\n".join([each.shows, *shaded_lines(each.picture)]))
        for each in drawings
        if each.shows
    ]
    return Columns([*pictures, panels], padding=(0, 2)) if pictures else panels


def _say(console: Console, sentence: str) -> None:
    console.print(Indented(Text(clean(sentence, LONGEST)), 0, 0))


def play(
    folder: Path, words: str | None, console: Console, say: Say, *, others: bool = False
) -> None:
    """Let a model speak or learn, and tell what the last mistake that the learner met would cost.

    If `others` are asked for, tell of all that were met; if none was, of others' mistakes.
    """
    session = open_session(folder, say)
    exercise = session.exercise(words)
    met = session.progress.mistakes(exercise)
    if exercise.speaker:
        paragraphs = _speak(exercise, console, met, others)
    elif exercise.trainings:
        measured = show_trainings(exercise, console)
        paragraphs = trained_mistake_words(measured, met, others=others)
    else:
        raise _nothing_to_play(session, exercise)
    for paragraph in paragraphs:
        console.print()
        for line in paragraph:
            _say(console, line)
    console.print()
    console.print(Text("Continue with:"))
    if not others and len(met) != 1:
        what = "all the mistakes that you met" if met else "mistakes of others"
        console.print(command(f"attn play {exercise.name} --mistakes", f"what {what} would cost"))
    console.print(command(after_all(session, exercise)))


def _speak(
    exercise: Exercise, console: Console, met: Iterable[str], others: bool
) -> Iterable[tuple[str, ...]]:
    with Child(exercise) as child:
        work = Checking(exercise, read_work(exercise), ())
        loss = hear(work, exercise.speaker, child, lambda text: _write(console, text))
    console.print("\n")
    console.print(Text(loss_words(loss)))
    return mistake_words(read_costs(exercise.folder), met, others=others)


def _nothing_to_play(session: LearnerSession, exercise: Exercise) -> KitError:
    others = [each.name for each in session.workspace.exercises if each.plays]
    return KitError(
        f"no model can be played through the layer of {exercise.name}",
        place=str(exercise.folder),
        cure=" or ".join(f"attn play {name}" for name in others)
        or f"bring the exercises up to date: attn start {session.workspace.root}; your own "
        "work stays as it is",
    )


def _write(console: Console, text: str) -> None:
    console.print(Text(clean(text, LONGEST)), end="", soft_wrap=True)
