"""The instructor's buttons in JupyterLab: out of a learner's way, and there for an instructor.

The two files of settings are those of docs/hub.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from browser.shared_installation import SharedHome, SharedInstallation
from support.lab import start_lab
from support.learner_workspace import ROOT

NOTEBOOK = "numpy_single_head/numpy_single_head.ipynb"
SETTINGS = "labconfig/page_config.json"
INSTRUCTORS = {"Course List", "Formgrader", "Create assignment"}


def settings_in_the_document() -> list[str]:
    """The blocks of settings in docs/hub.md: of all users, and of an instructor."""
    text = (ROOT / "docs" / "hub.md").read_text(encoding="utf-8")
    return re.findall(r"```json\n(\{\s*\"disabledExtensions\".*?)```", text, re.DOTALL)


@pytest.fixture
def installation(tmp_path_factory: pytest.TempPathFactory) -> SharedInstallation:
    """A shared installation in which the instructor's buttons are off."""
    made = SharedInstallation(tmp_path_factory.mktemp("shared") / "environment").made()
    off, _ = settings_in_the_document()
    _write(made.folder / "etc" / "jupyter" / SETTINGS, off)
    return made


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def shown(page: Page, address: str) -> tuple[bool, set[str]]:
    """Whether JupyterLab offers to create assignments, and the entries of the Nbgrader menu."""
    page.goto(address)
    expect(page.get_by_role("button", name="Validate")).to_be_visible()
    page.evaluate("() => Promise.all([jupyterapp.started, jupyterapp.restored])")
    tabs = page.locator(".jp-SideBar .lm-TabBar-tab")
    creates = any("Create Assignment" in (t.get_attribute("title") or "") for t in tabs.all())
    page.locator(".lm-MenuBar-item", has_text="Nbgrader").click()
    entries = page.locator(".lm-Menu-item:visible .lm-Menu-itemLabel")
    expect(entries.filter(has_text="Assignment List")).to_be_visible()
    return creates, set(entries.all_inner_texts())


def test_a_learner_sees_no_button_of_the_instructor_who_sees_them_all(
    installation: SharedInstallation, new_page: Callable[..., Page], tmp_path: Path
) -> None:
    home = SharedHome(tmp_path, installation).made()
    home.run(installation.python, "-m", "autograder.cli", "start", "work")
    lab = start_lab(home, home.folder / "work", python=installation.python)
    try:
        address = lab.url(f"lab/tree/{NOTEBOOK}")
        assert shown(new_page(), address) == (False, {"Assignment List"})
        _, on = settings_in_the_document()
        _write(home.config / SETTINGS, on)
        creates, menu = shown(new_page(), address)
        assert creates and menu >= INSTRUCTORS
    finally:
        lab.stop()
