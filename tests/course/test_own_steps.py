"""A course's own version of an exercise: other points, steps left out, steps of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from autograder.authoring.leak import text_of
from autograder.course.adjusted_exercise import ADJUSTED
from autograder.course.adjustment import LEFT_OUT, OWN
from autograder.course.creation import Course, create_course, read_course
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
    read,
    release,
    update,
)
from course.own_steps import ANSWER, shown_files, write_own_steps
from support.gradebook_scores import scores
from support.released_course import NAME, ROOT

WIDEST = "widest"


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return new_course(tmp_path / "there")


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
    pages = course.graded(FIFTH) / "feedback"
    assert "You return the range of the narrowest row." in (pages / "named.txt").read_text()
    assert WIDEST in (pages / "index.html").read_text(encoding="utf-8")
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
        ("steps", '"widest"', '"wider"', "wider has no function", 0),
        ("steps", "points = 3", 'points = "three"', "cannot be used", 0),
        ("steps", "points = 3", "point = 3", "cannot be used", 0),
        ("steps", "[[steps]]", "[[step]]", "cannot be used", 0),
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
    place = f"where: {folder / file}.{kind}"
    assert (f"{place}:{line}" if line else place) in run.out, run.out


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


@pytest.mark.parametrize("missing", ["steps.toml", "solution.py", "graders.py"])
def test_a_file_that_is_missing_is_named(course: Course, missing: str) -> None:
    (write_own_steps(course.directory, FIFTH) / missing).unlink()
    run = check(course)
    assert run.code == 2 and missing in run.out and f"{OWN}/{FIFTH}" in run.out, run.out


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
    course = create_course(
        tmp_path / "course",
        solutions=ROOT / "solutions",
        assignments=ROOT / "assignments",
        exercises=(name,),
    )
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
    course = create_course(
        tmp_path / "course",
        solutions=ROOT / "solutions",
        assignments=ROOT / "assignments",
        exercises=(NAME,),
    )
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
    run = nbgrader("autograde", NAME, "--force", folder=course.directory)
    assert run.code == 0, run.out
    assert scores(course, NAME) == graded
