"""Hostile hand-ins by the hundred, each class of them with one honest classmate.

The classmate always has the same marks, the run always ends within its bound, nothing of ours
runs what was handed in, and nobody of the class brings about a fault of the grader.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from autograder.reports.grades_csv import read_verdicts
from support.broken.case import NAME, Work
from support.copied_exercise import copy_exercise
from support.hostile_hand_ins import Hostility, hand_in
from support.typed_commands import ATTN

SEED = int(os.environ.get("ATTN_SEED", "20261121"))
CLASS, CLASSES = 100, 5
# Seconds: a hand-in's own time, and what reading, judging and writing it take on a slow machine.
BOUND_OF_ONE, BOUND_OF_A_RUN = 20.0, 60.0
LIMITS = {"seconds_per_call": 0.5, "seconds_per_submission": 3.0}


@pytest.fixture(scope="module")
def solutions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The exercise with tight limits, so that waiting for loops does not take the time."""
    folder = tmp_path_factory.mktemp("tight") / "solutions"
    copy_exercise(NAME, folder)
    facts = folder / NAME / "exercise.toml"
    text = facts.read_text(encoding="utf-8")
    for limit, value in LIMITS.items():
        text, count = re.subn(rf"^{limit} = .*$", f"{limit} = {value}", text, flags=re.MULTILINE)
        assert count == 1
    facts.write_text(text, encoding="utf-8")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("number", "size"), [(CLASSES, 40), *((n, CLASS) for n in range(CLASSES))])
def test_an_honest_classmate_of_hostile_hand_ins_has_full_marks(
    number: int, size: int, solutions: Path, tmp_path: Path
) -> None:
    seed = SEED + number
    print(f"seed {seed}: ATTN_SEED={SEED}, class {number}")
    homework, marker = tmp_path / "homework", tmp_path / "markers"
    homework.mkdir()
    marker.mkdir(mode=0o777)
    marker.chmod(0o777)
    hostility = Hostility(homework, random.Random(seed), marker)
    kinds = Counter(hand_in(hostility, each) for each in range(size))
    Work(homework).write(Work(homework).script, "honest_classmate.py")
    command = [ATTN, "grade", "homework", "--exercise", NAME, "--solutions", str(solutions)]
    bound, begun = BOUND_OF_A_RUN + size * BOUND_OF_ONE, time.monotonic()
    run = subprocess.run(
        [*command, "--processes", "2"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=bound,
        check=False,
    )
    assert run.returncode in (0, 1), run.stdout[-3000:] + run.stderr[-3000:]
    assert time.monotonic() - begun < bound
    assert "Traceback" not in run.stderr, run.stderr[-3000:]
    assert not list(marker.iterdir())
    verdicts = read_verdicts(tmp_path / "homework-graded" / "verdicts")
    honest = [each for each in verdicts if each.student == "honest_classmate"]
    assert [(each.points, each.max_points) for each in honest] == [(22.0, 22.0)]
    assert len(verdicts) >= size * 0.9, (kinds, len(verdicts))
    ours = [each.student for each in verdicts if each.infrastructure]
    assert not ours, ours
