"""`attn collect`: from a platform's download to a folder for each student."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autograder.cli.kit import FOLDER, example, out
from autograder.errors import KitError
from autograder.model.sanitize import terminal_line

if TYPE_CHECKING:
    from autograder.platforms.collected_download import CollectedDownload, CollectedHandIn
    from autograder.platforms.delivery import Arrival, Destination

PLATFORMS = (*("canvas", "moodle", "gradescope", "brightspace", "blackboard", "github", "plain"),)
COLLECTED, NOT_TAKEN = "collected", "not-taken"
_MOST = 5  # names of a kind
_NOBODY = (
    "nobody of the download is in the list, so its headings may be others than those that are read "
    "here. They are: {headings}. Names are read below `name`, or `first_name` and `last_name`; "
    "numbers and addresses below `student_id`, `login`, `sis_id` and `email`."
)


@click.command(epilog=example("attn collect submissions.zip --course my-course"))
@click.argument("download", metavar="ZIP", type=FOLDER)
@click.option("--to", "folder", type=FOLDER, help="A folder for the hand-ins, one per student.")
@click.option("--course", type=FOLDER, help="A course: they go into its submitted/ folder.")
@click.option("--exercise", help="Which exercise the download is of [default: the course's].")
@click.option("--roster", type=FOLDER, help="A CSV list of the class, with the students' ids.")
@click.option("--id-column", metavar="HEADING", help="The column of the roster with the ids.")
@click.option(
    "--platform", type=click.Choice(PLATFORMS), help="Where it comes from [default: recognised]."
)
@click.option("--replace", is_flag=True, help="Replace other hand-ins that are there already.")
def collect(
    download: Path,
    folder: Path | None,
    course: Path | None,
    exercise: str | None,
    roster: Path | None,
    id_column: str | None,
    platform: str | None,
    replace: bool,
) -> None:
    """Unpack a platform's download: Canvas, Moodle, Gradescope, Brightspace, Blackboard, GitHub.

    The hand-ins go into a folder for each student, ready for `attn grade`. What is not taken is
    listed, and then the command exits with 1.
    """
    from autograder.model.group_shared import following
    from autograder.platforms.class_list import read_class_list
    from autograder.platforms.collected_download import collected
    from autograder.platforms.delivery import deliver, write_collected, write_not_taken
    from autograder.platforms.download_layout import SHOWN, Platform

    destination, records, named, exercise = _destination(folder, course, exercise, replace)
    known = read_class_list(roster, id_column) if roster else None
    chosen = Platform(platform) if platform else None
    around = next(place for place in (records, *records.absolute().parents) if place.is_dir())
    with (
        following(around),
        collected(download, known, chosen, exercise, destination.root) as collection,
    ):
        delivered = deliver(collection, destination)
        how = "recognised" if chosen is None else "read as"
        out().print(f"{how}: {SHOWN[collection.platform]}")
        if known:
            out().print(terminal_line(f"ids from the column {known.ids} of the list", 200))
        told = _told(collection, delivered)
        if known and collection.unresolved and not delivered:
            _print(_NOBODY.format(headings=_some(known.headings, 12)), True)
        records.mkdir(parents=True, exist_ok=True)
        listed = records / f"{COLLECTED}{named}.csv"
        write_collected(listed, delivered, collection.platform)
        lost = write_not_taken(records / f"{NOT_TAKEN}{named}.csv", collection)
    out().print(f"who is who: {listed}", soft_wrap=True, markup=False)
    out().print(f"what was not taken: {lost}", soft_wrap=True, markup=False)
    graded = f"{course or folder} --exercise {exercise or 'NAME'}"
    out().print(f"next: attn grade {graded}", soft_wrap=True, markup=False)
    sys.exit(1 if told else 0)


def _destination(
    folder: Path | None, course: Path | None, exercise: str | None, replace: bool
) -> tuple[Destination, Path, str, str | None]:
    """Return where hand-ins go, where the lists go, what is added to their names, the exercise."""
    from autograder.platforms.delivery import Destination

    if (folder is None) == (course is None):
        raise KitError(
            "it is not clear where the hand-ins should go",
            place="--to and --course",
            cure="name a folder with --to, or a course with --course",
        )
    if folder is not None:
        place = folder.absolute()
        return Destination(place, lambda each: place / each, replace=replace), place, "", exercise
    assert course is not None
    return _in_course(course, exercise, replace)


def _in_course(
    directory: Path, exercise: str | None, replace: bool
) -> tuple[Destination, Path, str, str]:
    from autograder.course.creation import read_course
    from autograder.course.intake import timestamp
    from autograder.platforms.delivery import Destination

    course = read_course(directory)
    if exercise is None and len(course.exercises) != 1:
        raise KitError(
            "the course has several exercises",
            place=str(directory),
            cure=f"add --exercise with one of: {', '.join(course.exercises)}",
        )
    name = course.exercise(exercise or course.exercises[0]).name

    def moment_of(folder: Path) -> datetime | None:
        found: datetime | None = timestamp(folder, course.hand_ins)
        return found.replace(tzinfo=UTC) if found else None

    place = Destination(
        course.hand_ins, lambda each: course.submitted(name, each), moment_of, True, replace
    )
    return place, course.directory, f"-{name}", name


def _told(
    collection: CollectedDownload, delivered: Sequence[tuple[CollectedHandIn, Arrival]]
) -> bool:
    """Print what became of everybody; return whether somebody's work was not taken."""
    from autograder.platforms.collected_download import NOBODYS
    from autograder.platforms.delivery import TAKEN
    from autograder.submission.file_text import is_submission

    groups: dict[Arrival, list[str]] = defaultdict(list)
    for hand_in, arrival in delivered:
        groups[arrival].append(hand_in.student)
    for arrival, students in groups.items():
        names = "" if arrival in TAKEN[:2] else f" ({_some(students)})"
        _print(f"{_count(len(students), 'student')}: {arrival}{names}", arrival not in TAKEN)
    late = [each.student for each, _ in delivered if each.late]
    if late:
        _print(f"marked late by the platform: {_some(late)}", False)
    for one in collection.unresolved:
        _print(f"not taken: {one.person.name or 'somebody without a name'}: {one.reason}", True)
    for person in collection.empty:
        _print(f"not taken: {person.name}: nothing that was handed in could be unpacked", True)
    for person, left in collection.too_large:
        _print(f"not taken whole: {person.name}: {left.reason}; the rest is left out", True)
    reasons: dict[str, list[str]] = defaultdict(list)
    whose = False  # somebody's work, and nobody knows whose
    for left in collection.left_out:
        reasons[left.reason].append(left.name)
    for reason, names_of in reasons.items():
        work = reason == NOBODYS and any(is_submission(Path(name)) for name in names_of)
        whose |= work
        _print(f"{_count(len(names_of), 'file')} not taken: {reason} ({_some(names_of, 3)})", work)
    kept = any(arrival not in TAKEN for arrival in groups)
    return bool(kept or whose or collection.unresolved or collection.empty or collection.too_large)


def _print(line: str, bad: bool) -> None:
    out().print(
        terminal_line(line, 600), style="bold red" if bad else None, markup=False, soft_wrap=True
    )


def _some(names: Sequence[str], most: int = _MOST) -> str:
    shown = ", ".join(terminal_line(name, 80) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def _count(amount: int, noun: str) -> str:
    return f"{amount} {noun}" if amount == 1 else f"{amount} {noun}s"
