"""What the benchmark computes with: ratios, costs, the table and its page. No time is measured."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from autograder.checks.plugin import GradingPlugin, run_graders
from autograder.checks.reference import read_reference
from autograder.values.request import Reply, Request
from benchmarks.all_rows import BEGIN, END, HERE, PAGE, filled
from benchmarks.cost import Cost
from benchmarks.figures import Figure, append_figure, ratios, read_figures, table
from benchmarks.floor_judging import Expected
from benchmarks.questions_alone import everything_asked

ROOT = Path(__file__).parents[2]
SLOWER = Figure.of(2, "one ÷ another", "numpy", [2.0, 1.5, 30.25])


def test_a_figure_has_the_lowest_the_median_and_the_highest_of_its_turns() -> None:
    assert (SLOWER.lowest, SLOWER.median, SLOWER.highest, SLOWER.values) == (1.5, 2.0, 30.25, 3)
    with pytest.raises(ValueError, match="nothing was measured: one"):
        Figure.of(1, "one", "numpy", [])


def test_the_table_is_in_the_order_of_the_rows() -> None:
    first = Figure.of(1, "memory", "torch", [1234.4], "MB")
    assert table([SLOWER, first]).splitlines()[2:] == [
        "| 1 | memory | torch | MB | 1,234 | 1,234 | 1,234 | 1 |",
        "| 2 | one ÷ another | numpy | times | 1.50 | 2.00 | 30.2 | 3 |",
    ]


def test_figures_of_several_commands_are_read_from_one_file(tmp_path: Path) -> None:
    file = tmp_path / "figures"
    assert read_figures(file) == ()
    append_figure(SLOWER, file)
    append_figure(SLOWER, file)
    assert read_figures(file) == (SLOWER, SLOWER)


def test_a_ratio_is_formed_within_each_turn() -> None:
    assert ratios([2.0, 9.0], [1.0, 3.0]) == [2.0, 3.0]
    with pytest.raises(ValueError, match="zip"):
        ratios([2.0, 9.0], [1.0])


def test_the_cost_of_a_hand_in_is_what_more_of_them_take_longer() -> None:
    small, large = Cost(2.0, 1.0), Cost(7.0, 21.0)
    assert large.per_hand_in(small, 10) == Cost(0.5, 2.0)
    with pytest.raises(ValueError, match="no longer than the small one"):
        small.per_hand_in(large, 10)
    with pytest.raises(ValueError, match="no larger"):
        large.per_hand_in(small, 0)


def test_the_table_is_put_between_the_marks_and_the_rest_of_the_page_stays() -> None:
    page = PAGE.read_text(encoding="utf-8")
    first = filled(page, "| a table |\n")
    assert filled(first, "| a table |\n") == first
    assert first.startswith(page.partition(BEGIN)[0]) and first.endswith(page.partition(END)[2])
    assert "| a table |" in first
    with pytest.raises(ValueError, match="no place for the table"):
        filled(f"{BEGIN} and no end", "")


def test_the_floor_compares_values_and_of_what_is_drawn_the_shape() -> None:
    fixed, drawn, other = np.arange(3.0), np.ones((2, 2)), np.zeros((2, 2))
    expected = Expected((fixed, drawn, 5), (fixed, other, 5), (1e-6, 1e-8))
    assert expected.met_by((fixed + 1e-9, np.full((2, 2), 7.0), 5))
    assert not expected.met_by((fixed + 1e-3, drawn, 5))
    assert not expected.met_by((fixed, np.ones(4), 5))
    assert not expected.met_by((fixed, drawn, 6))
    assert not expected.met_by((fixed, drawn))
    assert not expected.met_by(("ValueError", drawn, 5))
    assert not expected.met_by(None)


def test_the_questions_alone_are_all_that_decide_about_a_right_hand_in() -> None:
    reference = read_reference(ROOT / "solutions" / "numpy_single_head")
    seen = set()

    class Heard:
        def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
            seen.add(request.key)
            return reference.ask(request)

    def judge(plugin: GradingPlugin) -> None:
        judged = plugin.judged_by(Heard())
        assert all(step.passes for step in judged.steps)

    run_graders(GradingPlugin(reference, judge))
    asked = {request.key for part in everything_asked(reference) for request in part}
    in_the_chain = len(reference.exercise.steps)
    assert asked <= seen and 0 < len(seen - asked) <= in_the_chain < len(asked)


def test_figures_of_small_classes_do_not_get_on_the_page() -> None:
    before = PAGE.read_text(encoding="utf-8")
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    run = subprocess.run(
        # Were it let through, it would end soon: there is no such row.
        [sys.executable, str(HERE / "all_rows.py"), "--small", "--page", "--row", "99"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert run.returncode == 2 and "say nothing" in run.stderr
    assert PAGE.read_text(encoding="utf-8") == before
