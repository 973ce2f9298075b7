"""What a course changes in an exercise: points, bonus steps that it leaves out, steps of its own.

Points and steps that are left out stand in `attn.toml`, in a table `[points.EXERCISE]`; steps of
the instructor's own are in the course's folder `own-steps/EXERCISE/`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autograder.errors import KitError

POINTS = "points"
MOST_POINTS = 1000.0  # of one step
LEFT_OUT = "left out"  # in place of a step's points
OWN = "own-steps"  # the folder in a course
OWN_STEPS = "steps.toml"


@dataclass(frozen=True)
class Adjustment:
    """What a course changes in one exercise.

    points: of a step, in place of the exercise's. left_out: the steps that students do not get.
    own: the folder with steps of the instructor's own; None without.
    """

    points: Mapping[str, float] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    own: Path | None = None

    @property
    def facts(self) -> list[object]:
        """What it says of the exercise's steps, for a hash."""
        return [sorted(self.points.items()), sorted(self.left_out)]


def read_adjustments(
    facts: Mapping[str, Any], path: Path, exercises: Iterable[str]
) -> dict[str, Adjustment]:
    """Return what a course changes, by exercise, from the facts of its file at `path`.

    Raises `KitError` for a table that is not clear, or one about an exercise that is not there.
    """
    tables, known = facts.get(POINTS, {}), tuple(exercises)
    if not isinstance(tables, dict) or not all(isinstance(each, dict) for each in tables.values()):
        raise _unclear("[points] holds something else than tables of exercises", path)
    for name in tables:
        if name not in known:
            raise KitError(
                f"[points.{name}] is about an exercise that this course does not have",
                place=str(path),
                cure=f"use one of: {', '.join(known)}",
            )
    found = {name: _adjustment(name, tables.get(name, {}), path) for name in known}
    return {name: each for name, each in found.items() if each != Adjustment()}


def unread_steps(course: Path, exercises: Collection[str]) -> list[str]:
    """Return the folders of own steps of which no exercise of the course has the name."""
    folders = (path for path in (course / OWN).glob("[!.]*") if path.is_dir())
    return sorted(f"{OWN}/{path.name}" for path in folders if path.name not in exercises)


def _adjustment(exercise: str, table: Mapping[str, Any], path: Path) -> Adjustment:
    points = {step: value for step, value in table.items() if value != LEFT_OUT}
    for step, value in points.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (is_number and 0 <= value <= MOST_POINTS):
            raise _unclear(f"[points.{exercise}] gives {step} {value!r} points", path)
    own = path.parent / OWN / exercise
    _refuse_unlisted(own)
    return Adjustment(
        {step: float(value) for step, value in points.items()},
        tuple(step for step, value in table.items() if value == LEFT_OUT),
        own if (own / OWN_STEPS).is_file() else None,
    )


def _refuse_unlisted(own: Path) -> None:
    """Refuse a folder with code and without a list of steps: it is meant as steps of one's own."""
    if any(own.glob("*.py")) and not (own / OWN_STEPS).is_file():
        raise KitError(
            f"the folder has no {OWN_STEPS}, so its steps are not known",
            place=str(own),
            cure="write there the name, the title and the points of each step, in [[steps]]",
        )


def _unclear(fact: str, path: Path) -> KitError:
    cure = f'write [points.EXERCISE], and below it a line each: softmax = 3, or = "{LEFT_OUT}"'
    return KitError(fact, place=str(path), cure=f"{cure}; at most {MOST_POINTS:g}")
