"""In the page, without a network, every check of every step says what `attn check` says here.

But for what tests/wasm excepts, the documents are the same, with lines counted as in the editor.

Each step of the exercise is given wrong answers, then the right one: known mistakes, then changes
of the solution as `attn verify` makes them. WRONG_TURNS=25 gives so many to each step; by default
it is what takes a few minutes. PyTorch is in no browser, so this is the one exercise.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Playwright, expect

from autograder.authoring.harness import Harness, read_harness
from autograder.authoring.mutant import mutants_of
from autograder.authoring.mutant_judge import MutantJudge, definitions
from autograder.site.in_page import ScriptPieces
from autograder.values.exercise import read_exercise
from browser.site_page import RIGHT, answer, made_site, write
from browser.system_browsers import open_chromium, open_firefox
from support.learner_workspace import NAME, ROOT, start, stub_file
from support.static_host import StaticHost
from support.typed_commands import typed
from wasm.hand_ins import code_of, differences, known_mistakes

WRONG_TURNS = int(os.environ.get("WRONG_TURNS", "8"))
OF_CHANCE = "another generator"  # mutants of this kind give something else at every call
# Keeps what the page's Python says: the page itself shows the card only.
HEARD = """window.Worker = class extends Worker {
    constructor(...words) {
        super(...words);
        this.addEventListener("message", ({data}) => { if (data.answer) window.heard = data; });
    }
};"""
Document = dict[str, Any]


@dataclass(frozen=True)
class Turn:
    """An answer to a step, and what `attn check STEP --json` says of it."""

    step: str
    code: str
    native: Document


@pytest.fixture(scope="module")
def turns(tmp_path_factory: pytest.TempPathFactory) -> list[Turn]:
    """Wrong answers to each step, and then the right one."""
    workspace = start(tmp_path_factory.mktemp("native") / "work")
    pieces = ScriptPieces.of(stub_file(workspace).read_text(encoding="utf-8"), RIGHT)
    made = list[Turn]()
    for step, right in RIGHT.items():
        wrong = 0
        for code in _candidates(step):
            turn = Turn(step, code, _native(workspace, pieces, step, code))
            if not turn.native["passes"]:
                made.append(turn)
                wrong += 1
            if wrong == WRONG_TURNS:
                break
        made.append(Turn(step, right, _native(workspace, pieces, step, right)))
    return made


def _candidates(step: str) -> Iterator[str]:
    """Give answers that are probably wrong: the same in every run."""
    known = [code_of(each) for each in known_mistakes(WRONG_TURNS) if each.step == step]
    yield from known[: (WRONG_TURNS + 1) // 2]
    harness = _trial()
    subject = MutantJudge(harness, step, ()).subject(definitions(harness)[step])
    mutants = [each.text for each in mutants_of(subject) if each.kind != OF_CHANCE]
    random.Random(step).shuffle(mutants)
    yield from mutants
    yield from known[(WRONG_TURNS + 1) // 2 :]


@cache
def _trial() -> Harness:
    return read_harness(ROOT / "solutions" / NAME)


def _native(workspace: Path, pieces: ScriptPieces, step: str, code: str) -> Document:
    """Check a step of the file that the page would save."""
    written = {**RIGHT, step: code}
    lines = [text for name in RIGHT for text in (pieces.above[name], written[name])]
    stub_file(workspace).write_text("\n".join([*lines, pieces.below]), encoding="utf-8")
    above = ("\n".join(lines[:number]) for number in range(1, len(lines), 2))
    firsts = [text.count("\n") + 2 for text in above]
    return _in_editor(typed("check", step, "--json", folder=workspace).document, firsts)


@pytest.mark.parametrize("opened", [open_chromium, open_firefox])
def test_every_step_is_answered_as_here_wrong_and_right_and_without_a_network(
    opened: Callable[[Playwright], Any],
    playwright: Playwright,
    turns: list[Turn],
    tmp_path: Path,
) -> None:
    assert len(turns) == len(RIGHT) * (WRONG_TURNS + 1)
    with opened(playwright) as browser:
        page = _offline(browser, made_site(tmp_path / "site"))
        for step, code in RIGHT.items():
            write(page, step, code)
        different = list[tuple[str, str]]()
        for turn in turns:
            write(page, turn.step, turn.code)
            shown = answer(page, turn.step)
            assert f"{turn.step}: " in shown
            there = page.evaluate("() => window.heard.answer.document")
            there = {**there, "file": ""}
            different += [(turn.code, each) for each in differences(there, turn.native)]
        assert different == []
        expect(page.locator("#count")).to_have_text("11 of 11 steps pass")


def _offline(browser: Browser, site: Path) -> Page:
    """Open the page, then once more when its host is gone."""
    with StaticHost(site) as host:
        page = browser.new_page()
        page.add_init_script(HEARD)
        page.goto(f"{host.address}{NAME}.html")
        expect(page.locator("#kept")).to_have_text("This page works offline now.")
    page.reload()
    expect(page.locator("#python")).to_have_text("Python is ready.")
    return page


def _in_editor(document: Document, firsts: Sequence[int]) -> Document:
    """Return a document with lines counted as in the editors, which begin at these lines."""

    def counted(told: re.Match[str]) -> str:
        line = int(told[2])
        return f"{told[1]}{line - max(each for each in firsts if each <= line) + 1}"

    text = json.dumps({**document, "file": ""}, ensure_ascii=False)
    facts: Document = json.loads(re.sub(r"(?i)\b(line )(\d+)", counted, text))
    return facts


def test_no_other_exercise_could_be_there_without_pytorch() -> None:
    folders = (path.parent for path in (ROOT / "assignments").glob("*/exercise.toml"))
    assert [each.name for each in map(read_exercise, folders) if each.library == "numpy"] == [NAME]
