"""The files of an instructor's own steps: wrong entries, odd files, and what editors leave."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autograder.course.adjusted_exercise import ADJUSTED, read_own_steps
from autograder.course.creation import Course
from autograder.errors import KitError
from autograder.values.exercise import read_exercise
from course.changing_course import FIFTH, check, new_course, update
from course.own_steps import ANSWER, write_own_steps
from support.fifth_exercise import fifth_exercise

TWICE = '@pytest.mark.step("widest")\ndef test_widest(student, draw):\n    pass\n\n\n'


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return new_course(tmp_path / "there")


@pytest.mark.parametrize(
    ("old", "new", "fact"),
    [
        ("points = 3", "points = true", "the points of step widest: True is not a number"),
        ("points = 3", "point = 3", "step widest has no points"),
        ('"widest"', "3", "the name of step 1: 3 is not a name that a step can have"),
        ('"widest"', '"check_center"', "not a name that a step can have"),
        ('"widest"', '"setup"', "not a name that a step can have"),
        ('"widest"', '"print"', "not a name that a step can have"),
        ('"widest"', '"entropi\u00e9"', "not a name that a step can have"),
        ('"widest"', '"__init__"', "not a name that a step can have"),
        ('"widest"', f'"{"w" * 51}"', "not a name that a step can have"),
        ('"The widest row"', "3", "the title of step widest: 3 is not a line of text"),
        ('"The widest row"', '"a\\nb"', "is not a line of text"),
        ("points = 3", 'points = 3\nhints = "one"', "the hints of step widest: 'one' is not a"),
        ("points = 3", "points = 3\npriority = 1", "step widest has `priority`; there may be: n"),
        ("points = 3", "points = 3\n[grading]\nseed = 3", "[grading] has `seed`; there may be: s"),
        ("points = 3", "points = 3\n[grading]\nwithout = 3", "[grading.without] is not a table"),
        ("points = 3", "points = 3\n[grading.sizes]\nB = 9", "[grading.sizes] has B, as the kit's"),
        ("[[steps]]", "grading = 3\n[[steps]]", "[grading] is not a table"),
        ("[[steps]]", "[steps]", "it has no [[steps]]"),
        ("points = 3", "points = ", "it is not valid TOML"),
    ],
)
def test_an_entry_that_cannot_be_used_is_told_in_words(
    tmp_path: Path, old: str, new: str, fact: str
) -> None:
    folder = write_own_steps(tmp_path, FIFTH, steps=(old, new))
    kit = read_exercise(fifth_exercise(tmp_path))
    with pytest.raises(KitError) as told:
        read_own_steps(kit, folder)
    assert told.value.fact.startswith("steps.toml cannot be used: ") and fact in told.value.fact
    assert told.value.place == str(folder / "steps.toml") and told.value.cure


def test_what_an_editor_leaves_in_the_folder_and_in_the_files_breaks_nothing(
    course: Course,
) -> None:
    folder = write_own_steps(course.directory, FIFTH)
    (folder / ".ipynb_checkpoints").mkdir()
    (folder / "notes.old").mkdir()
    for file in folder.glob("*.*"):
        if file.is_file():
            file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    assert "the step `widest` is new" in update(course)
    stub = (course.source(FIFTH) / f"{FIFTH}.py").read_bytes()
    assert b"def widest(" in stub and b"\r" not in stub


@pytest.mark.parametrize(
    ("content", "fact"),
    [
        (None, "graders.py is a link, a folder, a pipe or a device"),
        (b"x = 1\n# \xe9\n", "graders.py is not UTF-8"),
        (b"x = 1\0\n", "null bytes"),
        (b"x = " + b"-" * 100_000 + b"1\n", "graders.py is nothing that Python can read"),
    ],
    ids=["folder", "latin-1", "null byte", "deep"],
)
def test_a_file_that_is_no_text_or_no_code_is_told_in_words(
    course: Course, content: bytes | None, fact: str
) -> None:
    path = write_own_steps(course.directory, FIFTH) / "graders.py"
    path.unlink()
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    run = check(course)
    assert run.code == 2 and fact in run.out and f"where: {path}" in run.out, run.out
    assert "Traceback" not in run.out and "None" not in run.out


def test_the_cure_for_a_step_without_a_function_leads_to_the_instructors_folder(
    course: Course,
) -> None:
    write_own_steps(course.directory, FIFTH, steps=('"widest"', '"wider"'))
    run = check(course)
    assert run.code == 2 and "write `def wider` in solution.py" in run.out
    assert str(ADJUSTED) not in run.out, run.out


def test_steps_for_an_exercise_that_the_course_does_not_have_are_named(course: Course) -> None:
    folder = write_own_steps(course.directory, FIFTH)
    folder.rename(folder.with_name("fitfh"))
    run = check(course)
    assert run.code == 1 and "Nobody reads these" in run.out and "own-steps/fitfh" in run.out


def test_a_misspelt_step_in_attn_toml_is_looked_for_there(course: Course) -> None:
    write_own_steps(course.directory, FIFTH)
    with (course.directory / "attn.toml").open("a", encoding="utf-8") as facts:
        facts.write(f"\n[points.{FIFTH}]\nwidest = 4\n")
    run = check(course)
    assert run.code == 2 and "there is no step 'widest' in the kit's" in run.out
    assert f"where: attn.toml, [points.{FIFTH}]" in run.out
    assert f"of your own stand in own-steps/{FIFTH}/steps.toml" in run.out, run.out


@pytest.mark.parametrize(
    ("file", "old", "new", "fact"),
    [
        ("solution", "# How far apart", f"# {ANSWER}\n# How far apart", "a line of a solution is"),
        ("graders", "@pytest.mark.step", f"{TWICE}@pytest.mark.step", "two checks have the name"),
        ("graders", ".agrees()", "", "has no worked example"),
    ],
)
def test_every_place_is_in_the_instructors_own_file(
    course: Course, file: str, old: str, new: str, fact: str
) -> None:
    folder = write_own_steps(course.directory, FIFTH, **{file: (old, new)})
    run = check(course)
    assert run.code == 2 and fact in run.out, run.out
    assert str(folder / f"{file}.py") in run.out and str(ADJUSTED) not in run.out, run.out


def test_a_standing_check_that_the_reference_fails_says_how_to_switch_it_off(
    course: Course,
) -> None:
    folder = write_own_steps(
        course.directory,
        FIFTH,
        solution=(ANSWER, "return np.max(np.sum(x * np.log(x), axis=-1), axis=-1)"),
        graders=('student(draw("B S D"))', 'student(np.exp(draw("B S D")))'),
    )
    (folder / "misconceptions.py").unlink(missing_ok=True)
    run = check(course)
    told = re.search(r"fails the check standing_(\w+)", run.out)
    assert run.code == 2 and told, run.out
    cure = run.out.partition("write below [grading.without.widest]: ")[2].splitlines()[0]
    assert f'{told[1]} = "the reason"' in cure, run.out
    steps = folder / "steps.toml"
    off = "\n".join(["", "[grading.without.widest]", *cure.split(", "), ""])
    steps.write_text(steps.read_text(encoding="utf-8") + off, encoding="utf-8")
    again = check(course)
    assert f"fails the check standing_{told[1]}" not in again.out, again.out
