"""At the end of a term: the course of the next one, and an archive that needs no program."""

from __future__ import annotations

import json
import os
import re
import shutil
import zipfile
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from autograder.course.creation import Course, read_course
from course.changing_course import (
    FIFTH,
    GIVEN,
    QUESTION,
    RIGHT,
    WRONG,
    add_question,
    attn,
    by_hand,
    check,
    contents,
    exported_by_nbgrader,
    exported_to_lti,
    grade,
    gradebook,
    graded_course,
    hand_in,
    marks,
    page_of,
    release,
    table,
)

EVIL = '<img src=x onerror="alert(1)">'
SCRIPT = "</pre><script>alert(2)</script>"


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return graded_course(tmp_path)


# --- next term ------------------------------------------------------------------------------


def copied(course: Course, target: Path) -> Course:
    run = attn("course", "copy", course.directory, target, "--without-people")
    assert run.code == 0, run.out
    return read_course(target)


def test_a_copy_has_the_instructors_work_and_nobody_of_the_term_before(course: Course) -> None:
    add_question(course, "how")
    config = course.directory / "nbgrader_config.py"
    config.write_text(f"{config.read_text()}c.Exchange.root = '/srv/exchange'\n")
    (course.directory / "roster.csv").write_text(f"student_id\n{RIGHT}\n")
    target = course.directory.parent / "next" / "autumn 2027"
    run = attn("course", "copy", course.directory, target, "--without-people")
    assert run.code == 0, run.out
    assert "  roster.csv" in run.out and "autumn-2027" in run.out
    assert f"cd '{target}' && nbgrader generate_assignment {FIFTH}" in run.out
    new = read_course(target)
    for name in ("fifth.ipynb", "exercise.toml"):
        assert (new.source(FIFTH) / name).read_bytes() == (course.source(FIFTH) / name).read_bytes()
    told = (target / "nbgrader_config.py").read_text()
    assert 'c.CourseDirectory.course_id = "autumn-2027"' in told and "\nc.Exchange.root" in told
    there = contents(new)
    assert {name.split("/")[0] for name in there} == {
        *("source", ".course", "attn.toml", "nbgrader_config.py")
    }
    for student in (RIGHT, WRONG, GIVEN):
        named = re.compile(rf"\b{student}\b".encode())
        assert not [name for name, text in there.items() if named.search(text)], student
    assert new.solutions == course.solutions


def test_a_term_can_begin_in_the_copy(course: Course) -> None:
    before = marks(course)
    new = copied(course, course.directory.parent / "next")
    assert check(new).code == 0
    release(new)
    hand_in(new, "dora")
    grade(new)
    assert set(marks(new)) == {"dora"} and marks(course) == before
    assert (new.secret_folder / "input.secret").read_bytes() != (
        course.secret_folder / "input.secret"
    ).read_bytes()


def test_no_setting_of_the_copy_leads_back_to_the_term_before(course: Course) -> None:
    config, old = course.directory / "nbgrader_config.py", f"sqlite:///{course.directory}/g.db"
    text = config.read_text()
    config.write_text(f'{text}\nc.CourseDirectory.db_url = "{old}"\n')
    new = copied(course, course.directory.parent / "one")
    assert (
        f'\n# of the term before: c.CourseDirectory.db_url = "{old}"'
        in (new.directory / "nbgrader_config.py").read_text()
    )
    config.write_text(f'{text}\nc.CourseDirectory.db_url = "sqlite:///" + "g.db"\n')
    run = attn(
        "course", "copy", course.directory, course.directory.parent / "two", "--without-people"
    )
    assert run.code == 2 and "computes the gradebook's address" in run.out
    assert not (course.directory.parent / "two").exists()


def test_a_copy_overwrites_nothing_and_says_that_it_has_no_people(course: Course) -> None:
    run = attn("course", "copy", course.directory, course.directory.parent / "solutions")
    assert run.code == 2 and "--without-people" in run.out
    there = course.directory.parent / "solutions"
    run = attn("course", "copy", course.directory, there, "--without-people")
    assert run.code == 2 and "there is something already" in run.out


# --- an archive ----------------------------------------------------------------------------


class Links(HTMLParser):
    """What a page links to, and which tags and attributes it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.tags: set[str] = set()
        self.handlers: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.handlers |= {name for name, _ in attrs if name.startswith("on")}
        self.found += [value or "" for name, value in attrs if name == "href"]


def archived(course: Course, name: str = "kept") -> Path:
    target = course.directory.parent / name
    run = attn("course", "archive", course.directory, "--to", target)
    assert run.code == 0, run.out
    return target


def test_an_archive_has_every_mark_page_and_hand_in_behind_one_index(course: Course) -> None:
    with gradebook(course) as book:
        book.update_or_create_student(WRONG, first_name="Ben", last_name="Okoro")
    for name in ("submission_secret.txt", "examples.xz"):
        (course.submitted(FIFTH, WRONG) / name).write_text("no work")
    kept = archived(course)
    rows = table(kept / "marks.csv")
    assert {row["student"]: row["name"] for row in rows} == {
        RIGHT: "",
        WRONG: "Ben Okoro",
        GIVEN: "",
    }
    assert f"{WRONG} (Ben Okoro)" in (kept / "index.html").read_text()
    assert {row["student"]: float(row["points"]) for row in rows} == marks(course)
    page = (kept / "index.html").read_text()
    links = Links(page).found
    assert len([link for link in links if "/hand-ins/" in link]) == 3
    assert len([link for link in links if re.search(r"/pages/\w+\.html$", link)]) == 4
    for link in links:
        assert (kept / unquote(link)).is_file(), link
    whole = kept / FIFTH / "pages" / "index.html"
    assert 'class="file"' in page_of(course, "index")
    for link in Links(whole.read_text()).found:
        assert link[0] == "#" or (whole.parent / unquote(link)).is_file(), link
    assert not [*kept.rglob("*secret*"), *kept.rglob("*examples*")]
    work = next((kept / FIFTH / "hand-ins" / WRONG).glob("*.ipynb"))
    handed_in = course.submitted(FIFTH, WRONG) / f"{FIFTH}.ipynb"
    assert work.read_bytes() == handed_in.read_bytes()
    assert "def center" in (work.parent / "index.html").read_text(), "readable without a program"
    cells = table(kept / "cells.csv")
    by_hand_there = {(row["student"], row["cell"]): row["by_hand"] for row in cells}
    assert by_hand_there[GIVEN, "check_center"] == "1.5"


def test_an_archive_has_no_solution_no_secret_and_needs_no_network(course: Course) -> None:
    kept = archived(course)
    secret = (course.secret_folder / "input.secret").read_bytes()
    for path in kept.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert secret.strip() not in content and path.name != "solution.py"
            assert path.suffix != ".html" or b"Content-Security-Policy" in content[:2000]


def test_a_zip_is_the_same_and_lies_in_one_folder(course: Course) -> None:
    kept = archived(course, "kept.zip")
    with zipfile.ZipFile(kept) as packed:
        assert {name.split("/")[0] for name in packed.namelist()} == {"kept"}
        assert "kept/index.html" in packed.namelist()
    assert not list(kept.parent.glob(".part-*"))


def test_hostile_names_and_contents_are_only_text_in_an_archive(course: Course) -> None:
    folder = course.submitted(FIFTH, WRONG)
    for name in (f"{EVIL.replace('/', '')}.html", "a\nb.svg", "..zip", "con.py"):
        (folder / name).write_text(SCRIPT)
    (folder / f"{FIFTH}.py").write_text(f"# {SCRIPT}\n")
    os.symlink("/etc/passwd", folder / "mine.txt")
    book = json.loads((folder / f"{FIFTH}.ipynb").read_text())
    book["cells"][0]["source"] = SCRIPT
    (folder / "deep.ipynb").write_text("[" * 100_000)
    (folder / f"{FIFTH}.ipynb").write_text(json.dumps(book))
    shutil.copytree(folder, course.submitted(FIFTH, EVIL.replace("/", "")), symlinks=True)
    os.mkfifo(folder / "pipe.txt")
    with gradebook(course) as book:
        book.update_or_create_student(RIGHT, first_name=SCRIPT, last_name="=cmd()")
    kept = archived(course)
    for path in kept.rglob("*"):
        assert re.fullmatch(r"[\w.@~-]+", path.name), path
        assert not path.is_symlink() and (path.is_dir() or b"root:x:" not in path.read_bytes())
        if path.suffix not in (".html",):
            assert path.is_dir() or path.suffix in (".ipynb", ".py", ".txt", ".csv"), path
        elif FIFTH not in path.parts or "hand-ins" in path.parts:
            there = Links(path.read_text())
            assert not there.tags & {"script", "img", "svg"} and not there.handlers, path
    assert (
        "mine.txt: it is too large, a link, or cannot be read" in (kept / "index.html").read_text()
    )


def test_pages_of_nbgraders_own_run_no_script_in_an_archive(course: Course) -> None:
    page = course.feedback("essay", RIGHT) / "essay.html"
    page.parent.mkdir(parents=True)
    page.write_text(f"<!DOCTYPE html><html><head></head><body>{SCRIPT}</body></html>")
    (course.submitted("essay", RIGHT)).mkdir(parents=True)
    (course.submitted("essay", RIGHT) / "essay.txt").write_text("mine")
    kept = archived(course)
    text = (kept / "essay" / "pages" / f"{RIGHT}.html").read_text()
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    assert text.index(policy) < text.index("<script>"), "it holds for what follows"
    assert f"essay/pages/{RIGHT}.html" in Links((kept / "index.html").read_text()).found


def test_an_archive_overwrites_nothing_and_lies_outside_the_course(course: Course) -> None:
    for target in (course.directory, course.directory / "kept", course.directory.parent):
        run = attn("course", "archive", course.directory, "--to", target)
        assert run.code == 2 and "a new place outside the course" in run.out


def test_what_nobody_has_graded_is_no_zero_in_an_archive(course: Course) -> None:
    with gradebook(course) as book:
        for grade_ in book.find_submission(FIFTH, WRONG).notebooks[0].grades:
            grade_.auto_score = grade_.manual_score = None
            grade_.needs_manual_grade = True
        book.db.commit()
    kept = archived(course)
    rows = table(kept / "marks.csv")
    assert next(row["points"] for row in rows if row["student"] == WRONG) == ""
    assert "the work is not graded yet, " in (kept / "index.html").read_text()


def test_a_mark_that_is_held_back_has_its_reason_and_no_points_in_an_archive(
    course: Course,
) -> None:
    why = ("--because", "we talk first", "--course", course.directory)
    assert attn("course", "hold", WRONG, FIFTH, *why).code == 0
    kept = archived(course)
    rows = {row["student"]: row for row in table(kept / "marks.csv")}
    assert [rows[WRONG][name] for name in ("points", "off_for_late", "reason")] == [
        *("", "", "held back: we talk first"),
    ]
    assert float(rows[RIGHT]["points"]) == marks(course)[RIGHT] and rows[RIGHT]["reason"] == ""
    assert {row["student"] for row in table(kept / "cells.csv")} == {RIGHT, GIVEN}
    index = (kept / "index.html").read_text()
    assert "whose mark it is" in index and f"attn course hold {WRONG} {FIFTH} --release" in index
    pages = {path.name for path in (kept / FIFTH / "pages").iterdir()}
    assert pages == {f"{name}.{ending}" for name in (RIGHT, GIVEN) for ending in ("html", "txt")}
    assert attn("course", "hold", WRONG, FIFTH, "--release", *why[2:]).code == 0
    after = {path.name for path in (archived(course, "after") / FIFTH / "pages").iterdir()}
    assert after - pages == {"index.html", f"{WRONG}.html", f"{WRONG}.txt"}


def hold(course: Course) -> str:
    why = ("--because", "we talk first", "--course", course.directory)
    assert attn("course", "hold", WRONG, FIFTH, *why).code == 0
    return "held back: we talk first"


def hand_in_rubbish(course: Course) -> str:
    (course.submitted(FIFTH, WRONG) / f"{FIFTH}.ipynb").write_text("{")
    attn("grade", course.directory)
    assert marks(course)[WRONG] == 3, "the points by hand are still there"
    return ""  # the platforms' export says what the page says


def take_the_folder_away(course: Course) -> str:
    shutil.rmtree(course.submitted(FIFTH, WRONG))
    attn("grade", course.directory)
    return f"the hand-in is gone; the gradebook still has {marks(course)[WRONG]:g} points of it"


def take_the_file_away(course: Course) -> str:
    (course.submitted(FIFTH, WRONG) / f"{FIFTH}.ipynb").unlink()
    return f"the hand-in is gone; the gradebook still has {marks(course)[WRONG]:g} points of it"


def lose_the_grades(course: Course) -> str:
    with gradebook(course) as book:
        book.remove_submission(FIFTH, WRONG)
    (course.graded(FIFTH) / "verdicts" / f"{WRONG}.json").unlink()
    return ""


@pytest.mark.parametrize(
    "done", [hold, hand_in_rubbish, take_the_folder_away, take_the_file_away, lose_the_grades]
)
def test_what_is_no_mark_is_none_in_every_export_and_says_why(
    course: Course, done: Callable[[Course], str], capfd: pytest.CaptureFixture[str]
) -> None:
    by_hand(course, WRONG, QUESTION, 3)
    before = marks(course)
    why = done(course)
    run, sent = exported_to_lti(course.directory, before, course.directory.parent)
    assert run.code == (done is not lose_the_grades) and why in run.words
    exported = exported_by_nbgrader(course)
    assert why in capfd.readouterr().err
    kept = {row["student"]: row for row in table(archived(course) / "marks.csv")}
    others = {RIGHT: before[RIGHT], GIVEN: before[GIVEN]}
    assert sent == others
    for rows, column in ((kept, "points"), (exported, "score")):
        found = {student: row[column] for student, row in rows.items()}
        assert found.pop(WRONG, "") == ""
        assert {student: float(points) for student, points in found.items()} == others
    assert WRONG not in kept or why in kept[WRONG]["reason"]
