"""`attn platform export lti`: scores as the specification has them, none that is not known."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from autograder.errors import KitError
from autograder.platforms.mark_export import LtiScores, StudentMark, lti_scores, read_users
from platforms.platform_downloads import attn
from support.verdicts import verdict, write_verdicts

# As https://www.imsglobal.org/spec/lti-ags/v2p0 has a score: what must be there, of which kind,
# and the values of the two kinds of progress. The time has a zone and parts of a second.
SCORE = {
    "type": "object",
    "required": ["userId", "timestamp", "activityProgress", "gradingProgress"],
    "dependentRequired": {"scoreGiven": ["scoreMaximum"]},
    "additionalProperties": False,
    "properties": {
        "userId": {"type": "string", "minLength": 1, "maxLength": 255},
        "scoreGiven": {"type": "number", "minimum": 0},
        "scoreMaximum": {"type": "number", "exclusiveMinimum": 0},
        "comment": {"type": "string"},
        "timestamp": {
            "type": "string",
            "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,}(Z|[+-]\d\d:\d\d)$",
        },
        "activityProgress": {
            "enum": ["Initialized", "Started", "InProgress", "Submitted", "Completed"]
        },
        "gradingProgress": {
            "enum": ["FullyGraded", "Pending", "PendingManual", "Failed", "NotReady"]
        },
    },
}
SCORES = {"type": "array", "items": SCORE}
NOT_JUDGED = "a fault of the grader"
MOMENT = datetime(2026, 3, 1, 12, 30, 15, 250_900, tzinfo=timezone(timedelta(hours=2)))


def mark(points: float | None, most: float = 22.0, reason: str = "") -> StudentMark:
    return StudentMark("", points, most, NOT_JUDGED if points is None and not reason else reason)


def scores(made: LtiScores) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(made.text)
    Draft202012Validator(SCORES).validate(found)
    assert len(found) == made.count
    return found


def roster(folder: Path, text: str) -> Path:
    path = folder / "roster.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_mark_becomes_a_score_with_everything_that_is_required() -> None:
    made = lti_scores({"ada": mark(20.5)}, {"ada": "Ab-1"}, MOMENT)
    assert scores(made) == [
        {
            "userId": "Ab-1",
            "scoreGiven": 20.5,
            "scoreMaximum": 22.0,
            "timestamp": "2026-03-01T10:30:15.250+00:00",
            "activityProgress": "Completed",
            "gradingProgress": "FullyGraded",
        }
    ]
    assert made.problems == () == made.notes


def test_more_than_the_most_points_and_none_are_scores_as_well() -> None:
    made = lti_scores({"a": mark(23.0), "b": mark(0.0)}, {"a": "1", "b": "2"}, MOMENT)
    assert [each["scoreGiven"] for each in scores(made)] == [23.0, 0.0]


def test_what_is_not_known_has_no_score_and_is_told() -> None:
    marks = {
        "ada": mark(None),
        "ben": mark(None, reason="`essay` is not graded yet"),
        "carl": mark(3.0),
        "dora": mark(4.0),
        "emil": mark(5.0, most=0.0),
        "fay": mark(-1.0),
        "gil": mark(7.0),
    }
    users = {"ada": "1", "ben": "2", "dora": "", "emil": "5", "fay": "6", "gil": "7", "hal": "8"}
    made = lti_scores(marks, users, MOMENT)
    assert [each["userId"] for each in scores(made)] == ["7"]
    assert made.problems == (
        f"ada: no mark: {NOT_JUDGED}.",
        "ben: no mark: `essay` is not graded yet.",
        "carl: has no user of the platform in the roster.",
        "dora: has no user of the platform in the roster.",
        "emil: a score is at least 0, and the most points are more than 0.",
        "fay: a score is at least 0, and the most points are more than 0.",
    )
    assert made.notes == ("hal: no mark.",)


def test_a_user_of_two_students_gets_the_mark_of_neither() -> None:
    marks = {"ada": mark(1.0), "ben": mark(2.0), "carl": mark(3.0)}
    made = lti_scores(marks, {"ada": "7", "ben": "7", "carl": "07"}, MOMENT)
    assert [(each["userId"], each["scoreGiven"]) for each in scores(made)] == [("07", 3.0)]
    assert len(made.problems) == 2 and "2 students have the same user" in made.problems[0]


@pytest.mark.parametrize("user", ["x" * 256, "a\nb", "a\u202eb", "\x00"])
def test_what_no_platform_has_as_a_user_is_refused(user: str) -> None:
    made = lti_scores({"ada": mark(1.0)}, {"ada": user}, MOMENT)
    assert scores(made) == [] and "no user of a platform" in made.problems[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("student_id,lti_user_id,lti_user_id\nada,1,2\n", "the roster has 2 columns 'lti_user_id'"),
        ("student_id,lti_user_id\n", "the list has no students"),
        ("student_id,lti_user_id\nada,aB-C\nada,ab-c\n", "ada has 2 users"),
    ],
)
def test_a_roster_that_does_not_say_who_is_who_is_refused(
    tmp_path: Path, text: str, words: str
) -> None:
    with pytest.raises(KitError, match=words):
        read_users(roster(tmp_path, text), None, "lti_user_id")


def test_users_are_read_as_they_are_written(tmp_path: Path) -> None:
    text = "student_id,lti_user_id,canvas_id\nada,aB-C,7\nben,,8\nada,aB-C,7\nzoe,=1+1,9\n"
    path = roster(tmp_path, text)
    assert read_users(path, None, "lti_user_id") == {"ada": "aB-C", "ben": "", "zoe": "=1+1"}
    assert read_users(path, None, "canvas_id")["ben"] == "8"
    with pytest.raises(KitError, match="no column 'sub'") as caught:
        read_users(path, None, "sub")
    assert "canvas_id" in caught.value.cure


def test_the_command_writes_scores_and_says_who_has_none(tmp_path: Path) -> None:
    write_verdicts(tmp_path / "hw-graded" / "verdicts", [verdict("ada"), verdict("ben")])
    (tmp_path / "hw").mkdir()
    users = roster(tmp_path, "id,who\nada,U1\n")
    target = tmp_path / "scores.json"
    words = ("platform", "export", "lti", tmp_path / "hw", "--roster", users)
    run = attn(*words, "--user-column", "who", "--to", target)
    assert run.code == 1 and "1 of 2 marks written as scores" in run.out
    assert "ben: has no user of the platform in the roster." in run.out
    found = json.loads(target.read_text(encoding="utf-8"))
    Draft202012Validator(SCORES).validate(found)
    assert [each["userId"] for each in found] == ["U1"]
    assert abs(datetime.fromisoformat(found[0]["timestamp"]) - datetime.now(UTC)) < timedelta(1)
    over = attn(*words, "--user-column", "who", "--to", users)
    assert over.code == 2 and users.read_text(encoding="utf-8").startswith("id,who")
