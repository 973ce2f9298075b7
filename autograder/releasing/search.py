"""Refuses a release with a stale assignment, or with anything that only instructors may read.

The wheel is searched like every other file, because students can open it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from autograder.building.build import EXAMPLES, Examples, stale
from autograder.building.leak import CODE_FILES, Secret, refuse_leaks, secrets_of
from autograder.building.regions import BEGIN, END
from autograder.errors import KitError
from autograder.model.exercise import MANIFEST, SOLUTION, read_exercise
from autograder.model.shipped import ANSWERS

# The engine's own code names these two. In files made from a solution they would be a leak.
MARKERS = tuple("".join(marker.split()) for marker in (BEGIN, END))
ASSIGNMENTS = "assignments"


@dataclass(frozen=True)
class Source:
    """Where exercises come from: the instructors' folder, and what was generated from it."""

    solutions: Path
    assignments: Path

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The exercises that have a solution, whose secrets are therefore known."""
        return tuple(sorted(path.parent.name for path in self.solutions.glob(f"*/{MANIFEST}")))

    @cached_property
    def secrets(self) -> tuple[Secret, ...]:
        """The secrets of all exercises: one exercise must not give away another."""
        exercises = (read_exercise(self.solutions / name) for name in self.names)
        found = (secret for exercise in exercises for secret in secrets_of(exercise))
        return tuple(dict.fromkeys(found))  # shared code is a secret of several exercises


def refuse_stale(source: Source, chosen: Iterable[str]) -> None:
    """Raise `KitError` if an assignment is not what its solution gives today.

    All assignments are in the wheel, so all are compared. The worked examples may need PyTorch,
    so they are compared only for the `chosen` ones. Where PyTorch is missing, so are the numbers in
    the prose of its exercises: of these, only a chosen one must be compared.
    """
    from autograder.checks.recording import record_examples

    outdated: list[str] = []
    for name in source.names:
        examples = record_examples if name in chosen else _as_written(source)
        try:
            outdated += stale(source.solutions / name, source.assignments, examples=examples)
        except ImportError:
            if name in chosen:
                raise
    if outdated:
        raise KitError(
            f"what would be released is stale: {'; '.join(outdated)}",
            place=str(source.assignments),
            cure="run `attn build`, look at what changed, and release again",
        )


def refuse_secrets(source: Source, files: Mapping[str, bytes]) -> None:
    """Raise `KitError` if a secret line is in one of these files."""
    refuse_leaks(source.secrets, {path: text.decode("utf-8") for path, text in files.items()})


def refuse_wheel(source: Source, wheel: str, texts: Mapping[str, str]) -> None:
    """Raise `KitError` if a wheel holds a secret, or more than the engine and assignments."""
    for path in texts:
        if not _may_be_packaged(path):
            raise KitError(
                f"{path} would be in the kit's wheel, which students get",
                place=wheel,
                cure="let pyproject.toml package only autograder/ and assignments/",
            )
    engine_secrets = tuple(each for each in source.secrets if each.text not in MARKERS)
    for path, text in texts.items():
        secrets = source.secrets if ASSIGNMENTS in path.split("/") else engine_secrets
        refuse_leaks(secrets, {f"{wheel}/{path}": text})


def _may_be_packaged(path: str) -> bool:
    *folders, name = path.split("/")
    if not folders or not (folders[0] == "autograder" or folders[0].endswith(".dist-info")):
        return False
    # The engine has a module with one of these names, which is allowed.
    shared = any(folder.startswith("_") for folder in folders)
    secret = ASSIGNMENTS in folders and (shared or name in (SOLUTION, *CODE_FILES))
    return not secret and not {"solutions", ANSWERS.name, "tests"} & set(folders)


def _as_written(source: Source) -> Examples:
    """Give the worked examples as they are, instead of recording them again."""

    def read(solution_folder: Path) -> str:
        file = source.assignments / solution_folder.name / EXAMPLES
        return file.read_text(encoding="utf-8") if file.is_file() else ""

    return read
