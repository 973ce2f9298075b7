"""The lines to sort and the gap to fill: made from mistakes, and every wrong line proved wrong."""

from __future__ import annotations

import ast
import dataclasses
from pathlib import Path

import pytest

from autograder.authoring.harness import read_harness
from autograder.authoring.making import MadeRungs, made_rungs, stale_rungs
from autograder.authoring.proof import rung_gaps
from autograder.authoring.rungs import FILE, GAP, PuzzleLine, Rungs, read_rungs, write_rungs
from autograder.checks.plugin import record_examples
from autograder.values.exercise import EXAMPLES, generated, read_exercise
from support.copied_exercise import copy_exercise
from support.fifth_exercise import fifth_exercise
from support.learner_workspace import ROOT
from support.written_exercise import changed

EXERCISES = sorted(path.parent.name for path in (ROOT / "solutions").glob("*/exercise.toml"))
NUMPY = "numpy_single_head"


def rungs_of(name: str) -> dict[str, Rungs]:
    return dict(read_rungs(generated(ROOT / "solutions" / name, FILE)))


def with_rungs(folder: Path, step: str, **changes: object) -> Path:
    """A copy of the NumPy exercise in which the rungs of one step are others."""
    copy = copy_exercise(NUMPY, folder)
    every = rungs_of(NUMPY)
    every[step] = dataclasses.replace(every[step], **changes)  # type: ignore[arg-type]
    generated(copy, FILE).write_text(write_rungs(NUMPY, every.values()), encoding="utf-8")
    return copy


@pytest.mark.parametrize("name", EXERCISES)
def test_every_step_has_a_puzzle_with_wrong_lines_and_a_gap(name: str) -> None:
    rungs = rungs_of(name)
    assert list(rungs) == [step.name for step in read_exercise(ROOT / "solutions" / name).steps]
    for each in rungs.values():
        assert len(each.wrong) >= 2 and each.gap is not None, each.step
        assert len({line.text for line in each.lines}) == len(each.lines), each.step
        assert each.gapped.count(GAP) == 1 and each.filling


@pytest.mark.parametrize("name", EXERCISES)
def test_the_right_lines_are_the_reference_and_the_filling_belongs_into_the_gap(name: str) -> None:
    text = (ROOT / "solutions" / name / "solution.py").read_text(encoding="utf-8")
    own = {node.name: node for node in ast.parse(text).body if hasattr(node, "name")}
    for each in rungs_of(name).values():
        for lines in (each.true, each.with_gap()):
            code = each.code(lines).replace(GAP, f"({each.filling})")
            assert ast.dump(ast.parse(code).body[0]) == ast.dump(own[each.step]), each.step


# For each of the others, `attn verify` in `make check` says the same.
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name == NUMPY else pytest.mark.slow) for name in EXERCISES],
)
def test_every_wrong_line_is_refused_by_a_hidden_check_and_the_right_ones_by_none(
    name: str,
) -> None:
    assert rung_gaps(read_harness(ROOT / "solutions" / name)) == ()


def test_a_line_that_is_right_in_other_words_is_found_by_the_proof(tmp_path: Path) -> None:
    lines = list(rungs_of(NUMPY)["scale_scores"].lines)
    equal = "return attention_scores * embedding_dimension ** -0.5"
    lines.append(PuzzleLine("scale_scores", equal, 0, true=False))
    copy = with_rungs(tmp_path, "scale_scores", lines=tuple(lines))
    (gap,) = rung_gaps(read_harness(copy))
    assert equal in gap and "no check refuses it" in gap


def test_a_wrong_order_and_a_wrong_filling_are_found_by_the_proof(tmp_path: Path) -> None:
    softmax = rungs_of(NUMPY)["softmax"]
    turned = tuple(dataclasses.replace(line, place=2 - line.place) for line in softmax.lines)
    copy = with_rungs(tmp_path, "softmax", lines=turned, gap=0, filling="scores")
    gaps = rung_gaps(read_harness(copy))
    assert any("in the right order, are refused by" in gap for gap in gaps)
    assert any("filled with `scores`, is refused by" in gap for gap in gaps)


def test_the_file_is_what_a_build_makes_and_another_solution_makes_another(tmp_path: Path) -> None:
    copy = copy_exercise(NUMPY, tmp_path)
    assert stale_rungs(copy, ROOT / "assignments") == ()
    line = "return attention_weights @ values"
    changed(copy, ("solution.py", line, line.replace("return", "return 1 *")))
    assert stale_rungs(copy, ROOT / "assignments") == (f"{NUMPY}/{FILE} differs",)
    generated(copy, FILE).unlink()
    assert stale_rungs(copy, ROOT / "assignments") == (f"{NUMPY}/{FILE} is missing",)


def test_a_mistake_that_no_example_refuses_is_not_offered(tmp_path: Path) -> None:
    copy = copy_exercise(NUMPY, tmp_path)
    harmless = (
        '    def harmless(gathered, W):\n        """You."""\n        return gathered @ W + 0.0\n'
    )
    changed(
        copy,
        ("misconceptions.py", "class project_output:\n", f"class project_output:\n{harmless}\n"),
    )
    examples = (ROOT / "assignments" / NUMPY / EXAMPLES).read_bytes()
    made = {each.step: each for each in made_rungs(copy, examples).rungs}
    offered = {line.mistake for line in made["project_output"].wrong}
    assert offered and "harmless" not in offered


def test_students_get_none_of_it() -> None:
    for name in EXERCISES:
        assert not (ROOT / "assignments" / name / FILE).exists()


SCALES = "    first, second = (1.0, 1.0) if scales is None else scales\n"
BRANCHES = """\
    if scales is None:
        first, second = 1.0, 1.0
    elif len(scales) == 1:
        first, second = scales[0], 1.0
    else:
        first, second = scales
"""
# Counts down to 0; with the line of the mistake in its place, it never gets there.
COUNTING = """\
    first, second = (1.0, 1.0) if scales is None else scales
    left = 3
    while left > 0:
        left = left - 1
    else:
        eps = eps * 1
"""
STANDS_STILL = """
    def stands_still(x, eps=1e-6, *, scales=None):
        \"\"\"You return squares, and count.

        What is missing?
        \"\"\"
        left = 3
        left = left - 0
        return (x * x).mean(axis=-1)
"""


def made_with(tmp_path: Path, *changes: tuple[str, str, str]) -> MadeRungs:
    folder = fifth_exercise(tmp_path / "solutions", *changes)
    return made_rungs(folder, record_examples(folder))


def test_the_branches_of_a_solution_are_lines_to_sort_too(tmp_path: Path) -> None:
    made = made_with(tmp_path, ("solution.py", SCALES, BRANCHES))
    (spread,) = [each for each in made.rungs if each.step == "spread"]
    texts = [line.text for line in spread.true]
    assert texts[:3] == ["if scales is None:", "    first, second = (1.0, 1.0)", texts[2]]
    assert texts[2] == "elif len(scales) == 1:" and "else:" in texts
    assert made.without == ()


def test_a_line_that_would_never_end_is_not_offered_and_the_build_goes_on(tmp_path: Path) -> None:
    mistake = ("misconceptions.py", "class spread:\n", f"class spread:{STANDS_STILL}\n")
    limit = ("exercise.toml", "[grading]", "[limits]\nseconds_per_call = 0.3\n\n[grading]")
    made = made_with(tmp_path, ("solution.py", SCALES, COUNTING), mistake, limit)
    (spread,) = [each for each in made.rungs if each.step == "spread"]
    assert "    left = left - 1" in [line.text for line in spread.true]
    assert "    left = left - 0" not in [line.text for line in spread.lines]
    assert made.without == ()


@pytest.mark.parametrize(
    "written",
    [
        "    try:\n        first, second = scales\n"
        "    except TypeError:\n        first = second = 1.0\n",
        "    def pair():\n        return scales or (1.0, 1.0)\n\n    first, second = pair()\n",
        "    match scales:\n        case None:\n            first = second = 1.0\n"
        "        case _:\n            first, second = scales\n",
    ],
    ids=["try", "function", "match"],
)
def test_a_step_whose_lines_cannot_be_sorted_has_none_and_its_author_is_told(
    tmp_path: Path, written: str
) -> None:
    made = made_with(tmp_path, ("solution.py", SCALES, written))
    assert "spread" not in [each.step for each in made.rungs] and len(made.rungs) == 2
    (sentence,) = made.without
    assert sentence.startswith("no lines to sort for spread: one of its statements has several")
