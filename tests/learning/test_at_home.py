"""In a workspace of one's own nobody hands in, and no sentence says that somebody does."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.errors import KitError
from autograder.learning.workspace import AT_HOME, MARK, beyond_the_checks, read_work
from autograder.submission.reading import Submission, read_submission
from autograder.values.exercise import Exercise
from support.broken.case import EXERCISE, NAME, Work
from support.broken.cases import EVERYBODY

HANDS_IN = re.compile(r"\bhand(s|ed|ing)?\b.{0,12}\bin\b", re.IGNORECASE)


def words_of(submission: Submission) -> Iterator[str]:
    yield from submission.remarks
    yield from (words for _, words in submission.not_run)
    if submission.rejected:
        yield submission.rejected.fact


def exercise_in(workspace: Path) -> Exercise:
    """An exercise in an empty folder of a workspace."""
    folder = workspace / NAME
    (workspace / MARK).mkdir(parents=True)
    folder.mkdir()
    return replace(EXERCISE, folder=folder)


def test_no_broken_file_is_to_be_handed_in_again(tmp_path: Path) -> None:
    in_class = 0
    for broken in EVERYBODY:
        exercise = exercise_in(tmp_path / broken.student)
        broken.build(Work(exercise.folder))
        handed_in = [*words_of(read_submission(exercise.folder, exercise, "ada"))]
        in_class += any(map(HANDS_IN.search, handed_in))
        try:
            at_home = [*words_of(read_work(exercise))]
        except KitError as error:
            at_home = list(error.lines)
        assert [words for words in at_home if HANDS_IN.search(words)] == [], broken.student
    assert in_class > 5


def test_every_sentence_about_files_that_hands_in_has_another_for_home() -> None:
    room = Path(__file__).resolve().parents[2] / "autograder" / "submission"
    told = 0
    for name in ("cells", "code", "file_text", "reading"):
        for sentence in sentences(room / f"{name}.py"):
            told += 1
            for handed_in, at_home in AT_HOME:
                sentence = sentence.replace(handed_in, at_home)
            assert not HANDS_IN.search(sentence), (name, sentence)
    assert told > 8


def sentences(file: Path) -> Iterator[str]:
    """The texts of a module that hand something in, its documentation left out."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    documented = (ast.Module, ast.FunctionDef, ast.ClassDef)
    prose = {ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, documented)}
    for node in ast.walk(tree):
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        texts = [str(part.value) for part in parts if isinstance(part, ast.Constant)]
        text = "X".join(texts)
        if HANDS_IN.search(text) and inspect.cleandoc(text) not in prose:
            yield text


@pytest.mark.parametrize("own", [True, False])
def test_hidden_graders_come_after_a_hand_in_only_in_a_release(tmp_path: Path, own: bool) -> None:
    folder = tmp_path / NAME
    folder.mkdir()
    if own:
        (tmp_path / MARK).mkdir()
    said = beyond_the_checks(replace(EXERCISE, folder=folder))
    assert "hidden graders" in said.lower() and (HANDS_IN.search(said) is None) is own
