"""What stands before a step in JupyterLab: drawings keep their columns, and answers fold."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from support.classroom import Classroom
from support.contrast import too_faint
from support.lab import Lab
from support.learner_workspace import ROOT
from support.notebook_page import NotebookPage

NARROW = 700  # pixels, with JupyterLab's file browser still open
THEMES = ("JupyterLab Light", "JupyterLab Dark")


@pytest.mark.parametrize(
    "name", ["numpy_single_head", "torch_single_head", "torch_multi_head", "vit_multi_head"]
)
def test_in_a_narrow_window_drawings_keep_their_lines_and_answers_fold(
    name: str, classroom: Classroom, lab: Lab, new_page: Callable[..., Page]
) -> None:
    home = classroom.student.folder
    shutil.copytree(ROOT / "assignments" / name, home / "lesson" / name)
    page = new_page(width=NARROW)
    notebook = NotebookPage(page, lab, home, f"lesson/{name}/{name}.ipynb")
    for theme in THEMES:
        notebook.theme(theme)
        heading = page.locator("h2", has_text=re.compile(r"^4\. "))
        prose = page.locator(".jp-MarkdownCell", has=heading)
        drawing = prose.locator("pre").first
        expect(drawing).to_contain_text("→")
        assert rows(drawing) == drawing.inner_text().strip("\n").count("\n") + 1, theme
        assert too_faint(prose) == [], theme
    notebook.theme(THEMES[0])
    question = prose.locator("details")
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
