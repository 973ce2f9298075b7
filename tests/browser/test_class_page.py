"""The class page in a browser: it fits a phone and a sheet of paper."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from autograder.model.verdict import Finding, Outcome
from autograder.reports.class_page import ClassContext, class_page
from autograder.reports.follow_up import FollowUp
from support.verdicts import EXERCISE, verdict

LONG = Finding(Outcome.WRONG_VALUES, "Your softmax runs down the columns. " * 8)
PHONE, PAPER = 400, 718  # pixels; A4 without its margins


def page() -> str:
    one = verdict("a", **{step.name: LONG for step in EXERCISE.steps})
    verdicts = [replace(one, student=name) for name in ("ada", "a" * 80, "an " * 40)]
    waiting = FollowUp("remark", ("ada", "b" * 80), "`" + "x" * 200 + "`", "A cure.")
    return class_page(EXERCISE, verdicts, ClassContext(follow_ups=[waiting]))


@pytest.mark.parametrize(
    ("width", "media"), [(PHONE, "screen"), (1100, "screen"), (PAPER, "print")]
)
def test_the_page_is_no_wider_than_what_shows_it(
    chromium: Browser, tmp_path: Path, width: int, media: str
) -> None:
    (tmp_path / "index.html").write_text(page(), encoding="utf-8")
    shown = chromium.new_page(viewport={"width": width, "height": 900})
    shown.emulate_media(media=media)  # type: ignore[arg-type]
    shown.goto((tmp_path / "index.html").as_uri())
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    if media == "print":  # nothing is hidden behind a scroll bar
        over = "all => Math.max(...all.map(each => each.scrollWidth - each.clientWidth))"
        assert shown.locator(".scroll").evaluate_all(over) <= 0
    shown.close()
