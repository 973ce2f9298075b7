"""A wheel for who learns alone: with the answers in it, and nothing to grade with."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from autograder.authoring.contents import build_wheel, is_answer
from autograder.authoring.release import ReleaseOptions, release
from support.built_once import built_once
from support.learner_workspace import NAME, ROOT
from support.small_release import TOY, two_exercises

ANSWERS = {f"autograder/answers/{NAME}/{file}" for file in ("solution.py", "generated/rungs.json")}


def built(folder: Path) -> None:
    name, content = build_wheel([ROOT / "assignments" / NAME], [ROOT / "solutions" / NAME])
    (folder / name).write_bytes(content)
    with zipfile.ZipFile(folder / name) as wheel:
        wheel.extractall(folder / "installed")


@pytest.fixture(scope="module")
def wheel() -> Path:
    (found,) = built_once("wheel-with-answers", built).glob("*.whl")
    return found


def run(wheel: Path, folder: Path, *command: str, typed: str = "") -> tuple[int, str]:
    """Run a command of the kit as the wheel has it, with nothing of the repository."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(wheel.parent / "installed")},
        input=typed,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.returncode, done.stdout


def attn(wheel: Path, folder: Path, *words: str, typed: str = "") -> tuple[int, str]:
    return run(wheel, folder, "-m", "autograder.cli", *words, typed=typed)


def test_of_the_solutions_it_holds_the_code_and_the_lines_to_sort_alone(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name for name in names if is_answer(name)} == ANSWERS
    assert not [name for name in names if name.endswith(("graders.py", "misconceptions.py"))]


def test_every_rung_of_the_ladder_and_the_solution_are_there(wheel: Path, tmp_path: Path) -> None:
    assert attn(wheel, tmp_path, "start", "work", "--exercise", NAME)[0] == 0
    work = tmp_path / "work"
    code, said = attn(wheel, work, "hint", "scale_scores", "--order")
    assert code == 0 and "One of these lines makes this step" in said
    code, said = attn(wheel, work, "hint", "softmax", "--solution", typed="y\n")
    assert code == 0 and "def softmax" in said and "keepdims=True" in said
    assert "Hint 1 of 5" in attn(wheel, work, "hint", "softmax")[1]


def test_one_cell_is_enough_wherever_a_notebook_runs(wheel: Path, tmp_path: Path) -> None:
    cell = f"""
import numpy as np
from autograder import open_exercise

check = open_exercise({NAME!r})

def scale_scores(attention_scores, embedding_dimension):
    return attention_scores / np.sqrt(embedding_dimension)

print(check(scale_scores).verdict.passes)
"""
    code, said = run(wheel, tmp_path, "-c", cell)
    assert code == 0 and said.endswith("True\n"), said
    assert f"The files of {NAME} are not in this folder, so those of the kit are used." in " ".join(
        said.split()
    )


def test_it_grades_nobody_since_their_code_could_read_the_answers(
    wheel: Path, tmp_path: Path
) -> None:
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ada.py").write_text("x = 1\n", encoding="utf-8")
    words = ("grade", "class", "--exercise", NAME, "--solutions", str(ROOT / "solutions"))
    code, said = attn(wheel, tmp_path, *words)
    assert code == 2 and "it holds the solutions, where" in said and "--with-answers" in said


@pytest.mark.slow  # it builds two more wheels; the first test looks into one
def test_a_release_puts_them_into_the_wheel_only_where_that_was_asked(tmp_path: Path) -> None:
    source = two_exercises(tmp_path)
    release(source, ReleaseOptions((TOY,), with_answers=True), tmp_path / "alone")
    release(source, ReleaseOptions((TOY,)), tmp_path / "course")
    found = {}
    for kind in ("alone", "course"):
        (made,) = (tmp_path / kind / TOY).glob("*.whl")
        found[kind] = [name for name in zipfile.ZipFile(made).namelist() if is_answer(name)]
    assert found == {
        "alone": ["autograder/answers/toy/solution.py", "autograder/answers/zoo/solution.py"],
        "course": [],
    }
