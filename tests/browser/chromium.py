"""The Chromium of the system, headless."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, expect, sync_playwright

PATIENCE = 90_000  # milliseconds: a machine may be busy
MISSING = "Chromium is needed, and none is on the PATH; cure: apt install chromium"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)


def find_chromium() -> str | None:
    """Where Chromium lies; None when there is none."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


@contextmanager
def open_chromium() -> Iterator[Browser]:
    """Start Chromium; end it when the block ends."""
    # Chromium's own sandbox does not start for root.
    root = ("--no-sandbox",) if os.geteuid() == 0 else ()
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(), args=[*root, *QUIET], timeout=PATIENCE
        )
        yield browser
        browser.close()
