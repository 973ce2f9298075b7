"""The changelog says which version came when, the newest first, and knows the present one."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

import autograder

CHANGELOG = Path(__file__).resolve().parents[2] / "CHANGELOG.md"
UNRELEASED = "Unreleased"
VERSION = re.compile(r"\[(\d+)\.(\d+)\.(\d+)\] - (\d{4}-\d\d-\d\d)")


def version_and_day(heading: str) -> tuple[tuple[int, ...], date]:
    found = VERSION.fullmatch(heading)
    assert found
    return tuple(int(part) for part in found.groups()[:3]), date.fromisoformat(found[4])


def wrong_headings(text: str, version: str) -> list[str]:
    """Say what is wrong with the headings of a changelog, when the package says `version`."""
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    dated = headings[1:] if headings[:1] == [UNRELEASED] else headings
    wrong = [f"{one} is no version with its date" for one in dated if not VERSION.fullmatch(one)]
    if wrong or not dated:
        return wrong or ["no version has a date"]
    if (newest := ".".join(map(str, version_and_day(dated[0])[0]))) != version:
        wrong.append(f"the newest version is {newest}, and the package says {version}")
    for above, below in zip(dated, dated[1:]):
        (one, day), (older, earlier) = version_and_day(above), version_and_day(below)
        if one <= older or day < earlier:
            wrong.append(f"{above} stands above {below}: the newest version stands first")
    return wrong


def test_every_version_has_its_date_and_the_newest_is_the_packages() -> None:
    text = CHANGELOG.read_text(encoding="utf-8")
    assert wrong_headings(text, autograder.__version__) == []


@pytest.mark.parametrize(
    ("headings", "why"),
    [
        (["Unreleased"], "no version has a date"),
        (["0.2.0 (unreleased)"], "is no version with its date"),
        (["[0.2.0] - 20.11.2026"], "is no version with its date"),
        (["[0.2.0] - 2026-11-20", "Unreleased"], "is no version with its date"),
        (["Unreleased", "[0.1.0] - 2026-11-20"], "the package says 0.2.0"),
        (["[0.2.0] - 2026-11-20", "[0.10.0] - 2026-11-19"], "the newest version stands first"),
        (["[0.2.0] - 2026-11-19", "[0.1.0] - 2026-11-20"], "the newest version stands first"),
    ],
)
def test_a_heading_that_is_not_so_is_told(headings: list[str], why: str) -> None:
    (told,) = wrong_headings("\n".join(f"## {heading}\n" for heading in headings), "0.2.0")
    assert why in told
