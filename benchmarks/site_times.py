"""What a reader of a site waits for, in Chromium and Firefox, from a server on this machine.

PYTHONPATH=tests python benchmarks/site_times.py SITE
"""

from __future__ import annotations

import gzip
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from playwright.sync_api import Page, expect

from browser.site_page import RIGHT, answer, write
from browser.system_browsers import open_chromium, open_firefox, playing
from support.learner_workspace import NAME
from support.static_host import StaticHost

PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000"
STUCK = "def softmax(scores):\n    return sum(iter(int, 1))\n"  # it cannot be interrupted
CHECKED = ("softmax", "apply_attention", "SingleHeadAttention")


def main(site: Path) -> None:
    """Print the size, and the seconds."""
    files = [path for path in site.rglob("*") if path.is_file() and path.parent.name != "download"]
    sent = sum(len(gzip.compress(path.read_bytes())) for path in files)
    print(f"size: {sum(path.stat().st_size for path in files) / 1e6:.1f} MB in {len(files)} files")
    print(f"the same with gzip: {sent / 1e6:.1f} MB")
    with StaticHost(site) as host, playing() as playwright:
        for start in (open_chromium, open_firefox):
            with start(playwright) as browser:
                print(f"{browser.browser_type.name} {browser.version}")
                page = browser.new_page()
                for visit in ("first", "second"):
                    _visit(page, f"{host.address}{NAME}.html", visit)
                _use(page)


def _visit(page: Page, address: str, visit: str) -> None:
    start = time.monotonic()
    page.goto(address, wait_until="commit")
    write(page, "softmax", RIGHT["softmax"])
    _check(page, "softmax")
    print(f"{visit} visit: text after {page.evaluate(PAINT):.1f} s", end=", ")
    print(f"first answer after {time.monotonic() - start:.1f} s")
    expect(page.locator("#kept")).to_have_text("This page works offline now.")


def _use(page: Page) -> None:
    for step, code in RIGHT.items():
        write(page, step, code)
    for step in RIGHT:
        seconds = _seconds(partial(_check, page, step))
        if step in CHECKED:
            print(f"a check of {step}: {seconds:.1f} s")
    page.get_by_role("button", name="Let it read and speak").click()
    shown = page.locator("#finale .shown")
    for what in ("And now with your layer", "nats a character"):
        seconds = _seconds(partial(expect(shown).to_contain_text, what))
        print(f"until “{what}”: {seconds:.1f} s more")
    write(page, "softmax", STUCK)
    page.locator("#softmax .cm-content").press("ControlOrMeta+Enter")
    ended = _seconds(expect(page.get_by_text("Python was started anew")).to_be_visible)
    print(f"until Python that is stuck is ended: {ended:.1f} s")
    python = page.locator("#python")
    ready = _seconds(lambda: expect(python).to_have_text("Python is ready."))
    print(f"until it is there again: {ready:.1f} s")


def _check(page: Page, step: str) -> None:
    assert "checks pass" in answer(page, step)


def _seconds(done: Callable[[], object]) -> float:
    start = time.monotonic()
    done()
    return time.monotonic() - start


if __name__ == "__main__":
    main(Path(sys.argv[1]))
