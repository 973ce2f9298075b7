"""`speak` in a notebook: it never raises, and tells of the mistakes that its checks have found."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from typing import Any

import numpy as np
import pytest

from autograder.checks.reference import read_reference
from autograder.learning.card import shown_in_page
from autograder.learning.notebook_check import NotRightYet, met_mistakes, open_exercise
from autograder.learning.notebook_layer import show_numbers
from autograder.play.training_cell import speak
from support.learner_workspace import NAME, ROOT
from support.typed_commands import printed


@pytest.fixture(autouse=True)
def notebook_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "assignments" / NAME)
    monkeypatch.setattr("autograder.learning.notebook_check._met", {})


def test_where_a_page_shows_it_no_word_and_no_number_breaks_inside() -> None:
    pages = list[str]()
    with shown_in_page(pages.append):
        speak(read_reference(ROOT / "solutions" / NAME).module.SingleHeadAttention)
        show_numbers(lambda: {"D = 3": np.ones(3), "D = 300": np.ones(3)})
    *spoken, table = (page for page in pages if page.startswith("<pre"))
    assert len(spoken) == 2 and all("overflow-wrap:break-word" in page for page in spoken)
    assert all("word-break:normal" in page for page in (*spoken, table))
    assert "white-space:pre;" in table and "overflow-x:auto" in table


IN_A_BROWSER = """
import sys

class NotThere:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {names!r}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NotThere())
import numpy as np
from autograder import open_exercise, speak

def softmax(scores):
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)

print(open_exercise({exercise!r})(softmax))
speak(lambda size, rng: None)
"""


def test_what_no_browser_has_is_not_needed_in_a_notebook() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    marked = [each for each in project["dependencies"] if "emscripten" in each]
    names = {re.split(r"[>;]", each)[0] for each in marked}
    assert names == {"click", "pylatexenc", "pytest", "rich", "watchfiles"}
    script = IN_A_BROWSER.format(names=names | {"_pytest"}, exercise=NAME)
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "9 of 9 checks pass" in run.stdout and "It cannot speak yet" in run.stdout


def test_a_right_layer_speaks_and_a_mistake_that_a_check_has_named_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    reference = read_reference(ROOT / "solutions" / NAME)
    wrong = next(each for each in reference.misconceptions if each.step == "project_qkv")

    def project_qkv(*arguments: Any) -> Any:
        return wrong.wrong(*arguments)

    with pytest.raises(NotRightYet):
        open_exercise(NAME)(project_qkv)
    assert met_mistakes() == (wrong.name,)
    speak(reference.module.SingleHeadAttention)
    told = printed(capsys)
    assert "JULIET: O " in told and "its loss is 1." in told
    assert "Of the mistakes that you met" in told


def test_what_is_not_there_yet_is_told_and_nothing_is_raised(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def not_run_yet(size: int, rng: object) -> object:
        raise NameError("name 'Layer' is not defined", name="Layer")

    speak(not_run_yet)
    assert "there is no `Layer`: is the code there that defines it" in printed(capsys)
