"""`attn puzzle`: the lines of a step to sort, and the answer to an order of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from autograder.errors import KitError
from autograder.ladder.rungs import PuzzleLine, Rungs
from autograder.learning.runner.line_order import LineOrder
from autograder.learning.runner.process import Child
from autograder.learning.runner.results import Checkup
from autograder.learning.state.answer_key import (
    WITHOUT,
    code_before,
    solution_folder,
    step_rungs,
)
from autograder.learning.state.session import Say, open_session
from autograder.learning.terminal.indented import Indented
from autograder.learning.terminal.rung_screen import puzzle_lines
from autograder.learning.terminal.screen import command, finding_pieces, show, sign, trouble_words
from autograder.model.verdict import Outcome


def solve_puzzle(
    folder: Path, words: str | None, order: Sequence[str], console: Console, say: Say
) -> bool:
    """Show the lines to sort of a step, or run them in the order of these numbers.

    Return whether there are such lines and, if an order was given, whether it is right. Raises
    `KitError` for numbers that are not on the list.
    """
    session = open_session(folder, say)
    exercise, step = session.step(words)
    rungs, name = step_rungs(session.workspace, exercise, step), session.name_of(exercise, step)
    if rungs is None:
        missing = solution_folder(session.workspace, exercise) is None
        why = WITHOUT if missing else f"No lines were made for {step.name}"
        console.print(Text(f"{why}, so there are none to sort."))
        console.print(command(f"attn hint {name}", "tells you more each time"))
        return False
    if not order:
        for line in puzzle_lines(rungs, name):
            console.print(line, crop=False)
        return True
    solution = solution_folder(session.workspace, exercise)
    assert solution is not None
    lines = LineOrder(
        exercise, rungs, _chosen(rungs, order, name), code_before(solution, step.name)
    )
    with Child(exercise) as child:
        checkup = lines.checked(child)
    _show_answer(console, checkup, lines, name)
    return lines.is_right(checkup)


def _chosen(rungs: Rungs, order: Sequence[str], name: str) -> tuple[PuzzleLine, ...]:
    numbered = {str(number): line for number, line in enumerate(rungs.lines, 1)}
    numbers = [number for each in order for number in each.split(",") if number]
    wrong = next((each for each in numbers if each not in numbered), None)
    twice = next((each for each in numbers if numbers.count(each) > 1), None)
    if not numbers or wrong or twice:
        fact = (
            f"line {twice} is there twice" if twice else f"there is no line {wrong or ''}".strip()
        )
        raise KitError(
            fact,
            place=f"the lines to sort of {rungs.step}",
            cure=f"use numbers from 1 to {len(numbered)}, each at most once; "
            f"attn puzzle {name} shows them",
        )
    return tuple(numbered[number] for number in numbers)


def _show_answer(console: Console, checkup: Checkup, lines: LineOrder, name: str) -> None:
    (run,) = checkup.steps
    first, *others = lines.words(checkup)
    if not run.verdict.passes:
        console.print(Text.assemble(sign(run.verdict.outcome), f" {first}"))
        for words in others:
            console.print(Indented(Text(words)))
        for trouble in checkup.troubles:
            show(console, trouble_words(trouble))
        if not checkup.troubles:
            show(console, finding_pieces(run))
    elif lines.more > 0:
        console.print(Text(first))
    else:
        console.print(sign(Outcome.PASSED).append(f" {first}"))
        console.print(Text("Now write it in your own file, without looking here."))
        console.print(command(f"attn check {name}", "checks it there"))
