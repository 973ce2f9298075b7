"""In a browser's Python, which has no threads, code that does not end is stopped all the same."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from wasm.in_node import ROOT, start_script


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `limits.py` saw."""
    work = tmp_path_factory.mktemp("limits")
    with start_script(Path(__file__).with_name("limits.py"), ROOT, work, work=work) as node:
        out, err = node.communicate()
    assert node.returncode == 0, err
    facts: dict[str, Any] = json.loads(out.splitlines()[-1])
    return facts


@pytest.mark.parametrize(
    "code",
    [
        "a loop",
        "a loop in a generator that a library asks",
        "a function that a library calls",
        "a loop that catches all",
        "a tree of calls",
        "a sleep",
    ],
)
def test_code_without_end_is_stopped(seen: dict[str, Any], code: str) -> None:
    assert seen[code]


def test_short_work_is_not_stopped_and_nothing_listens_afterwards(seen: dict[str, Any]) -> None:
    assert not seen["short work"] and not seen["afterwards"]


def test_a_sleep_is_otherwise_as_ever(seen: dict[str, Any]) -> None:
    assert not seen["a short sleep"]
    assert seen["a sleep before now"] == "ValueError"
    assert seen["a sleep of no number"] == "TypeError"


def test_imports_are_not_the_codes_own_time_within_bounds(seen: dict[str, Any]) -> None:
    assert not seen["an import that takes long"]
    assert seen["an import that takes long, and then work"]
    assert seen["an import that fails, and then work"]
    assert seen["an import without end"]


def test_the_check_of_a_notebook_names_the_line_of_a_loop(seen: dict[str, Any]) -> None:
    line = r"`softmax` was still running after 6 s at line \d+, `(scores = .*|while True:)`"
    assert re.search(line, seen["in a notebook"]), seen["in a notebook"]
