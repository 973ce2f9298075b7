"""Where a learner works: the folder that `attn start` made, or one with a released exercise.

As git does with a repository, it is looked for in the working directory and the folders above,
so commands do not need to be told where it is.
"""

from __future__ import annotations

import shlex
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from autograder.errors import KitError
from autograder.learning.own_work import MARK, WORK
from autograder.model.exercise import MANIFEST, Exercise, Step, read_exercise
from autograder.model.near_name import did_you_mean, near_name

MOST_NAMED = 3
START = "name the folder of an exercise with --in, or make a workspace: attn start my-attention"


@dataclass(frozen=True)
class Task:
    """What a command is about: an exercise, and one of its steps or (None) all of them.

    file: the learner's file, if it was named; None for the one that counts.
    """

    exercise: Exercise
    step: Step | None = None
    file: Path | None = None

    @property
    def steps(self) -> tuple[Step, ...]:
        """The step, or all steps of the exercise."""
        return (self.step,) if self.step else self.exercise.steps


@dataclass(frozen=True)
class Workspace:
    """A folder with exercises, by difficulty; `here` is the exercise of the current folder.

    Optional exercises come last.
    """

    root: Path
    exercises: tuple[Exercise, ...]
    here: Exercise | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the exercises."""
        return tuple(exercise.name for exercise in self.exercises)

    def exercise(self, name: str) -> Exercise:
        """Return an exercise by name; raise `KitError` when it is not here."""
        for exercise in self.exercises:
            if exercise.name == name:
                return exercise
        raise KitError(
            f"there is no exercise {name!r} in this workspace",
            place=str(self.root),
            cure=f"{did_you_mean(name, self.names)}use one of: {', '.join(self.names)}",
        )

    def task(self, words: str | None, current: Exercise) -> Task:
        """Parse EXERCISE, EXERCISE.STEP, STEP or a file; without words, the task is `current`.

        STEP is a name, or a number from 1. A step alone belongs to `current`, or else to the only
        exercise that has it. Raises `KitError` for an unknown or ambiguous name.
        """
        if not words:
            return Task(current)
        path = Path(words)
        if path.suffix in WORK:
            return self._file_task(path)
        if len(path.parts) > 1 or words.endswith("/"):
            words = path.name  # a shell completes the name of a folder
        first, _, rest = words.partition(".")
        if first in self.names:
            exercise = self.exercise(first)
            return Task(exercise, step_called(exercise, rest) if rest else None)
        having = [each for each in self.exercises if words in (step.name for step in each.steps)]
        if not having and not words.isdecimal():
            self._refuse(words, current)
        if current in having or not having:
            return Task(current, step_called(current, words))
        if len(having) > 1:
            raise KitError(
                f"{len(having)} exercises have a step {words!r}",
                place=str(self.root),
                cure=f"say which: {', '.join(f'{each.name}.{words}' for each in having)}",
            )
        return Task(having[0], having[0].step(words))

    def _refuse(self, words: str, current: Exercise) -> None:
        """Raise `KitError` for a name that is meant for another exercise, or for an exercise."""
        own = [step.name for step in current.steps]
        if near_name(words, own):
            return
        others = [each for each in self.exercises if each is not current]
        longer = {step.name: f"{each.name}.{step.name}" for each in others for step in each.steps}
        longer |= {name: name for name in self.names}
        name = near_name(words, longer)
        if name is None:
            return
        raise KitError(
            f"there is no step and no exercise {words!r}",
            place=str(self.root),
            cure=f"did you mean {longer[name]}? Otherwise look at attn list",
        )

    def _file_task(self, path: Path) -> Task:
        """Return the task of a file of this workspace, named with or without its folder."""
        exercise = self.exercise(path.stem)
        file = exercise.folder / path.name
        if len(path.parts) > 1 and path.resolve() != file.resolve():
            raise KitError(
                f"{path} is not a file of this workspace",
                place=str(self.root),
                cure=f"its own is {file}",
            )
        if not file.is_file():
            raise KitError(
                f"there is no {path.name}",
                place=str(exercise.folder),
                cure=f"`attn start {self.root}` puts it there, and leaves your work as it is",
            )
        return Task(exercise, file=file)


def step_called(exercise: Exercise, words: str) -> Step:
    """Return the step of this name or number (from 1); raise `KitError` when there is none."""
    if not (words.isascii() and words.isdecimal()):
        return exercise.step(words)
    by_number = {str(number): step for number, step in enumerate(exercise.steps, 1)}
    if words in by_number:
        return by_number[words]
    raise KitError(
        f"there is no step {words} in {exercise.name}",
        place=str(exercise.folder / MANIFEST),
        cure=f"use a number from 1 to {len(exercise.steps)}; attn list shows them",
    )


def find_workspace(start: Path) -> Workspace:
    """Find the workspace around `start`; raise `KitError` when there is none."""
    if not start.is_dir():
        raise KitError("there is no such folder", place=str(start), cure="check its spelling")
    folder = start.resolve()
    if any(folder.glob(f"*/{MANIFEST}")):
        return workspace_at(folder)
    for place in (folder, *folder.parents):
        if (place / MANIFEST).is_file():
            here = read_exercise(place)
            if (place.parent / MARK).is_dir():
                return workspace_at(place.parent, here)
            return Workspace(place, (here,), here)
        if is_workspace(place):
            return workspace_at(place)
    below = workspaces_below(folder)
    raise KitError(
        f"this is not a workspace: there is no {MANIFEST} here or above",
        place=str(start),
        cure=" or ".join(f"cd {shlex.quote(name)}" for name in below) or START,
    )


def workspaces_below(folder: Path) -> tuple[str, ...]:
    """Return the names of the folders directly in `folder` that are workspaces, the first few."""
    with suppress(OSError):  # a folder that may not be read
        found = (path.name for path in sorted(folder.iterdir()) if is_workspace(path))
        return tuple(islice(found, MOST_NAMED))
    return ()


def is_workspace(folder: Path) -> bool:
    """Whether this folder has exercises in it, and a record of the work in them."""
    return (folder / MARK).is_dir() and any(folder.glob(f"*/{MANIFEST}"))


def workspace_at(root: Path, here: Exercise | None = None) -> Workspace:
    """Return the workspace in `root`, with the exercises directly below it."""
    found = [read_exercise(path.parent) for path in root.glob(f"*/{MANIFEST}")]
    found.sort(key=lambda exercise: (exercise.optional, exercise.difficulty, exercise.name))
    return Workspace(root, tuple(found), here)
