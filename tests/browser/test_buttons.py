"""The instructor's buttons in JupyterLab: out of a learner's way, and there for an instructor.

The two files of settings are those of docs/hub.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from support.lab import start_lab
from support.shared_installation import SharedHome, SharedInstallation

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = "numpy_single_head/numpy_single_head.ipynb"
SETTINGS = "labconfig/page_config.json"
INSTRUCTORS = {"Course List", "Formgrader", "Create assignment"}


def settings_in_the_document() -> list[str]:
    """The blocks of settings in docs/hub.md: of all users, and of an instructor."""
    text = (ROOT / "docs" / "hub.md").read_text(encoding="utf-8")
    return re.findall(r"```json\n(\{\s*\"disabledExtensions\".*?)```", text, re.DOTALL)


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> SharedInstallation:
    """A shared installation in which the instructor's buttons are off."""
    made = SharedInstallation(tmp_path_factory.mktemp("shared") / "environment").made()
    off, _ = settings_in_the_document()
    _write(made.folder / "etc" / "jupyter" / SETTINGS, off)
    return made


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def shown(home: SharedHome, page: Page) -> tuple[set[str], set[str]]:
    """What JupyterLab shows this person: titles in the side bars, and the Nbgrader menu."""
    home.run(home.installation.python, "-m", "autograder.cli", "start", "work")
    lab = start_lab(home, home.folder / "work", python=home.installation.python)
    try:
        page.goto(lab.url(f"lab/tree/{NOTEBOOK}"))
        expect(page.get_by_role("button", name="Validate")).to_be_visible()
        page.evaluate("() => Promise.all([jupyterapp.started, jupyterapp.restored])")
        tabs = page.locator(".jp-SideBar .lm-TabBar-tab")
        titles = {each.get_attribute("title") or "" for each in tabs.all()}
        page.locator(".lm-MenuBar-item", has_text="Nbgrader").click()
        entries = page.locator(".lm-Menu-item:visible .lm-Menu-itemLabel")
        expect(entries.filter(has_text="Assignment List")).to_be_visible()
        return titles, set(entries.all_inner_texts())
    finally:
        lab.stop()


def creates(titles: Collection[str]) -> bool:
    return any("Create Assignment" in title for title in titles)


def test_a_learner_sees_no_button_of_the_instructor(
    installation: SharedInstallation, new_page: Callable[..., Page], tmp_path: Path
) -> None:
    titles, menu = shown(SharedHome(tmp_path, installation).made(), new_page())
    assert not creates(titles) and menu == {"Assignment List"}


def test_an_instructor_sees_them_all(
    installation: SharedInstallation, new_page: Callable[..., Page], tmp_path: Path
) -> None:
    home = SharedHome(tmp_path, installation).made()
    _, on = settings_in_the_document()
    _write(home.config / SETTINGS, on)
    titles, menu = shown(home, new_page())
    assert creates(titles) and menu >= INSTRUCTORS
