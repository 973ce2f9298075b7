"""The card under a check: readable in both themes, in little room, and without a mouse."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ViewportSize, expect

from browser.contrast import too_faint
from browser.notebook_page import NotebookPage
from browser.system_browsers import PATIENCE
from support.classroom import Classroom
from support.lab import Lab
from support.learner_workspace import NAME, ROOT, WRONG_SOFTMAX

# A small window, and a usual one at 200 %, where a browser lays out for half as many pixels.
SIZES = (ViewportSize(width=700, height=900), ViewportSize(width=640, height=450))


@pytest.fixture(scope="module")
def notebook(chromium: Browser, classroom: Classroom, lab: Lab) -> Iterator[NotebookPage]:
    """A notebook with a wrong softmax, checked, and a right mask, checked."""
    home = classroom.student.folder
    shutil.copytree(ROOT / "assignments" / NAME, home / "card")
    page = chromium.new_page(viewport=ViewportSize(width=1280, height=900))
    page.set_default_timeout(PATIENCE)
    opened = NotebookPage(page, lab, home, f"card/{NAME}.ipynb")
    opened.write_step("softmax", WRONG_SOFTMAX)
    opened.write_step("create_causal_mask", "    return np.tri(sequence_length)")
    opened.run("setup", "given-001", "step-softmax", "check-softmax")
    opened.run("step-create_causal_mask", "check-create_causal_mask")
    yield opened
    page.context.close()


def test_every_word_can_be_read_in_every_theme(notebook: NotebookPage) -> None:
    wrong, right = notebook.card("softmax"), notebook.card("create_causal_mask")
    wrong.locator("details").evaluate_all("all => all.forEach(each => each.open = true)")
    for theme in notebook.in_every_theme():
        for shown in (wrong, right, notebook.output("check-softmax")):
            assert too_faint(shown) == [], theme


def test_tab_reaches_the_hints_and_enter_and_space_unfold_them(notebook: NotebookPage) -> None:
    page, card = notebook.page, notebook.card("softmax")
    card.locator("details").evaluate_all("all => all.forEach(each => each.open = false)")
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


def test_nothing_is_cut_off_in_little_room(notebook: NotebookPage) -> None:
    card = notebook.card("softmax")
    expect(card).to_contain_text("Your softmax runs down the columns")
    for size in SIZES:
        notebook.page.set_viewport_size(size)
        pane = notebook.page.locator(".jp-Notebook")
        expect(pane).to_be_visible()
        over = card.evaluate("each => each.scrollWidth - each.clientWidth")
        assert over <= 1, f"{over} pixels are cut off at {size}"
        box, room = card.bounding_box(), pane.bounding_box()
        assert box and room and box["x"] + box["width"] <= room["x"] + room["width"], size
        assert room["x"] + room["width"] <= size["width"]
