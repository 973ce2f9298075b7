"""A course's own version of an exercise: other points, steps left out, steps of its own."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from autograder.authoring.leak import text_of
from autograder.course.adjusted_exercise import (
    ADJUSTED,
    last_line_about,
    read_own_steps,
    without_cells,
)
from autograder.course.adjustment import LEFT_OUT, OWN
from autograder.course.creation import Course, read_course
from autograder.errors import KitError
from autograder.values.exercise import read_exercise
from course.changing_course import (
    FIFTH,
    check,
    grade,
    grade_of,
    hand_in,
    marks,
    nbgrader,
    new_course,
    page_of,
    read,
    release,
    update,
)
from support.fifth_exercise import fifth_exercise
from support.gradebook_scores import scores
from support.released_course import NAME, ROOT, kit_course

WIDEST = "widest"
STEPS = """\
[[steps]]
name = "widest"
title = "The widest row"
points = 3
"""
ANSWER = "return np.max(np.ptp(x, axis=-1), axis=-1)"
SOLUTION = f'''\
"""What students write."""

# %% [markdown]
# ## The widest row
#
# How far apart are the largest and the smallest number of the widest row?


# %%
def widest(x: Float[np.ndarray, "B S D"]) -> Float[np.ndarray, "B"]:
    """Return the range of the widest row of each sequence.

    x: (B, S, D). Returns (B,).
    """
    ### BEGIN SOLUTION
    {ANSWER}
    ### END SOLUTION
'''
GRADERS = '''\
"""The checks of our own step."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.mark.step("widest")
@pytest.mark.public
def test_widest(student, draw):
    """the range of the widest row"""
    student(draw("B S D")).agrees()
'''
MISTAKES = '''\
import numpy as np


class widest:
    def narrowest(x):
        """You return the range of the narrowest row. Which of them is asked for?"""
        return np.min(np.ptp(x, axis=-1), axis=-1)
'''
FILES = {
    "steps.toml": STEPS,
    "solution.py": SOLUTION,
    "graders.py": GRADERS,
    "misconceptions.py": MISTAKES,
}
# A second check of one name, before the first.
TWICE = """\
@pytest.mark.step("widest")
def test_widest(student, draw):
    pass


@pytest.mark.step"""


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return new_course(tmp_path / "there")


def write_own_steps(course: Path, exercise: str, **changed: tuple[str, str]) -> Path:
    """Write the files of the step; `changed` replaces a text in the file of that name."""
    folder = course / OWN / exercise
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in FILES.items():
        old, new = changed.get(Path(name).stem, ("", ""))
        assert old in text
        (folder / name).write_text(text.replace(old, new) if old else text, encoding="utf-8")
    return folder


def shown_files(document: str) -> dict[str, str]:
    """Return the three files that the instructors' page shows, by their names."""
    part = document.partition("**Graded by the kit**")[2].partition("\n### ")[0]
    texts = re.findall(r"^```(?:toml|python)\n(.*?)^```$", part, re.MULTILINE | re.DOTALL)
    return dict(zip(("steps.toml", "solution.py", "graders.py"), texts, strict=True))


def set_points(course: Course, *lines: str) -> None:
    text = (course.directory / "attn.toml").read_text(encoding="utf-8").partition("\n[points")[0]
    table = "\n".join([f"[points.{FIFTH}]", *lines, ""])
    (course.directory / "attn.toml").write_text(f"{text}\n{table}", encoding="utf-8")


def answer_own_step(course: Course, student: str, answer: str) -> None:
    """Hand in right answers to the kit's steps, and `answer` as the body of the own one."""
    hand_in(course, student)
    path = course.submitted(FIFTH, student) / f"{FIFTH}.ipynb"
    text = path.read_text(encoding="utf-8")
    stub = 'raise NotImplementedError(\\"widest is not written yet\\")'
    assert text.count(stub) == 1
    path.write_text(text.replace(stub, answer), encoding="utf-8")


def test_an_own_step_is_released_graded_and_explained_like_those_of_the_kit(
    course: Course,
) -> None:
    write_own_steps(course.directory, FIFTH)
    assert f"the step `{WIDEST}` is new" in update(course)
    stub = (course.source(FIFTH) / f"{FIFTH}.py").read_text(encoding="utf-8")
    assert f"The widest row\ndef {WIDEST}(" in stub
    assert OWN not in stub and "What students write." not in stub
    notebook = read(course.source(FIFTH) / f"{FIFTH}.ipynb")
    names = [name for name in map(grade_of, notebook.cells) if name]
    assert names[-2:] == [WIDEST, f"check_{WIDEST}"]
    release(course)
    answer_own_step(course, "right", ANSWER)
    answer_own_step(course, "other", "return (x.max(-1) - x.min(-1)).max(1)")
    answer_own_step(course, "named", "return np.ptp(x, axis=-1).min(axis=-1)")
    answer_own_step(course, "wrong", "return np.max(np.ptp(x, axis=-2), axis=-1)")
    hand_in(course, "blank")
    grade(course)
    most = read_course(course.directory).exercise(FIFTH).points
    kits = most - 3
    want = {"right": most, "other": most, "named": kits, "wrong": kits, "blank": kits}
    assert marks(course) == want
    assert "You return the range of the narrowest row." in page_of(course, "named", "txt")
    assert WIDEST in page_of(course, "index")
    for given in course.release(FIFTH).iterdir():
        assert ANSWER not in text_of(given.name, given.read_bytes()), given


def test_an_own_step_that_is_taken_back_is_gone(course: Course) -> None:
    folder = write_own_steps(course.directory, FIFTH)
    update(course)
    assert len(list((course.directory / ADJUSTED).iterdir())) == 1
    shutil.rmtree(folder)
    assert f"the step `{WIDEST}` is gone" in update(course)
    assert list((course.directory / ADJUSTED).iterdir()) == []
    run = check(course)
    assert run.code == 0, run.out


@pytest.mark.parametrize(
    ("file", "old", "new", "fact", "line"),
    [
        ("graders", '    student(draw("B', '    1 / 0\n    student(draw("B', "ZeroDivision", 13),
        ("graders", 'draw("B S D")', 'draw("B S Q")', "KeyError: 'Q'", 13),
        ("graders", "def test_widest(", "def test_widest((", "not valid Python", 11),
        ("graders", "import pytest", "import pytest, nowhere", "nowhere", 6),
        ("graders", 'step("widest")', 'step("widst")', "names no step", 0),
        ("graders", "@pytest.mark.public\n", "", "has no worked example", 0),
        ("solution", "np.max(", "np.maxx(", "np.maxx", 16),
        ("solution", "def widest(", "def center(", "center is the name of something else", 10),
        ("solution", "    ### BEGIN SOLUTION\n", "", "never began", 16),
        ("steps", '"widest"', '"wider"', "write `def wider` in solution.py", 0),
        ("graders", "@pytest.mark.step", TWICE, "two checks have the name", 0),
        ("graders", ".agrees()", "", "has no worked example", 0),
        ("solution", "# How far", f"# {ANSWER}\n# How far", "a line of a solution is", 0),
        ("steps", "points = 3", 'points = "three"', "cannot be used", 0),
        ("steps", '"widest"', '"center"', "two steps with the name center", 0),
        ("misconceptions", "class widest", "class wides", "is not in any step's class", 0),
    ],
)
def test_a_mistake_in_the_own_files_is_told_with_file_and_line(
    course: Course, file: str, old: str, new: str, fact: str, line: int
) -> None:
    folder = write_own_steps(course.directory, FIFTH, **{file: (old, new)})
    run = check(course)
    assert run.code == 2 and fact in run.out, run.out
    kind = "toml" if file == "steps" else "py"
    place, where = f"{folder / file}.{kind}", run.out.partition("where: ")[2]
    assert (f"{place}:{line}" if line else place) in where, run.out
    assert str(ADJUSTED) not in run.out


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


@pytest.mark.slow
def test_a_fault_of_an_own_check_costs_nobody_points_and_says_where_it_is(course: Course) -> None:
    write_own_steps(course.directory, FIFTH)
    update(course)
    release(course)
    answer_own_step(course, "ada", ANSWER)
    grade(course)
    before = marks(course)
    folder = write_own_steps(
        course.directory, FIFTH, graders=("    student(", "    1 / 0\n    student(")
    )
    said = grade(course, code=1)
    assert marks(course) == before
    assert f"{folder / 'graders.py'}:13" in said and "Correct it there" in said


@pytest.mark.parametrize(
    ("file", "content", "fact"),
    [
        ("steps.toml", None, "steps.toml"),
        ("solution.py", None, "solution.py"),
        ("graders.py", None, "graders.py"),
        ("graders.py", "a folder", "graders.py is a link, a folder, a pipe or a device"),
        ("graders.py", b"x = 1\n# \xe9\n", "graders.py is not UTF-8"),
        ("graders.py", b"x = 1\0\n", "null bytes"),
        ("graders.py", b"x = " + b"-" * 100_000 + b"1\n", "is nothing that Python can read"),
    ],
    ids=["steps", "solution", "graders", "folder", "latin-1", "null byte", "deep"],
)
def test_a_file_that_is_missing_or_holds_no_code_is_told_in_words(
    course: Course, file: str, content: bytes | str | None, fact: str
) -> None:
    path = write_own_steps(course.directory, FIFTH) / file
    path.unlink()
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content:
        path.mkdir()
    run = check(course)
    assert run.code == 2 and fact in run.out and f"{OWN}/{FIFTH}" in run.out, run.out
    assert content is None or f"where: {path}" in run.out
    assert "Traceback" not in run.out and "None" not in run.out


@pytest.mark.slow
def test_points_of_the_course_take_the_place_of_those_of_the_exercise(course: Course) -> None:
    release(course)
    hand_in(course, "ben")
    set_points(course, "center = 5.5")
    said = grade(course, code=2)
    assert "center is worth 5.5 now, and 2 in" in said
    assert f"where: {course.directory / 'attn.toml'}" in said and "attn build" not in said
    assert "`center` is worth 5.5, before 2" in update(course)
    release(course)
    grade(course)
    assert marks(course) == {"ben": read_exercise(course.solutions / FIFTH).points + 3.5}


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ("nothing = 1", "there is no step 'nothing'"),
        ("center = -1", "gives center -1 points"),
        ("center = true", "gives center True points"),
        ("center = 1e300", "gives center 1e+300 points"),
        ("center = nan", "gives center nan points"),
        ('center = "many"', "gives center 'many' points"),
        (f'center = "{LEFT_OUT}"', "the step center cannot be left out"),
    ],
)
def test_points_that_are_not_clear_are_refused(course: Course, line: str, fact: str) -> None:
    set_points(course, line)
    run = check(course)
    assert run.code == 2 and fact in run.out, run.out


@pytest.mark.slow
def test_a_bonus_is_left_out_or_counts_as_the_course_says(tmp_path: Path) -> None:
    name, bonus = "torch_multi_head", "CausalMultiHeadAttention"
    course = kit_course(tmp_path / "course", name)
    facts = course.directory / "attn.toml"
    plain = facts.read_text(encoding="utf-8")
    facts.write_text(f'{plain}\n[points.{name}]\n{bonus} = "{LEFT_OUT}"\n', encoding="utf-8")
    update(course)
    for file in (f"{name}.py", f"{name}.ipynb", "exercise.toml", "README.md"):
        text = (course.source(name) / file).read_text(encoding="utf-8")
        assert bonus not in text and "bonus" not in text.lower(), file
    kits = read_exercise(ROOT / "solutions" / name)
    left = read_course(course.directory).exercise(name)
    assert [step.name for step in left.steps] == [
        step.name for step in kits.steps if step.name != bonus
    ]
    facts.write_text(f"{plain}\n[points.{name}]\n{bonus} = 2\n", encoding="utf-8")
    update(course)
    assert read_course(course.directory).exercise(name).points == kits.points + 2
    assert bonus in (course.source(name) / f"{name}.py").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_files_that_the_page_shows_are_graded_alike_in_both_ways(tmp_path: Path) -> None:
    course = kit_course(tmp_path / "course")
    folder = course.directory / OWN / NAME
    folder.mkdir(parents=True)
    shown = shown_files((ROOT / "docs" / "instructors.md").read_text(encoding="utf-8"))
    for file, text in shown.items():
        (folder / file).write_text(text, encoding="utf-8")
    update(course)
    release(course)
    reference = (ROOT / "solutions" / NAME / "solution.py").read_text(encoding="utf-8")
    for student, base in (("ada", "np.log("), ("ben", "np.log2(")):
        target = course.submitted(NAME, student)
        target.mkdir(parents=True)
        answers = f"{reference}\n\n{shown['solution.py'].replace('np.log(', base)}"
        (target / f"{NAME}.py").write_text(answers, encoding="utf-8")
    grade(course)
    most = read_exercise(ROOT / "solutions" / NAME).points + 2
    graded = scores(course, NAME)
    assert {who: sum(each.values()) for who, each in graded.items()} == {
        "ada": most,
        "ben": most - 2,
    }
    nbgrader("autograde", NAME, "--force", folder=course.directory)
    assert scores(course, NAME) == graded


# --- the prose around a step: what goes along, and where another comes

TWO_STEPS = """\
# %% [markdown]
# ## 1. First

# %%
def first(): ...

# %% [markdown]
# A question about the first.

# %% active="ipynb"
# print("a trial of the first")

# %% [markdown]
# ## 2. Second

# %%
def second(): ...

# %% [markdown]
# A question about the second.

# %% [markdown]
# ## The end
"""


def test_a_step_that_is_left_out_takes_the_prose_above_and_below_it_along() -> None:
    text = without_cells(TWO_STEPS, ["second"])
    assert "second" not in text.lower()
    assert text == TWO_STEPS[: TWO_STEPS.index("# %% [markdown]\n# ## 2.")] + (
        "# %% [markdown]\n# ## The end\n"
    )


@pytest.mark.parametrize(
    ("step", "last"), [("first", "# A question about the first."), ("second", "second.")]
)
def test_what_is_added_after_a_step_comes_behind_the_prose_below_it(step: str, last: str) -> None:
    lines = TWO_STEPS.split("\n")
    number = lines.index(f"def {step}(): ...") + 1
    about = "\n".join(lines[: last_line_about(TWO_STEPS, number)]).rstrip()
    assert about.endswith(last)
