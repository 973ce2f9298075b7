"""What stands before a step in JupyterLab: drawings keep their columns, and answers fold."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from browser.contrast import too_faint
from browser.notebook_page import NotebookPage
from support.classroom import Classroom
from support.lab import Lab
from support.learner_workspace import ROOT

NARROW = 700  # pixels, with JupyterLab's file browser still open
NAMES = ("numpy_single_head", "torch_single_head", "torch_multi_head", "vit_multi_head")


def prose_of_two_steps() -> str:
    """A notebook of what stands before the fourth and the last step of each exercise."""
    kept = []
    for name in NAMES:
        path = ROOT / "assignments" / name / f"{name}.ipynb"
        notebook = json.loads(path.read_text(encoding="utf-8"))
        steps = [c for c in notebook["cells"] if re.match(r"## \d+\. ", "".join(c["source"]))]
        kept += [{**steps[3], "id": f"{name}-fourth"}, {**steps[-1], "id": f"{name}-last"}]
    return json.dumps({**notebook, "cells": kept})


def test_in_a_narrow_window_drawings_keep_their_lines_and_answers_fold(
    classroom: Classroom, lab: Lab, new_page: Callable[..., Page]
) -> None:
    home = classroom.student.folder
    (home / "lesson.ipynb").write_text(prose_of_two_steps(), encoding="utf-8")
    notebook = NotebookPage(new_page(width=NARROW), lab, home, "lesson.ipynb")
    proses = [notebook.cell(f"{name}-{step}") for name in NAMES for step in ("fourth", "last")]
    for prose in proses:
        answer = prose.locator("details").last.locator("p").last
        expect(answer).not_to_be_visible()
        for summary in prose.locator("summary").all():
            summary.click()
        expect(answer).to_be_visible()
    for theme in notebook.in_every_theme():
        for prose in proses:
            for drawing in prose.locator("pre").all():
                lines = drawing.inner_text().strip("\n").count("\n") + 1
                assert rows(drawing) == lines, f"{drawing.inner_text()}, {theme}"
            assert too_faint(prose) == [], f"{prose.inner_text()}, {theme}"
    for whole in proses[1::2]:
        expect(whole.locator("pre").filter(has_text="→").first).to_be_visible()


def rows(drawing: Locator) -> int:
    """How many lines of a drawing are on the screen; one that is broken counts as two."""
    tops = (
        "e => { const r = document.createRange(); r.selectNodeContents(e);"
        " return new Set([...r.getClientRects()].map(each => Math.round(each.top))).size; }"
    )
    return int(drawing.evaluate(tops))
