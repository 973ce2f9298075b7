"""What keeps a release back: a stale assignment, or anything that only instructors may read.

The wheel is searched like every other file, for students can open it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from autograder.building.build import EXAMPLES, Examples, stale
from autograder.building.leak import CODE_FILES, Secret, refuse_leaks, secrets_of
from autograder.building.regions import BEGIN, END, SOLUTION
from autograder.errors import KitError
from autograder.model.exercise import MANIFEST, read_exercise

# The engine names these two; in what is made of a solution they would be a leak.
MARKERS = tuple("".join(marker.split()) for marker in (BEGIN, END))
ASSIGNMENTS = "assignments"


@dataclass(frozen=True)
class Source:
    """Where exercises come from: the instructors' folder, and what was generated from it."""

    solutions: Path
    assignments: Path

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The exercises that have a solution, hence can be searched for it."""
        return tuple(sorted(path.parent.name for path in self.solutions.glob(f"*/{MANIFEST}")))

    @cached_property
    def secrets(self) -> tuple[Secret, ...]:
        """What may not get out, of all exercises: one may not give away another."""
        exercises = (read_exercise(self.solutions / name) for name in self.names)
        found = (secret for exercise in exercises for secret in secrets_of(exercise))
        return tuple(dict.fromkeys(found))  # what exercises share is a secret of each


def refuse_stale(source: Source, chosen: Iterable[str]) -> None:
    """Raise `KitError` when an assignment is not what its solution says today.

    All are in the wheel, so all are looked at; the worked examples, which take PyTorch where the
    exercise does, only of the `chosen` ones.
    """
    from autograder.checks.recording import record_examples

    outdated: list[str] = []
    for name in source.names:
        examples = record_examples if name in chosen else _as_written(source)
        outdated += stale(source.solutions / name, source.assignments, examples=examples)
    if outdated:
        raise KitError(
            f"what would be released is stale: {'; '.join(outdated)}",
            place=str(source.assignments),
            cure="run `attn build`, look at what changed, and release again",
        )


def refuse_secrets(source: Source, files: Mapping[str, bytes]) -> None:
    """Raise `KitError` when a line that is secret stands in one of these files."""
    refuse_leaks(source.secrets, {path: text.decode("utf-8") for path, text in files.items()})


def refuse_wheel(source: Source, wheel: str, texts: Mapping[str, str]) -> None:
    """Raise `KitError` when a wheel holds more than the engine and assignments, or a secret."""
    for path in texts:
        if not _may_be_packaged(path):
            raise KitError(
                f"{path} would be in the kit's wheel, which students get",
                place=wheel,
                cure="let pyproject.toml package autograder/ and assignments/ alone",
            )
    engine_may = tuple(each for each in source.secrets if each.text not in MARKERS)
    for path, text in texts.items():
        secrets = source.secrets if ASSIGNMENTS in path.split("/") else engine_may
        refuse_leaks(secrets, {f"{wheel}/{path}": text})


def _may_be_packaged(path: str) -> bool:
    *folders, name = path.split("/")
    if not folders or not (folders[0] == "autograder" or folders[0].endswith(".dist-info")):
        return False
    # The engine has a module of its own with one of these names.
    shared = any(folder.startswith("_") for folder in folders)
    secret = ASSIGNMENTS in folders and (shared or name in (SOLUTION, *CODE_FILES))
    return not secret and not {"solutions", "tests"} & set(folders)


def _as_written(source: Source) -> Examples:
    """The worked examples as they stand, in place of recording them anew."""

    def read(solution_folder: Path) -> str:
        file = source.assignments / solution_folder.name / EXAMPLES
        return file.read_text(encoding="utf-8") if file.is_file() else ""

    return read
