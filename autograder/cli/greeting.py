"""What `attn` alone says: where you are, and the next command to type."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from rich.console import Console
from rich.text import Text

from autograder.errors import KitError
from autograder.learning.progress import LearnerSession, open_session
from autograder.learning.reviewing import review_command, review_words
from autograder.learning.screen import command
from autograder.learning.workspace import which_counts, workspaces_below

ALL = ("attn --help", "lists all commands")


def greet(folder: Path, console: Console) -> None:
    """Greet whoever is in `folder`, and name the next command."""
    try:
        session = open_session(folder, lambda words: console.print(Text(words)))
    except KitError:
        _greet_a_newcomer(console, workspaces_below(folder))
    else:
        _greet_a_learner(session, console)
    console.print(command(*ALL))


def _greet_a_newcomer(console: Console, workspaces: Sequence[str]) -> None:
    console.print(Text("Welcome to attention-kit. Here you build attention step by step."))
    console.print(Text("To learn:"))
    for name in workspaces:
        console.print(command(f"cd {shlex.quote(name)}", "has exercises that you can go on with"))
    console.print(command("attn start my-attention", "makes a folder with the exercises"))
    console.print(Text("To teach a class:"))
    console.print(command("attn course demo", "makes a course with a sample class, and grades it"))
    console.print(Text("For everything else:"))


def _greet_a_learner(session: LearnerSession, console: Console) -> None:
    exercise = session.current
    if len(session.progress.passed(exercise)) == len(exercise.steps):
        exercise = session.next_exercise(exercise) or exercise
    passed, of = session.progress.passed(exercise), len(exercise.steps)
    console.print(Text("Welcome back."))
    console.print(Text(f"{exercise.title}: {len(passed)} of {of} steps passed when last checked."))
    two_files = which_counts(exercise)
    if two_files:
        console.print(Text(two_files))
    if exercise.optional and len(passed) < of:
        console.print(Text("This one is optional: go on if you like."))
    to_review = review_words(session, date.today())
    if to_review:
        console.print(Text(to_review))
        console.print(review_command(session, date.today()))
    if len(passed) < of:
        step = session.open_step(exercise)
        number = exercise.steps.index(step) + 1
        console.print(Text(f"You are at step {number}, {step.name}: {step.title}."))
        console.print(Text("Go on with:"))
        console.print(command(f"attn watch {exercise.name}", "checks whenever you save"))
    else:
        console.print(Text("Every step of every exercise here passes. See them all with:"))
        console.print(command("attn list", "shows points and progress"))
