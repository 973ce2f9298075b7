"""The last cells of a PyTorch notebook: a training is seen while it goes on, in every theme."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from support.classroom import Classroom
from support.contrast import too_faint
from support.lab import Lab
from support.learner_workspace import ROOT
from support.notebook_page import NotebookPage

NAME = "torch_single_head"
THEMES = ("JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast")
DRAWN = ".jp-RenderedHTML svg[role=img]"


def solved(exercise: str) -> str:
    """The released notebook with the reference's code in its cells."""
    path = ROOT / "assignments" / exercise / f"{exercise}.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    text = (ROOT / "solutions" / exercise / "solution.py").read_text(encoding="utf-8")
    for cell in notebook["cells"]:
        if cell["id"].startswith("step-"):
            name = cell["id"].removeprefix("step-")
            start = re.search(rf"^(def|class) {name}\b", text, flags=re.MULTILINE)
            assert start
            cell["source"] = text[start.start() :].partition("\n# %%")[0]
    return json.dumps(notebook)


@pytest.fixture
def notebook(classroom: Classroom, lab: Lab, new_page: Callable[..., Page]) -> NotebookPage:
    """A notebook in which every step is right and has been run."""
    home = classroom.student.folder
    shutil.copytree(ROOT / "assignments" / NAME, home / "training", dirs_exist_ok=True)
    file = home / "training" / f"{NAME}.ipynb"
    file.write_text(solved(NAME), encoding="utf-8")
    opened = NotebookPage(new_page(), lab, home, f"training/{NAME}.ipynb")
    until = opened.order[: opened.order.index("step-SingleHeadAttention") + 1]
    opened.run(*(name for name in until if name == "setup" or name.startswith(("given-", "step-"))))
    return opened


def cell_with(notebook: NotebookPage, words: str) -> str:
    """The id of the code cell that holds `words`."""
    (found,) = (name for name in notebook.order if words in notebook.sources[name])
    return str(found)


def test_a_training_is_seen_while_it_goes_on_and_can_be_read_in_every_theme(
    notebook: NotebookPage,
) -> None:
    names = [cell_with(notebook, f'train("{task}"') for task in ("repeat", "write")]
    costs = cell_with(notebook, "show_costs()")
    notebook.run(*names, costs)
    repeat, write = (notebook.output(name) for name in names)
    expect(repeat.locator(DRAWN)).to_have_count(1)  # one output, renewed
    expect(repeat).to_contain_text("step 300")
    expect(repeat).to_contain_text("where each answer looks")
    expect(repeat).to_contain_text("Your layer has learned it.")
    expect(write).to_contain_text("what the model writes is wrong")
    expect(notebook.output(costs)).to_contain_text("stay hidden")
    for theme in THEMES:
        notebook.theme(theme)
        for output in (repeat, write):
            assert too_faint(output) == [], theme
    notebook.theme(THEMES[0])
