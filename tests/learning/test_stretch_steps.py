"""The optional exercise, as a learner meets it: last, in nobody's way, checked like the others."""

from __future__ import annotations

import io
import json
import re
import runpy
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from autograder.values.exercise import read_exercise
from support.learner_workspace import NAME, ROOT, progress_file, put, start, stub_file
from support.typed_commands import typed

STRETCH, FIRST = "stretch_steps", "torch_single_head"
MEASURED = "    return (queries * keys).cumsum(1).pow(2).mean(0).sqrt()"
ON_THE_QUERIES = "    return scaled_scores.masked_fill(~padding_mask[:, :, None], -math.inf)"


def passed(workspace: Path, *exercises: str) -> None:
    """Note in the learner's own record that every step of these exercises passed."""
    facts = {
        name: {step.name: {"passed": True} for step in read_exercise(workspace / name).steps}
        for name in exercises
    }
    known = json.loads(progress_file(workspace).read_text(encoding="utf-8"))
    text = json.dumps({**known, "exercises": facts})
    progress_file(workspace).write_text(text, encoding="utf-8")


def printed_by(script: Path) -> str:
    """What a script prints when it is run."""
    with redirect_stdout(io.StringIO()) as printed:
        runpy.run_path(str(script), run_name="__main__")
    return printed.getvalue()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return start(tmp_path / "work", NAME, FIRST, STRETCH)


def test_it_comes_last_is_called_optional_and_counts_for_nothing(workspace: Path) -> None:
    told = typed("list", folder=workspace)
    assert told.code == 0 and told.err == ""
    names = re.findall(r"^(\w+)  \w", told.out, re.MULTILINE)
    assert names == [NAME, FIRST, STRETCH]
    assert "0 of 5 steps, optional" in told.out
    assert told.out.rstrip().endswith("0 of 19 steps passed when last checked.")
    laid = typed("start", ".", "--exercise", STRETCH, folder=workspace)
    assert "optional: 5 steps, about" in laid.out


def test_what_passes_in_it_does_not_move_how_far_the_learner_is(workspace: Path) -> None:
    passed(workspace, STRETCH)
    told = typed("list", folder=workspace).out
    assert "5 of 5 steps, optional" in told
    assert told.rstrip().endswith("0 of 19 steps passed when last checked.")


def test_alone_in_a_workspace_it_is_what_counts(tmp_path: Path) -> None:
    told = typed("list", folder=start(tmp_path / "work", STRETCH)).out
    assert told.rstrip().endswith("0 of 5 steps passed when last checked.")


def test_it_is_named_next_only_when_nothing_else_is_open(workspace: Path) -> None:
    passed(workspace, FIRST)
    assert "You are at step 1, softmax" in typed(folder=workspace).words
    at_the_end = typed(folder=workspace / FIRST).words
    assert STRETCH not in at_the_end and f"attn watch {NAME}" in at_the_end
    passed(workspace, NAME, FIRST)
    greeted = typed(folder=workspace).words
    assert f"attn watch {STRETCH}" in greeted and "This one is optional" in greeted


def test_a_check_names_the_mistake_and_no_points(workspace: Path) -> None:
    put(workspace, STRETCH, measure_spread=MEASURED, hide_padding=ON_THE_QUERIES)
    run = typed("check", STRETCH, folder=workspace)
    assert run.code == 1 and run.err == ""
    assert "✓ measure_spread" in run.out and "1 of 5 steps pass.\n" in run.out
    assert "points" not in run.out
    masked = typed("check", f"{STRETCH}.hide_padding", folder=workspace).words
    assert "You hide the rows of padded tokens, not their columns." in masked


def test_the_experiment_in_the_script_shows_the_root(workspace: Path) -> None:
    script = put(workspace, STRETCH, measure_spread=MEASURED)
    header, *rows = printed_by(script).splitlines()
    assert re.split(r"\s{2,}", header.strip()) == ["D", "spread", "spread / √D", "spread / D"]
    table = [[float(cell) for cell in row.split()] for row in rows]
    assert [row[0] for row in table] == [1, 4, 16, 64, 256]
    assert all(abs(by_root - 1) < 0.1 for _, _, by_root, _ in table), rows
    assert table[-1][1] > 14 and table[-1][3] < 0.1, rows


def test_before_the_step_is_written_the_experiment_says_so_and_a_check_stays_quiet(
    workspace: Path,
) -> None:
    said = "No numbers yet: `measure_spread` is not written yet."
    assert said in printed_by(stub_file(workspace, STRETCH))
    checked = typed("check", STRETCH, folder=workspace)
    assert "raises" not in checked.out and "Your code printed" not in checked.out


def test_the_public_files_of_the_kit_hold_no_solution_of_it() -> None:
    text = (ROOT / "assignments" / STRETCH / f"{STRETCH}.py").read_text(encoding="utf-8")
    assert text.count("raise NotImplementedError(") == 6
    assert "[:, None" not in text and ".chunk(" not in text and "cumsum" not in text
