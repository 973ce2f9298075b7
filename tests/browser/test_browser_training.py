"""The last cells of a PyTorch notebook: a training is seen while it goes on, in every theme."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from browser.contrast import too_faint
from browser.notebook_page import NotebookPage
from support.classroom import Classroom
from support.lab import Lab
from support.learner_workspace import ROOT

NAME = "torch_single_head"
STEPS = 24
DRAWN = ".jp-RenderedHTML svg[role=img]"


EVERYTHING, REPEAT, WRITE, COSTS = ORDER = ("everything", "repeat", "write", "costs")


def last_cells() -> str:
    """A notebook of one cell with every step of the reference, and the released cells below it."""
    path = ROOT / "assignments" / NAME / f"{NAME}.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]

    def cell_with(words: str, name: str, end: str = "") -> dict[str, Any]:
        (found,) = (cell for cell in code if words in "".join(cell["source"]))
        source = "".join(found["source"]).rstrip()
        return {**found, "id": name, "source": source.removesuffix(")") + end if end else source}

    few = f", most_steps={STEPS})"
    cells = [
        {**code[0], "id": EVERYTHING, "source": "from solution import *"},
        cell_with('train("repeat"', REPEAT, few),
        cell_with('train("write"', WRITE, few),
        cell_with("show_costs()", COSTS),
    ]
    return json.dumps({**notebook, "cells": cells})


@pytest.fixture
def notebook(classroom: Classroom, lab: Lab, new_page: Callable[..., Page]) -> NotebookPage:
    """The last cells, below steps that are right."""
    folder = classroom.student.folder / "training"
    shutil.copytree(ROOT / "assignments" / NAME, folder)
    shutil.copy(ROOT / "solutions" / NAME / "solution.py", folder)
    (folder / f"{NAME}.ipynb").write_text(last_cells(), encoding="utf-8")
    return NotebookPage(new_page(), lab, folder.parent, f"training/{NAME}.ipynb")


def test_a_training_is_seen_while_it_goes_on_and_can_be_read_in_every_theme(
    notebook: NotebookPage,
) -> None:
    notebook.run(*ORDER)
    repeat, write = map(notebook.output, (REPEAT, WRITE))
    expect(repeat.locator(DRAWN)).to_have_count(1)  # one output, renewed
    for output in (repeat, write):
        expect(output).to_contain_text(f"step {STEPS}")
        expect(output).to_contain_text("where each answer looks")
        expect(output).to_contain_text("Of 200 new sequences")
    expect(notebook.output(COSTS)).to_contain_text("stay hidden")
    for theme in notebook.in_every_theme():
        for output in (repeat, write):
            assert too_faint(output) == [], theme
