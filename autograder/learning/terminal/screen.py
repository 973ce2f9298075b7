"""What a learner sees of a check: the steps, the one thing to look at, what to do next.

It has to read at 40 columns, without color and piped into a file: signs stand beside words, and
nothing depends on a width.
"""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from autograder.learning.runner.results import CheckRun, Checkup, StepRun
from autograder.learning.state.workspace import Task
from autograder.model.exercise import Step
from autograder.model.sanitize import clean
from autograder.model.symbols import HIDDEN, key, mark, number, style
from autograder.model.verdict import Finding, Outcome
from autograder.reports.finding import FindingText, finding_text, step_text

# Their signs need no key beside a learner's steps.
PLAIN = (Outcome.PASSED, Outcome.WRONG_VALUES, Outcome.NOT_WRITTEN)
PRINTED_LINES = 12
PRINTED = 2000  # characters


def show_checkup(
    console: Console, checkup: Checkup, task: Task, following: str, rung: int = 1
) -> None:
    """Show the answer to `attn check`, with the hint on `rung` (from 1) of the step to look at.

    `following` is what to type when all is right.
    """
    console.print(Text(f"checking {checkup.file.name}"))
    for remark in checkup.remarks:
        console.print(Text(remark))
    for trouble in checkup.troubles:
        show_trouble(console, trouble)
    for run in checkup.steps:
        console.print(step_line(run))
    signs = key(run.verdict.outcome for run in checkup.steps)
    if not set(signs) <= set(key(PLAIN)):
        console.print(Text("\n" + "   ".join(signs), style="dim"))
    console.print()
    if len(checkup.steps) > 1:
        console.print(Text(tally(checkup)))
    look = checkup.next
    if look is None:
        console.print(Text(HIDDEN))
        show_printed(console, _all_printed(checkup))
        console.print(Text("Go on with:"))
        console.print(command(following))
        return
    console.print(Text(f"Next: {look.step.name}", style="bold"))
    show_finding(console, look, rung)
    console.print()
    for line in next_commands(task, look):
        console.print(line)


def step_line(run: StepRun) -> Text:
    """One step in one line: `✓ softmax (4/4)  2 points`."""
    line = Text.assemble(sign(run.verdict.outcome), " ", run.step.name)
    line.append(f" ({run.verdict.checks_passed}/{len(run.checks)})")
    return line.append(f"  {worth(run.step)}", "dim")


def sign(outcome: Outcome) -> Text:
    """The sign of an outcome in its color."""
    return Text(mark(outcome).sign, style(mark(outcome).sign))


def tally(checkup: Checkup) -> str:
    """How many steps pass, and what they are worth."""
    right = sum(run.verdict.passes for run in checkup.steps)
    return (
        f"{right} of {len(checkup.steps)} steps pass, "
        f"{number(checkup.points)} of {number(checkup.max_points)} points."
    )


def worth(step: Step) -> str:
    """What a step is worth: `2 points`, or `bonus`."""
    noun = "point" if step.points == 1 else "points"
    return f"{number(step.points)} {noun}" if step.points else "bonus"


def show_trouble(console: Console, trouble: Finding) -> None:
    """Show what kept a part of the file from being run."""
    text = finding_text(trouble)
    console.print(Text(text.fact, style="red"))
    for words in (text.look, *_system(trouble.outcome, text)):
        _print_indented(console, words)


def show_finding(console: Console, run: StepRun, rung: int = 0) -> None:
    """Show the one thing to look at in a step, and the hint on `rung` (from 1; 0 for none)."""
    text = step_text(run.verdict).finding
    for words in (*text.parts, *_system(run.verdict.outcome, text)):
        _print_indented(console, words)
    show_printed(console, run.failing.printed if run.failing else "")
    if rung and run.step.hints:
        console.print(Padding(hint(run.step, rung), (1, 0, 0, 2), expand=False))


def _print_indented(console: Console, words: str) -> None:
    if words:
        console.print(Padding(Text(words), (0, 0, 0, 2), expand=False))


def _system(outcome: Outcome, text: FindingText) -> Iterable[str]:
    """What the system said about a crash; what a comparison saw stays folded."""
    return text.details if outcome is Outcome.CRASHED else ()


def hint(step: Step, number: int) -> Text:
    """One rung of a step's hints, from 1."""
    return Text(f"Hint {number} of {len(step.hints)}: {step.hints[number - 1]}", style="dim")


def show_printed(console: Console, text: str) -> None:
    """Show what the learner's code printed, set apart and cut."""
    lines = clean(text, PRINTED).rstrip().splitlines()
    if not lines:
        return
    console.print(Padding(Text("Your code printed:", style="dim"), (1, 0, 0, 2), expand=False))
    for line in lines[:PRINTED_LINES]:
        console.print(Text(f"  | {line}"), soft_wrap=True)
    if len(lines) > PRINTED_LINES:
        console.print(Text(f"  | … and {len(lines) - PRINTED_LINES} more lines"))


def _all_printed(checkup: Checkup) -> str:
    checks: Iterable[CheckRun] = (check for run in checkup.steps for check in run.checks)
    every = (checkup.printed, *(check.printed for check in checks))
    return "\n".join(text for text in every if text)


def next_commands(task: Task, run: StepRun) -> tuple[Text, ...]:
    """What to type next for a step that does not pass."""
    name = run.step.name
    lines = [command(f"attn check {name}", "after your next change")]
    if run.step.hints:
        lines.append(command(f"attn hint {name}", "for the next hint"))
    if any(check.arrays for check in run.checks if not check.verdict.passes):
        lines.append(command(f"attn show {name}", "to see yours beside what is expected"))
    return tuple(lines)


def command(typed: str, why: str = "") -> Text:
    """A command to type, and what it is for."""
    line = Text.assemble("  ", (typed, "bold cyan"))
    return line.append(f"  {why}", "dim") if why else line
