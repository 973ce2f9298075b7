"""Chromium and Firefox of the system, headless."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Playwright, expect, sync_playwright

PATIENCE = 90_000  # milliseconds: a machine may be busy
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FIREFOX = ("firefox-esr", "firefox")
QUIET = (
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)


def find_browser(commands: tuple[str, ...]) -> str | None:
    """Where the first of these commands lies that is there; None when none is."""
    return next(filter(None, map(shutil.which, commands)), None)


def missing_browser(*wanted: tuple[str, ...]) -> str | None:
    """Return what to install for want of a browser, if one of them is missing."""
    missing = (commands[0] for commands in wanted if find_browser(commands) is None)
    return next((f"no {each} is on the PATH; cure: apt install {each}" for each in missing), None)


@contextmanager
def playing() -> Iterator[Playwright]:
    """Start what drives browsers, as patient as a busy machine needs it."""
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        yield playwright


@contextmanager
def open_chromium(playwright: Playwright, downloads: Path | None = None) -> Iterator[Browser]:
    """Start Chromium with nothing remembered; end it when the block ends."""
    # Chromium's own sandbox does not start for root.
    root = ("--no-sandbox",) if os.geteuid() == 0 else ()
    browser = playwright.chromium.launch(
        executable_path=find_browser(CHROMIUM),
        args=[*root, *QUIET],
        downloads_path=downloads,
        timeout=PATIENCE,
    )
    yield browser
    browser.close()


@contextmanager
def open_firefox(
    playwright: Playwright, downloads: Path | None = None, *, dark: bool = False
) -> Iterator[Browser]:
    """Start Firefox with nothing remembered; end it when the block ends.

    The channel is for a Firefox as it is, which speaks WebDriver BiDi by itself. In that, a page
    cannot be told to be dark, so all of them are.
    """
    browser = playwright.firefox.launch(
        channel="moz-firefox",
        executable_path=find_browser(FIREFOX),
        firefox_user_prefs={"layout.css.prefers-color-scheme.content-override": 0 if dark else 1},
        downloads_path=downloads,
        timeout=PATIENCE,
    )
    yield browser
    browser.close()
