"""`attn play`: a model speaks, or is trained, through the learner's layer."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.text import Text

from autograder.errors import KitError
from autograder.language_model.mistake_costs import read_costs
from autograder.language_model.words import loss_words, mistake_words
from autograder.learning.commands.once import after_all
from autograder.learning.commands.training_shown import show_trainings
from autograder.learning.own_work import read_work
from autograder.learning.runner.checking import Checking
from autograder.learning.runner.hearing import hear
from autograder.learning.runner.process import Child
from autograder.learning.state.session import LearnerSession, Say, open_session
from autograder.learning.terminal.indented import Indented
from autograder.learning.terminal.screen import command
from autograder.model.exercise import Exercise
from autograder.model.sanitize import clean
from autograder.training_tasks.training_words import mistake_words as trained_mistake_words

LONGEST = 2000  # characters of what is said at once


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
            console.print(Indented(Text(clean(line, LONGEST)), 0, 0))
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
