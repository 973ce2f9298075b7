"""A learner has a notebook and a script: which of them counts, and the way back to the other."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.learning.progress import StepProgress, open_session
from support.learner_workspace import (
    NAME,
    REFERENCE,
    RIGHT_SOFTMAX,
    notebook_with,
    noted_steps,
    start,
    stub_file,
    written,
)
from support.terminal import Terminal
from support.typed_commands import ATTN, typed

NOTEBOOK, SCRIPT = f"{NAME}.ipynb", f"{NAME}.py"
LAST = (
    f"{NOTEBOOK} counts, because it was saved last: 1 step is written. In {SCRIPT}, 11 steps are "
    "written. To go on there, save it again. JupyterLab saves an open notebook by itself, so close "
    "it first."
)


@pytest.fixture
def workspace(workspace: Path) -> Path:
    """A workspace with a finished script, and a notebook that was saved after it was opened."""
    save(stub_file(workspace), REFERENCE, 1)
    notebook = workspace / NAME / NOTEBOOK
    save(notebook, notebook.read_text(encoding="utf-8"), 2)
    return workspace


@pytest.fixture
def terminal(workspace: Path) -> Iterator[Terminal]:
    watching = Terminal(workspace, ATTN, "watch")
    yield watching
    watching.close()


def save(file: Path, text: str, minutes: int) -> None:
    """Save a file so many minutes after now; the order of saves does not depend on speed."""
    file.write_text(text, encoding="utf-8")
    at = time.time() + 60 * minutes
    os.utime(file, (at, at))


def stray_line(folder: Path, minutes: int) -> None:
    """Write one line into the notebook's cell of softmax, and save it."""
    raises = 'raise NotImplementedError("softmax is not written yet")'
    text = notebook_with(folder / NOTEBOOK, softmax=f"    e = np.exp(scores)\n    {raises}")
    save(folder / NOTEBOOK, text, minutes)


def test_a_notebook_that_was_only_opened_and_saved_changes_nothing(workspace: Path) -> None:
    run = typed("check", folder=workspace)
    assert run.out.startswith(f"checking {SCRIPT}\n✓ softmax"), run.out
    assert "11 of 11 steps pass" in run.out
    assert "counts" not in typed("list", folder=workspace).out


def test_the_file_saved_last_counts_and_it_is_said_how_to_go_back(workspace: Path) -> None:
    stray_line(workspace / NAME, 3)
    run = typed("check", folder=workspace)
    assert run.out.startswith(f"checking {NOTEBOOK}\n") and LAST in run.words
    assert "0 of 11 steps pass" in run.out
    for command in (("finish",), ("list",), ()):
        assert LAST in typed(*command, folder=workspace).words
    save(stub_file(workspace), REFERENCE, 4)
    again = typed("check", folder=workspace)
    assert again.out.startswith(f"checking {SCRIPT}\n") and "11 of 11 steps pass" in again.out
    assert f"{SCRIPT} counts, because it was saved last: 11 steps are written." in again.words


def test_a_notebook_that_lacks_what_has_passed_is_said_to_be_read_as_it_was_saved(
    tmp_path: Path,
) -> None:
    made = start(tmp_path / "work")
    session = open_session(made, pytest.fail)
    softmax = session.current.steps[0]
    session.noted(session.current, softmax, StepProgress(passed=True))  # as a notebook does it
    notebook = made / NAME / NOTEBOOK
    save(notebook, notebook.read_text(encoding="utf-8"), 2)
    saved = time.strftime("%H:%M", time.localtime(notebook.stat().st_mtime))
    run = typed("check", folder=made)
    assert f"This is {NOTEBOOK} as it was saved at {saved}, and a step that has passed" in run.words
    assert "save the notebook there and check again" in run.words
    assert "as it was saved" not in typed("check", "scale_scores", folder=made).words


@pytest.mark.parametrize("needed", [False, True])
def test_trouble_in_an_own_cell_names_the_cell_and_says_whether_a_step_needs_it(
    tmp_path: Path, needed: bool
) -> None:
    made = start(tmp_path / "work")
    file = made / NAME / NOTEBOOK
    notebook = json.loads(file.read_text(encoding="utf-8"))
    (place,) = (n for n, each in enumerate(notebook["cells"]) if each["id"] == "step-softmax")
    uses = "\n\ndef mine():\n    return trial" if needed else ""
    cell = notebook["cells"][place]
    cell["source"] = written("".join(cell["source"]), softmax=RIGHT_SOFTMAX) + uses
    own = {**cell, "id": "own", "metadata": {}, "source": "trial = softmax(unknown)"}
    notebook["cells"].insert(place + 1, own)
    save(file, json.dumps(notebook), 1)
    run = typed("check", "softmax", folder=made)
    assert run.code == 0, run.out
    assert "In a cell below that of `softmax`: line 1, `trial = softmax(unknown)`" in run.words
    assert ("it does not matter for the steps" in run.words) is not needed


@pytest.mark.parametrize("named", [SCRIPT, f"{NAME}/{SCRIPT}"])
def test_a_file_that_is_named_is_checked(workspace: Path, named: str) -> None:
    stray_line(workspace / NAME, 3)
    run = typed("check", named, folder=workspace)
    assert run.code == 0 and run.out.startswith(f"checking {SCRIPT}\n✓ softmax"), run.out
    assert typed("check", f"{NAME}/", folder=workspace).out.startswith(f"checking {NOTEBOOK}\n")


def test_a_file_that_is_no_work_of_this_place_is_refused_with_a_cure(workspace: Path) -> None:
    elsewhere = typed("check", f"/elsewhere/{SCRIPT}", folder=workspace)
    assert elsewhere.code == 2 and "is not a file of this workspace" in elsewhere.err
    assert str(workspace / NAME / SCRIPT) in "".join(elsewhere.err.split("\n  "))
    stub_file(workspace).unlink()
    gone = typed("check", SCRIPT, folder=workspace)
    assert gone.code == 2 and f"there is no {SCRIPT}" in gone.err and "attn start" in gone.err


def test_before_the_first_line_both_files_are_named(tmp_path: Path) -> None:
    made = start(tmp_path / "work")
    words = f"Nothing is written yet. Work in one of the two files: {NOTEBOOK} or {SCRIPT}."
    assert words in typed("check", folder=made).words
    save(made / NAME / NOTEBOOK, (made / NAME / NOTEBOOK).read_text(encoding="utf-8"), 1)
    assert typed("check", folder=made).out.startswith(f"checking {NOTEBOOK}\n")
    save(stub_file(made), stub_file(made).read_text(encoding="utf-8"), 2)
    assert typed("check", folder=made).out.startswith(f"checking {SCRIPT}\n")


RIGHT = "np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)"
OTHERWISE = {  # work that is no function of the right name
    "a lambda": f"softmax = lambda scores: {RIGHT}",
    "an object": "class Rows:\n    def __call__(self, scores):\n"
    f"        return {RIGHT}\n\n\nsoftmax = Rows()",
    "a misspelt name": f"def sofmax(scores):\n    return {RIGHT}",
    "another name": f"def mine(scores):\n    return {RIGHT}",
    "an import": "from numpy import exp as softmax",
}


@pytest.mark.parametrize("code", OTHERWISE.values(), ids=OTHERWISE)
def test_work_of_another_form_is_work_and_its_file_counts(tmp_path: Path, code: str) -> None:
    made = start(tmp_path / "work")
    file = stub_file(made)
    before, _, after = file.read_text(encoding="utf-8").partition("def softmax")
    _, mark, rest = after.partition("# %%")
    save(file, f"{before}{code}\n\n\n{mark}{rest}", 1)
    notebook = made / NAME / NOTEBOOK
    save(notebook, notebook.read_text(encoding="utf-8"), 2)  # only opened and saved
    run = typed("check", "softmax", folder=made)
    assert "Nothing is written yet" not in run.words
    assert run.out.startswith(f"checking {SCRIPT}\n"), run.out


def test_a_reset_asks_with_the_name_of_the_file_and_says_what_counts_then(workspace: Path) -> None:
    stray_line(workspace / NAME, 3)
    asked = typed("reset", NAME, folder=workspace, keys="n\n")
    assert f"Put the stub of every step back into {NOTEBOOK}?" in asked.words
    named = typed("reset", f"{NAME}/{SCRIPT}", folder=workspace, keys="n\n")
    assert f"back into {SCRIPT}?" in named.words
    done = typed("reset", "softmax", "--yes", folder=workspace)
    assert f"{NOTEBOOK} has the stub again." in done.out
    assert f"Now {SCRIPT} counts: attn check {NAME}" in done.words
    (kept,) = re.findall(r"^Your own version is in (\S+)$", done.out, re.M)
    assert "e = np.exp(scores)" in Path(kept).read_text(encoding="utf-8")


def test_in_the_folder_of_a_release_the_file_counts_that_counts_in_class(
    workspace: Path, tmp_path: Path
) -> None:
    release = Path(shutil.copytree(workspace / NAME, tmp_path / "release" / NAME))
    stray_line(release, 3)
    save(release / SCRIPT, REFERENCE, 4)
    run = typed("check", folder=release)
    assert run.out.startswith(f"checking {NOTEBOOK}\n") and "0 of 11 steps pass" in run.out
    assert f"{NOTEBOOK} counts, here and when you hand in: 1 step is written." in run.words
    assert f"In {SCRIPT}, 11 steps are written." in run.words
    (reset,) = re.findall(r"attn (reset \S+\.ipynb)", run.words)
    assert typed(*reset.split(), "--yes", folder=release).code == 0
    assert "11 of 11 steps pass" in typed("check", folder=release).out


def test_a_watch_says_which_file_it_read_if_it_is_not_the_one_saved(
    workspace: Path, terminal: Terminal
) -> None:
    terminal.frame("Every step of")
    save(workspace / NAME / NOTEBOOK, "{", 3)
    terminal.frame(f"checked: {SCRIPT}, after your save of {NOTEBOOK} at ")
    save(stub_file(workspace), REFERENCE, 4)
    terminal.frame("checked: your save of ")


def test_a_check_of_an_empty_file_takes_no_pass_and_no_review_away(workspace: Path) -> None:
    assert typed("check", folder=workspace).code == 0
    passed = typed("list", folder=workspace).out
    before = steps_noted(workspace)
    empty = typed("check", NOTEBOOK, folder=workspace)
    assert empty.code == 1 and "0 of 11 steps pass" in empty.out
    assert typed("list", folder=workspace).out == passed
    assert steps_noted(workspace) == before


def test_a_mistake_in_a_file_that_does_not_count_takes_no_pass_away(workspace: Path) -> None:
    stray_line(workspace / NAME, 0)
    typed("check", NOTEBOOK, folder=workspace)
    assert steps_noted(workspace)["softmax"]["passed"] is False
    assert typed("check", folder=workspace).code == 0
    typed("check", NOTEBOOK, folder=workspace)
    assert steps_noted(workspace)["softmax"]["passed"] is True


def test_what_fails_in_the_file_that_counts_fails_and_keeps_its_review(workspace: Path) -> None:
    typed("check", folder=workspace)
    day = steps_noted(workspace)["softmax"]["review_on"]
    wrong = REFERENCE.replace("axis=-1", "axis=1")
    save(stub_file(workspace), wrong, 5)
    typed("check", folder=workspace)
    noted = steps_noted(workspace)["softmax"]
    assert noted["passed"] is False and noted["review_on"] == day
    assert "✗ 1 softmax" in typed("list", folder=workspace).out


def steps_noted(workspace: Path) -> dict[str, dict[str, object]]:
    """What is noted of each step, but for the hints that its checks have shown."""
    return {
        step: {name: value for name, value in known.items() if name != "seen_hints"}
        for step, known in noted_steps(workspace).items()
    }


SHOWN = "def shown(d):\n    return f'{d['a']}'"


@pytest.mark.parametrize("graded_with", ["3.11", "3.12", ""])
def test_a_release_says_when_the_python_that_grades_cannot_read_the_file(
    tmp_path: Path, graded_with: str
) -> None:
    """Whichever Python is in use here: one that cannot read it either says so too."""
    workspace = start(tmp_path / "work")
    release = Path(shutil.copytree(workspace / NAME, tmp_path / "release" / NAME))
    manifest = release / "exercise.toml"
    noted = f'graded_with = "{graded_with}"\n{manifest.read_text(encoding="utf-8")}'
    manifest.write_text(noted, encoding="utf-8")
    save(release / SCRIPT, f"{REFERENCE}\n# %%\n{SHOWN}\n", 4)
    remarks = typed("check", "--json", folder=release).document["remarks"]
    told = [each for each in remarks if "your work is graded with Python" in each]
    assert [each.partition(". ")[0] for each in told] == (
        [
            "What is written around `shown` needs Python 3.12, and your work is graded with Python "
            "3.11, which cannot read it"
        ]
        if graded_with == "3.11"
        else []
    )
