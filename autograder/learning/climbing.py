"""`attn hint`: the hints in words, then lines to sort, then a gap to fill."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from autograder.authoring.rungs import PuzzleLine, Rungs, folded
from autograder.errors import KitError
from autograder.learning.process import Child
from autograder.learning.progress import LearnerSession, Say, open_session
from autograder.learning.results import Checkup
from autograder.learning.screen import (
    Indented,
    command,
    finding_pieces,
    hint,
    show,
    sign,
    trouble_words,
    unbroken,
)
from autograder.learning.step_lesson import LineOrder
from autograder.learning.workspace import WITHOUT, code_before, solution_folder, step_rungs
from autograder.values.exercise import Exercise, Step
from autograder.values.verdict import Outcome

# The two rungs after the hints in words: lines to sort, and the solution with a gap.

NUMBER = 3  # columns


def puzzle_lines(rungs: Rungs, name: str = "") -> Iterator[RenderableType]:
    """Give the lines to choose from, with their numbers, and how to answer.

    `name` is what a command calls the step, if not by its name alone.
    """
    count = len(rungs.true)
    yield Indented(Text(rungs.task), 0, 0)
    numbered = {line: f"{number:>{NUMBER}}" for number, line in enumerate(rungs.lines, 1)}
    yield from _by_part(rungs, rungs.lines, numbered)
    example = " ".join(str(number) for number in range(1, count + 1))
    typed = f"attn hint {name or rungs.step} --order {example}"
    yield command(typed, "tries these: type your own numbers")


def gap_lines(rungs: Rungs) -> Iterator[RenderableType]:
    """Give the lines of the solution, one of them with a gap."""
    yield Indented(Text(rungs.gap_task), 0, 0)
    yield from _by_part(rungs, rungs.with_gap(), {})
    yield Indented(Text("Write the step in your own file."), 0, 0)


def _by_part(
    rungs: Rungs, lines: Sequence[PuzzleLine], numbers: dict[PuzzleLine, str]
) -> Iterator[RenderableType]:
    for part in rungs.parts:
        if len(rungs.parts) > 1:
            yield Indented(Text(f"in {part}:", "bold"), 2, 2)
        for line in lines:
            if line.part == part:
                yield PuzzleRow(line.text, numbers.get(line, ""))


@dataclass(frozen=True)
class PuzzleRow:
    """A line of code behind its number; a long one is folded inside its brackets.

    What belongs to an `if` stands behind its number, indented.
    """

    code: str
    number: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Give the lines."""
        margin = "  " + self.number + "  " * bool(self.number)
        for place, line in enumerate(folded(self.code, options.max_width - len(margin))):
            head = Text(" " * len(margin)) if place else Text(margin, "bold cyan")
            yield unbroken(head.append(line, ""))


def next_hint(
    folder: Path, words: str | None, console: Console, say: Say, *, again: bool = False
) -> None:
    """Show the next hint for a step, or all when none are left; or the last one `again`."""
    session = open_session(folder, say)
    exercise, step = session.step(words)
    pieces = last_hint(session, exercise, step) if again else give_hint(session, exercise, step)[1]
    show(console, pieces)


def last_hint(
    session: LearnerSession, exercise: Exercise, step: Step
) -> tuple[RenderableType, ...]:
    """Return the lines of the last hint that was given for a step."""
    rungs, known = step_rungs(session.workspace, exercise, step), session.known(exercise, step)
    highest = len(step.hints) + _higher(rungs)
    number = min(max(known.hints, known.seen_hints), highest)
    name = session.name_of(exercise, step)
    if number:
        return _told(step, rungs, number, name)
    words = Text(f"There was no hint for {step.name} yet.")
    return (words, command(f"attn hint {name}", "gives the first"))


def give_hint(
    session: LearnerSession, exercise: Exercise, step: Step
) -> tuple[LearnerSession, tuple[RenderableType, ...]]:
    """Climb one rung for a step: save that it was given, and return its lines."""
    rungs = step_rungs(session.workspace, exercise, step)
    known, count = session.known(exercise, step), len(step.hints)
    highest = count + _higher(rungs)
    if max(known.hints, known.seen_hints) >= highest:
        every = (piece for n in range(1, count + 1) for piece in hint(step, n, highest))
        return session, (_title(step), *every, *_after_all(session, exercise, step, rungs))
    number = max(known.hints, known.seen_hints) + 1
    name = session.name_of(exercise, step)
    if known.passed:  # afterwards, to look is no help
        seen = replace(known, seen_hints=number)
        return session.noted(exercise, step, seen), _told(step, rungs, number, name)
    session = session.noted(exercise, step, replace(known, hints=number))
    return session, _told(step, rungs, number, name)


def _told(step: Step, rungs: Rungs | None, number: int, name: str) -> tuple[RenderableType, ...]:
    highest = len(step.hints) + _higher(rungs)
    left = highest - number
    more = f"{left} more if you ask again." if left else "That was the last one."
    if rungs and number == len(step.hints):
        more = f"{left} more if you ask again: lines of code to sort, then the step with a gap."
    rung = _rung(step, rungs, number, highest, name)
    return (_title(step), *rung, Indented(Text(more), 0, 2))


def _title(step: Step) -> Indented:
    return Indented(Text(f"{step.name}: {step.title}", style="bold"), 0, 2)


def unasked_hint(
    session: LearnerSession, checkup: Checkup
) -> tuple[LearnerSession, tuple[RenderableType, ...]]:
    """Note the first hint as seen, and return it, for a check that can say nothing more.

    Where a check names what is wrong, the hint would be about something else. It is shown until the
    first hint is asked for, and is not counted as help.
    """
    run = checkup.next
    if run is None or not run.step.hints or checkup.troubles:
        return session, ()
    known, finding = session.known(checkup.exercise, run.step), run.verdict.finding
    not_written = run.verdict.outcome is Outcome.NOT_WRITTEN
    unexplained = finding is not None and finding.vague and not finding.misconception
    if known.hints or not (not_written or unexplained):
        return session, ()
    rungs = step_rungs(session.workspace, checkup.exercise, run.step)
    session = session.noted(checkup.exercise, run.step, replace(known, seen_hints=1))
    return session, (*hint(run.step, 1, len(run.step.hints) + _higher(rungs)), Text())


def _higher(rungs: Rungs | None) -> int:
    """Return how many rungs there are above the hints in words."""
    return 0 if rungs is None else 1 if rungs.gap is None else 2


def _rung(
    step: Step, rungs: Rungs | None, number: int, highest: int, name: str
) -> tuple[RenderableType, ...]:
    if number <= len(step.hints) or rungs is None:
        return tuple(hint(step, number, highest))
    head = Text(f"Hint {number} of {highest}:", "dim")
    lines = puzzle_lines(rungs, name) if number == len(step.hints) + 1 else gap_lines(rungs)
    return (head, *lines)


def _after_all(
    session: LearnerSession, exercise: Exercise, step: Step, rungs: Rungs | None
) -> tuple[RenderableType, ...]:
    if rungs:
        name = session.name_of(exercise, step)
        return (
            *(gap_lines(rungs) if rungs.gap is not None else ()),
            Indented(Text("Those are all the hints for this step."), 0, 0),
            command(f"attn hint {name} --order", "shows the lines to sort again"),
            command(f"attn hint {name} --solution", "shows the solution"),
        )
    words = "Those are all the hints for this step."
    if step.hints and solution_folder(session.workspace, exercise) is None:
        words = f"{words} {WITHOUT}, so there are no lines to sort."
    return (Indented(Text(words), 0, 0),)


# `attn hint --order`: the lines of a step to sort, and the answer to an order of them.


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
        show(console, puzzle_lines(rungs, name))
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
            f"attn hint {name} --order shows them",
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
