"""What a learner sees after a check: the steps, the one thing to look at, what to do next.

It must be readable in 40 columns, without color, and piped into a file. So signs stand beside
words, and nothing depends on the width.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from autograder.learning.progress import LearnerSession
from autograder.learning.results import CheckRun, Checkup, StepRun
from autograder.learning.workspace import Task, beyond_a_step, beyond_the_checks
from autograder.reports.finding import FindingText, finding_text, step_text
from autograder.values.exercise import Exercise, Step
from autograder.values.sanitize import clean
from autograder.values.symbols import BY_LAYER, SIMILAR, count, key, mark, number, step_mark, style
from autograder.values.value_file import read_as
from autograder.values.verdict import Finding, Outcome

# Text whose lines stay indented where they are wrapped, and code, which is never wrapped.


@dataclass(frozen=True)
class Indented:
    """A text with `first` spaces before its first line and `later` before all others."""

    text: Text
    first: int = 2
    later: int = 2

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Give the lines of the text, wrapped to the width of the console."""
        width = max(options.max_width - max(self.first, self.later), 1)
        for place, line in enumerate(self.text.wrap(console, width)):
            line.rstrip()
            yield Text(" " * (self.later if place else self.first)).append_text(line)


@dataclass(frozen=True)
class CodeRows:
    """Lines of code behind `margin` spaces, which a copy leaves as they are.

    Print it with `crop=False`: a line that is too long is for the terminal to break.
    """

    code: str
    margin: int = 2

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Give each line as it is."""
        for line in self.code.split("\n"):
            yield unbroken(Text(" " * self.margin + line if line else ""))


def unbroken(text: Text) -> Text:
    """Return a text that is not wrapped."""
    text.no_wrap, text.overflow = True, "ignore"
    return text


# The outcomes whose signs need no key.
PLAIN = (Outcome.PASSED, Outcome.WRONG_VALUES, Outcome.NOT_WRITTEN)
PRINTED_LINES = 12
PRINTED = 2000  # characters


def show_checkup(
    console: Console,
    checkup: Checkup,
    task: Task,
    following: str,
    first_hint: Iterable[RenderableType] = (),
    picture: Iterable[RenderableType] = (),
    question: str = "",
    name: str = "",
) -> None:
    """Show the answer to `attn check`, with these lines of a hint for the step to look at.

    `following` is the command to type when everything is right; the `picture` of the step that was
    asked about, and its `question`, stand before it. `name` is what a command calls that step, or
    the step to look at, if not by its name alone.
    """
    console.print(Text(f"checking {checkup.file.name}"))
    for remark in checkup.remarks:
        console.print(Text(remark))
    look = checkup.next
    show(console, trouble_pieces(checkup, look))
    for run in checkup.steps:
        console.print(Indented(step_line(run), 0, 4))
    signs = signs_of(checkup)
    if not set(signs) <= set(key(PLAIN)):
        console.print(Text("\n" + "   ".join(signs), style="dim"))
    console.print()
    if len(checkup.steps) > 1:
        console.print(Text(tally(checkup)))
    if look is None:
        beyond = beyond_a_step if task.step else beyond_the_checks
        if words := beyond(checkup.exercise):
            console.print(Text(words))
        for run in checkup.steps:
            if run.elsewhere or (task.step and run.verdict.by_layer):
                show(console, told_pieces(run))
        show(console, printed_pieces(_all_printed(checkup)))
        show(console, picture)
        if question:
            console.print(Indented(Text(question), 0, 2))
            named = name or checkup.steps[0].step.name
            console.print(command(f"attn read {named} --answers", "the answer"))
        console.print(Text("Continue with:"))
        console.print(command(following))
        return
    console.print(Text(f"Next: {look.step.name}", style="bold"))
    show(console, finding_pieces(look))
    console.print()
    show(console, (*first_hint, *next_commands(look, name)))


def step_line(run: StepRun) -> Text:
    """Return a line about a step: `✓ softmax (4/4)  2 points`."""
    line = Text.assemble(sign_of(run), " ", run.step.name)
    if not run.verdict.by_layer:
        line.append(f" ({run.checks_passed}/{run.total})")
    return line.append(f"  {worth(run.step)}", "dim")


def signs_of(checkup: Checkup) -> tuple[str, ...]:
    """Return what the signs in a checkup stand for."""
    by_layer = [BY_LAYER] if any(run.verdict.by_layer for run in checkup.steps) else []
    outcomes = (run.verdict.outcome for run in checkup.steps if not run.verdict.by_layer)
    return key(outcomes, *by_layer)


def sign_of(run: StepRun) -> Text:
    """Return the sign of a step in its color."""
    found = step_mark(run.verdict).sign
    return Text(found, style(found))


def sign(outcome: Outcome) -> Text:
    """Return the sign of an outcome in its color."""
    return Text(mark(outcome).sign, style(mark(outcome).sign))


def tally(checkup: Checkup) -> str:
    """Return how many steps pass, and what they are worth if they are worth anything."""
    right = sum(run.verdict.passes for run in checkup.steps)
    more = sum(run.verdict.by_layer for run in checkup.steps)
    does = f", and your layer does the work of {more} more" if more else ""
    points = f", {number(checkup.points)} of {number(checkup.max_points)} points"
    return f"{right} of {len(checkup.steps)} steps pass{does}{points * bool(checkup.max_points)}."


def worth(step: Step) -> str:
    """Return what a step is worth: `2 points`, or `bonus`."""
    return count(step.points, "point") if step.points else "bonus"


def show(console: Console, pieces: Iterable[RenderableType]) -> None:
    """Print pieces, one below the other."""
    for piece in pieces:
        console.print(piece, crop=False)


def trouble_pieces(checkup: Checkup, look: StepRun | None) -> Iterator[RenderableType]:
    """Yield what kept parts of the file from being run, unless the step to look at says it."""
    finding = look.verdict.finding if look else None
    for trouble in checkup.troubles:
        if finding is None or trouble.fact != finding.fact:
            yield from trouble_words(trouble)


def trouble_words(trouble: Finding) -> Iterator[RenderableType]:
    """Yield what kept a part of the file from being run."""
    text = finding_text(trouble)
    yield Text(text.fact, style="red")
    yield from _paragraphs((text.look, *_system(trouble.outcome, text)))


def finding_pieces(run: StepRun) -> Iterator[RenderableType]:
    """Yield the one thing to look at in a step, and what it printed."""
    yield from told_pieces(run)
    yield from printed_pieces(run.failing.printed if run.failing else "")


def told_pieces(run: StepRun) -> Iterator[RenderableType]:
    """Yield the one thing to look at in a step."""
    text = step_text(run.verdict).finding
    yield from _paragraphs((*text.parts, *_system(run.verdict.outcome, text)))
    # What is wrong may be told by the same token already.
    if run.token and not any(run.token in part for part in text.parts):
        yield from _paragraphs((f"In the example of the text, {run.token}",))


def _paragraphs(texts: Iterable[str]) -> Iterator[RenderableType]:
    return (Indented(Text(words)) for words in texts if words)


def _system(outcome: Outcome, text: FindingText) -> Iterable[str]:
    """Return what the system said about a crash; details of comparisons are not shown."""
    return text.details if outcome is Outcome.CRASHED else ()


def hint(step: Step, number: int, highest: int) -> Iterator[RenderableType]:
    """Give hint `number` (from 1) of `highest`; below the last one in words stands similar code."""
    words = f"Hint {number} of {highest}: {step.hints[number - 1]}"
    yield Indented(Text(words, "dim"), 0, 2)
    if number == len(step.hints) and step.similar.strip():
        yield Indented(Text(SIMILAR, "dim"))
        yield CodeRows(step.similar.strip())


def printed_pieces(text: str) -> Iterator[RenderableType]:
    """Yield what the learner's code printed, indented and cut."""
    lines = clean(text, PRINTED).rstrip().splitlines()
    if not lines:
        return
    yield Text()
    yield Indented(Text("Your code printed:", style="dim"))
    for line in lines[:PRINTED_LINES]:
        yield CodeRows(f"| {line}")
    if len(lines) > PRINTED_LINES:
        yield CodeRows(f"| … and {len(lines) - PRINTED_LINES} more lines")


def _all_printed(checkup: Checkup) -> str:
    checks: Iterable[CheckRun] = (check for run in checkup.steps for check in run.checks)
    every = (checkup.printed, *(check.printed for check in checks))
    return "\n".join(text.removesuffix("\n") for text in every if text)


def next_commands(run: StepRun, name: str = "") -> tuple[Indented, ...]:
    """Return the commands to type next for a step that does not pass, which they call `name`."""
    name = name or run.step.name
    lines = [command(f"attn check {name}", "after your next change")]
    if run.step.hints:
        lines.append(command(f"attn hint {name}", "for the next hint"))
    failing = (check for check in run.checks if not check.verdict.passes)
    if any(check.drawn.get("given") for check in failing):
        lines.append(command(f"attn show {name}", "to see your result beside the expected one"))
    return tuple(lines)


def command(typed: str, why: str = "") -> Indented:
    """Return a command to type, alone on its line so that it can be copied, and what it is for."""
    line = Text(typed, "bold cyan")
    return Indented(Text.assemble(line, (f"\n{why}" if why else "", "dim")), later=4)


def closing_commands(exercise: Exercise) -> Iterator[Indented]:
    """Give the commands for who has every step of an exercise."""
    if exercise.plays:
        yield command(f"attn play {exercise.name}", "your layer at work")
    yield command(f"attn finish {exercise.name}", "what you built, and what to read next")


# How far the learner is: a bar for each exercise, and the steps of the current one.

WIDTH = 10
HARDEST = 3
FULL, EMPTY = "━", "·"


def bar(done: int, of: int) -> Text:
    """Return a bar that can be read without color: `━━━━━··········`."""
    full = round(WIDTH * done / of) if of else 0
    full = min(max(full, 1 if done else 0), WIDTH - (done < of))
    return Text.assemble((FULL * full, "green"), (EMPTY * (WIDTH - full), "dim"))


def overall(session: LearnerSession) -> tuple[int, int]:
    """Return how many steps passed when last checked, and how many there are, in all exercises.

    Optional exercises do not count, unless there are no others.
    """
    there = session.workspace.exercises
    every = [each for each in there if not each.optional] or there
    return sum(len(session.progress.passed(each)) for each in every), sum(
        len(each.steps) for each in every
    )


def listed(session: LearnerSession, current: Exercise) -> tuple[RenderableType, ...]:
    """Return three lines for every exercise, and the steps of the current one."""
    lines: list[RenderableType] = []
    for exercise in session.workspace.exercises:
        lines += _of_exercise(session, exercise)
        if exercise.name == current.name:
            lines += (_of_step(session, exercise, place) for place in range(len(exercise.steps)))
    done, of = overall(session)
    return (*lines, Text(f"{done} of {of} steps passed when last checked."))


def listed_steps(session: LearnerSession, exercise: Exercise) -> tuple[RenderableType, ...]:
    """Return a line for every step of an exercise, and one for all of them."""
    steps = (_of_step(session, exercise, place) for place in range(len(exercise.steps)))
    passed, of = len(session.progress.passed(exercise)), len(exercise.steps)
    return (*steps, Text(f"{passed} of {of} steps passed when last checked."))


def _of_exercise(session: LearnerSession, exercise: Exercise) -> tuple[RenderableType, ...]:
    passed, of = len(session.progress.passed(exercise)), len(exercise.steps)
    line = Text.assemble(bar(passed, of), f" {passed} of {of} steps,")
    line.append(f" {points_words(session, exercise)}")
    about = f"{_left(session, exercise)}, difficulty {exercise.difficulty} of {HARDEST}"
    name = Text.assemble((exercise.name, "bold"), "  ", (exercise.title, "dim"))
    return Indented(name, 0), Indented(line, later=4), Indented(Text(about, style="dim"), later=4)


def points_words(session: LearnerSession, exercise: Exercise) -> str:
    """Return the points so far: `3 of 22 points`, or `optional` where there are none to get."""
    if not exercise.points:
        return "optional"
    return f"{number(session.progress.points(exercise))} of {number(exercise.points)} points"


def _left(session: LearnerSession, exercise: Exercise) -> str:
    passed = session.progress.passed(exercise)
    minutes = sum(step.minutes for step in exercise.steps if step.name not in passed)
    return f"about {minutes} minutes left" if minutes else "done"


def _of_step(session: LearnerSession, exercise: Exercise, place: int) -> Indented:
    step = exercise.steps[place]
    known = session.known(exercise, step)
    last = Outcome(known.outcome) if known.outcome else Outcome.NOT_WRITTEN
    by_layer = Text(BY_LAYER.sign, style(BY_LAYER.sign)) if known.by_layer else None
    line = Text.assemble(by_layer or sign(Outcome.PASSED if known.passed else last))
    line.append(f" {place + 1} {step.name}")
    used = f", {count(known.hints, 'hint')}" if known.hints else ""
    solution = ", solution shown" if known.solution else ""
    line.append(f"  {worth(step)}, about {step.minutes} minutes{used}{solution}", "dim")
    return Indented(line, later=6)


# Heat maps of a step: yours, expected, the difference, and what it was called with. Only who draws
# waits for NumPy.


def drawn(run: StepRun) -> tuple[RenderableType, ...]:
    """Return what to print for a step: its heat maps, or why there are none."""
    from autograder.learning.step_pictures import CheckPicture, chosen
    from autograder.reports.terminal_text import Blocks

    check = chosen(run)
    if check is None:
        name = run.step.name
        if run.step.random:
            return (Text(f"{name} draws random numbers: there is nothing to compare them with."),)
        return (Text(f"There is nothing to draw for {name} yet."),)
    pieces: list[RenderableType] = [Text(f"The check: {check.verdict.title}.")]
    picture = read_as(CheckPicture, check.drawn)
    if check.verdict.finding and not picture.given:
        pieces += [Text(), Text(check.verdict.finding.fact)]  # why there is nothing to draw
    for place, each in enumerate(picture.arrays):
        pieces += [Text()] * bool(place)
        pieces += [Text(f"{each.name}: {each.words}" if each.name else each.words)]
        if each.row:  # by itself, since it fits the smallest screen
            pieces += [Blocks(each.row), Text()]
        pieces += [Blocks(each.panels)] if each.panels else []
    if check.inputs:
        pieces += [Text(), Text(f"The input: {'; '.join(check.inputs)}.")]
        pieces += [Blocks(picture.inputs)] if picture.inputs else []
    return tuple(pieces)


def own_drawn(run: StepRun) -> tuple[RenderableType, ...]:
    """Return what to print for a step that passes: the row that the text follows, or a heat map."""
    from autograder.learning.step_pictures import picture_of_run
    from autograder.reports.terminal_text import Blocks

    own = picture_of_run(run)
    if not own.caption:
        return ()
    panels = [each for each in own.panels if each.bars] or own.panels
    return (Text(own.caption), Blocks(panels), Text())


def draw_file(path: Path, check: CheckRun) -> None:
    """Draw a check's arrays into a PNG or SVG file; raises `KitError` as `save_figure` does."""
    from autograder.learning.step_pictures import CheckPicture
    from autograder.reports.terminal_text import save_figure

    arrays = read_as(CheckPicture, check.drawn).arrays
    save_figure(path, tuple(panel for each in arrays for panel in (*each.row, *each.panels)))
