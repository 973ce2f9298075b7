"""The class table in a terminal: a row per student, a column per step, a sign in each cell.

The table must be readable without color, and in 100 columns with eleven steps. So the steps are
numbered, a key below names them, and the diagnosis takes the rest of the width. Cells are `Text`,
never markup, so that a student's text is shown and not interpreted.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from autograder.reports.class_summary import first_line
from autograder.reports.feedback import level_words, unprotected_words
from autograder.reports.gradebook_entry import (
    NO_ENTRIES,
    GradebookEntries,
    changes_of,
    max_points_of,
    points_of,
)
from autograder.reports.roll import NO_RECORDS, StudentRecords, class_roll, shown_names
from autograder.values.exercise import Exercise
from autograder.values.sanitize import clean_line, terminal_line
from autograder.values.symbols import count, key, mark, number, step_mark, style
from autograder.values.verdict import Outcome, Verdict

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
        table.add_row(*_row(exercise, verdict, names[verdict.student], entries))
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


def _row(exercise: Exercise, verdict: Verdict, name: str, entries: GradebookEntries) -> list[Text]:
    chain = chain_words(exercise, verdict)
    return [
        Text(terminal_line(name, 200)),
        _signs(verdict),
        Text(chain, style=style(chain[0])),
        Text(points_words(verdict, entries)),
        Text(terminal_line(diagnosis_words(exercise, verdict), 300)),
    ]


def _signs(verdict: Verdict) -> Text:
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
