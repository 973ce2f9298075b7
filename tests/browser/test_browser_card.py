"""The card under a check: readable in both themes, in little room, and without a mouse."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from support.classroom import Classroom
from support.contrast import too_faint
from support.lab import Lab
from support.learner_workspace import NAME, ROOT, WRONG_SOFTMAX
from support.notebook_page import NotebookPage

THEMES = ("JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast")
CELLS = ("setup", "given-001", "step-softmax", "check-softmax")


def notebook_in(folder: str, classroom: Classroom, lab: Lab, page: Page) -> NotebookPage:
    """A copy of the exercise of its own, with its notebook open."""
    home = classroom.student.folder
    shutil.copytree(ROOT / "assignments" / NAME, home / folder, dirs_exist_ok=True)
    return NotebookPage(page, lab, home, f"{folder}/{NAME}.ipynb")


@pytest.fixture
def notebook(
    classroom: Classroom, lab: Lab, new_page: Callable[..., Page]
) -> Iterator[NotebookPage]:
    """A notebook with a wrong softmax, checked, and a right mask, checked."""
    opened = notebook_in("card", classroom, lab, new_page())
    opened.write_step("softmax", WRONG_SOFTMAX)
    opened.run(*CELLS)
    yield opened


def test_every_word_can_be_read_in_every_theme(notebook: NotebookPage) -> None:
    wrong, right = notebook.card("softmax"), notebook.card("create_causal_mask")
    notebook.write_step("create_causal_mask", "    return np.tri(sequence_length)")
    notebook.run("step-create_causal_mask", "check-create_causal_mask")
    for summary in wrong.locator("summary").all():
        summary.click()
    for theme in THEMES:
        notebook.theme(theme)
        for card in (wrong, right):
            assert too_faint(card) == [], theme
        assert too_faint(notebook.output("check-softmax")) == [], theme
    notebook.theme(THEMES[0])


def test_tab_reaches_the_hints_and_enter_and_space_unfold_them(notebook: NotebookPage) -> None:
    page, card = notebook.page, notebook.card("softmax")
    notebook.cell("check-softmax").locator(".cm-content").click()
    page.keyboard.press("Escape")
    first = card.locator("summary", has_text="Hint 1 of 3")
    for key, summary in (
        ("Enter", first),
        ("Space", card.locator("summary", has_text="Hint 2 of 3")),
        ("Enter", card.locator("summary", has_text="Hint 3 of 3")),
    ):
        for _ in range(12):
            page.keyboard.press("Tab")
            if summary.evaluate("each => each === document.activeElement"):
                break
        expect(summary).to_be_focused()
        page.keyboard.press(key)
        expect(summary.locator("xpath=..")).to_have_attribute("open", "")
    expect(notebook.cell("check-softmax").locator(".cm-content")).to_have_text("check(softmax)")


@pytest.mark.parametrize(("width", "zoom"), [(700, 1), (1280, 2)])
def test_nothing_is_cut_off_in_little_room(
    classroom: Classroom, lab: Lab, new_page: Callable[..., Page], width: int, zoom: float
) -> None:
    opened = notebook_in(f"narrow-{width}", classroom, lab, new_page(width=width, zoom=zoom))
    opened.write_step("softmax", WRONG_SOFTMAX)
    opened.run(*CELLS)
    card = opened.card("softmax")
    expect(card).to_contain_text("Your softmax runs down the columns")
    over = card.evaluate("each => each.scrollWidth - each.clientWidth")
    assert over <= 1, f"{over} pixels are cut off"
    box, pane = card.bounding_box(), opened.page.locator(".jp-Notebook").bounding_box()
    assert box and pane and box["x"] + box["width"] <= pane["x"] + pane["width"]
