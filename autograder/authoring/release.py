"""Releases exercises: everything is made in memory, searched, and only then written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from autograder.authoring.build import TRACES, Examples, stale
from autograder.authoring.contents import (
    Files,
    Package,
    Wheel,
    archive_of,
    build_wheel,
    common_files,
    exercise_files,
    is_answer,
    read_wheel,
    total_size,
)
from autograder.authoring.leak import CODE_FILES, Secret, refuse_leaks, secrets_of
from autograder.authoring.regions import BEGIN, END
from autograder.errors import KitError
from autograder.values.exercise import (
    EXAMPLES,
    MANIFEST,
    SOLUTION,
    Exercise,
    find_exercise,
    read_exercise,
)
from autograder.values.this_machine import ANSWERS

# Refuses a release with a stale assignment, or with anything that only instructors may read.
#
# The wheel is searched like every other file, because students can open it.

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
    from autograder.checks.plugin import record_examples

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

    def read(solution_folder: Path) -> bytes:
        file = source.assignments / solution_folder.name / EXAMPLES
        return file.read_bytes() if file.is_file() else b""

    return read


# The folder for a release, and a record of the files that releases put there.
#
# Somebody's work may be in it: an instructor's own files, or a student's solved notebook. So a
# release is written only into a folder whose files are all as a release left them.

NOTE = ".attn-release.json"
FORMAT_VERSION = 1
# The folder may be under version control.
NOT_LOOKED_AT = (*TRACES, ".git")
ANOTHER = "name a new folder with --to"


@dataclass(frozen=True)
class Target:
    """A folder, and the files that a release put there: path in the folder to SHA-256."""

    folder: Path
    made: Mapping[str, str]

    def kept(self, exercises: frozenset[str]) -> tuple[str, ...]:
        """Return the names of earlier released exercises that are not in `exercises`."""
        folders = {path.split("/")[0] for path in self.made if path.endswith("/exercise.toml")}
        return tuple(sorted(folders - exercises))

    def put(self, files: Mapping[str, bytes], keep: tuple[str, ...]) -> None:
        """Write `files`; remove an earlier release's files, except for the exercises in `keep`."""
        stay = {
            path: digest
            for path, digest in self.made.items()
            if path.split("/")[0].removesuffix(".zip") in keep
        }
        for path in self.made.keys() - stay.keys() - files.keys():
            (self.folder / path).unlink(missing_ok=True)
        for path, content in files.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_bytes(content)
        made = {**stay, **{path: _digest(content) for path, content in files.items()}}
        facts = {"format_version": FORMAT_VERSION, "files": dict(sorted(made.items()))}
        (self.folder / NOTE).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def open_target(folder: Path) -> Target:
    """Return the folder as a target; raise `KitError` if it holds anything but a release."""
    if folder.exists() and not folder.is_dir():
        raise KitError("a file of that name already exists", place=str(folder), cure=ANOTHER)
    noted = _noted(folder / NOTE)
    made: dict[str, str] = {}
    for path in _files(folder):
        inside = path.relative_to(folder).as_posix()
        if inside == NOTE:
            continue
        if inside not in noted:
            why = "is not from a release, and a release never overwrites other files"
        elif path.is_symlink() or _digest(path.read_bytes()) != noted[inside]:
            why = "was changed after it was released: it may be somebody's work"
        else:
            made[inside] = noted[inside]
            continue
        cure = f"{ANOTHER}, or move that file out"
        raise KitError(f"{inside} {why}", place=str(folder), cure=cure)
    return Target(folder, made)


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if (path.is_symlink() or not path.is_dir()) and not set(parts) & set(NOT_LOOKED_AT):
            yield path


def _noted(note: Path) -> dict[str, str]:
    if not note.is_file():
        return {}
    try:
        facts = json.loads(note.read_text(encoding="utf-8"))
    except ValueError:
        facts = None
    if isinstance(facts, dict) and facts.get("format_version") == FORMAT_VERSION:
        files = facts.get("files")
        if isinstance(files, dict):
            return {path: str(digest) for path, digest in files.items()}
    raise KitError(
        "the record of what was released here cannot be read", place=str(note), cure=ANOTHER
    )


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True)
class ReleaseOptions:
    """What to release: the exercises, whether with archives, and the place online.

    `repository` is OWNER/NAME on GitHub, or "". `wheel` is a wheel of the kit to hand out; if it
    is None, one is built. It is built `with_answers` for who learns alone, never for a course.
    """

    exercises: tuple[str, ...]
    archives: bool = False
    repository: str = ""
    wheel: Path | None = None
    with_answers: bool = False


@dataclass(frozen=True)
class Released:
    """One released exercise: its files, their archive if there is one, what a student installs."""

    exercise: Exercise
    files: Files
    archive: Files
    packages: tuple[Package, ...]


def release(source: Source, order: ReleaseOptions, folder: Path) -> tuple[Released, ...]:
    """Write the release into `folder` and return what was released.

    An exercise that was released there before, and is not in this order, stays. Raises `KitError`
    and writes nothing if an assignment is stale, if `folder` holds something that is not from a
    release, or if a secret would get out.
    """
    place = open_target(folder)
    names = tuple(dict.fromkeys(order.exercises))
    exercises = [find_exercise(name, source.solutions) for name in names]
    refuse_stale(source, names)
    wheel = _wheel(source, order)
    files: Files = {}
    released = []
    for exercise in exercises:
        own = _exercise(source, order, exercise, wheel)
        archive = {f"{exercise.name}.zip": archive_of(own)} if order.archives else {}
        released.append(Released(exercise, own, archive, wheel.packages([exercise])))
        files |= own | archive
    stay = place.kept(frozenset(names))
    every = [*exercises, *(read_exercise(folder / name) for name in stay)]
    files |= common_files(
        every,
        wheel=f"{names[0]}/{wheel.name}",
        packages=wheel.packages(every),
        repository=order.repository,
    )
    place.put(files, keep=stay)
    return tuple(released)


def _wheel(source: Source, order: ReleaseOptions) -> Wheel:
    carried = [source.assignments / name for name in source.names]
    answers = [source.solutions / name for name in source.names] if order.with_answers else []
    wheel = read_wheel(order.wheel) if order.wheel else build_wheel(carried, answers)
    allowed = is_answer if order.with_answers else lambda path: False
    texts = {path: text for path, text in wheel.texts.items() if not allowed(path)}
    refuse_wheel(source, wheel.name, texts)
    return wheel


def _exercise(source: Source, order: ReleaseOptions, exercise: Exercise, wheel: Wheel) -> Files:
    files = exercise_files(
        exercise,
        source.assignments / exercise.name,
        wheel=wheel.name,
        packages=wheel.packages([exercise]),
        repository=order.repository,
    )
    refuse_leaks(source.secrets, files)
    return files | {f"{exercise.name}/{wheel.name}": wheel.content}


# What an instructor reads after a release: what was released, its size, what to do next.


def release_summary(released: Sequence[Released], folder: Path, repository: str = "") -> str:
    """Return the lines for the terminal."""
    lines = [line for each in released for line in _about(each, folder)]
    first = released[0]
    name = first.exercise.name
    hand_out = next(iter(first.archive), f"{name}/")
    lines += [
        "searched: no line of solutions/ is in it, nor in the kit's wheel",
        "next:",
        f"  hand out {folder / hand_out}; its README.md says how to install and begin",
    ]
    if repository:
        lines.append(f"  push {folder} to https://github.com/{repository}: its README.md has links")
        lines.append("  to Colab and Binder (try them once before the class does)")
    lines += [
        "  put what students hand in into one folder, named by student: homework/ada.ipynb",
        f"  attn grade homework --exercise {name}",
    ]
    return "\n".join(lines)


def _about(released: Released, folder: Path) -> list[str]:
    name = released.exercise.name
    size = sum(map(len, released.files.values()))
    lines = [f"{folder / name}: {len(released.files)} files, {_size(size)}"]
    lines += [f"{folder / path}: {_size(len(zip_))}" for path, zip_ in released.archive.items()]
    packages, installed = released.packages, total_size(released.packages)
    takes = f", {_size(installed)} on disk" if installed else ""
    lines.append(f"  a student installs the kit and {len(packages)} packages{takes}")
    return lines


def _size(count: int) -> str:
    return f"{count / 1e6:.0f} MB" if count >= 1e7 else f"{count / 1e6:.1f} MB"
