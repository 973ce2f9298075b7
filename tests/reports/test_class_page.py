"""The instructor's page: how marks are spread, where chains break, its heat map and its size."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autograder.reports.class_page import KINDS, MOST_ROWS, ClassContext, write_class_page
from autograder.reports.class_summary import chain_breaks, chain_place, mark_distribution
from autograder.reports.course_page import ROWS, write_course_page
from autograder.reports.misunderstandings import has_unnamed_mistake, misunderstandings
from autograder.reports.roll import (
    NO_ENTRIES,
    EnteredCell,
    FollowUp,
    GradebookEntry,
    SimilarCode,
    SimilarPair,
)
from autograder.values.symbols import KEY, mark
from autograder.values.verdict import ChainVerdict, Finding, LayerVerdict, Outcome, Verdict
from support.shown import READABLE, contrast, rgb
from support.verdicts import EXERCISE, class_page, verdict

MEGABYTE = 1_000_000
STEPS = [step.name for step in EXERCISE.steps]
NOT_SCALED = Finding(
    Outcome.WRONG_VALUES, "Your scores are not scaled.", misconception="scores_not_scaled"
)
RAISED = Finding(Outcome.RAISED, "Line 3 raises ValueError: shapes do not fit.")
BLANK = Finding(Outcome.NOT_WRITTEN, "It is not written yet.")
OURS = Finding(Outcome.INFRASTRUCTURE, "The worker did not start.")


def ends(judged: Verdict, outcome: Outcome, step: str | None = None) -> Verdict:
    """The verdict with another end of its chain."""
    return replace(judged, chain=ChainVerdict(outcome, step))


def entry(student: str, points: float, most: float = 22.0) -> GradebookEntry:
    return GradebookEntry(student, (EnteredCell("essay", "", most, by_hand=points),))


# --- how marks are spread


def spread(*points: float, most: float = 22.0) -> dict[str, int]:
    """The ranges with anybody in them, for students with these points in the gradebook."""
    entries = {f"s{n}": entry(f"s{n}", each, most) for n, each in enumerate(points)}
    found = mark_distribution([verdict(student) for student in entries], entries)
    assert found and sum(each.students for each in found.ranges) == len(points)
    return {each.words: each.students for each in found.ranges if each.students}


def test_marks_are_spread_over_tenths_and_all_points_are_a_range_of_their_own() -> None:
    assert spread(0, 2.1, 2.2, 21.9, 22, 22) == {
        "under 10 %": 2,
        "10 to under 20 %": 1,
        "90 to under 100 %": 1,
        "all points": 2,
    }


def test_a_whole_tenth_belongs_to_the_range_it_begins() -> None:
    assert spread(*(tenth * 0.3 for tenth in range(1, 10)), most=3.0) == {
        f"{tenth}0 to under {tenth + 1}0 %": 1 for tenth in range(1, 10)
    }


def test_extra_credit_is_in_the_last_range_and_its_words_say_so() -> None:
    assert spread(22, 25) == {"all points or more": 2}


def test_who_has_no_mark_is_counted_apart() -> None:
    ours = verdict("ours", **dict.fromkeys(STEPS, OURS))
    found = mark_distribution([verdict("ada"), ours], NO_ENTRIES)
    assert found and found.not_graded == 1 and found.ranges[-1].students == 1
    assert figures(class_page(EXERCISE, [ours, verdict("a")]))["Graded"] == "1 of 2"
    assert mark_distribution([ours], NO_ENTRIES) is None


def test_the_middle_of_the_class_and_who_is_far_below_it_are_told_in_points() -> None:
    points = (0, 4, 18, 20, 22, 22, 22)
    entries = {f"s{n}": entry(f"s{n}", each) for n, each in enumerate(points)}
    roll = [verdict(student) for student in entries]
    found = mark_distribution(roll, entries)
    assert found and (found.graded, found.full, found.of) == (7, 3, 22.0)
    assert (found.median_words, found.middle_words) == ("20 of 22", "11 to 22")
    assert found.low == ("s0", "s1")
    entries["s0"] = replace(entries["s0"], cells=(EnteredCell("essay", "", 30.0, by_hand=15.0),))
    found = mark_distribution(roll, entries)
    assert found and found.low == ("s1",) and found.median_words == "20"


# --- what stands first


def figures(page: str) -> dict[str, str]:
    """The numbers at the top of the page, by what stands above each."""
    top = page.partition('<dl class="figures">')[2].partition("</dl>")[0]
    pairs = re.findall(r"<dt>(.*?)</dt><dd[^>]*>(.*?)</dd>", top)
    return {name: re.sub(r"<.*?>", "", value) for name, value in pairs}


def test_numbers_and_the_table_stand_before_everything_that_is_read_at_length() -> None:
    roll = [verdict("ada"), verdict("ben", softmax=BLANK), verdict("cleo", scale_scores=NOT_SCALED)]
    waiting = FollowUp("remark", ("ada",), "Look.", "")
    page = class_page(EXERCISE, roll, in_full(roll, follow_ups=[waiting]))
    assert figures(page) == {
        "Graded": "3 of 3",
        "All points": "1",
        "Median": "20 of 22",
        "Middle half of the class": "20 to 21",
        "Wrong most often": "5 Scaling by 1",
        "Not written most often": "1 Softmax by 1",
    }
    order = ['class="figures"', 'id="map"', 'id="needs-you"', 'id="mistakes"', 'id="steps"']
    places = [page.index(each) for each in order]
    assert places == sorted(places)
    assert "At risk" not in page


def in_full(roll: list[Verdict], **more: Any) -> ClassContext:
    mistakes = tuple((each, "x = 1") for each in misunderstandings(EXERCISE, roll))
    return ClassContext(mistakes=mistakes, **more)


def test_who_has_less_than_half_of_the_points_is_named_with_a_link_to_the_page() -> None:
    roll = [verdict("ada"), verdict("ben", **dict.fromkeys(STEPS, BLANK))]
    page = class_page(EXERCISE, roll)
    assert "At risk: 1 with less than half of the points" in page
    assert '<a href="ben.html"><bdi>ben</bdi></a>&nbsp;0</p>' in page


def test_what_waits_leads_to_the_page_and_to_what_was_handed_in(tmp_path: Path) -> None:
    roll = [verdict("ada"), verdict("ben")]
    files = {"ada": str(tmp_path / "submitted" / "ada" / "a b.py")}
    waiting = [
        FollowUp("equal_code", ("ada", "ben"), "the same.", "A talk.", files=files),
        FollowUp("equal_code", ("cleo",), "the same.", "A talk."),
    ]
    pages = tmp_path / "graded" / "feedback"
    pages.mkdir(parents=True)
    page = write_class_page(pages, EXERCISE, roll, in_full(roll, follow_ups=waiting)).read_text()
    section = page.partition('id="needs-you"')[2].partition("</section>")[0]
    assert section.count("the same. A talk.") == 1, "one reason is told once"
    assert '<a href="ada.html"><bdi>ada</bdi></a>' in section
    assert 'href="../../submitted/ada/a%20b.py">hand-in' in section
    assert '<a href="ben.html"><bdi>ben</bdi></a></p>' in section
    assert "<p><bdi>cleo</bdi></p>" in section, "there is no page of cleo"
    assert "Needs you: 2" in page


def test_a_mistake_is_one_line_that_opens() -> None:
    roll = [verdict(name, scale_scores=NOT_SCALED) for name in ("ada", "ben")]
    page = class_page(EXERCISE, roll, in_full(roll))
    section = page.partition('id="mistakes"')[2].partition("</section>")[0]
    (line,) = re.findall(r"<summary>(.*)</summary>", section)
    assert line.startswith('<span class="count">2<span class="hidden"> students:</span></span>')
    assert "scores not scaled" in line and "in Scaling" in line
    assert "Your scores are not scaled." in line
    assert "attn report CLASS --tell scale_scores/scores_not_scaled" in section


# --- where chains break


def broken() -> list[Verdict]:
    by_itself = LayerVerdict("SingleHeadAttention", Outcome.PASSED)
    unfinished = ends(verdict("unfinished", softmax=BLANK), Outcome.NOT_WRITTEN, "softmax")
    return [
        verdict("ada"),
        ends(verdict("ben", scale_scores=NOT_SCALED), Outcome.WRONG_VALUES, "scale_scores"),
        ends(verdict("carl", scale_scores=RAISED), Outcome.RAISED, "scale_scores"),
        ends(verdict("joined"), Outcome.WRONG_VALUES, "scale_scores"),
        ends(verdict("nowhere"), Outcome.WRONG_TYPE),
        replace(unfinished, chain=replace(unfinished.chain, layer=by_itself)),
        ends(verdict("ours", **dict.fromkeys(STEPS, OURS)), Outcome.INFRASTRUCTURE),
        ends(verdict("unread"), Outcome.REJECTED),
    ]


def test_chains_are_counted_where_they_break_by_how_they_end() -> None:
    found = chain_breaks(EXERCISE, broken())
    assert found
    assert [(each.place, each.signs, each.right_alone) for each in found.places] == [
        ("1", {"·": 1}, 0),
        ("5", {"✗": 2, "!": 1}, 1),
        ("0", {"✗": 1}, 0),
    ]
    assert found.signs == ("✗", "!", "·") and found.most == 3


def test_the_sentences_on_chains_leave_out_who_was_not_run() -> None:
    found = chain_breaks(EXERCISE, broken())
    assert found and found.sentences == (
        "Right end to end: 1 of 6 students.",
        "Not right end to end, but with a layer that is right by itself: 1.",
        "Not run end to end: 2 students.",
    )


def test_nothing_is_said_about_chains_that_nobody_asked_for() -> None:
    unasked = replace(verdict("ada"), chain=ChainVerdict(Outcome.PASSED, asked=False))
    assert chain_breaks(EXERCISE, [unasked]) is None
    assert chain_place(EXERCISE, unasked) == ""
    page = class_page(EXERCISE, [unasked])
    assert "Where chains break" not in page and "by-chain" not in page.partition("<script")[0]


# --- the heat map


def row(page: str, student: str) -> str:
    (found,) = re.findall(rf"<tr\n[^>]*>(?:(?!</tr>).)*<bdi>{student}</bdi>.*?</tr>", page)
    return str(found)


def test_every_sign_has_a_color_with_enough_contrast_in_light_and_dark() -> None:
    style = class_page(EXERCISE, [verdict("ada")]).partition("</style>")[0]
    assert list(KINDS) == list(KEY) and len(set(KINDS.values())) == len(KEY)
    rule = re.compile(r"\.(\w) \{ background: (#[0-9a-f]{6}); color: (#[0-9a-f]{6}); \}")
    found = [(kind, background, color) for kind, background, color in rule.findall(style)]
    assert sorted(kind for kind, *_ in found) == sorted([*KINDS.values()] * 2)
    for kind, background, color in found:
        assert contrast(rgb(background), rgb(color)) >= READABLE, (kind, background, color)


@pytest.mark.parametrize("outcome", [each for each in Outcome if each is not Outcome.PASSED])
def test_a_cell_has_the_color_the_sign_and_the_words_of_its_outcome(outcome: Outcome) -> None:
    page = class_page(EXERCISE, [verdict("ada", softmax=Finding(outcome, "Look here."))])
    sign = mark(outcome).sign
    cell = f'<td class="{KINDS[sign]}">{sign}<i>{mark(outcome).words}</i></td>'
    assert row(page, "ada").count(cell) == 1


def test_the_table_has_a_caption_scopes_and_the_titles_of_the_steps() -> None:
    page = class_page(EXERCISE, [verdict("ada")])
    table = page.partition('id="map"')[2].partition("</table>")[0]
    assert "<caption" in table and row(page, "ada").count('scope="row"') == 1
    assert table.count('scope="col"') == len(STEPS) + 4
    for number, step in enumerate(EXERCISE.steps, start=1):
        assert f'<span>{number}</span> <span class="title">{step.title}</span>' in table


def test_a_row_says_which_mistakes_it_made_for_the_filter() -> None:
    roll = broken()
    mistakes = tuple((each, "") for each in misunderstandings(EXERCISE, roll))
    page = class_page(EXERCISE, roll, ClassContext(mistakes=mistakes))
    assert [each.name for each, _ in mistakes] == ["scores not scaled"]
    assert 'data-c="5" data-p="20.0" data-m="0">' in row(page, "ben")
    assert 'data-m="u"' in row(page, "carl") and "data-m" not in row(page, "ada")
    assert "data-p" not in row(page, "ours")
    assert '<option value="0">scores not scaled (scale_scores)</option>' in page


def test_a_mistake_without_a_name_is_one_that_is_wrong_and_not_known() -> None:
    vague = replace(RAISED, outcome=Outcome.WRONG_VALUES, vague=True)
    assert has_unnamed_mistake(verdict("ada", softmax=vague))
    assert has_unnamed_mistake(verdict("ada", softmax=NOT_SCALED, scale_scores=RAISED))
    for finding in (NOT_SCALED, BLANK, OURS):
        assert not has_unnamed_mistake(verdict("ada", softmax=finding))


def test_text_of_a_hand_in_cannot_leave_an_attribute() -> None:
    evil = '"><script>alert(1)</script>'
    finding = replace(RAISED, fact=f"{evil} raised")
    roll = [verdict(name, softmax=finding) for name in (evil, "ben")]
    mistakes = tuple((each, evil) for each in misunderstandings(EXERCISE, roll))
    page = class_page(EXERCISE, roll, ClassContext(mistakes=mistakes))
    assert "<script>" not in page and page.count("<script") == 1
    assert page.count("&lt;script&gt;alert(1)") > 5


@pytest.mark.slow
def test_the_page_of_five_thousand_students_is_one_file_under_six_megabytes(
    tmp_path: Path,
) -> None:
    sentences = [
        f"{RAISED.fact} {'In this line, the shapes do not fit. ' * 2}{n}" for n in range(40)
    ]
    roll = []
    for number in range(MOST_ROWS):
        wrong = {
            STEPS[(number + place) % len(STEPS)]: replace(
                RAISED, fact=sentences[number % 40 - place]
            )
            for place in range(4)
        }
        judged = verdict(f"a.student.with.a.long.name.{number:04}", **wrong)
        roll.append(ends(judged, Outcome.RAISED, next(iter(wrong))))
    mistakes = tuple((each, "x = 1\n" * 20) for each in misunderstandings(EXERCISE, roll))
    path = write_class_page(tmp_path, EXERCISE, roll, ClassContext(mistakes=mistakes))
    assert MOST_ROWS == 5_000 and [each.name for each in tmp_path.iterdir()] == [path.name]
    assert path.read_text(encoding="utf-8").count("<tr\n") == MOST_ROWS
    assert path.stat().st_size < 6 * MEGABYTE


def test_similar_code_is_shown_side_by_side_with_what_it_is_not() -> None:
    verdicts = [verdict("ada"), verdict("ben"), verdict("cleo")]
    pair = SimilarPair(
        ("ada", "ben"), ("scale_scores", "softmax", ""), 0.873, (("softmax", "a < b", "c < d"),)
    )
    page = class_page(EXERCISE, verdicts, ClassContext(similar=SimilarCode((pair,), 3, 2)))
    section = page.partition('id="similar"')[2].partition("</section>")[0]
    assert "Worth a talk, and no more than that." in section
    assert (
        "87 % of their rare code is the same, in: Scaling, Softmax, 1 further function." in section
    )
    assert "<pre>a &lt; b</pre>" in section and "<pre>c &lt; d</pre>" in section
    assert "2 further pairs of this kind." in section
    assert "The code of 2 students could not be compared." in section
    assert "cleo" not in section
    assert 'id="similar"' not in class_page(EXERCISE, verdicts)


# --- each student over all exercises


def course_rows(page: Path) -> list[list[str]]:
    """What a reader hears of each row of the course's page."""
    body = page.read_text(encoding="utf-8").partition("<tbody>")[2].partition("</tbody>")[0]
    rows = (re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL) for row in body.split("</tr>"))
    unseen = r'<span class="\w" aria-hidden="true">.*?</span>'
    return [[re.sub(rf"{unseen}|<.*?>", "", each) for each in row] for row in rows if row]


def test_a_student_is_one_row_over_all_exercises_of_a_course(tmp_path: Path) -> None:
    other = replace(EXERCISE, name="other", title="The other", difficulty=EXERCISE.difficulty + 1)
    second = replace(verdict("ada", softmax=BLANK), exercise="other")
    for exercise, roll in ((EXERCISE, [verdict("ben"), verdict("ada")]), (other, [second])):
        page = write_course_page(tmp_path / exercise.name, exercise, roll, NO_ENTRIES)
    assert page == tmp_path / "index.html"
    assert course_rows(page) == [
        ["ada", "22/22", "11 right", "20/22", "1 not written, 10 right", "42/44"],
        ["ben", "22/22", "11 right", "–", "nothing graded", "22/22"],
    ]
    text = page.read_text(encoding="utf-8")
    assert '<a href="other/feedback/ada.html">20/22</a>' in text
    assert text.index(EXERCISE.title) < text.index("The other")
    assert "<script" not in text and text.count("<caption") == 1


def test_a_name_in_markup_stays_a_name_on_the_page_of_a_course(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>\udcff"
    page = write_course_page(tmp_path / "x", EXERCISE, [verdict(evil), verdict("b")], NO_ENTRIES)
    text = page.read_text(encoding="utf-8")
    assert "<script" not in text and "&lt;script&gt;alert(1)" in text


def test_marks_on_the_page_of_a_course_are_those_of_the_gradebook(tmp_path: Path) -> None:
    cell = EnteredCell("softmax", "softmax", 22.0, automatic=22.0, by_hand=15.0)
    entries = {"ada": GradebookEntry("ada", (cell,))}
    page = write_course_page(tmp_path / "x", EXERCISE, [verdict("ada")], entries)
    assert course_rows(page) == [["ada", "15/22*", "11 right", "15/22"]]


def test_a_damaged_file_of_one_exercise_is_named_and_the_rest_is_shown(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    for damaged in ("", "[]", "{}", '{"format_version": 1, "title": "x", "difficulty": "y"}'):
        (tmp_path / "gone" / ROWS).write_text(damaged, encoding="utf-8")
        page = write_course_page(tmp_path / "x", EXERCISE, [verdict("ada")], NO_ENTRIES)
        assert "What is known about gone cannot be read: grade it again." in page.read_text()
        assert [row[0] for row in course_rows(page)] == ["ada"]
