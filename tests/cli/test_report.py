"""The results of a graded class once more, and words to everybody who made one mistake."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.reports.drafts import DRAFTS
from autograder.reports.paragraphs import PARAGRAPHS
from support.copied_exercise import copy_exercise
from support.nameless_mistakes import FLATTER, NOT_THE_ROOT, SHARPER, SHARPER_TOO, written

NAME = "numpy_single_head"
STEP = "compute_attention_weights"
WORDS = "Your weights are sharper than `softmax` gives them. <b>Where</b> does 1.3 come from?"
CLASS = {
    "ada": {STEP: SHARPER},
    "ben": {STEP: SHARPER_TOO},
    "carl": {STEP: FLATTER},
    "dora": {"scale_scores": NOT_THE_ROOT},
}


def attn(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "autograder.cli", *map(str, words)]
    environment = os.environ | {"COLUMNS": "200"}
    nothing = subprocess.DEVNULL
    return subprocess.run(
        command, env=environment, stdin=nothing, capture_output=True, text=True, check=False
    )


@pytest.fixture
def homework(graded: Path) -> Path:
    """A graded class as it was before the first test, in its old place: results name that."""
    place = graded.with_name("class")
    shutil.rmtree(place)
    shutil.copytree(graded, place, symlinks=True)
    return place / "homework"


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report") / "class" / "homework"
    folder.mkdir(parents=True)
    for student, changed in CLASS.items():
        (folder / f"{student}.py").write_text(written(NAME, **changed), encoding="utf-8")
    run = attn("grade", folder, "--exercise", NAME)
    assert run.returncode == 0, run.stdout + run.stderr
    return Path(shutil.copytree(folder.parent, folder.parents[1] / "graded", symlinks=True))


def results(homework: Path) -> Path:
    return homework.with_name("homework-graded")


def page(homework: Path, student: str) -> str:
    return (results(homework) / "feedback" / f"{student}.html").read_text(encoding="utf-8")


def called(homework: Path) -> str:
    """What the class page calls the mistake that two have made."""
    (found,) = {each[0] for each in re.finditer(rf"{STEP}/[0-9a-f]{{8}}", page(homework, "index"))}
    return str(found)


def test_words_reach_all_who_made_the_mistake_and_nobody_else(homework: Path) -> None:
    mistake = called(homework)
    run = attn("tell", homework, mistake, WORDS, "--exercise", NAME)
    assert run.returncode == 0, run.stderr
    assert "It is on the page of 2 students now." in run.stdout
    shown = "Your weights are sharper than <code>softmax</code> gives them. &lt;b&gt;Where"
    assert [student for student in CLASS if shown in page(homework, student)] == ["ada", "ben"]
    assert shown in page(homework, "index")


def test_they_reach_who_makes_it_later_and_are_taken_away_again(homework: Path) -> None:
    mistake = called(homework)
    attn("tell", homework, mistake, WORDS, "--exercise", NAME)
    (homework / "emil.py").write_text(written(NAME, **{STEP: SHARPER}) + "\n# mine\n")
    assert attn("grade", homework, "--exercise", NAME).returncode == 0
    assert "From your instructor" in page(homework, "emil")
    run = attn("tell", homework, mistake, "--remove", "--exercise", NAME)
    assert "Nothing is on the page of 3 students now." in run.stdout
    assert not any("From your instructor" in page(homework, each) for each in (*CLASS, "emil"))


def test_a_mistake_that_has_a_name_can_be_written_about_too(homework: Path) -> None:
    named = "scale_scores/divided_by_the_dimension"
    assert named in page(homework, "index")
    run = attn("tell", homework, named, "Look at the paper.", "--exercise", NAME)
    assert run.returncode == 0, run.stderr
    assert "Look at the paper." in page(homework, "dora")


def test_a_mistake_that_nobody_made_is_refused_with_those_that_there_are(homework: Path) -> None:
    run = attn("tell", homework, "softmax/abc", "words", "--exercise", NAME)
    assert run.returncode == 2
    assert "nobody in this class has made the mistake 'softmax/abc'" in run.stderr
    assert called(homework) in run.stderr
    assert not (results(homework) / PARAGRAPHS).exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["Look at the paper."], "name the mistake as the class page does"),
        (["softmax/abc"], "write the words in quotes"),
        (["softmax/abc", "  "], "write the words in quotes"),
    ],
)
def test_without_a_mistake_or_words_nothing_is_begun(
    words: list[str], said: str, tmp_path: Path
) -> None:
    run = attn("tell", tmp_path, *words)
    assert run.returncode == 2
    assert said in " ".join(run.stderr.split())


def test_a_report_judges_nobody_and_says_who_is_not_judged(homework: Path) -> None:
    before = page(homework, "ada")
    (results(homework) / "feedback" / "ada.html").unlink()
    assert attn("report", homework, "--exercise", NAME).returncode == 0
    assert page(homework, "ada") == before
    with (homework / "ben.py").open("a", encoding="utf-8") as file:
        file.write("\nmore = 1\n")
    run = attn("report", homework, "--exercise", NAME)
    assert run.returncode == 2
    assert "1 of 4 submissions are not judged as they are now (ben)" in run.stderr
    assert "attn grade" in run.stderr


def test_a_class_that_was_never_graded_has_no_report(tmp_path: Path) -> None:
    folder = tmp_path / "homework"
    folder.mkdir()
    (folder / "ada.py").write_text(written(NAME), encoding="utf-8")
    run = attn("report", folder, "--exercise", NAME)
    assert run.returncode == 2
    assert "this class has not been graded yet" in run.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["homework"]


@pytest.mark.parametrize("damaged", ["{", "[1]", '[{"step": 1, "code": "", "text": ""}]'])
def test_a_damaged_file_of_words_is_refused_and_nothing_is_lost(
    homework: Path, damaged: str
) -> None:
    file = results(homework) / PARAGRAPHS
    file.write_text(damaged, encoding="utf-8")
    run = attn("tell", homework, called(homework), WORDS, "--exercise", NAME)
    assert run.returncode == 2
    assert "this file is damaged" in run.stderr
    assert file.read_text(encoding="utf-8") == damaged


@pytest.mark.slow  # the class is graded a second time, by another catalogue
def test_a_draft_taken_over_names_the_mistake(homework: Path, tmp_path: Path) -> None:
    attn("tell", homework, called(homework), WORDS, "--exercise", NAME)
    draft = (results(homework) / DRAFTS).read_text(encoding="utf-8")
    assert "Ada" not in draft
    name = f"unnamed_{called(homework).split('/')[1]}"
    body = draft[draft.index(f"    def {name}") :]
    exercise = copy_exercise(NAME, tmp_path / "solutions")
    catalogue = exercise / "misconceptions.py"
    text = catalogue.read_text(encoding="utf-8")
    assert text.count(f"\nclass {STEP}:\n") == 1
    body = body.replace("softmax(", "solution.softmax(")
    taken = text.replace(f"\nclass {STEP}:\n", f"\nclass {STEP}:\n{body}\n")
    catalogue.write_text(taken, encoding="utf-8")
    run = attn("grade", homework, "--exercise", NAME, "--solutions", tmp_path / "solutions")
    assert run.returncode == 0, run.stderr
    for student in ("ada", "ben"):
        verdict = json.loads((results(homework) / "verdicts" / f"{student}.json").read_text())
        (step,) = (each for each in verdict["steps"] if each["name"] == STEP)
        assert {each["finding"]["misconception"] for each in step["checks"] if each["finding"]} == {
            name
        }


def test_the_files_of_who_took_the_hand_in_back_do_not_stay(homework: Path) -> None:
    folder = results(homework)
    assert len(list(folder.glob("*/ada.*"))) == 3
    (homework / "ada.py").unlink()
    assert attn("grade", homework, "--exercise", NAME).returncode == 0
    assert list(folder.glob("*/ada.*")) == []
    assert len(list(folder.glob("*/ben.*"))) == 3
    assert (folder / "feedback" / "index.html").is_file()
