"""The marks of a class as scores of LTI 1.3, for a program that sends them: nothing is sent here.

A score is the object that "Assignment and Grade Services 2.0" of 1EdTech posts to a platform, with
the media type application/vnd.ims.lis.v1.score+json (https://www.imsglobal.org/spec/lti-ags/v2p0).
Who has no mark has no object: one without a score would clear what the platform has.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from autograder.errors import KitError
from autograder.model.sanitize import clean_line
from autograder.platforms.class_list import read_class_list
from autograder.platforms.csv_table import read_table
from autograder.platforms.mark import StudentMark

USER_COLUMN = "lti_user_id"
LONGEST_USER = 255  # characters of a `sub`, as OpenID Connect has it
_NO_USER = "has no user of the platform in the roster"


@dataclass(frozen=True)
class LtiScores:
    """The scores as JSON, how many there are, and whom there is none for.

    `problems` are marks without a score, `notes` are students of the roster without a mark.
    """

    text: str
    count: int
    problems: tuple[str, ...]
    notes: tuple[str, ...]


def read_users(roster: Path, id_column: str | None, user_column: str) -> Mapping[str, str]:
    """Return the platform's user of each student, exactly as it is written; "" for none.

    Raise `KitError` when the roster has no such column, or two users for one student.
    """
    students, table = read_class_list(roster, id_column), read_table(roster)
    if user_column not in table.headings:
        raise KitError(
            f"the roster has no column {clean_line(user_column, 80)!r} with the platform's users",
            place=str(roster),
            cure="add it, or name the column that has them with --user-column: "
            + ", ".join(clean_line(each, 60) for each in table.headings[:20]),
        )
    if (columns := table.headings.count(user_column)) > 1:
        raise KitError(
            f"the roster has {columns} columns {clean_line(user_column, 80)!r}",
            place=str(roster),
            cure="leave the one with the platform's users, or give the other another heading",
        )
    student_at, user_at = (table.headings.index(name) for name in (students.ids, user_column))
    found: dict[str, set[str]] = defaultdict(set)
    for row in table.rows[1:]:
        if student := table.value(row, student_at):
            found[student] |= {user} if (user := table.value(row, user_at)) else set()
    for student, users in found.items():
        if len(users) > 1:
            raise KitError(
                f"{clean_line(student, 80)} has {len(users)} users in the roster",
                place=str(roster),
                cure="leave the one that the platform knows",
            )
    return {student: next(iter(users), "") for student, users in found.items()}


def lti_scores(
    marks: Mapping[str, StudentMark], users: Mapping[str, str], moment: datetime
) -> LtiScores:
    """Return a score for every mark; `moment` is when the marks were taken from the gradebook."""
    owners = Counter(user for user in users.values() if user)
    timestamp = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    scores: list[dict[str, object]] = []
    problems: list[str] = []
    for student, mark in sorted(marks.items()):
        user = users.get(student, "")
        if reason := _obstacle(mark, user, owners[user]):
            problems.append(f"{clean_line(student, 80)}: {reason}.")
            continue
        scores.append(
            {
                "userId": user,
                "scoreGiven": mark.points,
                "scoreMaximum": mark.max_points,
                "timestamp": timestamp,
                "activityProgress": "Completed",
                "gradingProgress": "FullyGraded",
            }
        )
    notes = [f"{clean_line(each, 80)}: no mark." for each in sorted({*users} - {*marks})]
    text = json.dumps(scores, indent=2) + "\n"
    return LtiScores(text, len(scores), tuple(problems), tuple(notes))


def _obstacle(mark: StudentMark, user: str, owners: int) -> str:
    """Return why there is no score for a mark; "" when there is one."""
    if mark.points is None:
        return f"no mark: {mark.reason}"
    if not user:
        return _NO_USER
    if owners > 1:
        return f"{owners} students have the same user in the roster"
    if len(user) > LONGEST_USER or not user.isprintable():
        return "what the roster has is no user of a platform"
    if mark.points < 0 or mark.max_points <= 0:
        return "a score is at least 0, and the most points are more than 0"
    return ""
