"""What is graded never decides how: no configuration, no solutions, no results of others."""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from autograder.cli.grade import grade_path
from autograder.cli.report import GradedClass
from autograder.course.creation import create_course
from autograder.errors import KitError
from autograder.grading.class_task import SECRET, GradingOptions, input_secret
from support.broken.case import ASSIGNMENT, NAME, ROOT, Work
from support.copied_exercise import copy_exercise
from support.gradebook_scores import scores
from support.measured_processes import UNMEASURED
from support.processes import descendants, wait_for
from support.released_course import released_course, sample_class
from support.typed_commands import ATTN, attn

pytestmark = pytest.mark.slow  # the command, once for each folder

RUNS = "open({marker!r}, 'w').close()\n"
# Where it does not matter which process judges whom; each one more takes a second.
ALONE = ("--processes", "1")
PATIENCE = 300.0  # seconds that anything may take on a busy machine


def graded_here(
    path: Path,
    *,
    exercise: str | None = NAME,
    solutions: Path | None = None,
    output: Path | None = None,
) -> GradedClass:
    """Grade as `attn grade` does, in this process, which spares a second."""
    options, console = GradingOptions(processes=1), Console(file=io.StringIO())
    where = {"solutions": solutions, "output": output}
    return grade_path(path, exercise=exercise, **where, options=options, console=console)


def refused(path: Path, **named: Any) -> str:
    """What `attn grade` says of what it refuses."""
    with pytest.raises(KitError) as error:
        graded_here(path, **named)
    return str(error.value)


def configured(folder: Path, marker: Path, solutions: Path) -> None:
    """Have somebody hand in what makes a course of a folder."""
    (folder / "attn.toml").write_text(
        f'format_version = 1\nsolutions = "{solutions}"\nexercises = ["{NAME}"]\n',
        encoding="utf-8",
    )
    (folder / "nbgrader_config.py").write_text(RUNS.format(marker=str(marker)), encoding="utf-8")


# --- a course among the submissions -------------------------------------------------------------


def test_a_configuration_among_submissions_is_refused_and_not_run(
    homework: Path, tmp_path: Path
) -> None:
    configured(homework, tmp_path / "ran", ROOT / "solutions")
    run = attn("grade", homework, "--exercise", NAME, folder=ROOT)
    assert run.code == 2 and not (tmp_path / "ran").exists()
    assert "ada.py" in run.err and "as a folder of submissions does" in run.err
    assert not (tmp_path / "homework-graded").exists()


@pytest.mark.parametrize("name", ["attn.toml", "nbgrader_config.py"])
def test_one_of_both_files_is_enough_to_be_refused(name: str, homework: Path) -> None:
    (homework / name).write_text("", encoding="utf-8")
    assert name in refused(homework)


@pytest.mark.parametrize("file", ["work.py", "copy of my work.ipynb", "src/deep/answers.py"])
def test_a_whole_course_that_was_handed_in_is_refused_beside_others_whatever_they_hand_in(
    file: str, tmp_path: Path
) -> None:
    homework = tmp_path / "homework"
    (homework / "ada" / file).parent.mkdir(parents=True)
    (homework / "ada" / file).write_text("x = 1", encoding="utf-8")
    shutil.copytree(ASSIGNMENT, homework / "submitted" / "mallory" / NAME)
    configured(homework, tmp_path / "ran", Path("../evil"))
    with sqlite3.connect(homework / "gradebook.db") as book:
        book.execute("create table assignment (id int)")
    book.close()
    said = refused(homework)
    assert "ada" in said and "as a folder of submissions does" in said
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_what_is_no_file_does_not_hold_up_the_grader(kind: str, homework: Path) -> None:
    facts = homework / "attn.toml"
    os.mkfifo(facts) if kind == "pipe" else facts.symlink_to("/dev/zero")
    (homework / "ada.py").unlink()
    run = attn("grade", homework, "--exercise", NAME, folder=ROOT)
    assert run.code == 2 and "attn.toml" in run.err


@pytest.mark.parametrize("with_a_submission", [False, True])
def test_nothing_of_a_course_is_run_before_its_gradebook_is_found(
    with_a_submission: bool, tmp_path: Path
) -> None:
    course = tmp_path / "course"
    course.mkdir()
    configured(course, tmp_path / "ran", ROOT / "solutions")
    if with_a_submission:
        shutil.copytree(ASSIGNMENT, course / "submitted" / "mallory" / NAME)
    said = "is not in the gradebook" if with_a_submission else "nobody has handed in"
    assert said in refused(course) and not (tmp_path / "ran").exists()


def test_an_address_of_the_gradebook_that_is_computed_is_not_computed(tmp_path: Path) -> None:
    course = tmp_path / "course"
    shutil.copytree(ASSIGNMENT, course / "submitted" / "mallory" / NAME)
    configured(course, tmp_path / "ran", ROOT / "solutions")
    with (course / "nbgrader_config.py").open("a", encoding="utf-8") as file:
        file.write("c.CourseDirectory.db_url = 'sqlite:///' + '/tmp/x.db'\n")
    said = refused(course, exercise=None)
    assert not (tmp_path / "ran").exists()
    assert "line 2 of nbgrader_config.py computes the gradebook's address" in said


def test_a_gradebook_that_is_elsewhere_is_found_by_its_plain_address(tmp_path: Path) -> None:
    course = released_course(tmp_path / "course", sample_class("correct_einsum"))
    elsewhere = tmp_path / "elsewhere.db"
    shutil.move(course.directory / "gradebook.db", elsewhere)
    with (course.directory / "nbgrader_config.py").open("a", encoding="utf-8") as file:
        file.write(f'c.CourseDirectory.db_url = "sqlite:///{elsewhere}"\n')
    assert graded_here(course.directory).complete
    assert sum(scores(course, NAME)["correct_einsum"].values()) == 22
    assert not (course.directory / "gradebook.db").exists()


def test_a_gradebook_with_a_relative_address_lies_in_its_course_wherever_one_stands(
    tmp_path: Path,
) -> None:
    here = released_course(tmp_path / "here", sample_class("reference"))
    there = released_course(tmp_path / "there", sample_class("reference"))
    for course in (here, there):
        with (course.directory / "nbgrader_config.py").open("a", encoding="utf-8") as file:
            file.write('c.CourseDirectory.db_url = "sqlite:///gradebook.db"\n')
    run = attn("grade", "../there", *ALONE, folder=here.directory)
    assert run.code == 0, run.said
    assert sum(sum(marks.values()) for marks in scores(there, NAME).values()) == 22
    assert not any(scores(here, NAME).values())


@pytest.mark.parametrize("variable", ["JUPYTER_CONFIG_DIR", "JUPYTER_CONFIG_PATH"])
def test_no_configuration_of_jupyter_below_the_course_is_run(variable: str, tmp_path: Path) -> None:
    course = released_course(tmp_path / "course").directory
    shutil.copytree(ASSIGNMENT, course / "submitted" / "mallory" / NAME)
    own = course / "submitted" / "mallory" / "jupyter"
    own.mkdir()
    (own / "nbgrader_config.py").write_text(
        RUNS.format(marker=str(tmp_path / "ran")), encoding="utf-8"
    )
    run = attn("grade", course, folder=ROOT, **{variable: str(own)})
    assert run.code == 2 and "and here it lies in the course" in run.err
    assert not (tmp_path / "ran").exists()


# --- what somebody has set for other programs ---------------------------------------------------


def test_what_is_set_for_pytest_elsewhere_changes_nobodys_marks(homework: Path) -> None:
    Work(homework).write("\n", "nothing.py")
    orders = "-k softmax --deselect graders.py::test_scaled_values --pdb -n 2 -p x"
    variables = {"PYTEST_ADDOPTS": orders, "PYTEST_PLUGINS": "x"}
    run = attn("grade", homework, "--exercise", NAME, *ALONE, folder=ROOT, **variables)
    assert run.code == 0, run.said
    lines = run.out.splitlines()
    assert [line.split("/22")[0].split()[-1] for line in lines if "/22 " in line] == ["22", "0"]


# --- solutions among the submissions ------------------------------------------------------------


@pytest.fixture
def forged(tmp_path: Path) -> tuple[Path, Path]:
    """Solutions that a student wrote, and the file that shows that they were run."""
    folder, marker = tmp_path / "forged", tmp_path / "ran"
    copy_exercise(NAME, folder)
    for file in (folder / NAME).glob("*.py"):
        file.write_text(RUNS.format(marker=str(marker)) + file.read_text("utf-8"), "utf-8")
    return folder, marker


@pytest.mark.parametrize("from_within", [True, False])
def test_a_students_folder_called_solutions_is_never_run(
    from_within: bool, homework: Path, forged: tuple[Path, Path]
) -> None:
    solutions, marker = forged
    shutil.copytree(solutions, homework / "solutions")
    cwd, graded = (homework, ".") if from_within else (homework / "solutions", homework)
    run = attn("grade", graded, "--exercise", NAME, *ALONE, folder=cwd)
    assert not marker.exists()
    assert "ada" in run.out and "22/22" in run.out, run.said


def test_grading_one_student_from_the_folder_of_all_uses_no_students_solutions(
    homework: Path, forged: tuple[Path, Path]
) -> None:
    solutions, marker = forged
    shutil.copytree(solutions, homework / "solutions")
    (homework / "mallory").mkdir()
    shutil.copy(homework / "ada.py", homework / "mallory" / "ada.py")
    run = attn(
        "grade", "mallory", "--exercise", NAME, "--output", homework.parent / "out", folder=homework
    )
    assert run.code == 0 and not marker.exists(), run.said


def test_solutions_in_the_folder_that_is_graded_are_refused(
    homework: Path, forged: tuple[Path, Path]
) -> None:
    solutions, marker = forged
    shutil.copytree(solutions, homework / "solutions")
    for named in (homework / "solutions", solutions / ".." / "homework" / "solutions"):
        said = refused(homework, solutions=named)
        assert "solutions lie in the folder that is graded" in said
    link = homework.parent / "link"
    link.symlink_to(homework / "solutions")
    run = attn("grade", homework, "--exercise", NAME, "--solutions", link, folder=ROOT)
    assert run.code == 2 and "solutions lie in the folder that is graded" in run.err
    assert not marker.exists()


def test_the_solutions_of_a_course_never_lie_in_it(
    tmp_path: Path, forged: tuple[Path, Path]
) -> None:
    solutions, marker = forged
    course = tmp_path / "course"
    shutil.copytree(ASSIGNMENT, course / "submitted" / "mallory" / NAME)
    shutil.copytree(solutions, course / "submitted" / "mallory" / "solutions")
    configured(course, marker, Path("submitted/mallory/solutions"))
    assert "solutions lie in the folder that is graded" in refused(course, exercise=None)
    assert not marker.exists()
    with pytest.raises(KitError, match="solutions lie in the folder"):
        create_course(
            tmp_path / "new",
            solutions=tmp_path / "new" / "solutions",
            assignments=ROOT / "assignments",
            exercises=(NAME,),
        )


def test_a_course_is_not_graded_with_other_solutions_than_its_own(
    tmp_path: Path, forged: tuple[Path, Path]
) -> None:
    course = create_course(
        tmp_path / "course",
        solutions=ROOT / "solutions",
        assignments=ROOT / "assignments",
        exercises=(NAME,),
    )
    said = refused(course.directory, solutions=forged[0])
    assert "the course already says where its solutions are" in said


# --- signals --------------------------------------------------------------------------------------


def test_a_run_that_is_ended_by_a_signal_leaves_nothing_behind_and_goes_on_later(
    homework: Path, tmp_path: Path
) -> None:
    # Without a signal the run would go on until the time limit.
    Work(homework).write("import time\ntime.sleep(600)\n", "blaise.py")
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        run = started(number, tmp_path)
        processes, left = once_in_a_sandbox(run)
        run.send_signal(number)
        assert run.wait(timeout=PATIENCE) != 0, number
        assert not canaries(processes) and not any(path.exists() for path in left), number
    shutil.copy(homework / "ada.py", homework / "blaise.py")
    again = attn("grade", "homework", "--exercise", NAME, *ALONE, folder=tmp_path)
    assert again.code == 0 and again.out.count("22/22") == 2


def started(number: signal.Signals, folder: Path) -> subprocess.Popen[bytes]:
    """Start grading, not ignoring a signal that whoever runs the tests may ignore."""
    return subprocess.Popen(
        [ATTN, "grade", "homework", "--exercise", NAME, *ALONE],
        cwd=folder,
        env=os.environ | UNMEASURED,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=partial(signal.signal, number, signal.SIG_DFL),
    )


def once_in_a_sandbox(run: subprocess.Popen[bytes]) -> tuple[set[int], list[Path]]:
    """The processes of a run and their temporary folders, once there are any."""

    def processes() -> set[int]:
        return {run.pid, *descendants(run.pid)}

    wait_for(lambda: canaries(processes()) or run.poll() is not None, "nothing is judged", PATIENCE)
    left = canaries(processes())
    assert left and run.poll() is None
    return processes(), left


def canaries(processes: set[int]) -> list[Path]:
    """The temporary folders of these processes."""
    places = (Path(tempfile.gettempdir()), Path("/tmp"))
    return [path for place in places for pid in processes for path in place.glob(f"attn-{pid}-*")]


# --- where results go ---------------------------------------------------------------------------


def test_the_results_of_one_class_and_exercise_are_not_written_over_those_of_another(
    tmp_path: Path, homework: Path
) -> None:
    other, output = tmp_path / "other", tmp_path / "homework-graded"
    other.mkdir()
    shutil.copy(homework / "ada.py", other / "blaise.py")
    assert attn("grade", homework, "--exercise", NAME, *ALONE, folder=ROOT).code == 0
    before = (output / "grades.csv").read_text("utf-8")
    assert "results of another class" in refused(other, output=output)
    run = attn("grade", homework, "--exercise", "torch_single_head", folder=ROOT)
    assert run.code == 2 and "--output homework-graded-torch_single_head" in run.err
    assert (output / "grades.csv").read_text("utf-8") == before
    run = attn("grade", homework, "--exercise", NAME, "--output", output, *ALONE, folder=ROOT)
    assert run.code == 0 and "1 of 1 submissions were judged before" in run.out


def test_a_folder_that_was_renamed_or_moved_with_its_results_is_the_same_class(
    tmp_path: Path, homework: Path
) -> None:
    kept = "1 of 1 submissions were judged before"
    command = ("--exercise", NAME, *ALONE)
    assert attn("grade", homework, *command, folder=ROOT).code == 0
    renamed = tmp_path / "elsewhere" / "term 2"
    renamed.parent.mkdir()
    homework.rename(renamed)
    (tmp_path / "homework-graded").rename(renamed.with_name("term 2-graded"))
    run = attn("grade", renamed, *command, folder=ROOT)
    assert run.code == 0 and kept in run.out, run.err

    named = renamed.with_name("out")
    assert attn("grade", renamed, *command, "--output", named, folder=ROOT).code == 0
    moved = tmp_path / "moved"
    renamed.parent.rename(moved)
    run = attn("grade", moved / "term 2", *command, "--output", moved / "out", folder=ROOT)
    assert run.code == 0 and kept in run.out, run.err

    other = (moved / "term 2").rename(moved / "term 3")
    run = attn("grade", other, *command, "--output", moved / "out", folder=ROOT)
    assert run.code == 2 and "results of another class" in run.err
    cure = re.search(r"write into class.json there: (\{.*?\})", " ".join(run.err.split()))
    assert cure
    (moved / "out" / "class.json").write_text(cure[1], encoding="utf-8")
    run = attn("grade", other, *command, "--output", moved / "out", folder=ROOT)
    assert run.code == 0 and kept in run.out, run.err


def test_grades_of_unknown_origin_are_not_written_over(tmp_path: Path, homework: Path) -> None:
    output = tmp_path / "out"
    output.mkdir()
    (output / "grades.csv").write_text("my own list\n", encoding="utf-8")
    assert "results of another class" in refused(homework, output=output)
    assert (output / "grades.csv").read_text("utf-8") == "my own list\n"


def test_results_do_not_lie_among_the_submissions(homework: Path) -> None:
    said = refused(homework, output=homework / "graded")
    assert "would lie among the submissions" in said
    assert sorted(path.name for path in homework.iterdir()) == ["ada.py"]


# --- the secret of the inputs -------------------------------------------------------------------


@pytest.mark.parametrize(("folder_mode", "mode"), [(0o755, 0o600), (0o770, 0o660)])
def test_the_secret_of_the_inputs_is_made_once_and_for_its_owner_or_the_group_that_grades(
    tmp_path: Path, folder_mode: int, mode: int
) -> None:
    folder = tmp_path / "graded"
    folder.mkdir()
    folder.chmod(folder_mode)
    secret = input_secret(folder)
    assert len(secret) == 32 and input_secret(folder) == secret
    assert input_secret(tmp_path / "another") != secret
    assert (folder / SECRET).stat().st_mode & 0o777 == mode
    assert sorted(path.name for path in folder.iterdir()) == [SECRET]
