"""In a browser's Python, `check` says what it says elsewhere: word for word, with a few exceptions.

Both sides read the same files, at the same paths: one with processes, one in Pyodide without.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from autograder.values.exercise import read_exercise
from support.learner_workspace import NAME, start, stub_file
from support.typed_commands import typed
from wasm.hand_ins import EXCEPTIONS, OF_EACH_STEP, RIGHT, differences, hand_ins, known_mistakes
from wasm.in_node import ROOT, start_script

STEP_BY_STEP = "the reference"  # this one is also asked each step alone
Document = dict[str, Any]


# With addresses of 32 bits, NumPy refuses the size itself, before memory is asked for.
ANOTHER_OUTCOME = ("wants more memory than there is",)


@dataclass(frozen=True)
class Answers:
    """The documents of both sides, by the name of the hand-in."""

    native: Mapping[str, Document]
    wasm: Mapping[str, Document]
    needless: tuple[str, ...]  # libraries for terminals and processes that were loaded in Pyodide


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """What both sides say of every hand-in; they work side by side."""
    work = tmp_path_factory.mktemp("hand-ins")
    steps = [step.name for step in read_exercise(ROOT / "assignments" / NAME).steps]
    questions: dict[str, tuple[Path, str]] = {}
    for number, (name, text) in enumerate(hand_ins()):
        workspace = start(work / str(number))
        stub_file(workspace).write_text(text, encoding="utf-8")
        questions[name] = workspace, ""
        if name == STEP_BY_STEP:
            questions |= {step: (workspace, step) for step in steps}
    file = work / "questions.json"
    asked = [[str(folder / NAME), [step] * bool(step)] for folder, step in questions.values()]
    file.write_text(json.dumps(asked), encoding="utf-8")
    with start_script(Path(__file__).with_name("answers.py"), ROOT, file, work=work) as node:
        native = {
            name: typed("check", step or NAME, "--json", folder=folder).document
            for name, (folder, step) in questions.items()
        }
        out, err = node.communicate()
    assert node.returncode == 0, err
    *lines, needless = map(json.loads, out.splitlines())
    return Answers(native, dict(zip(questions, lines, strict=True)), tuple(needless))


def test_every_document_is_the_same_but_for_the_exceptions(answers: Answers) -> None:
    same = {*answers.native} - {*ANOTHER_OUTCOME}
    assert len(same) > 50
    for name in same:
        assert [*differences(answers.wasm[name], answers.native[name])] == [], name


def test_each_exception_is_still_needed(answers: Answers) -> None:
    for each in EXCEPTIONS:
        texts = (json.dumps(one, ensure_ascii=False) for one in answers.native.values())
        assert any(re.search(each.words, text) for text in texts), each.why
    for name in ANOTHER_OUTCOME:
        assert not answers.wasm[name]["passes"] and not answers.native[name]["passes"]
        assert answers.wasm[name] != answers.native[name]


def test_right_ones_pass_and_wrong_ones_fail_there_too(answers: Answers) -> None:
    assert all(answers.wasm[name]["passes"] for name in (STEP_BY_STEP, *RIGHT))
    mistakes = [known.name for known in known_mistakes(OF_EACH_STEP)]
    assert len(mistakes) > 15
    assert not any(answers.wasm[name]["passes"] for name in mistakes)


def test_nothing_for_terminals_and_processes_is_loaded_there(answers: Answers) -> None:
    assert answers.needless == ()
