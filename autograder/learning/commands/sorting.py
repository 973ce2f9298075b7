"""`attn puzzle`: the lines of a step to sort, and the answer to an order of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from autograder.errors import KitError
from autograder.ladder.rungs import PuzzleLine, Rungs
from autograder.learning.runner.checking import Checking
from autograder.learning.runner.process import Child
from autograder.learning.runner.results import CheckRun, Checkup, StepRun
from autograder.learning.state.answer_key import (
    WITHOUT,
    code_before,
    solution_folder,
    step_rungs,
)
from autograder.learning.state.session import LearnerSession, Say, open_session
from autograder.learning.terminal.indented import Indented
from autograder.learning.terminal.rung_screen import puzzle_lines
from autograder.learning.terminal.screen import command, finding_pieces, show, sign, trouble_words
from autograder.model.exercise import SOLUTION, Exercise, Step
from autograder.model.verdict import Finding, Outcome
from autograder.submission.reading import Submission


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
    chosen = _chosen(rungs, order, name)
    checkup = _checked(session, exercise, step, rungs.code(chosen))
    _show_answer(console, checkup, rungs, chosen, name)
    return checkup.passes and len(chosen) == len(rungs.true)


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


def _checked(session: LearnerSession, exercise: Exercise, step: Step, code: str) -> Checkup:
    """Ask the worked examples of lines that were put together, below the solution's other steps."""
    folder = solution_folder(session.workspace, exercise)
    assert folder is not None
    cells = (code_before(folder, step.name), code)
    submission = Submission("you", exercise.name, cells, folder / SOLUTION)
    # No file has these names: Python would quote a line of it where it cannot read the code.
    names = ("<the steps before>", f"<the lines of {step.name}>")
    checking = Checking(exercise, submission, (step,), names=names)
    with Child(exercise) as child:
        return checking.run(child)


def _numbered_as_shown(found: Finding, rungs: Rungs, chosen: Sequence[PuzzleLine]) -> Finding:
    """Return a finding in which a line has the number that it has on the list."""
    shown = {line: number for number, line in enumerate(rungs.lines, 1)}
    numbers = {place: shown[line] for place, line in rungs.lines_of_code(chosen).items()}

    def renumbered(text: str) -> str:
        return re.sub(
            r"(?i)\b(line )(\d+)\b",
            lambda told: f"{told[1]}{numbers.get(int(told[2]), told[2])}",
            text,
        )

    return replace(found, fact=renumbered(found.fact), look=renumbered(found.look))


def _numbered_check(check: CheckRun, rungs: Rungs, chosen: Sequence[PuzzleLine]) -> CheckRun:
    found = check.verdict.finding
    told = _numbered_as_shown(found, rungs, chosen) if found else None
    return replace(check, verdict=replace(check.verdict, finding=told))


def _show_answer(
    console: Console, checkup: Checkup, rungs: Rungs, chosen: Sequence[PuzzleLine], name: str
) -> None:
    (run,) = checkup.steps
    more = len(chosen) - len(rungs.true)
    if run.verdict.passes and more <= 0:
        line = sign(Outcome.PASSED).append(f" Right: these lines make {rungs.step}.")
        console.print(line)
        console.print(Text("Now write it in your own file, without looking here."))
        console.print(command(f"attn check {name}", "checks it there"))
    elif run.verdict.passes:
        left = "one line is" if more == 1 else f"{more} lines are"
        console.print(Text(f"It gives the right result, but {left} not needed. Which?"))
    else:
        console.print(Text.assemble(sign(run.verdict.outcome), " Not yet."))
        if more:
            words = f"You chose {_lines(len(chosen))}, and the step has {len(rungs.true)}."
            console.print(Indented(Text(words)))
        for trouble in checkup.troubles:
            show(console, trouble_words(_numbered_as_shown(trouble, rungs, chosen)))
        if not checkup.troubles:
            checks = tuple(_numbered_check(check, rungs, chosen) for check in run.checks)
            show(console, finding_pieces(StepRun.of(run.step, checks)))


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"
