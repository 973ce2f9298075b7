"""The instructor's page on a class, and its table in a terminal: students, steps, signs.

What is asked first stands first: the marks in numbers, and the table of students and steps. It is
one file without anything from outside. Its one script searches, sorts and filters; without it, the
page is complete. Of a very large class, it is several files: a browser shows some thousand
rows at once, and not a hundred thousand.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from random import SystemRandom
from typing import Any, NamedTuple
from urllib.parse import quote

from markupsafe import Markup
from rich import box
from rich.table import Table
from rich.text import Text

from autograder.reports.class_summary import (
    NOT_ASKED,
    chain_breaks,
    chain_place,
    first_line,
    mark_distribution,
    most_missed,
    whole_layers,
)
from autograder.reports.feedback import environment, level_words, page_name, unprotected_words
from autograder.reports.misunderstandings import (
    Misunderstanding,
    Paragraph,
    has_unnamed_mistake,
    step_counts,
)
from autograder.reports.roll import (
    NO_ENTRIES,
    NO_RECORD,
    NO_RECORDS,
    NOTHING_SIMILAR,
    FollowUp,
    GradebookEntries,
    SimilarCode,
    StudentRecords,
    changed_marks,
    changes_of,
    class_roll,
    hand_in_words,
    judged_words,
    max_points_of,
    points_of,
    shown_names,
)
from autograder.values.exercise import Exercise
from autograder.values.files import folders_of, write_whole
from autograder.values.sanitize import clean_line, terminal_line
from autograder.values.symbols import (
    BY_LAYER,
    KEY,
    RIGHT,
    count,
    key,
    mark,
    number,
    step_mark,
    style,
)
from autograder.values.verdict import Outcome, Verdict

# The class table in a terminal: a row per student, a column per step, a sign in each cell.
#
# The table must be readable without color, and in 100 columns with eleven steps. So the steps are
# numbered, a key below names them, and the diagnosis takes the rest of the width. Cells are
# `Text`, never markup, so that a student's text is shown and not interpreted.

NAME, FULL_NAME = 22, 12
NARROW = 100  # with fewer columns, too little of a diagnosis is left on one line
CHANGED_MARK = "*"
KEY_WIDTH = 78


def class_table(
    exercise: Exercise,
    verdicts: Sequence[Verdict],
    entries: GradebookEntries = NO_ENTRIES,
    records: StudentRecords = NO_RECORDS,
    *,
    wraps: bool = False,
) -> Table:
    """Return the table (students x steps), with points, the chain and a diagnosis in each row.

    The points are those of the gradebook, where it has `entries`. Students are sorted by name.
    With `wraps`, a diagnosis takes as many lines as it needs; else it is cut at the width.
    Raise `KitError` when a verdict is not about this exercise.
    """
    roll = class_roll(exercise, verdicts)
    table = Table(
        title=_title(f"{exercise.title}: {count(len(roll), 'student')}", roll),
        title_justify="left",
        caption=_key(exercise, roll, entries),
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=0,
        collapse_padding=True,
        pad_edge=False,
        show_edge=False,
        expand=True,
    )
    width = NAME + FULL_NAME if any(each.name for each in records.values()) else NAME
    table.add_column("student", no_wrap=True, overflow="ellipsis", max_width=width)
    # One column for all steps: a row takes rich as long as its cells are many.
    positions = [str(position) for position, _ in enumerate(exercise.steps, start=1)]
    table.add_column(" ".join(positions), no_wrap=True)
    table.add_column("chain", no_wrap=True, justify="center", min_width=5)
    table.add_column("points", no_wrap=True, justify="right", min_width=6)
    table.add_column(
        "look at", no_wrap=not wraps, overflow="fold" if wraps else "ellipsis", ratio=1
    )
    names = shown_names((verdict.student for verdict in roll), records)
    for verdict in roll:
        table.add_row(*_student_row(exercise, verdict, names[verdict.student], entries))
    return table


def points_words(verdict: Verdict, entries: GradebookEntries = NO_ENTRIES) -> str:
    """Return "18/22", with a star when the gradebook has other points than the automatic ones.

    It is "?/22" when the submission was not graded.
    """
    points = points_of(verdict, entries)
    star = CHANGED_MARK if changes_of(verdict, entries) else ""
    shown = "?" if points is None else number(points)
    return f"{shown}/{number(max_points_of(verdict, entries))}{star}"


def chain_words(exercise: Exercise, verdict: Verdict) -> str:
    """Return the sign of the chain, with the number of the step where it breaks: "✗ 4".

    It is "–" where the exercise does not ask how the steps work together.
    """
    if not verdict.chain.asked and verdict.chain.outcome is Outcome.PASSED:
        return "–"
    sign, at = mark(verdict.chain.outcome).sign, verdict.chain.breaks_at
    return sign if at is None else f"{sign} {len(exercise.before(at)) + 1}"


def diagnosis_words(exercise: Exercise, verdict: Verdict) -> str:
    """Return the first thing to look at in one line, after its step's number: "4: Your …"."""
    position, line = first_line(verdict)
    return clean_line(f"{position}: {line}" if position else line, 300)


def _title(words: str, roll: Sequence[Verdict]) -> Text:
    title = Text(words, style="bold")
    if alarm := unprotected_words(roll):
        title = Text(f"{alarm}\n", style="bold red").append(title)
    return title


def _student_row(
    exercise: Exercise, verdict: Verdict, name: str, entries: GradebookEntries
) -> list[Text]:
    chain = chain_words(exercise, verdict)
    return [
        Text(terminal_line(name, 200)),
        _all_signs(verdict),
        Text(chain, style=style(chain[0])),
        Text(points_words(verdict, entries)),
        Text(terminal_line(diagnosis_words(exercise, verdict), 300)),
    ]


def _all_signs(verdict: Verdict) -> Text:
    """Return the signs of the steps, each below the number of its step."""
    signs = Text(end="")
    for position, step in enumerate(verdict.steps, start=1):
        sign = step_mark(step).sign
        signs.append(sign.center(len(str(position))), style(sign))
        signs.append(" " if position < len(verdict.steps) else "")
    return signs


def _key(exercise: Exercise, roll: Sequence[Verdict], entries: GradebookEntries) -> Text:
    chains = {verdict.chain.outcome for verdict in roll}
    signs = key(chains, *(step_mark(step) for verdict in roll for step in verdict.steps))
    if any(changes_of(verdict, entries) for verdict in roll):
        signs = (*signs, f"{CHANGED_MARK} not the automatic points")
    steps = [f"{position} {step.name}" for position, step in enumerate(exercise.steps, start=1)]
    lines = ["", *_lines(signs), *_lines(steps), level_words(roll)]
    return Text("\n".join(lines).rstrip(), style="not italic")


def _lines(entries: Sequence[str]) -> list[str]:
    """Pack `entries` into lines without breaking an entry in two, as rich would."""
    lines = [""]
    for entry in entries:
        longer = f"{lines[-1]}   {entry}" if lines[-1] else entry
        lines[-1:] = [longer] if len(longer) <= KEY_WIDTH else [lines[-1], entry]
    return lines


# How the class page shows students: each by a name, with a link to a page.


class ShownStudent(NamedTuple):
    """The name of a student as it is shown, and the link to the page."""

    name: str
    page: str


def shown_students(
    students: Sequence[str], records: StudentRecords = NO_RECORDS
) -> Mapping[str, ShownStudent]:
    """Return how each of the `students` is shown, who are all of the class, in its order."""
    names = shown_names(students, records)
    return {
        student: ShownStudent(
            names[student], f"{folder}/{page_name(student)}" if folder else page_name(student)
        )
        for student, folder in zip(students, folders_of(len(students)), strict=True)
    }


# The rows of the class page's heat map: one student each, with a cell for every step.
#
# A class has many thousand cells and few kinds of them, so a cell is written once and used again.

# The class of a cell, by its sign: short, since a large class has many thousand cells.
KINDS = dict(zip(KEY, ("r", "l", "w", "e", "a", "o", "t", "c", "j", "q"), strict=True))
UNNAMED = "u"


def class_rows(
    exercise: Exercise,
    verdicts: Sequence[Verdict],
    shown: Mapping[str, ShownStudent],
    context: ClassContext,
) -> list[dict[str, Any]]:
    """Return what the table shows of each verdict, in their order; `shown` has all of them.

    `place` is where the chain ends. `mistakes` are the numbers of the class's mistakes that this
    student made, and `UNNAMED` for any mistake that has no name.
    """
    made: dict[str, list[str]] = defaultdict(list)
    for place, (mistake, _) in enumerate(context.mistakes):
        for student in mistake.students:
            made[student].append(str(place))
    return [_row(exercise, each, shown[each.student], context, made) for each in verdicts]


def _row(
    exercise: Exercise,
    verdict: Verdict,
    shown: ShownStudent,
    context: ClassContext,
    made: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    place = chain_place(exercise, verdict)
    ends = "not asked" if place == NOT_ASKED else mark(verdict.chain.outcome).words
    marks = (step_mark(step) for step in verdict.steps)
    cells = [_cell(mark.sign, mark.words) for mark in marks]
    cells.append(_cell(chain_words(exercise, verdict), ends))
    unnamed = [UNNAMED] if has_unnamed_mistake(verdict) else []
    return {
        "student": shown.name,
        "page": shown.page,
        "points": points_words(verdict, context.entries),
        "amount": points_of(verdict, context.entries),
        "cells": Markup("").join(cells),
        "place": place,
        "mistakes": " ".join([*made.get(verdict.student, ()), *unnamed]),
        "diagnosis": diagnosis_words(exercise, verdict),
        "hand_in": hand_in_words(context.records.get(verdict.student, NO_RECORD)),
        "graded": judged_words(verdict),
    }


@cache
def _cell(shown: str, words: str) -> Markup:
    """Return a cell with its sign, and with words for who does not see it.

    The sign of what is right is read aloud as "check mark". Words in every such cell would take the
    browser twice as long as the whole table does without.
    """
    kind = KINDS.get(shown[0], "n")
    if shown == RIGHT:
        return Markup('<td class="{}">{}</td>').format(kind, shown)
    return Markup('<td class="{}">{}<i>{}</i></td>').format(kind, shown, words)


# The one script of the class page: its text, which is the same for every class, and its hash.
#
# The page's Content-Security-Policy names the hash, so that a browser runs this text and nothing
# else, whatever a hand-in brings into the page. A student's page has no script.

SCRIPT = "class.js.j2"


@cache
def class_script() -> str:
    """Return the text of the script."""
    return environment().get_template(SCRIPT).render(passing=RIGHT + BY_LAYER.sign)


@cache
def script_source() -> str:
    """Return what the page's policy allows to run: the hash of the script."""
    digest = hashlib.sha256(class_script().encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


MOST_ROWS = 5_000
MOST_LINKS = 2_000  # in long lists: more are a megabyte, and those in the table are enough
MOST_LOW = 200  # names of who is far behind: the table sorts the rest
FIRST = "index.html"


@dataclass(frozen=True)
class ClassPart:
    """A page with some of the students: its file, and the numbers of its first and last row."""

    file: str
    first: int
    last: int


def parts_of(students: int) -> tuple[ClassPart, ...]:
    """Return the pages of a class, at least one."""
    starts = range(1, max(students, 1) + 1, MOST_ROWS)
    # No student's page has a "~" followed by so little.
    files = [FIRST, *(f"index~{number}.html" for number in range(2, len(starts) + 1))]
    return tuple(
        ClassPart(file, start, min(start + MOST_ROWS - 1, students))
        for file, start in zip(files, starts, strict=True)
    )


@dataclass(frozen=True)
class ClassContext:
    """What the page shows beside the verdicts.

    The gradebook's `entries`, what needs the instructor, each of the class's
    `misunderstandings` with an example of its code ("" where there is none), what the instructor
    wrote about them, hand-ins with similar code, what is known of students, whether the page is
    `anonymous`, and a link to all exercises of the course.
    """

    entries: GradebookEntries = field(default_factory=lambda: NO_ENTRIES)
    follow_ups: Sequence[FollowUp] = ()
    mistakes: Sequence[tuple[Misunderstanding, str]] = ()
    paragraphs: Sequence[Paragraph] = ()
    similar: SimilarCode = NOTHING_SIMILAR
    records: StudentRecords = field(default_factory=lambda: NO_RECORDS)
    anonymous: bool = False
    course_page: str = ""


NOTHING_ELSE = ClassContext()


def write_class_page(
    folder: Path,
    exercise: Exercise,
    verdicts: Sequence[Verdict],
    context: ClassContext = NOTHING_ELSE,
) -> Path:
    """Write the page into `folder`, in as many files as it takes; return the path of the first.

    Raise `KitError` when a verdict is not about this exercise or the folder cannot be written.
    """
    roll = class_roll(exercise, verdicts)
    shown = _shown(roll, context)
    parts = parts_of(len(roll))
    # The first comes last, when the files that it links to exist.
    for part in reversed(parts):
        write_whole(folder / part.file, _page(exercise, roll, shown, part, context, folder))
    known = {part.file for part in parts}
    for old in folder.glob("index~*.html"):
        if old.name not in known and old.stem.removeprefix("index~").isdecimal():
            old.unlink()  # of a run when the class was larger
    return folder / FIRST


def write_projected_page(
    folder: Path, exercise: Exercise, verdicts: Sequence[Verdict], context: ClassContext
) -> Path:
    """Write a page on the same class that names nobody, to be shown to the class; return its path.

    Its students are numbered in an order that is drawn anew each time. Who has no verdict on the
    work is not in it, since what is said of a file may name its owner, nor whose mark is held back.
    """
    held = {student for student, record in context.records.items() if record.held}
    graded = [each for each in verdicts if each.graded and each.student not in held]
    SystemRandom().shuffle(graded)
    digits = len(str(len(graded)))
    numbers = {
        verdict.student: f"student {place:0{digits}}" for place, verdict in enumerate(graded, 1)
    }
    entries = {
        numbers[student]: replace(entry, student=numbers[student], comments=())
        for student, entry in context.entries.items()
        if student in numbers
    }
    mistakes = [
        (replace(mistake, students=made), code)
        for mistake, code in context.mistakes
        if (made := tuple(numbers[each] for each in mistake.students if each in numbers))
    ]
    roll = [replace(verdict, student=numbers[verdict.student]) for verdict in graded]
    nameless = ClassContext(entries, (), mistakes, context.paragraphs, anonymous=True)
    return write_class_page(folder, exercise, roll, nameless)


def _shown(roll: Sequence[Verdict], context: ClassContext) -> Mapping[str, ShownStudent]:
    shown = shown_students([verdict.student for verdict in roll], context.records)
    if not context.anonymous:
        return shown
    return {student: each._replace(page="#students") for student, each in shown.items()}


def _page(
    exercise: Exercise,
    roll: Sequence[Verdict],
    shown: Mapping[str, ShownStudent],
    part: ClassPart,
    context: ClassContext,
    folder: Path,
) -> str:
    rows = roll[part.first - 1 : part.last]
    first = part.file == FIRST
    template = environment().get_template("class.html.j2")
    return template.render(
        exercise=exercise,
        students=count(len(roll), "student"),
        whole=_whole_class(exercise, roll, shown, context, folder) if first else None,
        course_page=context.course_page,
        parts=parts_of(len(roll)),
        shown=part,
        rows=class_rows(exercise, rows, shown, context),
        signs=_signs(exercise, rows),
        breaks=chain_breaks(exercise, rows),
        mistakes=[mistake for mistake, _ in context.mistakes],
        changed_marks=changed_marks(rows, context.entries, context.records),
        unprotected=unprotected_words(roll),
        level=level_words(roll),
        anonymous=context.anonymous,
        key=KEY,
        kinds=KINDS,
        unnamed=UNNAMED,
        script=Markup(class_script()),  # its text is ours
        script_source=Markup(script_source()),
    )


def _whole_class(
    exercise: Exercise,
    roll: Sequence[Verdict],
    shown: Mapping[str, ShownStudent],
    context: ClassContext,
    folder: Path,
) -> dict[str, Any]:
    """Return what only the first part of the page shows."""
    told = {each.mistake: each.text for each in context.paragraphs}
    titles = {step.name: step.title for step in exercise.steps}
    marks = mark_distribution(roll, context.entries)
    points = {each.student: points_of(each, context.entries) or 0.0 for each in roll}
    return {
        "waiting": len(context.follow_ups),
        "follow_ups": [
            (same[0], [(each.who, _people(each, shown, folder)) for each in same])
            for same in _of_one_reason(context.follow_ups)
        ],
        "marks": marks,
        "low": [(shown[student], number(points[student])) for student in marks.low[:MOST_LOW]]
        if marks
        else [],
        "missed": tuple(most_missed(exercise, roll)),
        "whole_layers": tuple(whole_layers(roll)),
        "signs": _signs(exercise, roll),
        "counts": step_counts(exercise, roll),
        "similar": context.similar.sentences,
        "pairs": [
            (_who(pair.students, shown), pair.words(titles), pair.examples)
            for pair in context.similar.pairs
        ],
        "breaks": chain_breaks(exercise, roll),
        "links": sum(len(each.students) for each, _ in context.mistakes) <= MOST_LINKS,
        "mistakes": [
            (each, each.mistake, _who(each.students, shown), code, told.get(each.mistake))
            for each, code in context.mistakes
        ],
    }


def _of_one_reason(follow_ups: Sequence[FollowUp]) -> list[list[FollowUp]]:
    """Return what waits, together where only the students differ."""
    found: dict[tuple[str, str, bool], list[FollowUp]] = {}
    for each in follow_ups:
        found.setdefault((each.reason, each.cure, each.not_graded), []).append(each)
    return list(found.values())


def _people(
    follow_up: FollowUp, shown: Mapping[str, ShownStudent], folder: Path
) -> list[tuple[str, str, str]]:
    """Return the name of each student, with links to the page and to the hand-in, "" for none."""
    people = zip(follow_up.students, follow_up.shown_names, strict=True)
    return [
        (
            name,
            shown[student].page if student in shown and follow_up.kind != "no_page" else "",
            _link(follow_up.files.get(student), folder),
        )
        for student, name in people
    ]


def _link(file: str | None, folder: Path) -> str:
    """Return a link from a page in `folder` to a file."""
    return quote(os.fsencode(os.path.relpath(file, folder))) if file else ""


def _signs(exercise: Exercise, roll: Sequence[Verdict]) -> list[str]:
    """Return the signs of these students' steps, in the order of the key."""
    counts = step_counts(exercise, roll)
    return [sign for sign in KEY if any(sign in signs for signs in counts.values())]


def _who(students: Sequence[str], shown: Mapping[str, ShownStudent]) -> list[ShownStudent]:
    """Return the name and the page of each student."""
    return [shown[student] for student in students]
