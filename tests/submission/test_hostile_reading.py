"""Reading what is handed in costs nobody else anything, whatever it holds.

Code that nests deep, files in hundreds, nulls between cells, texts that once made a pattern
run for minutes, a reader that raises: each costs its owner at most, is told in words, and the
class is graded.
"""

from __future__ import annotations

import errno
import gc
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest

from autograder.course import intake
from autograder.course.intake import Skeleton, from_script, onto_skeleton
from autograder.course.page import clean_markdown, highlight_code
from autograder.errors import KitError
from autograder.grading.batch import grade_batch
from autograder.grading.journal import DEFAULT_RUN, JOURNAL, GradingRun, Journal
from autograder.submission import cells as cells_of_a_hand_in
from autograder.submission import code as code_of_a_file
from autograder.submission import reading
from autograder.submission.cells import (
    cut_before_definitions,
    find_definitions,
    find_in_piece,
    names_anywhere,
    names_in_prose,
    percent_cells,
)
from autograder.submission.code import without_kit_calls
from autograder.submission.missing_import import definitions_of, statements
from autograder.submission.missing_step import misplaced, written
from autograder.submission.reading import (
    LONGEST_REMARK,
    MOST_FILES,
    MOST_REMARKS,
    Submission,
    read_one_of,
    read_submission,
)
from autograder.values.exercise import Exercise, read_exercise
from autograder.values.sanitize import terminal_line
from autograder.values.verdict import Outcome, Verdict

ROOT = Path(__file__).resolve().parents[2]
NAME = "numpy_single_head"
EXERCISE = read_exercise(ROOT / "solutions" / NAME)
SOLUTION = (EXERCISE.folder / "solution.py").read_text(encoding="utf-8")
RELEASED = nbformat.read(ROOT / "assignments" / NAME / f"{NAME}.ipynb", as_version=4)
STEPS = [step.name for step in EXERCISE.steps]
FULL = 22.0
SOFTMAX = "def softmax(scores):\n    return scores"
DEEP = "scores" + ".a" * 700
# Twice the text may take so many times as long: 4 would be quadratic, the rest is noise.
GROWTH, NOISE, TRIES = 3.0, 0.3, 3


def notebook(*sources: str | dict[str, object]) -> str:
    cells = [
        {"cell_type": "code", "source": source} if isinstance(source, str) else source
        for source in sources
    ]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells})


def handed_in(folder: Path, content: str, name: str = f"{NAME}.py", of: str = "eve") -> Submission:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(content, encoding="utf-8")
    return read_submission(folder / name, EXERCISE, of)


def judged(*submissions: Submission, journal: Path | None = None) -> dict[str, Verdict]:
    verdicts = grade_batch(EXERCISE.folder, submissions, GradingRun(journal))
    return {verdict.student: verdict for verdict in verdicts}


# --- code that nests deep -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdict]:
    """Three whose code nests deep, and a classmate, judged in one batch."""
    folder = tmp_path_factory.mktemp("deep")
    wrong = "def softmax(scores):\n    {}\n    return scores\n"
    return judged(
        handed_in(folder, SOLUTION + wrong.format(DEEP), "step.py", "in_a_step"),
        handed_in(folder, f"{SOLUTION}\nx = 1; y = {DEEP}", "beside.py", "beside_the_steps"),
        handed_in(folder, f"{SOLUTION}\n{'(' * 5_000}", "no_python.py", "no_python"),
        handed_in(folder, SOLUTION, "ada.py", "ada"),
    )


def test_code_that_nests_deep_costs_its_own_step_and_nobody_else_anything(
    deep: dict[str, Verdict],
) -> None:
    assert [student for student, verdict in deep.items() if verdict.infrastructure] == []
    assert deep["ada"].points == deep["beside_the_steps"].points == FULL
    step = deep["in_a_step"].steps[0]
    assert (step.name, step.outcome) == ("softmax", Outcome.RAISED)
    assert deep["in_a_step"].points == FULL - step.max_points


@pytest.mark.parametrize(
    "text",
    [
        f"def softmax(scores):\n    {DEEP}",
        f"x = 1; y = {DEEP}",
        f"class SingleHeadAttention:\n    def forward(self, scores):\n        {DEEP}",
        f"check({DEEP})",
        f"x = {DEEP}()",
        "x = " + "f(" * 90 + ")" * 90,
        "x = " + "-" * 800 + "1",
        "x = " + "+".join(["1"] * 900),
        "x = y" + "()" * 900,
    ],
    ids=lambda text: text[:24],
)
def test_no_part_of_the_reader_follows_code_as_deep_as_it_nests(text: str) -> None:
    kept = without_kit_calls([text], notebook=True)
    assert len(kept) == 1 and len(kept[0]) <= len(text)
    assert written([text], EXERCISE) | misplaced([text], EXERCISE).keys() <= {*STEPS}
    assert "".join(statements(f"{text}\nz = 1")).count("z = 1") == 1
    assert isinstance(definitions_of(text), str)


def test_statements_of_one_line_are_cut_as_they_stand() -> None:
    cell = "x = 1; y = 2  # two\n@d\ndef f(): pass\nz = '''a\n'''; w = 3\nv = 4; \\\n  u = 5"
    assert statements(cell) == (
        "x = 1",
        "y = 2  # two",
        "\n@d\ndef f(): pass",
        "\n\n\nz = '''a\n'''",
        "\n\n\n\nw = 3",
        "\n\n\n\n\nv = 4",
        "\n\n\n\n\n\nu = 5",
    )


# --- whatever reading raises ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [RecursionError("too deep"), MemoryError(), KeyError("x"), RuntimeError("\ud800")]
)
@pytest.mark.parametrize("place", ["code", "choice"])
def test_whatever_reading_raises_rejects_that_hand_in_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, place: str
) -> None:
    def fail(*given: object, **named: object) -> None:
        raise error

    module, name = {
        "code": (code_of_a_file, "without_kit_calls"),
        "choice": (reading, "_candidates"),
    }[place]
    monkeypatch.setattr(module, name, fail)
    handed_in(tmp_path / "eve", SOFTMAX)
    submission = read_submission(tmp_path / "eve", EXERCISE, "eve")
    assert submission.rejected and submission.rejected.outcome is Outcome.REJECTED
    assert "could not be read" in submission.rejected.fact
    assert submission.rejected.fact.endswith("and hand it in again.")
    (detail,) = submission.rejected.details
    assert type(error).__name__ in detail and detail.isprintable()


def test_an_interrupt_is_no_fault_of_the_hand_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(reading, "read_code", interrupted)
    with pytest.raises(KeyboardInterrupt):
        handed_in(tmp_path, SOFTMAX)


def test_a_machine_that_opens_no_more_files_is_no_fault_of_the_hand_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_more(*given: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(reading, "read_code", no_more)
    with pytest.raises(KitError, match="no more files can be opened"):
        handed_in(tmp_path, SOFTMAX)


def test_of_two_files_the_one_that_can_be_read_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = code_of_a_file.read_code

    def half(file: Path, exercise: Exercise, root: Path) -> code_of_a_file.Code:
        if file.suffix == ".ipynb":
            raise RecursionError
        return whole(file, exercise, root)

    monkeypatch.setattr(reading, "read_code", half)
    handed_in(tmp_path, notebook(SOFTMAX), f"{NAME}.ipynb")
    handed_in(tmp_path, SOFTMAX)
    submission = read_submission(tmp_path, EXERCISE, "eve")
    assert submission.cells == (SOFTMAX,)
    (remark,) = submission.remarks
    assert f"{NAME}.ipynb could not be read" in remark and f"Until then, {NAME}.py counts" in remark


@pytest.mark.parametrize(("owner", "name"), [(intake, "from_script"), (Skeleton, "filled")])
def test_what_cannot_be_laid_into_the_notebook_leaves_it_as_released(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: object, name: str
) -> None:
    calls: list[object] = []
    whole = getattr(owner, name)

    def fails_first(*given: object) -> object:
        calls.append(given)
        if len(calls) == 1:
            raise RecursionError
        return whole(*given)

    monkeypatch.setattr(owner, name, fails_first)
    laid = intake.notebook_of(Skeleton.of(RELEASED), handed_in(tmp_path, SOFTMAX))
    sources = [cell.source for cell in laid.cells]
    assert intake.NOT_SHOWN in sources and SOFTMAX not in sources
    assert len(sources) == len(RELEASED.cells) + 1


# --- nulls, and keys of what is judged ------------------------------------------------------------


def test_a_null_in_a_cell_does_not_make_two_cells_of_one(tmp_path: Path) -> None:
    victim = handed_in(tmp_path, notebook("x = 1", "y = 2"), "victim.ipynb")
    attacker = handed_in(tmp_path, notebook("x = 1\0y = 2"), "attacker.ipynb")
    assert attacker.code_hash != victim.code_hash
    assert attacker.cells == ("x = 1y = 2",)
    (remark,) = attacker.remarks
    assert "null bytes" in remark and "left out" in remark


@pytest.mark.parametrize("first", ["victim", pytest.param("attacker", marks=pytest.mark.slow)])
def test_nobody_gets_another_ones_marks_from_the_journal(tmp_path: Path, first: str) -> None:
    uses = "\nright = softmax\ndef softmax(scores):\n    return ONE * right(scores)"
    cells = ("ONE = 1.0", "TWO = 2.0", SOLUTION + uses)
    victim = handed_in(tmp_path, notebook(*cells), "victim.ipynb", "victim")
    joined = notebook("\0".join(cells[:2]), cells[2])
    attacker = handed_in(tmp_path, joined, "eve.ipynb", "attacker")
    journal = Journal(tmp_path / JOURNAL)
    journal.prepare()
    order = [victim, attacker] if first == "victim" else [attacker, victim]
    for submission in order:
        verdict = judged(submission, journal=journal.path)[submission.student]
        assert verdict.code_hash == submission.code_hash
        if submission is victim:
            assert verdict.points == FULL


def test_the_hash_of_the_code_covers_all_that_decides_a_verdict(tmp_path: Path) -> None:
    one = handed_in(tmp_path, "x = 1", "one.py")
    others = [
        replace(one, exercise="other"),
        replace(one, cells=("x = 1", "")),
        replace(one, cells=("x = ", "1")),
        replace(one, cells=("x = 1", "softmax", "is not run")),
        replace(one, not_run=(("softmax", "is not run"),)),
        replace(one, not_run=(("softmax", ""), ("is not run", ""))),
        replace(one, path=Path("one.ipynb")),
        handed_in(tmp_path, "", "empty.ipynb"),
    ]
    assert len({submission.code_hash for submission in (one, *others)}) == 1 + len(others)
    assert replace(one, student="zoe", path=Path("two.py")).code_hash == one.code_hash


def test_the_key_of_a_verdict_covers_what_was_remarked_and_what_is_demanded(tmp_path: Path) -> None:
    one = handed_in(tmp_path, "x = 1", "one.py")
    keys = {
        DEFAULT_RUN.key(one, "e"),
        GradingRun(allow_process=True).key(one, "e"),
        DEFAULT_RUN.key(one, "f"),
        DEFAULT_RUN.key(replace(one, remarks=("a", "b")), "e"),
        DEFAULT_RUN.key(replace(one, remarks=("a, b",)), "e"),
        DEFAULT_RUN.key(replace(one, cells=("x = 2",)), "e"),
    }
    assert len(keys) == 6


# --- many files, many remarks ---------------------------------------------------------------------


def test_of_a_folder_with_very_many_files_some_are_read_and_a_sentence_says_so(
    tmp_path: Path,
) -> None:
    for number in range(MOST_FILES * 3):
        (tmp_path / f"a{number:03}.ipynb").write_text("{", encoding="utf-8")
    handed_in(tmp_path, SOFTMAX)
    submission = read_submission(tmp_path, EXERCISE, "eve")
    assert submission.cells == (SOFTMAX,)
    assert any(f"only {MOST_FILES} of them were read" in remark for remark in submission.remarks)
    assert len(submission.remarks) <= MOST_REMARKS


def test_a_folder_with_more_entries_than_anybody_needs_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert reading.MOST_ENTRIES <= 10_000
    monkeypatch.setattr(reading, "MOST_ENTRIES", 20)
    handed_in(tmp_path, SOFTMAX)
    for number in range(20):
        assert not read_submission(tmp_path, EXERCISE, "eve").rejected
        (tmp_path / str(number)).touch()
    sentence = read_submission(tmp_path, EXERCISE, "eve").rejected
    assert sentence and "more than 20 files" in sentence.fact


def test_files_of_one_student_in_a_folder_of_the_class_are_bounded_too(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.ipynb" for number in range(MOST_FILES * 3)]
    for path in paths:
        path.write_text("{", encoding="utf-8")
    assert read_one_of(paths, EXERCISE, "eve").rejected


def test_every_text_of_a_submission_is_one_clean_line_of_bounded_length(tmp_path: Path) -> None:
    prose = "\n".join(f"def {name}" for name in STEPS)
    cells: list[dict[str, object]] = [{"cell_type": "markdown", "source": prose}] * 900
    name = "\x1b[31m\u202e" + "n" * 200 + "\n.ipynb"
    submission = handed_in(tmp_path, notebook(*cells, "\0"), name)
    assert {step for step, _ in submission.not_run} == {*STEPS}
    assert len(submission.not_run) == len(STEPS)
    for text in (*submission.remarks, *(words for _, words in submission.not_run)):
        assert text.isprintable() and len(text) <= LONGEST_REMARK
    refused = handed_in(tmp_path, "{", name).rejected
    assert refused and refused.fact.isprintable() and len(refused.fact) <= LONGEST_REMARK
    assert refused.fact.endswith("take the last version that does.")


def test_a_name_of_any_length_in_the_code_stays_short_in_the_words() -> None:
    cell = f"def {'f' * 100_000}():\n    def softmax(scores):\n        return scores"
    assert len(misplaced([cell], EXERCISE)["softmax"]) < 200


# --- time stamps ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "right"),
    [
        (b"2015-02-02 15:58:23.948203 America/Los_Angeles\n", True),
        (b"2025-10-01 12:00:00 UTC", True),
        (b"2025-10-01 12:00:00 +0200", True),
        (b"2025-10-01T12:00:00+02:00", True),
        (b"yesterday", False),
        (b"2025-10-01 12:00:00 /etc/hostname", False),
        (b"2025-10-01 12:00:00 ../../../etc/hostname", False),
        (b"1 " * 2_000_000, False),
        (b"\xff\xfe", False),
        (b"0001-01-01 00:00:00 +2359", False),
    ],
    ids=lambda value: repr(value[:40]) if isinstance(value, bytes) else "",
)
def test_a_time_stamp_is_a_moment_and_nothing_else(
    tmp_path: Path, content: bytes, right: bool
) -> None:
    (tmp_path / intake.TIMESTAMP).write_bytes(content)
    assert (intake.timestamp(tmp_path) is not None) == right


# --- what it costs --------------------------------------------------------------------------------


def seconds(work: Callable[[], object]) -> float:
    gc.disable()  # what else this process holds is not to be counted
    try:
        before = time.process_time()
        work()
        return time.process_time() - before
    finally:
        gc.enable()


def assert_linear(work: Callable[[int], object], size: int) -> None:
    """Run `work` at a size and at twice that: a time that is quadratic has four times as much."""
    work(size // 10)  # what is done once only is not counted
    measured = []
    # A short text is parsed once and remembered, its double may not be: here nothing is.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells_of_a_hand_in, "_SHORT", -1)
        patch.setattr(cells_of_a_hand_in, "_LONGEST_KEPT", -1)
        for _ in range(TRIES):  # a busy machine may slow one of them down; a quadratic time stays
            one, two = seconds(lambda: work(size)), seconds(lambda: work(2 * size))
            if two < GROWTH * one + NOISE:
                return
            measured.append(f"{one:.2f} s for {size}, {two:.2f} s for {2 * size}")
    pytest.fail("; ".join(measured))


def growing(cases: Mapping[str, Any], *quick: str) -> list[Any]:
    """The texts by name. Those that are not `quick` are slow: the same again on other texts."""
    assert {*quick} < {*cases}
    return [
        pytest.param(case, id=name, marks=() if name in quick else pytest.mark.slow)
        for name, case in cases.items()
    ]


@pytest.mark.slow
def test_blank_lines_and_failing_statements_take_no_longer_than_their_length(
    tmp_path: Path,
) -> None:
    """In a pattern of ours 19 kB of this once took ten minutes."""

    def judge(lines: int) -> None:
        failing = "\n".join(f"1 / 0  # {number}" for number in range(10))
        text = "\n" * lines + failing
        (verdict,) = judged(handed_in(tmp_path, text, of="eve")).values()
        assert verdict.points == 0 and not verdict.infrastructure

    assert_linear(judge, 2_000)


Growing = tuple[Callable[[int], str], int]
TEXTS: dict[str, Growing] = {
    "blank lines": (lambda n: "\n" * n, 9_500),
    "lines of spaces": (lambda n: " \t \n" * n, 9_500),
    "spaces": (lambda n: " " * n + "x ?!", 250_000),
    "checks on one line": (lambda n: "check(f);" * n, 8_000),
    "checks over lines": (lambda n: "check(\n);" * n, 8_000),
    "calls of calls": (lambda n: f"{'x' + '()' * n}\n" * 4, 1_200),
    "attributes of attributes": (lambda n: f"{'x' + '.a' * n}\n" * 20, 1_200),
    "statements on one line": (lambda n: "x;" * n, 10_000),
    "definitions": (lambda n: "def softmax(): 0\n" * n, 4_500),
    "stubs": (lambda n: "def softmax(): pass\n" * n, 4_500),
    "definitions of other names": (lambda n: "".join(f"def f{k}(): 0\n" for k in range(n)), 4_500),
    "half a definition": (lambda n: ("def " + " " * 400 + "\n") * n, 600),
    "magics": (lambda n: "%who\n" * n, 9_500),
    "help that is none": (lambda n: ("x" * 50 + " " * 50 + "!\n") * n, 4_000),
    "quotes": (lambda n: "'\"\n" * n, 9_500),
    "escaped quotes": (lambda n: "'\\" * n, 40_000),
    "brackets": (lambda n: "()[]{}\n" * n + "!", 4_000),
    "marks of cells": (lambda n: "# %%\n" * n + "(", 9_500),
    "no statement is right": (lambda n: "x y\n" * n, 2_400),
    "decorators": (lambda n: "@d\n" * n + "def f(): 0", 9_000),
    "imports of the kit": (lambda n: "import autograder;" * n, 9_000),
}


@pytest.mark.parametrize(
    "case",
    growing(
        TEXTS, "blank lines", "half a definition", "magics", "marks of cells", "quotes", "stubs"
    ),
)
def test_twice_the_code_takes_about_twice_as_long_to_read(tmp_path: Path, case: Growing) -> None:
    text, size = case
    assert_linear(lambda n: handed_in(tmp_path, text(n)), size)


GrowingBook = tuple[Callable[[int], list[str | dict[str, object]]], int]
BOOKS: dict[str, GrowingBook] = {
    "cells": (lambda n: ["x = 1"] * n, 900),
    "cells that are not Python": (lambda n: ["x y"] * n, 900),
    "cells that are not run": (lambda n: ["%%bash\ndef softmax"] * n, 900),
    "nulls": (lambda n: ["\0" * 500] * n, 900),
    "prose": (lambda n: [{"cell_type": "markdown", "source": "def softmax\n" * 500}] * n, 400),
}


@pytest.mark.parametrize("case", growing(BOOKS, "cells", "cells that are not run"))
def test_twice_the_cells_take_about_twice_as_long_to_read(
    tmp_path: Path, case: GrowingBook
) -> None:
    cells, size = case
    assert_linear(lambda n: handed_in(tmp_path, notebook(*cells(n)), "a.ipynb"), size)


@pytest.mark.slow
@pytest.mark.parametrize("case", growing(TEXTS, "definitions", "spaces"))
def test_twice_the_code_takes_about_twice_as_long_to_lay_out(case: Growing) -> None:
    text, size = case
    assert_linear(lambda n: onto_skeleton(RELEASED, from_script(text(n), STEPS)), size // 4)


@pytest.mark.parametrize("case", growing(TEXTS, "blank lines", "statements on one line"))
def test_twice_the_code_takes_about_twice_as_long_to_cut_when_it_fails(case: Growing) -> None:
    text, size = case

    def cut(n: int) -> None:
        cell = text(n)
        statements(cell)
        definitions_of(cell)
        misplaced([cell], EXERCISE)

    assert_linear(cut, size)


FOUND: dict[str, Growing] = {
    **TEXTS,
    "form feeds": (lambda n: "\f" * n + "x ?!", 60_000),
    "lines of form feeds": (lambda n: (" \f" * 200 + "\n") * n, 600),
    "quoted": (lambda n: ("> " * 200 + "\n") * n, 600),
    "half an async definition": (lambda n: ("async " + " " * 400 + "\n") * n, 600),
    "long strings": (lambda n: "s = '''\n# %%\n'''\n" * n, 2_400),
    "strings in strings": (lambda n: "f'''\n{'x'}\n# %%\n'''\n" * n, 1_200),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", growing(FOUND, "checks over lines", "half an async definition", "long strings")
)
def test_twice_the_code_takes_about_twice_as_long_to_find_definitions_and_cells_in(
    case: Growing,
) -> None:
    text, size = case

    def find(n: int) -> None:
        whole = text(n)
        find_definitions(whole)
        cut_before_definitions(whole)
        find_in_piece(whole)
        names_anywhere(whole)
        names_in_prose(whole)
        percent_cells(whole)

    assert_linear(find, size // 2)


SHOWN = {
    "escapes": "\x1b[",
    "long escapes": "\x1b[0;0;0 ",
    "titles": "\x1b]0;",
    "half titles": "\x90",
    "marks": "\u0300",
    "hidden": "\u200b",
    "halves of characters": "\ud800",
    "bytes": "\udce9",
    "spaces": " ",
    "orders": "::a",
    "colons": ":",
}


PROSE = {
    "formulas": "\\begin{a}",
    "brackets of formulas": "\\\\(",
    "tags": "<div>",
    "quotes": "> ",
    "numbers of signs": "&#",
    "brackets": "[",
}


@pytest.mark.parametrize("part", growing(PROSE, "formulas"))
def test_long_prose_takes_no_longer_in_nbgraders_pages_than_its_length(part: str) -> None:
    assert_linear(lambda n: clean_markdown({}, part * n), 20_000)


CODE = {each: each for each in (".", "x.\n", "'{", "(", "%(")}


@pytest.mark.parametrize("part", growing(CODE, "'{"))
def test_long_code_takes_no_longer_in_nbgraders_pages_than_its_length(part: str) -> None:
    assert_linear(lambda n: highlight_code(part * n), 20_000)


def test_long_prose_and_code_are_shown_as_they_were_typed() -> None:
    long = "<b>x</b> " * 20_000
    for shown in (clean_markdown({}, long), highlight_code(long)):
        assert "<b>" not in shown and shown.count("&lt;b&gt;x&lt;/b&gt; ") == 20_000
    assert "<strong>x</strong>" in clean_markdown({}, "**x**")
    assert '<span class="k">def</span>' in highlight_code("def f(): pass")


@pytest.mark.slow
@pytest.mark.parametrize("part", growing(SHOWN, "escapes", "marks", "spaces"))
def test_twice_the_text_takes_about_twice_as_long_to_show(part: str) -> None:
    assert_linear(lambda n: terminal_line(part * n, 500), 200_000)
