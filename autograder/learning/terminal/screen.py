"""What a learner sees of a check: the steps, the one thing to look at, what to do next.

It has to read at 40 columns, without color and piped into a file: signs stand beside words, and
nothing depends on a width.
"""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from autograder.learning.runner.results import (
    HIDDEN,
    RIGHT,
    WRONG,
    CheckResult,
    Checkup,
    StepResult,
)
from autograder.learning.state.workspace import Task
from autograder.model.exercise import Step
from autograder.model.sanitize import clean
from autograder.model.verdict import Finding

STYLES = {RIGHT: "green", WRONG: "red"}
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
    for result in checkup.steps:
        console.print(step_line(result))
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


def step_line(result: StepResult) -> Text:
    """One step in one line: `✓ softmax (4/4)  2 points`."""
    line = Text.assemble((result.mark, STYLES.get(result.mark, "dim")), " ", result.step.name)
    line.append(f" ({result.passed}/{len(result.checks)})")
    return line.append(f"  {worth(result.step)}", "dim")


def tally(checkup: Checkup) -> str:
    """How many steps pass, and what they are worth."""
    right = sum(result.passes for result in checkup.steps)
    return (
        f"{right} of {len(checkup.steps)} steps pass, "
        f"{points(checkup.points)} of {points(checkup.max_points)} points."
    )


def points(number: float) -> str:
    """Write points without an idle fraction."""
    return f"{number:g}"


def worth(step: Step) -> str:
    """What a step is worth: `2 points`, or `bonus`."""
    return f"{step.points:g} point{'' if step.points == 1 else 's'}" if step.points else "bonus"


def show_trouble(console: Console, trouble: Finding) -> None:
    """Show what kept a part of the file from being run."""
    console.print(Text(trouble.fact, style="red"))
    if trouble.look:
        console.print(Padding(Text(trouble.look), (0, 0, 0, 2), expand=False))


def show_finding(console: Console, result: StepResult, rung: int = 0) -> None:
    """Show the one thing to look at in a step, and the hint on `rung` (from 1; 0 for none)."""
    failing = next(check for check in result.checks if check.finding)
    assert failing.finding
    finding = failing.finding
    for words in (finding.right, finding.fact, finding.look, *_system(finding)):
        if words:
            console.print(Padding(Text(words), (0, 0, 0, 2), expand=False))
    show_printed(console, failing.printed)
    if rung and result.step.hints:
        console.print(Padding(hint(result.step, rung), (1, 0, 0, 2), expand=False))


def _system(finding: Finding) -> Iterable[str]:
    """What the system said about a crash; what a comparison saw stays folded."""
    return finding.details if finding.outcome.value == "crashed" else ()


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
    checks: Iterable[CheckResult] = (one for result in checkup.steps for one in result.checks)
    return "\n".join(text for text in (checkup.printed, *(one.printed for one in checks)) if text)


def next_commands(task: Task, result: StepResult) -> tuple[Text, ...]:
    """What to type next for a step that does not pass."""
    name = result.step.name
    lines = [command(f"attn check {name}", "after your next change")]
    if result.step.hints:
        lines.append(command(f"attn hint {name}", "for the next hint"))
    if any(check.arrays for check in result.checks if check.finding):
        lines.append(command(f"attn show {name}", "to see yours beside what is expected"))
    return tuple(lines)


def command(typed: str, why: str = "") -> Text:
    """A command to type, and what it is for."""
    line = Text.assemble("  ", (typed, "bold cyan"))
    return line.append(f"  {why}", "dim") if why else line
