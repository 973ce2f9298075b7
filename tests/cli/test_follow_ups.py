"""What waits for the instructor after a run: all that a person has to decide, in one list."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from autograder.cli.follow_ups import find_follow_ups
from autograder.grading.journal import infrastructure, needs_newer_python, unfinished
from autograder.reports.class_page import ClassContext
from autograder.reports.roll import (
    ClassGradebook,
    EnteredCell,
    FollowUp,
    GradebookEntry,
    MarkQuestion,
    StudentRecord,
    write_follow_ups,
)
from autograder.submission.cells import Asked
from autograder.submission.reading import Submission
from autograder.values.verdict import Finding, Outcome, Verdict
from support import verdicts
from support.verdicts import EXERCISE, class_page

UNREADABLE = Finding(Outcome.REJECTED, "ben.ipynb is not a notebook. Save it again.")
OPEN = EnteredCell("essay", "", 3.0)


def submission(student: str, code: str = "", file: str = "x.ipynb", *remarks: str) -> Submission:
    path = Path(student) / file
    return Submission(student, EXERCISE.name, (code or f"# {student}",), path, remarks)


def verdict(
    handed_in: Submission, first: Outcome = Outcome.PASSED, remarks: tuple[str, ...] = ()
) -> Verdict:
    """A verdict on `handed_in` in which all is right but for the first step, which ends so."""
    wrong = {} if first is Outcome.PASSED else {EXERCISE.steps[0].name: Finding(first, "")}
    made = verdicts.verdict(handed_in.student, **wrong)
    every = (*handed_in.remarks, *remarks)
    return replace(made, code_hash=handed_in.code_hash, remarks=every)


def found(
    *pairs: tuple[Submission, Verdict], gradebook: ClassGradebook | None = None
) -> list[tuple[str, tuple[str, ...], str]]:
    submissions, judged = [each for each, _ in pairs], [each for _, each in pairs]
    follow_ups = find_follow_ups(EXERCISE, judged, submissions, gradebook or ClassGradebook())
    return [(each.kind, each.students, each.reason) for each in follow_ups]


def test_a_class_in_which_all_is_well_needs_nobody() -> None:
    ada, ben = submission("ada"), submission("ben")
    entries = {name: GradebookEntry(name, ()) for name in ("ada", "ben")}
    gradebook = ClassGradebook(entries, ("ada", "ben"))
    assert found((ada, verdict(ada)), (ben, verdict(ben)), gradebook=gradebook) == []


def test_who_was_not_judged_comes_first_and_one_fault_of_ours_is_told_once() -> None:
    names = [submission(name) for name in ("ada", "ben", "carl", "dora")]
    ada, ben, carl, dora = names
    cut = Finding(Outcome.TIMED_OUT, "Judging was stopped.")
    judged = [
        infrastructure(EXERCISE, ada, "a file is missing"),
        infrastructure(EXERCISE, ben, "a file is missing"),
        unfinished(EXERCISE, carl, UNREADABLE),
        unfinished(EXERCISE, dora, cut, seed=7),
    ]
    told = found(*zip(names, judged, strict=True))
    assert told == [
        ("not_judged", ("ada", "ben"), "a fault of the grader (a file is missing)."),
        ("not_accepted", ("carl",), UNREADABLE.fact),
        ("judged_in_part", ("dora",), "judged only in part. Judging was stopped."),
    ]


def test_code_for_a_newer_python_is_a_fault_of_the_course_and_told_with_its_cure() -> None:
    ada = replace(submission("ada"), needs="3.99")
    judged = needs_newer_python(EXERCISE, ada)
    here = ".".join(map(str, sys.version_info[:2]))
    (told,) = find_follow_ups(EXERCISE, [judged], [ada], ClassGradebook())
    assert told.kind == "not_judged" and told.not_graded
    assert told.reason == (
        f"it needs Python 3.99, and the grader has Python {here}: a fault of the course, and no "
        "zero."
    )
    assert told.cure.startswith("Install the kit with Python 3.99, then grade again")
    assert judged.infrastructure and judged.points == 0
    finding = judged.steps[0].finding
    assert finding is not None and "through no fault of yours" in finding.fact
    assert "needs Python 3.99" in finding.look and "brackets" not in finding.message


def test_a_file_that_was_not_read_and_a_remark_are_told_apart() -> None:
    other = "x.ipynb counts; there is also work in copy.ipynb, which was not read."
    ada = submission("ada", "", "x.ipynb", other)
    ben, carl = submission("ben"), submission("carl")
    told = found(
        (ada, verdict(ada, remarks=("`np.matrix` …",))),
        (ben, verdict(ben, remarks=("`np.matrix` …",))),
        (carl, verdict(carl)),
    )
    assert told == [("files", ("ada",), other), ("remark", ("ada", "ben"), "`np.matrix` …")]


def test_only_of_several_files_one_has_to_be_left() -> None:
    one = submission("ada", "", "x.ipynb", "x.ipynb was saved as Latin-1.")
    files = ((one.path, "1"), (one.path.with_name("y.ipynb"), "2"))
    for digests, cure in ((files, "leave the one that counts"), (files[:1], "what was read of it")):
        read = replace(one, digests=digests)
        (told,) = find_follow_ups(EXERCISE, [verdict(read)], [read], ClassGradebook())
        assert told.kind == "files" and cure in told.cure


def test_all_that_a_release_lacks_is_one_line() -> None:
    cells = tuple(EnteredCell(name, name, 1.0) for name in ("deviation", "softmax"))
    gradebook = ClassGradebook({"ada": GradebookEntry("ada", cells)}, ("ada",))
    read = replace(submission("ada"), asked=Asked(frozenset({"essay"}), sure=True))
    (told,) = found((read, verdict(read)), gradebook=gradebook)
    assert told[2] == "`deviation`, `softmax` are not in this student's release."


def test_remarks_that_differ_only_by_line_are_told_once() -> None:
    begin, end = "Everything else that you define counts, but", "raises SyntaxError: expected ':'."
    ada, ben = submission("ada"), submission("ben")
    told = found(
        (ada, verdict(ada, remarks=(f"{begin} `if x` (line 5) {end}",))),
        (ben, verdict(ben, remarks=(f"{begin} `for i in y` (line 2 of its cell) {end}",))),
    )
    ((kind, students, reason),) = told
    assert (kind, students) == ("remark", ("ada", "ben"))
    assert reason.startswith(f"{begin} `if x` (line 5) {end} (so for the first of them;")


def test_who_is_enrolled_and_absent_or_has_withdrawn_is_told() -> None:
    ada = submission("ada")
    marked = replace(OPEN, by_hand=2.0)
    entries = {
        "ada": GradebookEntry("ada", ()),
        "gone": GradebookEntry("gone", (marked,)),
        "settled": GradebookEntry("settled", (OPEN,)),
    }
    gradebook = ClassGradebook(entries, ("absent", "ada", "gone", "settled"))
    where = f"submitted/STUDENT/{EXERCISE.name}"
    assert found((ada, verdict(ada)), gradebook=gradebook) == [
        (
            "withdrawn",
            ("gone",),
            "no hand-in any more; the gradebook still has 2 points, in no export of the kit.",
        ),
        ("nothing_handed_in", ("absent",), f"enrolled, and there is no {where}."),
    ]


def test_what_waits_in_the_gradebook_is_told() -> None:
    ada, ben = submission("ada"), submission("ben", file="ben.py")
    other = EnteredCell("softmax", "softmax", 2.0, 2.0, 1.5, look_again=True)
    entries = {
        "ada": GradebookEntry("ada", (other, OPEN)),
        "ben": GradebookEntry("ben", (replace(OPEN, automatic=0.0),)),
    }
    gradebook = ClassGradebook(entries, ("ada", "ben"))
    told = found((ada, verdict(ada)), (ben, verdict(ben)), gradebook=gradebook)
    assert told == [
        ("script", ("ben",), "a .py has no place for `essay`."),
        (
            "points_by_hand",
            ("ada",),
            "`softmax` has 1.5 by hand, 2 automatic now; the work may have changed since.",
        ),
        ("not_graded_yet", ("ada",), "`essay` is not graded yet."),
    ]
    graded = {"ben": GradebookEntry("ben", (replace(OPEN, automatic=0.0, by_hand=2.0),))}
    assert found((ben, verdict(ben)), gradebook=ClassGradebook(graded, ("ben",))) == []


def test_a_notebook_beside_the_script_that_counts_is_told() -> None:
    both = submission("ada", file="ada.py")
    read = tuple((Path("ada") / name, "0") for name in ("ada.py", "ada.ipynb"))
    both = replace(both, digests=read)
    gradebook = ClassGradebook({"ada": GradebookEntry("ada", (OPEN,))}, ("ada",))
    ((kind, _, reason),) = found((both, verdict(both)), gradebook=gradebook)
    assert kind == "script" and "the notebook beside it may answer `essay`" in reason


def test_nobody_is_asked_for_points_where_the_grader_has_failed() -> None:
    ada = submission("ada")
    cells = tuple(EnteredCell(step.name, step.name, step.points) for step in EXERCISE.steps)
    gradebook = ClassGradebook({"ada": GradebookEntry("ada", cells)}, ("ada",))
    told = found((ada, infrastructure(EXERCISE, ada, "no memory")), gradebook=gradebook)
    assert [kind for kind, *_ in told] == ["not_judged"]


def test_names_that_look_alike_are_told_apart() -> None:
    pair = [submission(name, "the same") for name in ("ada", "ada\u200b")]
    judged = [verdict(each) for each in pair]
    (told,) = find_follow_ups(EXERCISE, judged, pair, ClassGradebook())
    assert told.students == ("ada", "ada\u200b")
    assert len(set(told.names)) == 2 and told.who.startswith("ada, ada~")


def test_a_step_that_ran_into_a_limit_and_equal_code_are_told() -> None:
    ada, ben = submission("ada", "the same"), submission("ben", "the same")
    carl = submission("carl")
    told = found((ada, verdict(ada)), (ben, verdict(ben)), (carl, verdict(carl, Outcome.TIMED_OUT)))
    assert told == [
        ("limits", ("carl",), "`softmax` took too long."),
        ("equal_code", ("ada", "ben"), "the same code, character by character."),
    ]


def test_two_who_left_all_as_it_was_handed_out_are_not_compared() -> None:
    ada, ben = submission("ada", "stubs"), submission("ben", "stubs")
    blank = [replace(step, outcome=Outcome.NOT_WRITTEN) for step in verdict(ada).steps]
    told = found(
        (ada, replace(verdict(ada), steps=tuple(blank))),
        (ben, replace(verdict(ben), steps=tuple(blank))),
    )
    assert told == []


def test_an_error_in_the_authors_own_checks_is_to_be_corrected_there() -> None:
    ada = submission("ada")
    where = f"ZeroDivisionError ({EXERCISE.folder / 'graders.py'}:55)"
    (told,) = find_follow_ups(
        EXERCISE, [infrastructure(EXERCISE, ada, where)], [ada], ClassGradebook()
    )
    assert "graders.py:55" in told.reason and told.cure == "Correct it there, then grade again."


@pytest.mark.parametrize("amount", [1, 5, 6])
def test_a_line_names_at_most_five_and_the_page_and_the_json_name_all(
    amount: int, tmp_path: Path
) -> None:
    names = tuple(f"s{number}" for number in range(amount))
    follow_up = FollowUp("remark", names, "a reason.", "A cure.")
    assert ("s5" in follow_up.line) is False
    assert ("and 1 more" in follow_up.line) == (amount == 6)
    page = class_page(EXERCISE, [verdict(submission("ada"))], ClassContext(follow_ups=[follow_up]))
    assert all(f"<bdi>{name}</bdi>" in page for name in names if amount == 6)
    path = write_follow_ups(tmp_path / "needs-you.json", EXERCISE.name, [follow_up])
    facts = json.loads(path.read_text())
    assert facts["format_version"] == 1 and facts["exercise"] == EXERCISE.name
    assert facts["needs_you"] == [
        {
            "kind": "remark",
            "students": list(names),
            "reason": "a reason.",
            "cure": "A cure.",
            "not_graded": False,
        }
    ]


def test_a_hostile_name_is_text_on_the_page_and_one_clean_line() -> None:
    follow_up = FollowUp("remark", ("<script>\n\x1b[31m",), "`<b>`\n.", "")
    page = class_page(EXERCISE, [verdict(submission("ada"))], ClassContext(follow_ups=[follow_up]))
    assert "<script>" not in page and "<b>" not in page
    assert "\x1b" not in follow_up.who and "\n" not in follow_up.who


def test_who_asks_with_a_hand_in_that_is_late_is_told_to_need_more_time() -> None:
    due = datetime(2026, 3, 1)
    asked = StudentRecord(
        handed_in=due + timedelta(days=1),
        due=due,
        questions=(MarkQuestion("Why?", "today", "regrade-request.txt"),),
    )
    for record, late in ((asked, True), (replace(asked, due=due + timedelta(days=2)), False)):
        gradebook = ClassGradebook(records={"ada l": record})
        (told,) = find_follow_ups(EXERCISE, [], [], gradebook)
        assert "asks about the mark: “Why?”." in told.reason
        assert "attn course question 'ada l' numpy_single_head --answer WORDS" in told.cure
        assert ("attn course extend 'ada l'" in told.cure) is late
