"""The learner's commands: a workspace, checks, hints, pictures."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import click

from autograder.cli.kit import FOLDER, errors, example, out


class Day(click.ParamType[date]):
    """A day, such as 2026-11-24."""

    name = "day"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> date:
        """Return the day; a value that is none ends the command with a sentence."""
        try:
            return date.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is not a day. Write the year, the month and the day: 2026-11-24.")


IN = click.option("--in", "folder", type=FOLDER, default=Path("."), help="Where the work is.")


class OneName(click.Command):
    """A command about one exercise or step, which says how both are written in one word.

    With `--order`, where there is one, the words behind the step are numbers of lines.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "context_settings": {"allow_extra_args": True}})

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, unless there are more words than one."""
        order = ctx.params.get("order")
        if ctx.args and not order:
            name, step = ctx.params.get("task") or ctx.params.get("step"), ctx.args[0]
            words = f"If {step} is a step of {name}, write: {ctx.command_path} {name}.{step}"
            words += "" if order is None else "; if it is a line to sort, add --order"
            ctx.fail(f"Got unexpected extra argument ({' '.join(ctx.args)}). {words}")
        return super().invoke(ctx)


def _say(words: str) -> None:
    from rich.text import Text

    errors().print(Text(words), soft_wrap=True)


@click.command(cls=OneName, epilog=example("attn check softmax"))
@click.argument("task", metavar="[EXERCISE[.STEP]|FILE]", required=False)
@IN
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
@click.option("--debug", is_flag=True, help="Stop in your own step, in the call that fails.")
def check(task: str | None, folder: Path, as_json: bool, debug: bool) -> None:
    """Check your own work, or one step of it, against the worked examples.

    A step has a name and a number: `attn check softmax` is also `attn check 1`. Of your two files,
    the one saved last counts; `attn check numpy_single_head.py` checks the one that you name.

    Without a name, it checks the exercise whose folder you are in, or else the one you worked
    on last. The exit code is 0 if every step passes, 1 if a step does not, and 2 for an error.

    With --debug, it stops at the first line of your own step, in the call that fails, with its
    arguments. This is Python's debugger, pdb. It reads its commands from the terminal, or from a
    file.
    """
    if debug:
        if as_json:
            raise click.UsageError("a debugger does not answer in JSON: leave out one of the two")
        from autograder.learning import debugger

        debugger.debug(folder, task, out(), _say)
        return
    from autograder.learning import once

    sys.exit(0 if once.check(folder, task, out(), _say, as_json=as_json) else 1)


@click.command(epilog=example("attn start my-attention"))
@click.argument("directory", type=FOLDER)
@click.option("--exercise", "exercises", multiple=True, help="Which exercises [default: all].")
def start(directory: Path, exercises: tuple[str, ...]) -> None:
    """Make DIRECTORY a workspace with the exercises in it. Your own work is left as it is."""
    from autograder.learning import once

    once.start(directory, exercises, out(), _say)


@click.command(cls=OneName, epilog=example("attn read softmax"))
@click.argument("step", required=False)
@click.option("--answers", is_flag=True, help="Also show the answers to its questions.")
@IN
def read(step: str | None, answers: bool, folder: Path) -> None:
    """Show the lesson of STEP, or of the first step that does not pass.

    It is the same as in the notebook and in guide.html.
    """
    from autograder.learning import once

    once.read_step(folder, step, out(), _say, answers=answers)


@click.command(cls=OneName, epilog=example("attn hint softmax"))
@click.argument("step", metavar="[STEP [NUMBER]...]", required=False)
@click.option("--again", is_flag=True, help="Show the last hint again, and not the next one.")
@click.option("--order", is_flag=True, help="Show the lines to sort, or try them as numbered.")
@click.option("--solution", is_flag=True, help="Show the solution, once the step passes.")
@click.option("--yes", is_flag=True, help="Show the solution even if it does not pass yet.")
@IN
@click.pass_context
def hint(
    ctx: click.Context,
    step: str | None,
    again: bool,
    order: bool,
    solution: bool,
    yes: bool,
    folder: Path,
) -> None:
    """Show the next hint for STEP, or for the first step that does not pass.

    Each tells more: three hints in words and, where the solutions are at hand, lines of code to
    sort, some of them wrong, then the step with a gap.

    `attn hint softmax --order 3 1 4` says whether these lines are right in this order. Then, and
    with --solution, the exit code is 0 for yes or shown, and otherwise 1.
    """
    from autograder.learning import climbing, once

    if again + order + solution > 1:
        raise click.UsageError("take one of --again, --order and --solution")
    if solution:
        sys.exit(0 if once.show_solution(folder, step, _asking(yes), out(), _say) else 1)
    if order:
        sys.exit(0 if climbing.solve_puzzle(folder, step, ctx.args, out(), _say) else 1)
    climbing.next_hint(folder, step, out(), _say, again=again)


@click.command(cls=OneName, epilog=example("attn review softmax"))
@click.argument("step", required=False)
@click.option(
    "--on",
    "day",
    type=Day(),
    help="Review as on this day, such as 2026-11-24 [default: today].",
)
@IN
def review(step: str | None, day: date | None, folder: Path) -> None:
    """Bring back steps that passed 1, 7 or 30 days ago, blank; with STEP, check one of them.

    You write it again in a file of its own. Your own work is not touched.
    """
    from autograder.learning import reviewing

    today = day or date.today()
    if step is None:
        reviewing.list_reviews(folder, today, out(), _say)
        return
    sys.exit(0 if reviewing.review_step(folder, step, today, out(), _say) else 1)


@click.command("list", epilog=example("attn list"))
@IN
def list_steps(folder: Path) -> None:
    """Show how far you are: steps, points, minutes, difficulty."""
    from autograder.learning import once

    once.show_progress(folder, out(), _say)


@click.command(cls=OneName, epilog=example("attn show softmax --save softmax.png"))
@click.argument("step", required=False)
@click.option("--save", type=FOLDER, help="Also draw into this .png or .svg file.")
@IN
def show(step: str | None, save: Path | None, folder: Path) -> None:
    """Draw STEP as heat maps: your result, the expected one, the difference, and the input."""
    from autograder.learning import once

    once.show_step(folder, step, save, out(), _say)


@click.command(cls=OneName, epilog=example("attn reset softmax"))
@click.argument("task", metavar="STEP|EXERCISE|FILE")
@click.option("--yes", is_flag=True, help="Do not ask.")
@IN
def reset(task: str, yes: bool, folder: Path) -> None:
    """Put back the stub of a step or an exercise; a copy of your file is kept."""
    from autograder.learning import once

    sys.exit(0 if once.reset_task(folder, task, _asking(yes), out(), _say) else 1)


def _asking(yes: bool) -> Callable[[str], bool]:
    """Return what asks a question; without an answer, it is a no."""

    def ask(question: str) -> bool:
        try:
            return yes or click.confirm(question)
        except click.Abort:  # Ctrl-C, or nobody is there
            _say("\nNo answer came, and that is a no. With --yes you are not asked.")
            return False

    return ask


@click.command(cls=OneName, epilog=example("attn watch numpy_single_head"))
@click.argument("task", metavar="[EXERCISE[.STEP]]", required=False)
@IN
def watch(task: str | None, folder: Path) -> None:
    """Check every time you save; press a key for a step, a hint, a picture or the list."""
    from autograder.learning import watching

    watching.watch_work(folder, task, out(), _say)


@click.command(epilog=example("attn play"))
@click.argument("task", metavar="[EXERCISE]", required=False)
@click.option("--mistakes", is_flag=True, help="Tell of all mistakes that you met, or of others.")
@IN
def play(task: str | None, mistakes: bool, folder: Path) -> None:
    """Let a small model speak, or learn in seconds, through your own layer."""
    from autograder.play import playing

    playing.play(folder, task, out(), _say, others=mistakes)


@click.command(epilog=example("attn finish --save finish.html"))
@click.argument("task", metavar="[EXERCISE]", required=False)
@click.option("--save", type=FOLDER, help="Also write a page to keep or print, an .html file.")
@IN
def finish(task: str | None, save: Path | None, folder: Path) -> None:
    """After the last step: what you built, how long, which mistakes, what to read next.

    The exit code is 0 when the exercise is done, and 1 when a step is left.
    """
    from autograder.learning import once

    sys.exit(0 if once.finish(folder, task, save, out(), _say) else 1)


COMMANDS = (
    start,
    watch,
    check,
    read,
    hint,
    show,
    list_steps,
    review,
    reset,
    play,
    finish,
)
