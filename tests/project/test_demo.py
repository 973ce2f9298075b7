"""The demo as a user runs it, nbgrader's own commands after it, and what gets out to students.

One course is made by `attn course demo`; the slow tests carry it through `nbgrader autograde`,
`generate_feedback` and `export`. A second demo, slow too, runs where nothing protects: under a
filter in which namespaces and Landlock are refused, as in a locked-down container.
"""

from __future__ import annotations

import csv
import html
import json
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from autograder.authoring.leak import Secret, refuse_leaks, secrets_of
from autograder.course import read_course
from autograder.errors import KitError
from autograder.submission.reading import read_submission
from autograder.values.exercise import Exercise, read_exercise
from autograder.values.verdict import Verdict
from demo.run import command_environment
from demo.sample_class import hand_in
from support.gradebook_scores import scores
from support.leak_search import refuse_leaks_below
from support.machines import as_in_docker, refusing
from support.released_course import sample_class
from support.transcripts import blocks, differences, lines

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
NAME = "numpy_single_head"
SAMPLE_CLASS = ROOT / "tests" / "sample_class" / NAME
STUDENTS = sorted(path.stem for path in SAMPLE_CLASS.glob("*.py"))
ATTN = str(Path(sys.executable).with_name("attn"))
WIDTH = "100"  # of the terminal that README.md shows
SOLUTION_LINE = "return exponentials / exponentials.sum(axis=-1, keepdims=True)"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """What a user has, but with Jupyter's and IPython's own files out of the home directory."""
    home = tmp_path_factory.mktemp("home")
    names = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    return {**command_environment(), **{name: str(home) for name in names}, "COLUMNS": "200"}


@pytest.fixture(scope="module")
def exercise() -> Exercise:
    return read_exercise(ROOT / "solutions" / NAME)


@pytest.fixture(scope="module")
def secrets(exercise: Exercise) -> tuple[Secret, ...]:
    found = secrets_of(exercise)
    files = {"graders.py", "misconceptions.py", "variants.py"}
    whats = {*files, "a solution", "a marker of a solution region"}
    assert whats <= {secret.what for secret in found}
    return found


def ran(
    command: list[str], environment: Mapping[str, str], folder: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


# --- the course, step by step -------------------------------------------------------------------


@dataclass(frozen=True)
class Demo:
    """The course that `attn course demo` made, and what it printed."""

    directory: Path
    run: subprocess.CompletedProcess[str]

    @property
    def graded(self) -> Path:
        return self.directory / "graded" / NAME

    def verdict(self, student: str) -> Verdict:
        text = (self.graded / "verdicts" / f"{student}.json").read_text(encoding="utf-8")
        return Verdict.from_json(text)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory, environment: Mapping[str, str]) -> Demo:
    folder = tmp_path_factory.mktemp("demo")
    shutil.copytree(SAMPLE_CLASS, folder / "class" / NAME)
    command = [ATTN, "course", "demo", str(folder / "course"), "--class", str(folder / "class")]
    return Demo(folder / "course", ran(command, {**environment, "COLUMNS": WIDTH}))


@pytest.fixture(scope="module")
def fast(demo: Demo) -> dict[str, dict[str, float]]:
    """The scores that `attn course demo` wrote into the gradebook."""
    return scores(read_course(demo.directory), NAME)


@pytest.fixture(scope="module")
def stock(
    demo: Demo, fast: dict[str, dict[str, float]], environment: Mapping[str, str]
) -> dict[str, dict[str, float]]:
    """The scores that nbgrader's own command writes, after ours were taken out."""
    with closing(sqlite3.connect(demo.directory / "gradebook.db")) as gradebook:
        gradebook.execute("UPDATE grade SET auto_score = NULL")
        gradebook.commit()
    assert scores(read_course(demo.directory), NAME) == {}
    run = nbgrader(demo, environment, "autograde", NAME, "--force")
    assert run.returncode == 0, run.stderr
    return scores(read_course(demo.directory), NAME)


@pytest.fixture(scope="module")
def published(demo: Demo, stock: object, environment: Mapping[str, str]) -> Path:
    """The folder with nbgrader's own feedback."""
    own = ("--CourseFeedback.kit_pages=False", "--force")
    run = nbgrader(demo, environment, "generate_feedback", NAME, *own)
    assert run.returncode == 0, run.stderr
    return demo.directory / "feedback"


def nbgrader(
    demo: Demo, environment: Mapping[str, str], *words: str
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nbgrader", *words]
    return ran(command, environment, demo.directory)


def test_the_demo_ends_well_and_says_what_to_open(demo: Demo) -> None:
    assert demo.run.returncode == 0, demo.run.stdout + demo.run.stderr
    assert demo.run.stderr == ""
    assert f"{len(STUDENTS)} students graded" in demo.run.stdout
    for student in STUDENTS:
        assert student[:20] in demo.run.stdout  # a long name is cut
    places = re.findall(rf"{re.escape(str(demo.directory))}/\S+", demo.run.stdout)
    assert [Path(place).name for place in places] == ["index.html", "grades.csv", "gradebook.db"]
    assert all(Path(place).is_file() for place in places)
    assert f"cd {demo.directory} && nbgrader release_feedback {NAME}" in demo.run.stdout


def test_the_demo_prints_what_the_readme_shows(demo: Demo) -> None:
    (shown,) = (block for block in blocks(README.read_text(encoding="utf-8")) if "━" in block)
    assert differences(lines(shown), demo.run.stdout) == ""
    assert differences(lines(shown.replace("22/22", "21/22", 1)), demo.run.stdout) != ""
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\ndemo: ")[2]
    assert recipe.splitlines()[1].strip() == "$(BIN)/attn course demo"


def test_everybody_has_a_verdict_and_a_page(demo: Demo) -> None:
    verdicts = sorted(path.stem for path in (demo.graded / "verdicts").glob("*.json"))
    pages = sorted(path.stem for path in (demo.graded / "feedback").glob("*.html"))
    assert verdicts == STUDENTS and pages == sorted([*STUDENTS, "index"])
    for student in STUDENTS:
        assert demo.verdict(student).student == student


def test_the_gradebook_the_table_and_the_verdicts_say_the_same(
    demo: Demo, fast: dict[str, dict[str, float]]
) -> None:
    with (demo.graded / "grades.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert sorted(rows) == sorted(fast) == STUDENTS
    for student in STUDENTS:
        verdict = demo.verdict(student)
        assert fast[student] == {f"check_{step.name}": step.points for step in verdict.steps}
        assert float(rows[student]["points"]) == verdict.points


@pytest.mark.slow
def test_nbgraders_own_autograde_gives_the_same_for_every_student_and_cell(
    fast: dict[str, dict[str, float]], stock: dict[str, dict[str, float]]
) -> None:
    assert stock == fast


def pages_in(published: Path) -> list[str]:
    return sorted(path.parent.parent.name for path in published.glob(f"*/{NAME}/{NAME}.html"))


@pytest.mark.slow
def test_nbgraders_own_feedback_has_a_page_with_the_words_of_the_verdict(published: Path) -> None:
    assert pages_in(published) == STUDENTS
    words = text_of(published / "mistake_not_scaled" / NAME / f"{NAME}.html")
    assert "Your scores come back as they were: they are not scaled." in words


@pytest.mark.slow
def test_nbgraders_own_export_has_everybodys_points(
    demo: Demo, stock: object, environment: Mapping[str, str]
) -> None:
    run = nbgrader(demo, environment, "export", "--to=exported.csv")
    assert run.returncode == 0, run.stderr
    with (demo.directory / "exported.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    assert sorted(rows) == STUDENTS
    for student in STUDENTS:
        assert float(rows[student]["score"]) == demo.verdict(student).points


# --- nothing secret gets out --------------------------------------------------------------------


def text_of(path: Path) -> str:
    """A file as a person sees it: of a page the text, without the tags that color code."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix != ".html":
        return text
    return words_of_page(text)


def words_of_page(text: str) -> str:
    text = re.sub(r"<(style|script)\b.*?</\1>", "", text, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]*>", "", text))


def texts_below(folder: Path) -> dict[str, str]:
    return {str(path): text_of(path) for path in sorted(folder.rglob("*")) if path.is_file()}


def not_their_own(
    secrets: tuple[Secret, ...], student: str, demo: Demo, exercise: Exercise
) -> tuple[Secret, ...]:
    """The secrets that `student` did not hand in himself, by knowing how."""
    folder = demo.directory / "submitted" / student / NAME
    own = "".join("".join(read_submission(folder, exercise, student).cells).split())
    return tuple(secret for secret in secrets if secret.text not in own)


def refused(secrets: tuple[Secret, ...], texts: Mapping[str, str]) -> str:
    with pytest.raises(KitError) as caught:
        refuse_leaks(secrets, texts)
    return caught.value.fact


def test_nothing_secret_is_in_the_release(
    demo: Demo, secrets: tuple[Secret, ...], tmp_path: Path
) -> None:
    refuse_leaks_below(secrets, demo.directory / "release")
    shutil.copytree(demo.directory / "release", tmp_path / "release")
    notebook = tmp_path / "release" / NAME / f"{NAME}.ipynb"
    facts = json.loads(notebook.read_text(encoding="utf-8"))
    facts["cells"][-1]["source"] = [SOLUTION_LINE.replace("/", "\\\n    /")[:30], "\n"]
    facts["cells"][0]["metadata"] = {"note": SOLUTION_LINE}
    notebook.write_text(json.dumps(facts), encoding="utf-8")
    with pytest.raises(KitError) as caught:
        refuse_leaks_below(secrets, tmp_path / "release")
    assert caught.value.place.startswith(str(notebook))


def gradebook_texts(path: Path) -> dict[str, str]:
    """The gradebook's bytes, and every text cell of every table."""
    found = {"bytes": path.read_bytes().decode("latin-1")}
    with closing(sqlite3.connect(path)) as gradebook:
        tables = gradebook.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            for number, row in enumerate(gradebook.execute(f'SELECT * FROM "{table}"')):
                cells = [cell for cell in row if isinstance(cell, str | bytes)]
                found[f"{table}[{number}]"] = "\n".join(map(str, cells))
    return found


@pytest.mark.slow
def test_nothing_secret_is_in_the_gradebook(
    demo: Demo, stock: object, secrets: tuple[Secret, ...], tmp_path: Path
) -> None:
    texts = gradebook_texts(demo.directory / "gradebook.db")
    assert any("def softmax" in text for name, text in texts.items() if name != "bytes")
    refuse_leaks(secrets, texts)
    planted = tmp_path / "gradebook.db"
    shutil.copy(demo.directory / "gradebook.db", planted)
    with closing(sqlite3.connect(planted)) as gradebook:
        gradebook.execute("UPDATE comment SET auto_comment = ?", (SOLUTION_LINE,))
        gradebook.commit()
    leaky = gradebook_texts(planted)
    assert "a solution" in refused(secrets, {"bytes": leaky["bytes"]})
    assert "a solution" in refused(secrets, {**leaky, "bytes": ""})


def test_nothing_secret_is_on_the_page_of_a_student(
    demo: Demo, secrets: tuple[Secret, ...], exercise: Exercise
) -> None:
    for student in STUDENTS:
        page = demo.graded / "feedback" / f"{student}.html"
        refuse_leaks(not_their_own(secrets, student, demo, exercise), {str(page): text_of(page)})


@pytest.mark.slow
def test_nothing_secret_is_in_what_nbgrader_gives_back(
    demo: Demo, published: Path, secrets: tuple[Secret, ...], exercise: Exercise
) -> None:
    for student in STUDENTS:
        texts = texts_below(published / student)
        assert len(texts) >= 1
        refuse_leaks(not_their_own(secrets, student, demo, exercise), texts)


def test_nothing_secret_is_in_the_classs_page_and_table(
    demo: Demo, secrets: tuple[Secret, ...]
) -> None:
    page, table = demo.graded / "feedback" / "index.html", demo.graded / "grades.csv"
    # The code there is that of students, and this class is made of known mistakes.
    words, blocks = re.subn(r"<pre>.*?</pre>", "", page.read_text(), flags=re.DOTALL)
    assert blocks > 0
    refuse_leaks(secrets, {str(page): words_of_page(words), str(table): text_of(table)})


@pytest.mark.slow
def test_the_search_finds_code_in_a_page_though_it_is_colored(
    demo: Demo, published: Path, secrets: tuple[Secret, ...], exercise: Exercise
) -> None:
    whole = texts_below(published / "reference")
    assert not_their_own(secrets, "reference", demo, exercise) != secrets
    assert "a solution" in refused(secrets, whole)


@pytest.mark.parametrize(
    "planted",
    [
        SOLUTION_LINE,
        SOLUTION_LINE.replace(" ", "<span class='o'> </span>").replace("(", "<b>(</b>"),
        "return np.triu(np.ones((sequence_length, sequence_length)), k=1)",
        "student(draw(&quot;B S S&quot;), causal_mask(draw)).agrees()",
        "### BEGIN SOLUTION",
    ],
    ids=["solution", "colored", "misconception", "grader", "marker"],
)
def test_the_search_finds_what_is_planted_in_a_page(
    planted: str, demo: Demo, secrets: tuple[Secret, ...], exercise: Exercise, tmp_path: Path
) -> None:
    page = demo.graded / "feedback" / "untouched_script.html"
    leaky = tmp_path / "page.html"
    text = page.read_text(encoding="utf-8").replace("</body>", f"<p>{planted}</p></body>")
    leaky.write_text(text, encoding="utf-8")
    hidden = not_their_own(secrets, "untouched_script", demo, exercise)
    assert hidden == secrets
    assert "is in a file for students" in refused(hidden, texts_below(tmp_path))


# --- where nothing protects ---------------------------------------------------------------------

HARMLESS = ("mistake_not_scaled", "reference", "untouched_script")
HOSTILE = ("hostile_exit", "hostile_thief")


def on_a_lesser_machine(*words: str) -> list[str]:
    """The command to run `attn` with `words` where nothing protects, as in a bare container."""
    return as_in_docker([sys.executable, ATTN, *words], landlock=False)


@pytest.fixture(scope="module")
def unprotected(tmp_path_factory: pytest.TempPathFactory, environment: Mapping[str, str]) -> Demo:
    folder = tmp_path_factory.mktemp("lesser")
    (folder / "class" / NAME).mkdir(parents=True)
    for name in (*HARMLESS, *HOSTILE):
        shutil.copy(SAMPLE_CLASS / f"{name}.py", folder / "class" / NAME)
    words = ("course", "demo", str(folder / "course"), "--class", str(folder / "class"))
    return Demo(folder / "course", ran(on_a_lesser_machine(*words), environment))


@pytest.fixture
def handed_in(exercise: Exercise, tmp_path: Path) -> Path:
    """A flat folder with one submission that is right."""
    (classmate,) = sample_class("reference")
    folder = tmp_path / "class"
    hand_in(classmate, exercise, ROOT / "assignments" / NAME, folder / "anna")
    return folder


@pytest.mark.slow
def test_without_protection_the_demo_says_so_and_runs_the_harmless_only(unprotected: Demo) -> None:
    run = unprotected.run
    assert run.returncode == 0, run.stdout + run.stderr
    assert "no protection" in run.stdout and "cannot isolate untrusted code" in run.stdout
    for student in HOSTILE:
        assert f"{student}: not run" in run.stdout
    assert sorted(scores(read_course(unprotected.directory), NAME)) == sorted(HARMLESS)
    submitted = {path.name for path in (unprotected.directory / "submitted").iterdir()}
    assert submitted == set(HARMLESS)


@pytest.mark.slow
def test_without_protection_the_harmless_get_what_they_get_with_it(
    unprotected: Demo, demo: Demo
) -> None:
    for student in HARMLESS:
        verdict, due = unprotected.verdict(student), demo.verdict(student)
        assert verdict.protection == "process" and due.protection != "process"
        assert verdict.steps == due.steps and verdict.chain == due.chain


def test_with_protection_the_demo_has_no_banner(demo: Demo) -> None:
    assert "no protection" not in demo.run.stdout and "not run" not in demo.run.stdout


def test_without_protection_grading_is_refused_with_a_cure(
    handed_in: Path, environment: Mapping[str, str]
) -> None:
    words = ("grade", str(handed_in), "--exercise", NAME)
    run = ran(on_a_lesser_machine(*words), environment)
    assert run.returncode == 2
    error, where, cure = run.stderr.splitlines()[:3]
    assert error.startswith("error: ") and "does not protect the grader" in error
    assert where.startswith("  where: ")
    assert cure.startswith("  cure: ") and "--allow-protection=process" in cure
    assert not handed_in.with_name("class-graded").exists()


@pytest.mark.slow
def test_grading_without_protection_works_where_only_root_reaches_the_interpreter(
    tmp_path: Path, environment: Mapping[str, str]
) -> None:
    (tmp_path / "homework").mkdir()
    shutil.copy(ROOT / "assignments" / NAME / f"{NAME}.py", tmp_path / "homework" / "ada.py")
    words = ("grade", str(tmp_path / "homework"), "--exercise", NAME)
    command = refusing("namespaces,landlock", [sys.executable, ATTN, *words])
    assert ran(command, environment).returncode == 2
    allowed = ran([*command, "--allow-protection", "process"], environment)
    assert allowed.returncode == 0, allowed.stderr
    assert "0/22" in allowed.stdout
