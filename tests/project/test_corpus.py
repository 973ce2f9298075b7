"""The verdict corpus: hand-ins are graded and checked, and what differs between two is found."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support import corpus
from support.copied_exercise import ROOT
from support.reference_steps import reference_steps

NAME = "numpy_single_head"


def test_hand_ins_are_graded_and_checked_alike_each_time(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    more = tmp_path / "more" / NAME
    more.mkdir(parents=True)
    wrong = reference_steps(NAME)["softmax"].replace("-1", "-2")
    (more / "ada.py").write_text(f"import numpy as np\n\n{wrong}\n", encoding="utf-8")
    (more / "hostile_bo.py").write_text("import numpy as np\n", encoding="utf-8")
    exercise = ROOT / "solutions" / NAME
    corpus.make(exercise, first / NAME, tmp_path / "more", [], 0)
    corpus.make(exercise, second / NAME, first, [], 0)
    assert corpus.differences(first, second) == corpus.Differences()
    verdict, check = (
        json.loads((first / NAME / kind / "ada.json").read_text(encoding="utf-8"))
        for kind in (corpus.VERDICTS, corpus.CHECKS)
    )
    for document in (verdict, check):
        assert "softmax_over_the_queries" in json.dumps(document["steps"][0])
    assert "judged_at" not in verdict
    assert not (first / NAME / corpus.CHECKS / "hostile_bo.json").exists()


def test_a_fact_that_differs_ends_with_1_and_a_sentence_with_0(tmp_path: Path) -> None:
    old, said, lost = (tmp_path / name for name in ("old", "said", "lost"))
    for folder, outcome, message in (
        (old, "passed", "All is right."),
        (said, "passed", "All of it is right."),
        (lost, "failed", "All is right."),
    ):
        (folder / NAME / "verdicts").mkdir(parents=True)
        step = {"name": "softmax", "outcome": outcome, "finding": {"message": message}}
        text = json.dumps({"steps": [step], "seconds": float(len(message))})
        (folder / NAME / "verdicts" / "ada.json").write_text(text, encoding="utf-8")
    assert _compared(old, old) == (0, "0 facts differ\n0 sentences differ\n")
    code, words = _compared(old, said)
    assert code == 0
    assert words.endswith("    - All is right.\n    + All of it is right.\n")
    code, words = _compared(old, lost)
    assert code == 1
    assert "1 times, steps.softmax.outcome: passed -> failed" in words
    shutil.rmtree(lost / NAME / "verdicts")
    assert _compared(old, lost)[0] == 1


def _compared(old: Path, new: Path) -> tuple[int, str]:
    run = subprocess.run(
        [sys.executable, corpus.__file__, "diff", old, new],
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    return run.returncode, run.stdout


@pytest.mark.slow
def test_a_corpus_holds_every_kind_of_hand_in(tmp_path: Path) -> None:
    corpus.drawn(ROOT / "solutions" / NAME, 2, tmp_path)
    kinds = {path.stem.split("-")[0] for path in tmp_path.iterdir()}
    assert kinds == {"sample", "mistake", "the", "mutant", "layer"}
