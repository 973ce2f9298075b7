"""What a class misunderstood: each mistake with its sentence, its students and their number."""

from __future__ import annotations

import ast
import time
from dataclasses import replace

import pytest

from autograder.reports.class_page import ClassContext
from autograder.reports.class_summary import class_summary
from autograder.reports.misunderstandings import (
    Misunderstanding,
    Paragraph,
    draft_text,
    misunderstandings,
    of_any_hand_in,
    step_counts,
)
from autograder.values.verdict import Finding, Outcome
from support.verdicts import EXERCISE, class_page, verdict

QUERY_AXIS = Finding(
    Outcome.WRONG_VALUES, "Your softmax runs down the columns.", misconception="over_the_queries"
)
NOT_SCALED = Finding(
    Outcome.WRONG_VALUES, "Your scores come back as they were.", misconception="not_scaled"
)
RAISES = Finding(Outcome.RAISED, "Line 3 raises `ValueError`.")
VAGUE = Finding(Outcome.WRONG_VALUES, "4 of 8 numbers differ.", vague=True)
BLANK = Finding(Outcome.NOT_WRITTEN, "`softmax` is not written yet.")
SLOW = Finding(Outcome.TIMED_OUT, "It was still running at the time limit.")


def test_mistakes_are_in_the_order_of_their_students_and_each_has_its_sentence() -> None:
    found = misunderstandings(
        EXERCISE,
        [
            verdict("ada", scale_scores=NOT_SCALED),
            verdict("ben", scale_scores=NOT_SCALED, softmax=QUERY_AXIS),
            verdict("carl"),
        ],
    )
    assert [(each.step, each.name, each.sentence, each.students) for each in found] == [
        ("scale_scores", "not scaled", NOT_SCALED.fact, ("ada", "ben")),
        ("softmax", "over the queries", QUERY_AXIS.fact, ("ben",)),
    ]


def test_a_mistake_without_a_name_is_told_when_two_read_the_same_sentence() -> None:
    one = verdict("ada", softmax=RAISES)
    assert misunderstandings(EXERCISE, [one]) == ()
    (found,) = misunderstandings(EXERCISE, [one, replace(one, student="ben")])
    assert (found.name, found.sentence, found.students) == ("", RAISES.fact, ("ada", "ben"))


ALIKE = {
    "another line": (
        "Line 5, `e = np.exp(scores`, raises `SyntaxError: '(' was never closed`.",
        "Line 3 of its cell, `x = max((1, 2)`, raises `SyntaxError: '(' was never closed`.",
    ),
    "a line within": (
        "Line 4, `def f(x):`, raises `IndentationError: expected an indented block on line 4`.",
        "Line 9, `def f(x):`, raises `IndentationError: expected an indented block on line 9`.",
    ),
    "another name": (
        "Line 53, `return q @ K`, raises `NameError: name 'q' is not defined`.",
        "Line 54, `return Qs @ K`, raises `NameError: name 'Qs' is not defined`.",
    ),
    "other shapes": (
        "Line 2, `return a @ v`, raises `ValueError`. Here they have 5 and 8. The shapes there: "
        "`a` (2, 5, 5), `v` (2, 5, 8).",
        "Line 2, `return w @ x`, raises `ValueError`. Here they have 3 and 4. The shapes there: "
        "`w` (3, 3), `x` (2, 3, 4).",
    ),
    "another number": (
        "Line 3, `return Q[100]`, raises `IndexError: index 100 is out of bounds for axis 0`.",
        "Line 3, `return Q[-7]`, raises `IndexError: index -7 is out of bounds for axis 0`.",
    ),
    "other parameters": (
        "Line 62 has the parameters (scores) in its `def`.",
        "Line 70 has the parameters (s) in its `def`.",
    ),
}
APART = {
    "another error": (
        "Line 5, `if True`, raises `SyntaxError: expected ':'`.",
        "Line 5, `if True`, raises `SyntaxError: invalid syntax`.",
    ),
    "another function": (
        "Line 4 calls `softmax` once more than is expected.",
        "Line 4 calls `scale_scores` once more than is expected.",
    ),
    "another attribute": (
        "Line 4, `Q.size()`, raises `AttributeError: 'numpy.ndarray' object has no attribute 'a'`.",
        "Line 4, `Q.size()`, raises `AttributeError: 'numpy.ndarray' object has no attribute 'b'`.",
    ),
    "another axis": ("Along axis 1 (S), entry 1 is right.", "Along axis 0 (B), entry 1 is right."),
    "only the code says more": (
        "Line 3, `return f(x)`, raises `ValueError`.",
        "Line 3, `return g(x)`, raises `ValueError`.",
    ),
}


def mistakes_of(pair: tuple[str, str]) -> list[tuple[str, ...]]:
    found = [Finding(Outcome.RAISED, sentence) for sentence in pair]
    roll = [verdict(name, softmax=each) for name, each in zip(("ada", "ben"), found)]
    return [each.students for each in misunderstandings(EXERCISE, roll)]


@pytest.mark.parametrize("pair", ALIKE.values(), ids=ALIKE)
def test_a_mistake_is_one_whatever_line_name_or_number_its_sentence_has(
    pair: tuple[str, str],
) -> None:
    assert mistakes_of(pair) == [("ada", "ben")]


@pytest.mark.parametrize("pair", APART.values(), ids=APART)
def test_mistakes_that_differ_stay_apart(pair: tuple[str, str]) -> None:
    assert mistakes_of(pair) == []


def test_the_sentence_and_the_code_of_a_mistake_are_of_one_student() -> None:
    sentences = {"ab": ALIKE["another line"][0], "ba": ALIKE["another line"][1]}
    roll = [
        verdict(name, softmax=Finding(Outcome.RAISED, words)) for name, words in sentences.items()
    ]
    (found,) = misunderstandings(EXERCISE, roll)
    assert found.sentence == sentences[found.example]


def test_a_sentence_that_was_made_to_be_slow_is_not() -> None:
    begun = time.process_time()
    for piece in ("KeyError: ", "`a` (", "line 1", "a number, ", "parameters ("):
        of_any_hand_in(piece * 100_000)
    assert time.process_time() - begun < 1.0


def test_what_is_vague_not_written_or_too_slow_is_no_mistake_of_the_class() -> None:
    for finding in (VAGUE, BLANK, SLOW):
        pair = [verdict(name, softmax=finding) for name in ("ada", "ben")]
        assert misunderstandings(EXERCISE, pair) == ()


def test_whose_code_stands_for_all_does_not_follow_from_the_names() -> None:
    pair = [verdict(name, softmax=QUERY_AXIS) for name in ("ab", "ba")]
    (found,) = misunderstandings(EXERCISE, pair)
    assert found.example == "ba"  # whose hash is the lower


def test_a_step_that_was_not_reached_is_not_the_one_that_most_got_wrong() -> None:
    roll = [
        verdict("ada", softmax=QUERY_AXIS),
        verdict("ben", project_output=BLANK),
        verdict("carl", project_output=BLANK),
    ]
    assert class_summary(EXERCISE, roll)[1:3] == (
        "Wrong most often: step 1, softmax, by 1 student.",
        "Not written most often: step 10, project_output, by 2 students.",
    )


def test_the_signs_of_a_step_are_counted_apart() -> None:
    findings = (QUERY_AXIS, RAISES, BLANK, SLOW)
    roll = [verdict(f"s{number}", softmax=each) for number, each in enumerate(findings)]
    counts = list(step_counts(EXERCISE, [*roll, verdict("ada")]).values())
    assert counts[0] == {"✗": 1, "!": 1, "·": 1, "∞": 1, "✓": 1}
    assert counts[1] == {"✓": 5}


def test_the_page_has_the_mistake_who_made_it_and_code_as_text() -> None:
    roll = [verdict("<b>ada</b>", softmax=QUERY_AXIS), verdict("ben", scale_scores=NOT_SCALED)]
    code = ("def scale_scores(s):\n    return '</pre><script>alert(1)</script>'", "")
    mistakes = tuple(zip(misunderstandings(EXERCISE, roll), code, strict=True))
    page = class_page(EXERCISE, roll, ClassContext(mistakes=mistakes))
    assert QUERY_AXIS.fact in page and "not scaled" in page
    assert "<b>ada" not in page and "&lt;b&gt;ada&lt;/b&gt;" in page
    assert "<script>" not in page and "alert(1)" in page
    assert page.count("<pre>") == 1  # the other has no example


# --- drafts for the catalogue: a function under a name, its words still to be written -----------

CODE = "def softmax(scores):\n    return scores / scores.sum()"
SHOWN = '''class softmax:
    def unnamed_3f2a9c01(scores):
        """None of its numbers is as expected. (of 2 students)
        """
        return scores / scores.sum()
'''


def mistake(code: str = "3f2a9c01", name: str = "") -> Misunderstanding:
    sentence = "None of its numbers is as expected."
    return Misunderstanding("softmax", code, name, sentence, ("ada", "ben"), "ada")


def test_a_draft_is_as_it_stands_in_the_catalogue() -> None:
    text = draft_text([(mistake(), CODE)], ())
    assert text.endswith(f"\n\n\n{SHOWN}")
    ast.parse(text)


def test_what_the_instructor_wrote_is_its_docstring() -> None:
    words = (Paragraph("softmax", "3f2a9c01", 'You divide by "everything".\n\nWhat is a row?'),)
    tree = ast.parse(draft_text([(mistake(), CODE)], words))
    (function,) = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    assert ast.get_docstring(function) == 'You divide by "everything".\n\nWhat is a row?'


def test_a_mistake_with_a_name_or_without_a_whole_function_has_none() -> None:
    for one, code in (
        (mistake("named", "a name"), CODE),
        (mistake(), ""),
        (mistake(), "class softmax: pass"),
        (mistake(), CODE + "\n..."),
        (mistake(), "def softmax(:"),
    ):
        assert draft_text([(one, code)], ()) == ""
