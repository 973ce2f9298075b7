"""The command `attn` on what people really give it: exit codes, and errors with a cure."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from autograder.judging.examples import facts_in, packed
from autograder.reports.grades_csv import read_verdicts
from autograder.values.exercise import EXAMPLES
from autograder.values.verdict import Outcome
from support.copied_exercise import copy_exercise
from support.learner_workspace import start
from support.small_release import TOY, write_toy
from support.typed_commands import ATTN, Run, typed
from support.typed_commands import attn as attn_process
from support.written_exercise import changed

ROOT = Path(__file__).resolve().parents[2]
NAME = "numpy_single_head"
SOLUTIONS = ROOT / "solutions"
STUB = ROOT / "assignments" / NAME
RIGHT, REFUSED, NOT_ALL = 0, 2, 1


def told_error(run: Run) -> dict[str, str]:
    """Fact, place and cure of the error, which has to have all three and nothing else."""
    assert run.code == REFUSED, run.out + run.err
    assert "Traceback" not in run.out + run.err
    lines = re.findall(r"^(error|  where|  cure): +(\S.*)$", run.err, re.MULTILINE)
    assert [name.strip() for name, _ in lines] == ["error", "where", "cure"], run.err
    assert len(run.err.splitlines()) == 3, run.err
    return {name.strip(): text for name, text in lines}


def attn(*words: object, folder: Path = ROOT) -> Run:
    return typed(*words, folder=folder)


def grade(folder: Path, *words: object) -> Run:
    return attn("grade", folder, "--exercise", NAME, "--solutions", SOLUTIONS, *words)


# --- attn grade: nothing to grade ---------------------------------------------------------------


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    words = ("grade", tmp_path / "nowhere", "--exercise", NAME, "--solutions", SOLUTIONS)
    error = told_error(attn_process(*words, folder=ROOT))
    assert "no such folder" in error["error"] and error["where"] == str(tmp_path / "nowhere")
    assert "name a folder" in error["cure"]


def test_a_file_in_place_of_a_folder_is_refused_with_both_cures(tmp_path: Path) -> None:
    file = tmp_path / "ada.py"
    file.write_text("")
    error = told_error(grade(file))
    assert "this is a file" in error["error"]
    assert "homework/ada.py" in error["cure"] and "attn check" in error["cure"]


def test_a_folder_without_submissions_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing", encoding="utf-8")
    (tmp_path / ".hidden.py").write_text("x = 1", encoding="utf-8")
    error = told_error(grade(tmp_path))
    assert "no submissions" in error["error"] and error["where"] == str(tmp_path)
    assert ".py or .ipynb" in error["cure"]
    assert not tmp_path.with_name(f"{tmp_path.name}-graded").exists()


def test_an_exercise_that_is_not_known_is_refused_and_the_known_are_named(tmp_path: Path) -> None:
    error = told_error(attn("grade", tmp_path, "--exercise", "numpy_two_heads"))
    assert "'numpy_two_heads'" in error["error"]
    assert error["where"] == str(ROOT / "solutions") and NAME in error["cure"]


def test_away_from_the_solutions_it_is_told_where_they_were_looked_for(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    graded = tmp_path / "homework"
    graded.mkdir()
    error = told_error(attn("grade", graded, "--exercise", NAME, "--solutions", elsewhere))
    assert error["where"] == str(elsewhere) and "name the folder" in error["cure"]


def test_without_a_course_the_exercise_has_to_be_said(tmp_path: Path) -> None:
    error = told_error(attn("grade", tmp_path))
    assert error["where"] == str(tmp_path) and "--exercise" in error["cure"]


def test_a_course_that_nobody_has_handed_in_to_is_refused(tmp_path: Path) -> None:
    course = tmp_path / "course"
    names = (NAME, "vit_multi_head")
    made = attn("course", "new", course, *(x for name in names for x in ("--exercise", name)))
    assert made.code == RIGHT
    assert all(f"nbgrader generate_assignment {name}\n" in made.out for name in names)
    error = told_error(attn("grade", course, "--exercise", NAME))
    assert "nobody has handed in" in error["error"]
    assert error["where"] == str(course / "submitted") and "collect" in error["cure"]
    there = told_error(attn("course", "demo", course))
    assert "already a course here" in there["error"] and there["where"] == str(course)


def test_signs_that_colour_a_terminal_are_shown_as_they_are(tmp_path: Path) -> None:
    error = told_error(attn("grade", tmp_path, "--exercise", "[bold]x[/]"))
    assert "'[bold]x[/]'" in error["error"]


# --- attn grade: a class with trouble in it -----------------------------------------------------


def test_a_class_with_trouble_in_it_is_graded_and_who_was_not_is_named_with_the_reason(
    tmp_path: Path,
) -> None:
    """A right one, and beside it a broken one, a doubled one, one without the functions, none."""
    folder = tmp_path / "class"
    folder.mkdir()
    shutil.copy(SOLUTIONS / NAME / "solution.py", folder / "anna.py")
    (folder / "bert.ipynb").write_text("this is not JSON", encoding="utf-8")
    shutil.copy(SOLUTIONS / NAME / "solution.py", folder / "carl.py")
    shutil.copy(STUB / f"{NAME}.ipynb", folder / "carl.ipynb")
    (folder / "dora.py").write_text("x = 1\n", encoding="utf-8")
    (folder / "emil").mkdir()
    run, output = grade(folder, "--processes", 1), folder.with_name("class-graded")
    assert run.code == NOT_ALL and "Traceback" not in run.said, run.said
    verdicts = {each.student: each for each in read_verdicts(output / "verdicts")}
    points = {"anna": 22, "bert": 0, "carl": 22, "dora": 0, "emil": 0}
    assert {student: verdict.points for student, verdict in verdicts.items()} == points
    reasons = {"bert": "bert.ipynb is not a notebook", "emil": "no notebook and no .py"}
    assert {student for student in points if told(run, student)} == {*reasons}
    for student, reason in reasons.items():
        (line,) = told(run, student)
        assert reason in line
    first = verdicts["dora"].steps[0]
    assert first.outcome is Outcome.NOT_WRITTEN
    assert first.finding and "softmax" in first.finding.fact
    named = re.search(r"open next: (\S+)", run.out)
    assert named and Path(named[1]) == output / "feedback" / "index.html"
    assert Path(named[1]).is_file()


def told(run: Run, student: str) -> list[str]:
    lines = re.sub(r"\n(?!not graded|open next)", " ", run.out).splitlines()
    return [line for line in lines if line.startswith(f"not graded: {student}")]


@pytest.mark.slow
def test_a_grader_that_raises_is_told_and_is_nobodys_zero(tmp_path: Path) -> None:
    solutions = tmp_path / "solutions"
    copy_exercise(NAME, solutions)
    graders = solutions / NAME / "graders.py"
    fault = '\n\n@pytest.mark.step("softmax")\ndef test_of_ours(student):\n    1 / 0\n'
    graders.write_text(graders.read_text(encoding="utf-8") + fault, encoding="utf-8")
    folder = tmp_path / "class"
    folder.mkdir()
    shutil.copy(SOLUTIONS / NAME / "solution.py", folder / "anna.py")
    run = attn("grade", folder, "--exercise", NAME, "--solutions", solutions)
    assert run.code == NOT_ALL
    (line,) = told(run, "anna")
    assert "a fault of the grader" in line and "ZeroDivisionError" in line
    with (tmp_path / "class-graded" / "grades.csv").open(encoding="utf-8-sig", newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["points"] == "" and row["student"] == "anna"


@pytest.mark.slow
def test_a_grader_file_with_a_syntax_error_is_told_in_three_lines(tmp_path: Path) -> None:
    solutions, folder = tmp_path / "solutions", tmp_path / "class"
    copy_exercise(NAME, solutions)
    graders = solutions / NAME / "graders.py"
    graders.write_text("def test_(:\n", encoding="utf-8")
    folder.mkdir()
    (folder / "dora.py").write_text("x = 1\n", encoding="utf-8")
    error = told_error(attn("grade", folder, "--exercise", NAME, "--solutions", solutions))
    assert "SyntaxError" in error["error"] and error["where"] == f"{graders}:1"
    assert not (tmp_path / "class-graded" / "grades.csv").exists()


# --- attn check ---------------------------------------------------------------------------------


@pytest.fixture
def assignment(tmp_path: Path) -> Path:
    """What a student has."""
    return Path(shutil.copytree(STUB, tmp_path / NAME))


def test_checking_the_stub_says_what_to_write_first(assignment: Path) -> None:
    run = attn("check", folder=assignment)
    assert run.code == NOT_ALL and run.err == ""
    assert "Next: softmax" in run.out and "not written yet" in run.out
    assert "✗" not in run.out and "✓" not in run.out


def test_checking_one_step_says_nothing_of_the_others(assignment: Path) -> None:
    stub = (assignment / f"{NAME}.py").read_text(encoding="utf-8")
    wrong = (
        "def scale_scores(attention_scores, embedding_dimension):\n    return attention_scores\n"
    )
    (assignment / f"{NAME}.py").write_text(f"{stub}\n\n{wrong}", encoding="utf-8")
    run = attn("check", "scale_scores", folder=assignment)
    assert run.code == NOT_ALL
    assert "they are not scaled" in run.out and "softmax" not in run.out
    other = attn("check", "softmax", folder=assignment)
    assert other.code == NOT_ALL and "scale_scores" not in other.out


def test_checking_away_from_an_assignment_says_what_is_missing(tmp_path: Path) -> None:
    error = told_error(attn("check", "--in", tmp_path))
    assert error["where"] == str(tmp_path) and "exercise.toml" in error["error"]


def test_checking_without_a_file_says_what_is_missing(assignment: Path) -> None:
    for file in (f"{NAME}.py", f"{NAME}.ipynb"):
        (assignment / file).unlink()
    error = told_error(attn("check", "--in", assignment))
    assert error["where"] == str(assignment) and f"{NAME}.ipynb" in error["error"]


def test_checking_a_broken_file_tells_where_it_breaks_and_goes_on(assignment: Path) -> None:
    (assignment / f"{NAME}.ipynb").unlink()
    file = assignment / f"{NAME}.py"
    text = file.read_text(encoding="utf-8") + "\n\n# %%\ndef more(:\n"
    file.write_text(text, encoding="utf-8")
    run = attn("check", "softmax", folder=assignment)
    line = text.splitlines().index("def more(:") + 1
    assert run.code == NOT_ALL and f"SyntaxError, line {line}" in run.out
    assert "softmax (0/" in run.out


# --- attn build ---------------------------------------------------------------------------------


def test_what_was_built_is_up_to_date_and_what_was_edited_is_named_and_left_as_it_is(
    tmp_path: Path,
) -> None:
    write_toy(tmp_path / "solutions", TOY)
    assert attn("build", tmp_path / "solutions", folder=tmp_path).code == RIGHT
    folder = tmp_path / "assignments" / TOY
    # Not byte for byte: the last digits of what NumPy computes depend on the processor.
    run = attn("build", "--check", folder=tmp_path)
    assert run.code == RIGHT and "up to date" in run.out, run.out + run.err

    with (folder / f"{TOY}.ipynb").open("a", encoding="utf-8") as file:
        file.write("\n")
    # Its numbers are compared as numbers, its words to the letter.
    facts = facts_in((folder / EXAMPLES).read_bytes())
    facts["examples"][0]["title"] += " or not"
    (folder / EXAMPLES).write_bytes(packed(facts))
    (folder / "README.md").unlink()
    (folder / "more.txt").write_text("mine", encoding="utf-8")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    error = told_error(attn("build", "--check", folder=tmp_path))
    assert error["error"].startswith("4 generated files are stale")
    assert f"{TOY}/{TOY}.ipynb differs" in error["error"]
    assert f"{TOY}/{EXAMPLES} differs" in error["error"]
    assert f"{TOY}/README.md is missing" in error["error"]
    assert f"{TOY}/more.txt" in error["error"]
    assert "attn build" in error["cure"]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_folder_without_exercises_is_refused(tmp_path: Path) -> None:
    error = told_error(attn("build", tmp_path))
    assert "no exercises" in error["error"] and error["where"] == str(tmp_path)


def test_without_any_standard_input_nobody_is_asked(tmp_path: Path) -> None:
    tell = ["bash", "-c", '"$0" tell . softmax/3f2a9c01 <&-', ATTN]
    run = subprocess.run(tell, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == REFUSED and "Traceback" not in run.stderr, run.stderr
    assert "write the words" in run.stderr


@pytest.mark.slow
def test_without_any_standard_input_an_update_says_what_to_add(tmp_path: Path) -> None:
    course = tmp_path / "course"
    assert attn("course", "new", course, "--exercise", NAME).code == RIGHT
    changed(course / "source" / NAME, (f"{NAME}.ipynb", '"points": 2.0', '"points": 1.0'))
    update = ["bash", "-c", '"$0" course update course <&-', ATTN]
    run = subprocess.run(update, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == NOT_ALL and "Traceback" not in run.stderr, run.stderr
    assert "without a terminal, add --yes" in run.stdout


EARLIER = {
    **{name: f"platform {name}" for name in ("collect", "export", "result", "gradescope")},
    **{"debug": "check --debug", "puzzle": "hint --order", "solution": "hint --solution"},
    **{"demo": "course demo", "tell": "report --tell"},
}


@pytest.mark.parametrize("word", EARLIER)
def test_a_command_works_by_its_earlier_name_and_says_the_one_of_today(
    word: str, tmp_path: Path
) -> None:
    """Courses have them in scripts, which may read what is printed."""
    now = EARLIER[word]
    earlier, today = (typed(*words, "--help", folder=tmp_path) for words in ((word,), now.split()))
    assert (earlier.code, earlier.out) == (RIGHT, today.out) and "Usage: attn" in today.out
    assert earlier.err.split("\n") == [f"`attn {word}` is now `attn {now}`", ""]
    assert today.err == "" and f"\n  {word} " not in typed("--help", folder=tmp_path).out


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (("puzzle", "scale_scores", "3"), ("hint", "scale_scores", "--order", "3")),
        (("puzzle", "softmax", "9"), ("hint", "softmax", "--order", "9")),
        (("solution", "softmax", "--yes"), ("hint", "softmax", "--solution", "--yes")),
        (("debug", "softmax"), ("check", "softmax", "--debug")),
        (("tell", ".", "softmax/abc", "Hello"), ("report", ".", "--tell", "softmax/abc", "Hello")),
    ],
)
def test_what_stands_behind_an_earlier_name_means_what_it_meant(
    before: tuple[str, ...], now: tuple[str, ...], tmp_path: Path
) -> None:
    workspace = start(tmp_path / "work")
    earlier, today = (typed(*words, folder=workspace) for words in (before, now))
    assert (earlier.code, earlier.out) == (today.code, today.out)
    assert earlier.err.partition("\n")[2] == today.err and (today.out or today.err)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("hint softmax 3 1", "write: attn hint softmax.3; if it is a line to sort, add --order"),
        ("hint softmax --again --order", "take one of --again, --order and --solution"),
        ("hint softmax 3 --solution", "unexpected extra argument (3)"),
        ("check softmax --debug --json", "does not answer in JSON"),
        ("report . softmax/abc Hello", "add --tell"),
        ("report . --tell", "the mistake and WORDS"),
        ("report . --remove", "add --tell"),
    ],
)
def test_words_that_do_not_go_together_are_refused_with_what_to_type(
    words: str, told: str, tmp_path: Path
) -> None:
    run = typed(*words.split(), folder=tmp_path)
    assert run.code == 2 and told in " ".join(run.err.split()), run.err


def test_a_slip_in_an_earlier_name_is_told_the_one_of_today(tmp_path: Path) -> None:
    assert "Did you mean: attn hint --solution" in typed("solutoin", folder=tmp_path).err
    assert "Did you mean: attn platform collect" in typed("colect", folder=tmp_path).err
