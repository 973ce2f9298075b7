"""The page of an exercise on a site: what a learner does there, in any browser."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

from support.learner_workspace import NAME
from support.reference_steps import reference_steps
from support.typed_commands import typed

RIGHT = reference_steps(NAME)


def made_site(folder: Path) -> Path:
    """Make a site in a new folder, as `make site` does; return the folder."""
    run = typed("site", folder, "--with-answers", folder=folder.parent)
    assert run.code == 0, run.err
    return folder


def write(page: Page, step: str, code: str) -> None:
    """Put code into an editor, in the place of what stands there."""
    page.locator(f"#{step} .cm-content").press("ControlOrMeta+a")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(code)


def answer(page: Page, step: str) -> str:
    """Check a step by the keyboard, and return what is answered."""
    page.locator(f"#{step} .cm-content").press("ControlOrMeta+Enter")
    place = page.locator(f"#{step} .answer")
    expect(place).not_to_contain_text("checking")
    return place.inner_text()
