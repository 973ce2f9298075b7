"""Code that a terminal shows can be copied: it is still the same Python at every width."""

from __future__ import annotations

import ast
import io
import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from autograder.authoring.rungs import FILE, Rungs, folded, read_rungs
from autograder.learning.climbing import PuzzleRow, gap_lines, next_hint, puzzle_lines
from autograder.learning.once import show_solution
from autograder.learning.progress import open_session
from autograder.values.exercise import GENERATED
from support.learner_workspace import ROOT, start
from support.typed_commands import typed

FILES = sorted(ROOT.glob(f"solutions/*/{GENERATED}/{FILE}"))
EXERCISES = tuple(path.parent.parent.name for path in FILES)
WIDTHS = (40, *(pytest.param(width, marks=pytest.mark.slow) for width in (20, 60, 80, 200)))


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return start(tmp_path_factory.mktemp("every") / "work", *EXERCISES)


def rungs() -> Iterator[Rungs]:
    for file in FILES:
        yield from read_rungs(file).values()


def same(code: str) -> str:
    """What Python reads in a statement, or in the first line of a compound one."""
    plain = textwrap.dedent(code)
    return ast.dump(ast.parse(plain + " pass" if plain.rstrip().endswith(":") else plain))


def recorded(width: int) -> Console:
    """A console of this width, without a color, whose text can be asked."""
    return Console(record=True, file=io.StringIO(), width=width, highlight=False)


def shown(width: int, *pieces: object) -> str:
    console = recorded(width)
    for piece in pieces:
        console.print(piece, crop=False)
    return console.export_text()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("exercise", EXERCISES)
def test_every_solution_is_python_as_it_is_shown(
    workspace: Path, exercise: str, width: int
) -> None:
    reference = (ROOT / "solutions" / exercise / "solution.py").read_text(encoding="utf-8")
    for step in open_session(workspace, print).workspace.exercise(exercise).steps:
        console, name = recorded(width), f"{exercise}.{step.name}"
        assert show_solution(workspace, name, lambda question: True, console, print)
        code = console.export_text()
        (definition,) = ast.parse(code).body
        own = [node for node in ast.parse(reference).body if ast.dump(node) == ast.dump(definition)]
        assert len(own) == 1, code


def test_a_solution_may_be_written_into_a_file(workspace: Path) -> None:
    name = "numpy_single_head.SingleHeadAttention"
    run = typed("hint", name, "--solution", "--yes", folder=workspace, COLUMNS="40")
    (layer,) = ast.parse(run.out).body
    assert run.code == 0 and isinstance(layer, ast.ClassDef)


@pytest.mark.parametrize("width", WIDTHS)
def test_every_line_to_sort_is_the_same_python_over_several_rows(width: int) -> None:
    seen = 0
    for each in rungs():
        for line in each.lines:
            code = shown(width, PuzzleRow(line.text, "  3")).removeprefix("    3  ")
            assert same(code) == same(line.text), code
            seen += 1
        rows, _, _ = shown(width, *puzzle_lines(each)).partition("  attn hint")
        first = [row for row in rows.splitlines() if re.match(r"  +\d+  ", row)]
        assert len(first) == len(each.lines), rows
        for line in each.with_gap():
            assert shown(width, PuzzleRow(line.text, "")) in shown(width, *gap_lines(each))
            assert same(shown(width, PuzzleRow(line.text, ""))) == same(line.text)
    assert seen > 100


def test_rows_are_no_wider_than_a_terminal_of_80_columns() -> None:
    for each in rungs():
        wide = [row for row in shown(80, *puzzle_lines(each)).splitlines() if len(row) > 80]
        assert wide == [], each.step


def test_names_without_brackets_get_some_only_where_they_must() -> None:
    short = "queries, keys = project(x, self.query_weights, self.key_weights)"
    assert folded(short, 80) == (short,)
    assert folded(short, 50)[0].startswith("queries, keys = project(x, ")
    long = "self.query_weights, self.key_weights, self.output_weights = initialize(rng)"
    assert folded(long, 60)[0] == "(self.query_weights, self.key_weights,"
    assert same("\n".join(folded(long, 60))) == same(long)


@pytest.mark.parametrize("code", ["not python at (all", "x = 'a text, with (commas, in, it)'"])
def test_what_cannot_be_folded_stays_as_it_is(code: str) -> None:
    assert folded(code, 10) == (code,)


@pytest.mark.parametrize("width", WIDTHS)
def test_similar_code_is_shown_as_it_is(tmp_path: Path, width: int) -> None:
    made = start(tmp_path / "work", *EXERCISES)
    record = made / ".attn" / "progress.json"
    for exercise in open_session(made, print).workspace.exercises:
        for step in exercise.steps:
            before = {exercise.name: {step.name: {"hints": len(step.hints) - 1}}}
            record.write_text(json.dumps({"exercises": before}), encoding="utf-8")
            console = recorded(width)
            next_hint(made, f"{exercise.name}.{step.name}", console, print)
            similar = textwrap.indent(step.similar.strip(), "  ")
            assert similar in console.export_text(), step.name
