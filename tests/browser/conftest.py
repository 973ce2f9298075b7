"""Browsers, one JupyterLab for the student, and pages in it, for the tests of this folder.

They need browsers of the system, so they are not part of `make test`; `make test-browser` says
so before anything else runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Playwright, ViewportSize

from autograder.site.site_folder import missing_parts, parts_folder
from browser.system_browsers import (
    CHROMIUM,
    FIREFOX,
    PATIENCE,
    missing_browser,
    open_chromium,
    playing,
)
from support.classroom import Classroom, open_classroom
from support.lab import Lab, start_lab
from wasm.in_node import PARTS_MISSING


def pytest_configure() -> None:
    if missing := missing_browser(CHROMIUM, FIREFOX):
        raise pytest.UsageError(missing)
    if missing_parts(parts_folder()):
        raise pytest.UsageError(PARTS_MISSING)


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    """What drives the browsers."""
    with playing() as started:
        yield started


@pytest.fixture(scope="session")
def chromium(playwright: Playwright) -> Iterator[Browser]:
    """A headless Chromium."""
    with open_chromium(playwright) as browser:
        yield browser


@pytest.fixture(scope="session")
def browser(chromium: Browser) -> Browser:
    """The browser of `new_page`, where a file of tests names no other."""
    return chromium


@pytest.fixture
def new_page(
    browser: Browser, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Callable[..., Page]]:
    """Make pages with nothing remembered; when the test fails, each is in a picture."""
    pages: list[Page] = []

    def make(width: int = 1280, height: int = 900, zoom: float = 1) -> Page:
        # Zoomed to 200 %, a browser lays out for half as many pixels and draws each double.
        size = ViewportSize(width=round(width / zoom), height=round(height / zoom))
        page = browser.new_page(viewport=size, device_scale_factor=zoom)
        page.set_default_timeout(PATIENCE)
        pages.append(page)
        return page

    failed = request.session.testsfailed
    yield make
    for number, page in enumerate(pages):
        if request.session.testsfailed > failed:
            picture = tmp_path / f"page-{number}.png"
            page.screenshot(path=picture)
            print(f"what the page showed: {picture}")
        page.context.close()


@pytest.fixture(scope="session")
def classroom(tmp_path_factory: pytest.TempPathFactory) -> Classroom:
    """An instructor with a released course, and a student."""
    return open_classroom(tmp_path_factory.mktemp("class"))


@pytest.fixture(scope="session")
def lab(classroom: Classroom) -> Iterator[Lab]:
    """The student's JupyterLab."""
    running = start_lab(classroom.student, classroom.student.folder)
    yield running
    running.stop()
