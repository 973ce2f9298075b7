"""The instructor's commands after grading: the results once more, and words to students."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from autograder.cli.course_commands import tell_pages
from autograder.cli.kit import FOLDER, example, out


def _of_a_graded_class(command: Callable[..., None]) -> Callable[..., None]:
    """Add what `attn grade` was told about the class, so that its verdicts are found again."""
    options = (
        click.option("--exercise", help="Which exercise [default: the course's only one]."),
        click.option("--solutions", type=FOLDER, help="Where the solutions are, as for grading."),
        click.option("--output", type=FOLDER, help="Where the results are, as for grading."),
        click.option(
            "--allow-protection", type=click.Choice(["process"]), help="If it was graded so."
        ),
        click.option("--steps-earn-alone", is_flag=True, help="If it was graded so."),
        click.option("--partial-points", is_flag=True, help="If it was graded so."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command(epilog=example("attn report my-course"))
@click.argument("class_", metavar="CLASS", type=FOLDER)
@click.option("--anonymous", is_flag=True, help="Name nobody here, and add a page to project.")
@_of_a_graded_class
def report(class_: Path, anonymous: bool, **graded: Any) -> None:
    """Write the results of a graded class again, with the marks that the gradebook has now.

    Nobody is judged: who has handed in since has no mark until you run `attn grade`.
    """
    _report(class_, graded, anonymous=anonymous)


@click.command(
    epilog=example(
        'attn tell my-course softmax/3f2a9c01 "Along which axis do the weights sum to 1?"'
    )
)
@click.argument("class_", metavar="CLASS", type=FOLDER)
@click.argument("mistake", metavar="MISTAKE")
@click.argument("words", metavar="[WORDS]", default="")
@click.option("--remove", is_flag=True, help="Take away what stands there.")
@_of_a_graded_class
def tell(class_: Path, mistake: str, words: str, remove: bool, **graded: Any) -> None:
    """Write a paragraph to everybody who made MISTAKE, named as page, terminal or CSV print it.

    It stands on their pages, also on those of later runs. Without WORDS, your editor opens.
    """
    if not words.strip() and not remove:
        if sys.stdin is None or not sys.stdin.isatty():
            raise click.UsageError("write the words in quotes, after the mistake")
        words = click.edit("") or ""
        if not words.strip():
            raise click.UsageError("nothing was written; to take words away, add --remove")
    _report(class_, graded, mistake, "" if remove else words)


def _report(
    class_: Path,
    graded: dict[str, Any],
    mistake: str = "",
    words: str = "",
    anonymous: bool = False,
) -> None:
    from autograder.cli.report import ClassPlace, report_class
    from autograder.grading.class_task import GradingOptions

    place = ClassPlace(class_, graded["exercise"], graded["solutions"], graded["output"])
    isolated = graded["allow_protection"] != "process"
    options = GradingOptions(
        allow_process=not isolated,
        layer_earns_steps=False if graded["steps_earn_alone"] else None,
        partial_points=graded["partial_points"] or None,
    )
    reported = report_class(place, options, out(), mistake, words, anonymous)
    if not anonymous:
        out().print(f"open next: {reported.output / 'feedback' / 'index.html'}", soft_wrap=True)
        tell_pages(class_, reported.output)
    sys.exit(0 if reported.complete else 1)
