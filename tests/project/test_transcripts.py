"""The commands that the documents show are run, and print what the documents show.

Each is typed as it stands there, in the folder that the document speaks of. What is only named in
the running text is run elsewhere: the last tests say where they look.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from autograder.course.creation import read_course
from autograder.values.exercise import read_exercise
from course.term_course import QUESTION, answer, ask
from demo.run import command_environment
from demo.sample_class import hand_in, read_sample_class
from support.learner_workspace import NAME, ROOT, WRONG_SOFTMAX, stub_file, written
from support.released_course import sample_class
from support.transcripts import blocks, differences, lines, transcripts

DOCS = ROOT / "docs"
DOCUMENTS = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md")))
STUDENTS, SELF_STUDY = DOCS / "students.md", DOCS / "self-study.md"
INSTRUCTORS, AUTHORS = DOCS / "instructors.md", DOCS / "authors.md"
WIDTH = "100"  # of the terminal that the documents show
HANDED_IN = {"ada": "reference", "blaise": "mistake_keys_reversed", "carl": "half_finished"}


def text_of(document: Path) -> str:
    return document.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """A terminal in which `attn` and `nbgrader` are found, and nobody's own settings."""
    names = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    home = str(tmp_path_factory.mktemp("home"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {
        **command_environment(),
        **dict.fromkeys(names, home),
        "PATH": path,
        "COLUMNS": WIDTH,
    }


def typed(
    words: str, folder: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def wrong(
    document: Path, command: str, folder: Path, environment: Mapping[str, str]
) -> tuple[str, int]:
    """How a command prints something else than the document shows, and its exit code."""
    (shown,) = (each for each in transcripts(text_of(document)) if each.command == command)
    run = typed(command, folder, environment)
    return differences(shown.lines, run.stdout) + run.stderr, run.returncode


def hand_in_sample(student: str, folder: Path) -> None:
    """Put what a student of the sample class hands in into `folder`."""
    sample = {each.name: each for each in read_sample_class(ROOT / "tests" / "sample_class" / NAME)}
    exercise = read_exercise(ROOT / "solutions" / NAME)
    hand_in(sample[student], exercise, ROOT / "assignments" / NAME, folder)


# --- what is shown is what is printed ------------------------------------------------------------


def test_a_learner_sees_what_the_page_for_self_study_shows(
    tmp_path: Path, environment: Mapping[str, str]
) -> None:
    assert wrong(SELF_STUDY, "attn start my-attention", tmp_path, environment) == ("", 0)
    work = tmp_path / "my-attention" / NAME
    assert wrong(SELF_STUDY, "attn hint scale_scores --order", work, environment) == ("", 0)


@pytest.mark.slow
def test_a_student_sees_what_the_page_for_students_shows(
    tmp_path: Path, environment: Mapping[str, str]
) -> None:
    assert typed("attn start work", tmp_path, environment).returncode == 0
    file = stub_file(tmp_path / "work")
    file.write_text(written(file.read_text("utf-8"), softmax=WRONG_SOFTMAX), encoding="utf-8")
    assert wrong(STUDENTS, "attn check softmax", file.parent, environment) == ("", 1)
    assert wrong(STUDENTS, "attn show softmax", file.parent, environment) == ("", 0)
    assert "Hint 1 of 5" in typed("attn hint softmax", file.parent, environment).stdout


@pytest.mark.slow  # nbgrader's commands take long; test_demo.py and test_course.py run them, too
def test_the_lines_for_a_course_work_as_they_stand(
    tmp_path: Path, environment: Mapping[str, str]
) -> None:
    (block,) = (each for each in blocks(text_of(INSTRUCTORS)) if "course new my-course" in each)
    before, remark, after = block.partition(
        f"# students hand in: submitted/STUDENT/{NAME}/\n",
    )
    assert remark and typed(before, tmp_path, environment).returncode == 0
    course = tmp_path / "my-course"
    hand_in_sample("reference", course / "submitted" / "ada" / NAME)
    run = typed(after, course, environment)
    assert run.returncode == 0, run.stdout + run.stderr
    assert re.search(r"^ada .* 22/22 ", run.stdout, re.MULTILINE)
    _, _, below = text_of(INSTRUCTORS).partition("| file | what it is |\n")
    told = set(re.findall(r"^\| (`.+`) \|", below.partition("\n\n")[0], re.MULTILINE))
    assert len(told) >= 6
    for name in re.findall(r"`(.+?)`", " ".join(told)):
        assert (course / "graded" / NAME / name.replace("STUDENT", "ada")).is_file(), name
    assert (course / "feedback" / "ada" / NAME / f"{NAME}.html").is_file()


def recipe(graded: str) -> tuple[str, list[str]]:
    """The recipe for a question that is graded so, and the commands that it names."""
    section = text_of(INSTRUCTORS).partition("### A question of your own\n")[2]
    steps = section.partition(f"**Graded by {graded}**")[2].partition("\n\n")[2]
    numbered = steps.partition("\n\n")[0]
    assert re.findall(r"^(\d)\. ", numbered, re.MULTILINE) == list("12345")
    return numbered, re.findall(r"`((?:attn|nbgrader) [^`]+)`", numbered)


@pytest.mark.slow
def test_a_question_graded_by_hand_goes_as_the_five_lines_say(
    tmp_path: Path, environment: Mapping[str, str]
) -> None:
    numbered, (release, grade, again) = recipe("hand")
    (place,) = re.findall(r"`(source/.*?)`", numbered)
    made = typed(f"attn course new my-course --exercise {NAME}", tmp_path, environment)
    assert made.returncode == 0, made.stderr
    course = read_course(tmp_path / "my-course")
    ask(course.directory / place)
    assert typed(release, course.directory, environment).returncode == 0
    (sample,) = sample_class("correct_loops")
    folder = course.submitted(NAME, "ada")
    hand_in(sample, course.exercise(NAME), course.release(NAME), folder)
    answer(folder / f"{NAME}.ipynb")
    run = typed(grade, course.directory, environment)
    assert (
        "22/25" in run.stdout and f"needs you: ada: `{QUESTION}` is not graded yet." in run.stdout
    )
    with Gradebook(f"sqlite:///{course.directory / 'gradebook.db'}") as book:
        cell = book.find_grade(QUESTION, NAME, NAME, "ada")
        cell.manual_score, cell.needs_manual_grade = 3, False
        book.db.commit()
    run = typed(again, course.directory, environment)
    assert "25/25" in run.stdout and "needs you" not in run.stdout


@pytest.mark.slow
def test_a_question_graded_by_the_kit_goes_as_the_five_lines_say(
    tmp_path: Path, environment: Mapping[str, str]
) -> None:
    """How the same files are graded is shown by test_own_steps."""
    numbered, (update, release) = recipe("the kit")
    (place,) = re.findall(r"`(own-steps/.*?)/steps.toml`", numbered)
    made = typed(f"attn course new my-course --exercise {NAME}", tmp_path, environment)
    assert made.returncode == 0, made.stderr
    course = read_course(tmp_path / "my-course")
    (course.directory / place).mkdir(parents=True)
    for name, mark in (
        ("steps.toml", "[[steps]]"),
        ("solution.py", "BEGIN SOLUTION"),
        ("graders.py", "import pytest"),
    ):
        (text,) = (each for each in blocks(text_of(INSTRUCTORS)) if mark in each)
        (course.directory / place / name).write_text(text, encoding="utf-8")
    for line in (f"{update} --yes", release):
        run = typed(line, course.directory, environment)
        assert run.returncode == 0, run.stdout + run.stderr
    exercise = read_course(course.directory).exercise(NAME)
    assert exercise.steps[-1].name == "attention_entropy"
    given = (course.release(NAME) / f"{NAME}.ipynb").read_text(encoding="utf-8")
    assert "How widely a token looks" in given


@pytest.mark.slow
def test_an_instructor_without_nbgrader_sees_what_the_page_shows(
    tmp_path: Path, environment: Mapping[str, str]
) -> None:
    homework = tmp_path / "homework"
    for student, sample in HANDED_IN.items():
        hand_in_sample(sample, homework / student)
    notebook = (ROOT / "assignments" / NAME / f"{NAME}.ipynb").read_text(encoding="utf-8")
    (homework / "dora.ipynb").write_text("\n".join(notebook.splitlines()[:12]), encoding="utf-8")
    command = f"attn grade homework --exercise {NAME}"
    assert wrong(INSTRUCTORS, command, tmp_path, environment) == ("", 1)
    assert (tmp_path / "homework-graded" / "feedback" / "index.html").is_file()


@pytest.mark.slow
def test_the_lines_for_many_machines_work_as_they_stand(
    tmp_path: Path, environment: Mapping[str, str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    starting, joining, grading = (
        block.replace("10.0.0.5", "127.0.0.1").replace("8786", port)
        for block in blocks(text_of(INSTRUCTORS))
        if "10.0.0.5" in block
    )
    hand_in_sample("reference", tmp_path / "homework" / "ada")
    with in_background(starting, environment), in_background(joining, environment):
        run = typed(grading, tmp_path, environment)
    assert run.returncode == 0, run.stdout + run.stderr
    assert re.search(r"^ada .* 22/22 ", run.stdout, re.MULTILINE)
    assert "is not used" not in run.stdout


@contextmanager
def in_background(words: str, environment: Mapping[str, str]) -> Iterator[None]:
    """Run a block of lines until the end; the last is what is waited for."""
    *before, last = words.strip().splitlines()
    script = "\n".join([*before, f"exec {last}"])
    run = subprocess.Popen(["bash", "-euc", script], env=environment, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        run.terminate()
        run.wait()


@pytest.mark.slow  # it builds the kit's wheel; test_release.py does that once for many tests
def test_a_release_is_as_the_page_shows(tmp_path: Path, environment: Mapping[str, str]) -> None:
    command = f"attn release {NAME} --to handout --zip"
    assert wrong(INSTRUCTORS, command, tmp_path, environment) == ("", 0)


@pytest.mark.slow
def test_the_proof_of_the_numpy_exercise_is_as_the_page_shows(
    environment: Mapping[str, str],
) -> None:
    (shown,) = transcripts(text_of(AUTHORS))
    run = typed(shown.command, ROOT, environment)
    # The last number is how long it takes.
    told, printed = (re.sub(r" +\d+\s*$", "", text) for text in (shown.lines[-1], run.stdout))
    assert differences((*shown.lines[:-1], told), printed) == ""


# --- and nothing that the documents name is left out ---------------------------------------------

IN_THIS_FILE = Path(__file__).read_text(encoding="utf-8")
ALL_TESTS = "\n".join(
    path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "tests").rglob("*.py"))
    if path != Path(__file__) and path.name != "test_docs.py"
)
NAMED = re.compile(r"[`\n ](attn|make|nbgrader) ([a-z][\w-]*)")
# Targets that CI leaves out: tests run what is behind `layers` and `site`, people run the others.
BY_HAND = {
    *(
        "corpus",
        "corpus-diff",
        "costs",
        "training-costs",
        "bench",
        "coverage",
        "layers",
        "mutants",
        "pictures",
    ),
    *("site", "test-all", "test-costs"),
}


def runs(subcommand: str) -> str:
    """How the call of a command looks in a test that runs it."""
    calls = r'attn\(|typed\(|ATTN,|"autograder\.cli",|nbgrader\(.*,|NBGRADER,|teach\("nbgrader",'
    return rf'(?:{calls})\s*"{subcommand}"'


def named_commands() -> set[tuple[str, str]]:
    """Program and subcommand of every command that the documents name."""
    return {
        (program, word)
        for document in DOCUMENTS
        for part in (*blocks(text_of(document)), *re.findall(r"`[^`\n]+`", text_of(document)))
        for program, word in NAMED.findall(f"\n{part}")
    }


def test_every_transcript_is_run_here() -> None:
    shown = {each.command for path in DOCUMENTS for each in transcripts(text_of(path))}
    assert len(shown) >= 6
    for command in shown - {next(transcripts(text_of(AUTHORS))).command}:
        assert command.replace(NAME, "{NAME}") in IN_THIS_FILE, command


def test_every_subcommand_that_is_named_is_run_by_a_test() -> None:
    here = {
        ("nbgrader", "generate_assignment"),  # in the lines for a course
        ("nbgrader", "release_assignment"),  # in tests/support/classroom.py, for every delivery
    }
    named = {each for each in named_commands() if each[0] != "make"} - here
    assert {word for program, word in named if program == "attn"} >= {"start", "grade", "verify"}
    assert [word for _, word in sorted(named) if not re.search(runs(word), ALL_TESTS)] == []


def test_every_target_of_make_that_is_named_is_run_by_ci() -> None:
    (script,) = (path for path in (ROOT / ".ci").iterdir() if "make check" in text_of(path))
    targets = set(re.findall(r"^make ([\w-]+)$", text_of(script), re.MULTILINE))
    named = {word for program, word in named_commands() if program == "make"}
    assert named - BY_HAND - targets == set() and {"demo", "test", "check"} <= named & targets


def test_activating_the_environment_puts_the_command_on_the_path() -> None:
    script = 'source "$0/bin/activate" && command -v attn && attn --help'
    environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    command = ["bash", "-c", script, sys.prefix]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith(f"{sys.prefix}/bin/attn\n")


# --- and a difference is seen --------------------------------------------------------------------


def test_what_a_document_shows_differs_by_a_word_a_line_or_an_order_and_not_by_times() -> None:
    text = "Say:\n\n```\n$ attn x\none 0:00:05\n\n[...]\nthree, 1.0 MB\n```\n"
    (shown,) = transcripts(text)
    assert (shown.command, shown.lines[0]) == ("attn x", "one 0")
    assert differences(shown.lines, "one 0:01:17\ntwo\ntwo\n\nthree, 2 kB  \n") == ""
    assert differences(shown.lines, "one 0:01:17\nthree, 2 kB\n") == ""
    for printed in ("one 0:00:05\n", "three, 1 kB\none 0:00:05\n", "one 0:00:05\nthree, four\n"):
        assert "--- shown" in differences(shown.lines, printed)
    assert differences(lines("one\n"), "one\ntwo\n").endswith("+two")


def test_a_command_that_no_test_runs_is_seen() -> None:
    assert not re.search(runs("dance"), ALL_TESTS)
    assert ("attn", "grade") in named_commands()
    assert re.search(runs("grade"), 'run([ATTN, "grade", folder])') and shutil.which("bash")
