"""`attn play`: a language model speaks through the learner's layer."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from autograder.errors import KitError
from autograder.language_model.mistake_costs import read_costs
from autograder.language_model.words import loss_words, mistake_words
from autograder.learning.commands.once import after_all
from autograder.learning.runner.hearing import hear
from autograder.learning.runner.process import Child
from autograder.learning.state.session import Say, open_session
from autograder.learning.terminal.screen import command
from autograder.model.sanitize import clean

LONGEST = 2000  # characters of what is said at once


def play(folder: Path, words: str | None, console: Console, say: Say) -> None:
    """Let the model speak, and tell what the mistakes that the learner met would have cost."""
    session = open_session(folder, say)
    exercise = session.task(words).exercise
    if not exercise.speaker:
        speakers = [each.name for each in session.workspace.exercises if each.speaker]
        raise KitError(
            f"the language model cannot speak through the layer of {exercise.name}",
            place=str(exercise.folder),
            cure=" or ".join(f"attn play {name}" for name in speakers)
            or f"bring the exercises up to date: attn start {session.workspace.root}; your own "
            "work stays as it is",
        )
    with Child(exercise) as child:
        loss = hear(exercise, exercise.speaker, child, lambda text: _write(console, text))
    console.print("\n")
    console.print(Text(loss_words(loss)))
    for paragraph in mistake_words(
        read_costs(exercise.folder), session.progress.mistakes(exercise)
    ):
        console.print()
        for line in paragraph:
            console.print(Text(clean(line, LONGEST)))
    console.print()
    console.print(Text("Continue with:"))
    console.print(command(after_all(session, exercise)))


def _write(console: Console, text: str) -> None:
    console.print(Text(clean(text, LONGEST)), end="", soft_wrap=True)
