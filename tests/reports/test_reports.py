"""What people see after grading, made from verdicts built by hand: every outcome, hostile text."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.errors import KitError
from autograder.reports import class_page as class_page_module
from autograder.reports.class_page import class_script, class_table, write_class_page
from autograder.reports.class_summary import chain_sentence, class_summary, first_line, steps_words
from autograder.reports.feedback import page_name, write_page
from autograder.reports.grades_csv import cell, grades_csv, read_verdicts
from autograder.reports.misunderstandings import Paragraph, mistakes_at
from autograder.values.files import file_stem, write_whole
from autograder.values.sanitize import clean, clean_line
from autograder.values.symbols import BY_LAYER, KEY, MARKS, mark
from autograder.values.verdict import (
    ChainVerdict,
    CheckVerdict,
    Finding,
    Outcome,
    StepVerdict,
    Verdict,
)
from support.shown import READABLE, Page, contrast, printed, rgb
from support.verdicts import EXERCISE, class_page, feedback_page, feedback_text, write_verdicts

NAMES = tuple(step.name for step in EXERCISE.steps)
PASSED = ChainVerdict(Outcome.PASSED)
QUERY_AXIS = Finding(
    Outcome.WRONG_VALUES,
    fact="Your softmax runs over the query axis.",
    right="The shape (B, S, S) is right.",
    look="Look at `axis`.",
    misconception="softmax_over_the_query_axis",
    details=("row sums: 0.6 1.4",),
)
HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(2)> \x1b[31mred\x1b[0m"
    "\x1b]8;;http://evil\x07link \u202egnp.exe\u202c \u200bz\x00 [bold]m[/bold] `<b>c</b>`"
)
Wrong = Outcome | Finding


def step(name: str, wrong: Wrong | None = None, leaning: bool = False) -> StepVerdict:
    finding = wrong if isinstance(wrong, Finding) else None
    outcome = finding.outcome if finding else (wrong or Outcome.PASSED)
    assert isinstance(outcome, Outcome)
    checks = (
        CheckVerdict("shape", "returns shape (B, S, S)", Outcome.PASSED),
        CheckVerdict("values", "gives the right values", outcome, finding),
    )
    points = 2.0 if outcome is Outcome.PASSED else 0.0
    return StepVerdict(name, name, outcome, points, 2.0, checks, leaning)


def verdict(
    student: str = "anna",
    wrong: dict[int, Wrong] | None = None,
    chain: ChainVerdict = PASSED,
    remarks: tuple[str, ...] = (),
) -> Verdict:
    """A verdict whose steps pass but for those in `wrong`, by their number from 1."""
    steps = tuple(step(name, (wrong or {}).get(n)) for n, name in enumerate(NAMES, start=1))
    return Verdict(
        EXERCISE.name, student, steps, chain, "9f86d081", "e3b0c442", 7, "strong", 0.5, remarks
    )


def breaks(number: int, outcome: Outcome = Outcome.WRONG_VALUES) -> ChainVerdict:
    return ChainVerdict(outcome, NAMES[number - 1])


def table_of(verdicts: list[Verdict], width: int, *, wraps: bool = False) -> str:
    return printed(class_table(EXERCISE, verdicts, wraps=wraps), width)


# --- text that is safe to show


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("a\x1b[31;1mb\x1b[0m", "ab"),
        ("a\x9b31mb", "ab"),
        ("a\x1b]0;title\x07b", "ab"),
        ("a\x1b]8;;http://x\x1b\\b", "ab"),
        ("a\x1bPq#0\x1b\\b", "ab"),
        ("a\x1b(Bb\x1bcd\x1b", "abd"),
        ("a\x1b]0;never ends", "a0;never ends"),
        ("one\r\ntwo\rthree\u2028four", "one\ntwo\nthree\nfour"),
        ("a\tb\nc", "a\tb\nc"),
        ("\ufeffa\u200b\u200d\u2060\u00adb", "ab"),
        ("a\U000e0041b", "ab"),
        ("a\ud800b", "a\ufffdb"),
        ("z" + "\u0301" * 50, "z" + "\u0301" * 4),
        ("é Ω 注意力", "é Ω 注意力"),
    ],
)
def test_clean_leaves_only_what_is_meant_to_be_read(hostile: str, shown: str) -> None:
    assert clean(hostile, 100) == shown


def test_clean_strips_every_control_and_every_bidi_control_of_unicode() -> None:
    directions = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI", "BN"}
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    hidden = [
        character
        for character in characters
        if character not in "\n\t\r\x85"
        and (
            unicodedata.category(character) == "Cc"
            or unicodedata.bidirectional(character) in directions
            or character in "\u061c\u200e\u200f"
        )
    ]
    assert len(hidden) > 80
    assert [character for character in hidden if clean(f"a{character}\nb", 9) != "a\nb"] == []


def test_clean_caps_the_length_with_an_ellipsis() -> None:
    assert clean("x" * 100, 10) == "x" * 9 + "…"
    assert clean("x" * 10, 10) == "x" * 10


@pytest.mark.parametrize("part", ["\x1b]", "\x9d", "\x1b[", "\x9b0", "\u0301"])
def test_clean_of_a_long_run_of_half_escapes_ends(part: str) -> None:
    assert len(clean(part * 200_000, 50)) <= 50


def test_clean_line_is_one_line() -> None:
    assert clean_line("  a\n\n\tb  c ", 80) == "a b c"
    assert clean_line(" " * 500 + "a", 80) == "a"


# --- every outcome


def test_every_outcome_has_a_mark_that_the_key_explains_and_words_of_its_own() -> None:
    assert set(MARKS) == set(Outcome)
    assert {sign.sign for sign in (*MARKS.values(), BY_LAYER)} == set(KEY)
    assert len({entry.words for entry in MARKS.values()}) == len(Outcome)
    for entry in MARKS.values():
        assert entry.words and entry.sentence.endswith(".") and "!" not in entry.sentence


@pytest.mark.parametrize("outcome", [o for o in Outcome if o is not Outcome.PASSED])
def test_every_outcome_is_seen_in_the_table_and_on_the_page(outcome: Outcome) -> None:
    judged = verdict(wrong={4: outcome}, chain=breaks(4, outcome))
    table = table_of([judged], 100)
    assert f"{mark(outcome).sign} {KEY[mark(outcome).sign]}" in table
    row = next(line for line in table.splitlines() if line.startswith("anna"))
    assert row.split()[1:12].index(mark(outcome).sign) == 3
    assert mark(outcome).words in feedback_page(EXERCISE, judged)


# --- the table


def test_the_table_has_eleven_steps_points_chain_and_diagnosis_in_100_columns() -> None:
    anna = verdict("anna")
    ben = verdict("ben", {4: QUERY_AXIS}, breaks(4))
    lines = table_of([ben, anna], 100).splitlines()
    assert max(len(line) for line in lines) <= 100
    rows = [line.split() for line in lines if line.startswith(("anna", "ben"))]
    assert rows[0][:14] == ["anna", *"✓✓✓✓✓✓✓✓✓✓✓", "✓", "22/22"]
    assert rows[1][:15] == ["ben", *"✓✓✓✗✓✓✓✓✓✓✓", "✗", "4", "20/22"]
    assert "4: Your softmax runs over the" in " ".join(rows[1])
    assert all(f"{n} {name}" in "\n".join(lines) for n, name in enumerate(NAMES, start=1))


@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_word_of_a_diagnosis_is_lost_where_the_table_wraps(width: int) -> None:
    long = replace(QUERY_AXIS, fact=" ".join(f"word{number}" for number in range(30)))
    roll = [verdict("ada", {1: long}, breaks(1)), verdict("zoe")]
    shown = table_of(roll, width, wraps=True)
    assert max(len(line) for line in shown.splitlines()) <= width
    assert re.findall(r"word\d+", "".join(shown.split())) == [f"word{n}" for n in range(30)]


@pytest.mark.parametrize("width", [80, 100, 120])
def test_the_table_cuts_long_text_and_keeps_one_row_for_each_student(width: int) -> None:
    long = replace(QUERY_AXIS, fact="word " * 100)
    lines = table_of([verdict("n" * 90, {1: long}, breaks(1)), verdict("zoe")], width).splitlines()
    assert max(len(line) for line in lines) <= width
    assert len([line for line in lines if line.startswith(("n", "zoe"))]) == 2
    assert len([line for line in lines if "word" in line]) == 1
    assert next(line for line in lines if line.startswith("n")).count("…") == 2


def test_the_table_shows_markup_and_escapes_of_a_student_as_text() -> None:
    hostile = Finding(Outcome.RAISED, fact="[red]x[/red] [/] \x1b[2J")
    text = table_of([verdict("[bold]b[/bold]", {1: hostile}, breaks(1, Outcome.RAISED))], 120)
    assert "[bold]b[/bold]" in text
    assert "[red]x[/red] [/]" in text
    assert "\x1b" not in text


def test_a_fault_of_ours_shows_no_points() -> None:
    judged = verdict(wrong={2: Outcome.INFRASTRUCTURE})
    assert "?/22" in table_of([judged], 100)
    assert "20/22" not in table_of([judged], 100)
    row = next(csv.DictReader(io.StringIO(grades_csv(EXERCISE, [judged]))))
    assert (row["points"], row["initialize_weights"], row["softmax"]) == ("", "", "2")


# --- the summary


def test_the_summary_counts_each_student_once_and_the_most_frequent_misconception_first() -> None:
    scale = replace(QUERY_AXIS, misconception="a_scale_of_d")
    twice = step(NAMES[0], QUERY_AXIS)
    twice = replace(twice, checks=(*twice.checks, *twice.checks))
    ben = replace(verdict("ben"), steps=(twice, *verdict().steps[1:]))
    roll = [verdict("anna", {5: scale}), ben, verdict("chloe", {1: QUERY_AXIS}), verdict("dan")]
    assert class_summary(EXERCISE, roll) == (
        "4 students graded, 1 with full points; the median is 20 of 22 points.",
        "Wrong most often: step 1, softmax, by 2 students.",
        "softmax over the query axis (in softmax): 2 students",
        "a scale of d (in scale_scores): 1 student",
    )


def test_the_summary_names_who_is_not_judged_and_leaves_them_out_of_the_median() -> None:
    sentences = class_summary(
        EXERCISE, [verdict("anna"), verdict("ben", {1: Outcome.INFRASTRUCTURE})]
    )
    assert sentences[0].startswith("1 student graded, 1 with full points; the median is 22 of 22")
    assert sentences[1].startswith("Not judged: ben. Grade again.")
    assert len(sentences) == 2


def test_where_there_are_no_points_the_summary_says_so() -> None:
    anna, ben = verdict("anna"), verdict("ben", {1: QUERY_AXIS})
    free = [
        replace(each, steps=tuple(replace(s, points=0.0, max_points=0.0) for s in each.steps))
        for each in (anna, ben)
    ]
    first, second, *_ = class_summary(EXERCISE, free)
    assert first == "2 students graded; the exercise gives no points."
    assert second == "Wrong most often: step 1, softmax, by 1 student."


def test_the_summary_of_an_empty_class_says_so() -> None:
    assert class_summary(EXERCISE, []) == ("No submission is graded yet.",)


# --- grades.csv


def test_grades_read_back_as_one_row_for_each_student_sorted_by_name() -> None:
    ben = verdict("ben", {1: QUERY_AXIS}, breaks(1))
    text = grades_csv(EXERCISE, [ben, verdict("Änne, A."), verdict("a")])
    rows = list(csv.DictReader(text.splitlines()))
    assert [row["student"] for row in rows] == ["a", "ben", "Änne, A."]
    assert rows[1] == {
        "student": "ben",
        "points": "20",
        "max_points": "22",
        **dict.fromkeys(NAMES, "2"),
        "softmax": "0",
        "chain": "wrong_values",
        "diagnosis": "softmax: Your softmax runs over the query axis.",
        "protection": "strong",
        "code_hash": "9f86d081",
        "automatic_points": "20",
        "reason": "",
        **dict.fromkeys(("name", "group", "file", "handed_in", "late", "graded", "by"), ""),
    }


@pytest.mark.parametrize(
    "student",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1+1", "\r=1+1", "\x00=1", "\u200b=1", " =1", "＝1"],
)
def test_a_cell_that_a_spreadsheet_would_run_gets_an_apostrophe(student: str) -> None:
    rows = list(csv.reader(io.StringIO(grades_csv(EXERCISE, [verdict(student)]))))
    assert rows[1][0].startswith("'")
    assert rows[1][0][1:] == clean_line(student, 80)


@pytest.mark.parametrize(
    "hidden", ["", "\x00", "\u200b", "\u202e", "\x1b[0m", "\ue000", "\u200b \x00"], ids=ascii
)
def test_a_formula_behind_a_semicolon_and_what_nobody_sees_gets_an_apostrophe(hidden: str) -> None:
    assert cell(f"{hidden}=HYPERLINK(1)") == "'=HYPERLINK(1)"
    finding = Finding(Outcome.RAISED, fact=f"x;{hidden} =HYPERLINK(1) and a-b = 2, -1")
    text = grades_csv(EXERCISE, [verdict(wrong={1: finding})])
    assert "x;'=HYPERLINK(1)anda-b=2,-1" in text.replace(" ", "")


@pytest.mark.parametrize("text", ["", "Ada", "a-b = 2 + 1", "x; y", "ada@example.org", "½", "'=1"])
def test_a_cell_that_is_no_formula_stays_as_it_is_but_for_its_length(text: str) -> None:
    assert cell(text) == text
    assert cell("1" * 99, longest=10) == "1" * 9 + "…"


def test_a_line_break_of_a_student_makes_no_row() -> None:
    assert len(grades_csv(EXERCISE, [verdict("a\nb,c\r\nd")]).splitlines()) == 2


# --- verdict files and file names

IDS = (
    *("anna", "Anna", "ANNA", "änna", "a\u0308nna", "注意力", "ben@uni.edu", "a b"),
    *("anna/..", "../../etc/passwd", "..", ".", "", ".hidden", "con", "nul.txt", "index", "a."),
    *("a\x00b", "a\nb", "\udcff", "x" * 64, "x" * 65, "x" * 3000, "x" * 2999 + "y"),
    *("anna~" + "0" * 32, file_stem("Anna")),
)


def test_two_ids_never_share_a_file_name_on_any_file_system() -> None:
    stems = [unicodedata.normalize("NFC", file_stem(student)).casefold() for student in IDS]
    assert len(set(stems)) == len(IDS)


@pytest.mark.parametrize("student", IDS)
def test_a_file_name_is_short_and_plain(student: str) -> None:
    assert re.fullmatch(r"[a-z0-9_][a-z0-9_.@~-]{0,72}", file_stem(student))
    assert not file_stem(student).endswith(".")
    assert file_stem(student).split(".")[0] not in ("con", "nul", "index")


def test_a_plain_id_is_its_own_file_name() -> None:
    assert file_stem("ben.okafor-2") == "ben.okafor-2"
    assert file_stem("Zoë Müller").startswith("zoe-muller~")


def test_verdicts_read_back_as_they_were_whatever_the_ids(tmp_path: Path) -> None:
    verdicts = [
        verdict(student, {4: replace(QUERY_AXIS, fact=HOSTILE)}, breaks(4), (HOSTILE,))
        for student in IDS
    ]
    paths = write_verdicts(tmp_path / "verdicts", verdicts)
    assert len(paths) == len(IDS)
    assert {path.parent for path in paths} == {tmp_path / "verdicts"}
    assert list(tmp_path.iterdir()) == [tmp_path / "verdicts"]
    assert set(read_verdicts(tmp_path / "verdicts")) == set(verdicts)


def test_a_second_grading_replaces_the_first(tmp_path: Path) -> None:
    write_verdicts(tmp_path, [verdict(wrong={1: QUERY_AXIS})])
    write_verdicts(tmp_path, [verdict()])
    assert read_verdicts(tmp_path) == (verdict(),)
    assert [path.name for path in tmp_path.iterdir()] == ["anna.json"]


def test_a_write_that_fails_says_so_and_leaves_nothing_half_done(tmp_path: Path) -> None:
    (tmp_path / "anna.json").mkdir()
    with pytest.raises(KitError, match=r"anna\.json cannot be written"):
        write_whole(tmp_path / "anna.json", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["anna.json"]


def test_an_unfinished_file_is_not_read(tmp_path: Path) -> None:
    write_verdicts(tmp_path, [verdict()])
    (tmp_path / ".ben.json.12.part").write_text("{", encoding="utf-8")
    (tmp_path / ".ben.json").write_text("{", encoding="utf-8")
    assert read_verdicts(tmp_path) == (verdict(),)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"steps": 1}', "1", "\udc80"])
def test_a_file_that_is_no_verdict_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(KitError, match=r"x\.json is not a verdict"):
        read_verdicts(tmp_path)


def test_a_folder_without_verdicts_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(KitError, match="there are no verdicts") as told:
        read_verdicts(tmp_path)
    assert "graded/EXERCISE" in told.value.cure


# --- what does not fit together


@pytest.mark.parametrize(
    ("judged", "told"),
    [
        ([replace(verdict(), exercise="torch_single_head")], "does not fit numpy_single_head"),
        ([replace(verdict(), steps=verdict().steps[:-1])], "grade the submission again"),
        ([verdict(chain=ChainVerdict(Outcome.RAISED, "unknown"))], "does not fit"),
        ([verdict(), verdict(wrong={1: QUERY_AXIS})], "anna has two verdicts"),
    ],
    ids=["another exercise", "other steps", "a break at no known step", "two on one student"],
)
def test_verdicts_that_do_not_fit_are_refused(judged: list[Verdict], told: str) -> None:
    for report in (grades_csv, class_table):
        with pytest.raises(KitError, match=told):
            report(EXERCISE, judged)
    if len(judged) == 1:
        with pytest.raises(KitError, match=told):
            feedback_page(EXERCISE, judged[0])


# --- the sentences


@pytest.mark.parametrize(
    ("positions", "words"),
    [
        ([6], "step 6"),
        ([6, 7], "steps 6 and 7"),
        ([1, 2, 3], "steps 1 to 3"),
        ([1, 2, 3, 5, 8], "steps 1 to 3, 5 and 8"),
    ],
)
def test_step_numbers_read_as_words(positions: list[int], words: str) -> None:
    assert steps_words(positions) == words


LATER = {n: Outcome.WRONG_VALUES for n in range(5, 12)}
WRITTEN = {n: Outcome.NOT_WRITTEN for n in range(6, 12)}


@pytest.mark.parametrize(
    ("wrong", "chain", "sentence"),
    [
        ({}, PASSED, "Every step is right, alone and joined end to end."),
        (
            {4: QUERY_AXIS} | {n: w for n, w in LATER.items() if n != 6},
            breaks(4),
            "Steps 1 to 3 are right, and step 6 is right given correct inputs; your chain breaks "
            "at step 4, so look there first.",
        ),
        (
            {1: QUERY_AXIS, 8: QUERY_AXIS},
            breaks(8),
            "Step 1, judged alone, is not right yet, so look there first; joined end to end, the "
            "first difference shows at step 8.",
        ),
        (
            {n: Outcome.NOT_WRITTEN for n in range(1, 12)},
            breaks(2, Outcome.NOT_WRITTEN),
            "Step 1 is not written yet, so write it first; joined end to end, your steps stop at "
            "step 2.",
        ),
        (
            {1: QUERY_AXIS} | LATER,
            breaks(1),
            "Steps 2 to 4 are right given correct inputs; your chain breaks at step 1, so look "
            "there first.",
        ),
        (
            WRITTEN,
            breaks(6, Outcome.NOT_WRITTEN),
            "Steps 1 to 5 are right; your chain stops at step 6, which is not written yet, so "
            "continue there.",
        ),
        (
            dict.fromkeys(range(1, 12), Outcome.NOT_WRITTEN),
            breaks(1, Outcome.NOT_WRITTEN),
            "Your chain stops at step 1, which is not written yet, so continue there.",
        ),
        (
            {},
            breaks(4),
            "Steps 1 to 4 are right alone; joined, the first difference shows at step 4, so look "
            "at what it gets from the steps before it.",
        ),
        (
            {},
            ChainVerdict(Outcome.WRONG_VALUES),
            "Every step is right alone; joined end to end, your steps do not fit together yet.",
        ),
        (
            {2: QUERY_AXIS},
            ChainVerdict(Outcome.TIMED_OUT),
            "Your steps are not right end to end yet; look at step 2 first.",
        ),
        (
            {2: QUERY_AXIS},
            PASSED,
            "Your steps joined end to end give the right result; step 2, judged alone, does not "
            "yet, so look there first.",
        ),
        (
            {2: Outcome.INFRASTRUCTURE},
            PASSED,
            "Your steps joined end to end give the right result.",
        ),
        (
            {2: Outcome.INFRASTRUCTURE, 3: QUERY_AXIS},
            ChainVerdict(Outcome.INFRASTRUCTURE),
            "Your steps have not been run end to end yet. The fault is on our side and costs you "
            "nothing. Until then, look at step 3 first.",
        ),
    ],
)
def test_the_chain_and_the_alone_view_are_joined_in_one_sentence(
    wrong: dict[int, Wrong], chain: ChainVerdict, sentence: str
) -> None:
    assert chain_sentence(EXERCISE, verdict(wrong=wrong, chain=chain)) == sentence


def test_the_first_line_says_what_keeps_points_from_being_written_before_all_else() -> None:
    ours = Finding(Outcome.INFRASTRUCTURE, fact="The worker did not start.")
    judged = verdict(wrong={1: QUERY_AXIS, 3: ours})
    assert first_line(judged) == (3, "The worker did not start.")


def test_the_first_line_of_a_chain_that_alone_is_wrong_is_its_finding() -> None:
    chain = ChainVerdict(Outcome.WRONG_SHAPE, None, Finding(Outcome.WRONG_SHAPE, "(B, S) came."))
    assert first_line(verdict(chain=chain)) == (0, "end to end: (B, S) came.")


# --- the page


def page_of(html: str) -> Page:
    page = Page(html)
    assert page.well_formed
    return page


HOSTILE_VERDICT = verdict(
    f"<b>{HOSTILE}",
    {1: Finding(Outcome.RAISED, HOSTILE, HOSTILE, HOSTILE, HOSTILE, (HOSTILE,))},
    ChainVerdict(Outcome.RAISED, NAMES[0], Finding(Outcome.RAISED, HOSTILE + "chain")),
    (HOSTILE,),
)
PAGES = {
    "right": feedback_page(EXERCISE, verdict()),
    "wrong": feedback_page(EXERCISE, verdict("ben", {4: QUERY_AXIS}, breaks(4), ("A remark.",))),
    "hostile": feedback_page(EXERCISE, HOSTILE_VERDICT),
    "class": class_page(EXERCISE, [verdict(), HOSTILE_VERDICT]),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_one_file_without_anything_from_outside(name: str) -> None:
    page = page_of(PAGES[name])
    tags = {tag for tag, _ in page.tags}
    assert tags.isdisjoint({"img", "link", "iframe", "object", "form", "svg", "b"})
    names = {name for name, _ in page.attributes}
    assert not [attribute for attribute in names if attribute.startswith("on")]
    assert names.isdisjoint({"src", "style", "srcset"})
    assert "url(" not in PAGES[name] and "@import" not in PAGES[name]


@pytest.mark.parametrize("name", PAGES)
def test_only_the_page_of_the_class_has_a_script_and_its_policy_allows_no_other(name: str) -> None:
    page = page_of(PAGES[name])
    policy = re.search('Content-Security-Policy" content="(.*?)"', PAGES[name])
    assert policy and policy[1].startswith("default-src 'none';")
    if name != "class":
        assert not page.scripts and "script" not in policy[1]
        assert not [tag for tag, _ in page.tags if tag == "script"]
        return
    assert page.scripts == [class_script()]
    digest = base64.b64encode(hashlib.sha256(page.scripts[0].encode()).digest()).decode()
    assert re.findall(r"script-src ([^;]*);", policy[1]) == [f"'sha256-{digest}'"]
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|eval", page.scripts[0]
    )


@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_its_language_and_its_headings_are_in_order(name: str) -> None:
    page = page_of(PAGES[name])
    assert page.tags[0] == ("html", {"lang": "en"})
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(levels, levels[1:], strict=False))


@pytest.mark.parametrize("name", PAGES)
def test_the_links_inside_a_page_and_its_labels_lead_somewhere(name: str) -> None:
    page = page_of(PAGES[name])
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in page.tags:
        if attributes.get("href", "").startswith("#"):
            assert attributes["href"][1:] in ids
        if "aria-labelledby" in attributes:
            assert attributes["aria-labelledby"] in ids


@pytest.mark.parametrize("name", ["hostile", "class"])
def test_hostile_text_is_shown_as_text(name: str) -> None:
    assert "<script>alert(1)</script>" in page_of(PAGES[name]).text
    hidden = re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e]", PAGES[name])
    assert hidden == []
    assert "[31m" not in PAGES[name]


def test_the_page_has_title_points_chain_sentence_and_remarks() -> None:
    text = page_of(PAGES["wrong"]).text
    for words in (
        "Single-head attention in NumPy",
        "20 of 22 points",
        "10 of 11 steps right",
        "your chain breaks at step 4, so look there first",
        "A remark.",
    ):
        assert words in text


def test_every_report_says_which_protection_held() -> None:
    held = [replace(verdict(), protection="landlock")]
    pages = (feedback_page(EXERCISE, held[0]), class_page(EXERCISE, held))
    for shown in (*(page_of(page).text for page in pages), table_of(held, 100)):
        assert "Protection while grading: landlock." in shown
        assert "without protection" not in shown


def test_every_report_of_marks_given_without_protection_says_so_first() -> None:
    without = [replace(verdict(), protection="process")]
    pages = (feedback_page(EXERCISE, without[0]), class_page(EXERCISE, without))
    for shown in (*(page_of(page).text for page in pages), table_of(without, 100)):
        before, _, after = shown.partition("Graded without protection (level: process).")
        assert after and EXERCISE.title in after and "points" not in before


def test_a_finding_without_praise_names_the_checks_that_passed() -> None:
    text = page_of(feedback_page(EXERCISE, verdict(wrong={1: Outcome.WRONG_VALUES}))).text
    assert "Right so far Returns shape (B, S, S)." in text


def test_a_step_right_behind_the_break_says_so() -> None:
    text = page_of(PAGES["wrong"]).text
    assert text.count("right given correct inputs · 2 of 2 points") == 7


def test_a_leaning_step_says_what_held_it() -> None:
    judged = verdict(wrong={4: QUERY_AXIS}, chain=breaks(4))
    judged = replace(judged, steps=(*judged.steps[:-1], step(NAMES[-1], leaning=True)))
    assert (
        "right with correct earlier steps in place of yours"
        in page_of(feedback_page(EXERCISE, judged)).text
    )


def test_one_cause_that_stops_every_step_is_told_once() -> None:
    crash = Finding(Outcome.CRASHED, "Your code ends Python when it is loaded.")
    judged = verdict(wrong=dict.fromkeys(range(1, 12), crash), chain=breaks(1, Outcome.CRASHED))
    text = page_of(feedback_page(EXERCISE, judged)).text
    assert text.count(crash.fact) == 2  # at the top, and at the first step
    assert text.count("The same as at step 1.") == 10


def test_a_page_claims_only_what_was_done() -> None:
    ours = Outcome.INFRASTRUCTURE
    every = verdict(wrong=dict.fromkeys(range(1, 12), ours), chain=ChainVerdict(ours))
    some = verdict(wrong={2: ours}, chain=ChainVerdict(ours))
    alone = verdict(chain=ChainVerdict(Outcome.PASSED, asked=False))
    for judged, yes, no in (
        (every, "Your work is not judged yet.", "Each step is judged alone"),
        (some, "Part of your work is not judged yet.", "Each step is judged alone"),
        (alone, "Each step is judged alone", "run end to end"),
        (verdict(), "Then your own steps are run end to end.", "not judged yet"),
    ):
        for said in (feedback_page(EXERCISE, judged), feedback_text(EXERCISE, judged)):
            words = " ".join(said.split())
            assert yes in words and no not in words
    left_out = replace(verdict(), remarks=("`if x` raises SyntaxError.",))
    assert "take no points" in (page := feedback_page(EXERCISE, left_out))
    assert "These cost no points" not in page


def test_a_rejected_submission_is_told_why_and_nothing_about_steps() -> None:
    reason = Finding(Outcome.REJECTED, "Line 14 is not valid Python.", look="Look at line 14.")
    judged = verdict(
        wrong=dict.fromkeys(range(1, 12), reason),
        chain=ChainVerdict(Outcome.REJECTED, None, reason),
    )
    text = page_of(feedback_page(EXERCISE, judged)).text
    assert "None of the 11 steps was run" in text
    assert text.count("Line 14 is not valid Python.") == 1
    assert "Step by step" not in text
    row = next(line for line in table_of([judged], 120).splitlines() if line.startswith("anna"))
    assert " ?/22 Line 14 is not valid Python." in row


def test_a_fault_of_ours_is_told_as_ours_and_gives_no_points() -> None:
    ours = Finding(Outcome.INFRASTRUCTURE, "worker 7 did not answer")
    also = replace(ours, fact="worker 7 is gone")
    judged = verdict(wrong={3: ours}, chain=ChainVerdict(Outcome.INFRASTRUCTURE, None, also))
    text = page_of(feedback_page(EXERCISE, judged)).text
    assert "Not graded yet" in text
    assert "The fault is on our side and costs you nothing" in text
    assert "of 22 points" not in text
    assert "worker 7" not in text


def test_a_chain_finding_that_no_step_tells_stands_under_the_sentence() -> None:
    finding = Finding(Outcome.WRONG_VALUES, "An earlier step overwrites x.", look="Copy x first.")
    judged = verdict(chain=ChainVerdict(Outcome.WRONG_VALUES, NAMES[3], finding))
    text = page_of(feedback_page(EXERCISE, judged)).text
    assert text.index("joined, the first difference") < text.index("An earlier step overwrites x.")


@pytest.mark.parametrize("wrong", [{}, {4: QUERY_AXIS}, {1: Outcome.NOT_WRITTEN}])
def test_the_text_for_a_mail_says_what_the_page_says(wrong: dict[int, Wrong]) -> None:
    judged = verdict("ben", wrong, breaks(4) if wrong else PASSED, ("A remark of ours.",))
    text, page = feedback_text(EXERCISE, judged), page_of(feedback_page(EXERCISE, judged)).text
    assert max(len(line) for line in text.splitlines()) <= 78
    assert _words(text) <= _words(page)
    running = " ".join(text.split())
    findings = [finding for finding in (each.finding for each in judged.steps) if finding]
    told = [part for each in findings for part in (each.right, each.fact, each.look) if part]
    for sentence in ("Feedback for ben", "of 22 points", "A remark of ours.", *told):
        assert sentence in running


def test_every_line_of_the_instructors_words_stands_at_its_step_in_the_mail() -> None:
    judged = verdict("ben", {1: QUERY_AXIS}, breaks(1))
    (code,) = mistakes_at(judged.steps[0])
    told = Paragraph(judged.steps[0].name, code, "Look again.\n\nThen come to me.")
    lines = feedback_text(EXERCISE, judged, None, [told]).splitlines()
    assert "    From your instructor: Look again." in lines and "    Then come to me." in lines


def _words(text: str) -> set[str]:
    return {word.lower() for word in re.findall(r"\w+", text)}


def test_nothing_hidden_of_a_student_is_in_the_text() -> None:
    text = feedback_text(EXERCISE, HOSTILE_VERDICT)
    assert all(letter.isprintable() or letter == "\n" for letter in text)


def test_feedback_is_one_page_for_each_student_and_an_index_that_links_them(tmp_path: Path) -> None:
    judged = [verdict(student) for student in IDS]
    for each in judged:
        write_page(tmp_path, EXERCISE, each)
    pages = [tmp_path / page_name(each.student) for each in judged]
    paths = [write_class_page(tmp_path, EXERCISE, judged), *pages]
    assert paths[0] == tmp_path / "index.html"
    assert len(set(paths)) == len(IDS) + 1
    assert set(tmp_path.iterdir()) == {*paths, *(page.with_suffix(".txt") for page in pages)}
    links = links_of(paths[0])
    assert sorted(links) == sorted(path.name for path in paths[1:])


def links_of(path: Path) -> list[str]:
    """The links of a page to other files, in order."""
    links = (a["href"] for tag, a in page_of(path.read_text("utf-8")).tags if tag == "a")
    return [link for link in links if not link.startswith("#")]


def test_the_page_of_a_very_large_class_has_parts_that_lead_to_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(class_page_module, "MOST_ROWS", 50)
    one, count = verdict(), 101
    judged = [replace(one, student=f"s{number:05}") for number in range(count)]
    first = write_class_page(tmp_path, EXERCISE, judged)
    assert {path.name for path in tmp_path.iterdir()} == {
        *("index.html", "index~2.html", "index~3.html")
    }
    files = (first, *sorted(tmp_path.glob("index~*")))
    parts, links = [page_of(path.read_text("utf-8")) for path in files], list(map(links_of, files))
    assert links[0][:2] == ["index~2.html", "index~3.html"]
    assert links[2][:2] == ["index.html", "index~2.html"] and links[2][2:] == ["s00100.html"]
    students = [link for each in links for link in each if link.startswith("s")]
    assert students == [f"s{number:05}.html" for number in range(count)]
    assert all(f"{count} students" in part.text for part in parts)
    write_class_page(tmp_path, EXERCISE, judged[:5])
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"], "what is left of before"


@pytest.mark.parametrize("scheme", [0, 1])
def test_every_color_of_text_is_readable_in_light_and_dark(scheme: int) -> None:
    blocks = re.findall(r":root \{(.*?)\}", PAGES["right"], flags=re.DOTALL)
    assert len(blocks) == 2
    colors = dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", blocks[scheme]))
    for ground in ("ground", "panel"):
        for name in ("text", "soft", "right", "wrong", "other", "link"):
            pair = rgb(colors[ground]), rgb(colors[name])
            assert contrast(*pair) >= READABLE, (name, ground)


def test_a_wrong_step_has_its_hints_one_within_the_other_and_a_right_one_has_none() -> None:
    steps = tuple(replace(one, hints=("Why?", "What shape?", "How?")) for one in EXERCISE.steps)
    page = feedback_page(replace(EXERCISE, steps=steps), verdict("ada", wrong={1: QUERY_AXIS}))
    assert page.count("Hint 1 of 3") == 1
    assert page.index("Why?") < page.index("What shape?") < page.index("How?")
