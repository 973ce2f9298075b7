"""Releases exercises: everything is made in memory, searched, and only then written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from autograder.model.exercise import Exercise, find_exercise, read_exercise
from autograder.releasing.contents import Files, archive_of, common_files, exercise_files
from autograder.releasing.requirements import Package, needed
from autograder.releasing.search import Source, refuse_secrets, refuse_stale, refuse_wheel
from autograder.releasing.target_folder import open_target
from autograder.releasing.wheel import (
    build_wheel,
    is_answer,
    read_wheel,
    wheel_requires,
    wheel_texts,
)


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
class Wheel:
    """The kit as students install it: the wheel's name and bytes, and what it requires."""

    name: str
    content: bytes
    requires: tuple[str, ...]

    def packages(self, exercises: Sequence[Exercise]) -> tuple[Package, ...]:
        """Return the packages that the kit needs for these exercises."""
        torch = any(exercise.library == "torch" for exercise in exercises)
        return needed(self.requires, ["torch"] if torch else [])


@dataclass(frozen=True)
class Released:
    """One released exercise: its files, its size in bytes, and what a student installs."""

    exercise: Exercise
    files: int
    size: int
    packages: tuple[Package, ...]
    archive: str = ""
    archive_size: int = 0


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
        released.append(_released(exercise, own, archive, wheel))
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
    name, content = read_wheel(order.wheel) if order.wheel else build_wheel(carried, answers)
    with TemporaryDirectory(prefix="attention-kit-") as scratch:
        file = Path(scratch, name)
        file.write_bytes(content)
        texts = wheel_texts(file)
        if order.with_answers:
            texts = {path: text for path, text in texts.items() if not is_answer(path)}
        refuse_wheel(source, name, texts)
        return Wheel(name, content, tuple(wheel_requires(file)))


def _exercise(source: Source, order: ReleaseOptions, exercise: Exercise, wheel: Wheel) -> Files:
    files = exercise_files(
        exercise,
        source.assignments / exercise.name,
        wheel=wheel.name,
        packages=wheel.packages([exercise]),
        repository=order.repository,
    )
    refuse_secrets(source, files)
    return files | {f"{exercise.name}/{wheel.name}": wheel.content}


def _released(exercise: Exercise, own: Files, archive: Files, wheel: Wheel) -> Released:
    path = next(iter(archive), "")
    return Released(
        exercise,
        files=len(own),
        size=sum(len(content) for content in own.values()),
        packages=wheel.packages([exercise]),
        archive=path,
        archive_size=len(archive.get(path, b"")),
    )
