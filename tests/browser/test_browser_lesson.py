"""What stands before a step in JupyterLab: drawings keep their columns, and answers fold."""

from __future__ import annotations

import json
from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from browser.contrast import too_faint
from browser.notebook_page import NotebookPage
from support.classroom import Classroom
from support.lab import Lab
from support.learner_workspace import ROOT

NARROW = 700  # pixels, with JupyterLab's file browser still open
THEMES = ("JupyterLab Light", "JupyterLab Dark")
NAMES = ("numpy_single_head", "torch_single_head", "torch_multi_head", "vit_multi_head")


def prose_of_the_fourth_steps() -> str:
    """A notebook of what stands before the fourth step of each exercise, by its name."""
    kept = []
    for name in NAMES:
        path = ROOT / "assignments" / name / f"{name}.ipynb"
        notebook = json.loads(path.read_text(encoding="utf-8"))
        (cell,) = (c for c in notebook["cells"] if "".join(c["source"]).startswith("## 4. "))
        kept.append({**cell, "id": name})
    return json.dumps({**notebook, "cells": kept})


def test_in_a_narrow_window_drawings_keep_their_lines_and_answers_fold(
    classroom: Classroom, lab: Lab, new_page: Callable[..., Page]
) -> None:
    home = classroom.student.folder
    (home / "lesson.ipynb").write_text(prose_of_the_fourth_steps(), encoding="utf-8")
    notebook = NotebookPage(new_page(width=NARROW), lab, home, "lesson.ipynb")
    for theme in THEMES:
        notebook.theme(theme)
        for name in NAMES:
            prose = notebook.cell(name)
            drawing = prose.locator("pre").first
            expect(drawing).to_contain_text("→")
            lines = drawing.inner_text().strip("\n").count("\n") + 1
            assert rows(drawing) == lines, f"{name}, {theme}"
            assert too_faint(prose) == [], f"{name}, {theme}"
    notebook.theme(THEMES[0])
    for name in NAMES:
        question = notebook.cell(name).locator("details")
        answer = question.locator("p").last
        expect(answer).not_to_be_visible()
        question.locator("summary").click()
        expect(answer).to_be_visible()


def rows(drawing: Locator) -> int:
    """How many lines of a drawing are on the screen; one that is broken counts as two."""
    tops = (
        "e => { const r = document.createRange(); r.selectNodeContents(e);"
        " return new Set([...r.getClientRects()].map(each => Math.round(each.top))).size; }"
    )
    return int(drawing.evaluate(tops))
