"""`attn gradescope`: the autograder.zip with which Gradescope grades an exercise."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autograder.cli.kit import FOLDER, SOLUTIONS, example, out, source_folders
from autograder.errors import KitError

if TYPE_CHECKING:
    from autograder.model.exercise import Exercise
    from autograder.model.marking import MarkingRules


@click.command(epilog=example("attn gradescope numpy_single_head --to autograder.zip"))
@click.argument("exercise")
@click.option("--to", "target", type=FOLDER, required=True, help="The zip, a new file.")
@click.option("--secret", type=FOLDER, help="An input.secret to keep [default: a new one].")
@click.option("--wheel", type=FOLDER, help="The kit's wheel to put in [default: build it].")
@click.option(
    "--allow-protection",
    type=click.Choice(["process"]),
    help="Grade even if Gradescope's machine cannot isolate submissions. Only for code you trust.",
)
@click.option("--steps-earn-alone", is_flag=True, help="As in `attn grade`.")
@click.option("--partial-points", is_flag=True, help="As in `attn grade`.")
@click.option(
    "--course", "directory", type=FOLDER, help="Take points, own steps and rules from this course."
)
@SOLUTIONS
def gradescope(
    exercise: str,
    target: Path,
    directory: Path | None,
    secret: Path | None,
    wheel: Path | None,
    allow_protection: str | None,
    steps_earn_alone: bool,
    partial_points: bool,
    solutions: Path | None,
) -> None:
    """Make Gradescope's autograder.zip for one exercise. It holds the solution: keep it private.

    Gradescope then grades every hand-in with the kit, as `attn grade` does.
    """
    from autograder.model.sanitize import terminal_line
    from autograder.model.symbols import number
    from autograder.platforms.gradescope_autograder import GradescopeAutograder

    facts, rules = _as_given(exercise, directory, solutions)
    options = (
        *(["--allow-protection", allow_protection] if allow_protection else []),
        *(["--steps-earn-alone"] if steps_earn_alone or not rules.layer_earns_steps else []),
        *(["--partial-points"] if partial_points or rules.partial_points else []),
    )
    content = GradescopeAutograder(facts, _secret(secret), options, wheel).archive()
    _write_new(target, content)
    out().print(
        terminal_line(f"{target}: {len(content) / 1e6:.1f} MB", 600), markup=False, soft_wrap=True
    )
    out().print("  it holds the solution, the checks and the secret of the inputs: keep it private")
    out().print(
        f"next: upload it to an assignment of {number(facts.points)} points, and test it there"
    )


def _as_given(
    name: str, directory: Path | None, solutions: Path | None
) -> tuple[Exercise, MarkingRules]:
    """Return the exercise and what earns points: the kit's, or as a course gives it."""
    from autograder.model.exercise import find_exercise
    from autograder.model.marking import DEFAULT_RULES

    if directory is None:
        return find_exercise(name, source_folders(solutions, None).solutions), DEFAULT_RULES
    from autograder.course.creation import read_course

    course = read_course(directory)
    return course.exercise(name), course.rules


def _secret(file: Path | None) -> bytes:
    """Return a new secret, or that in `file`; raise `KitError` when it is none."""
    import secrets

    from autograder.grading.output_folder import SECRET_BYTES
    from autograder.model.files import read_small

    if file is None:
        return secrets.token_bytes(SECRET_BYTES)
    try:
        found = read_small(file, SECRET_BYTES + 1)
    except OSError as error:
        raise KitError(
            f"{file.name} cannot be read: {error.strerror}",
            place=str(file),
            cure="name the file input.secret beside the results of a class, or leave --secret out",
        ) from None
    if len(found) != SECRET_BYTES:
        raise KitError(
            f"{file.name} is not a secret of the kit",
            place=str(file),
            cure="name the file input.secret beside the results of a class, or leave --secret out",
        )
    return found


def _write_new(target: Path, content: bytes) -> None:
    """Write a file that only its owner can read; raise `KitError` when it is there already."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
    except FileExistsError:
        raise KitError(
            "there is such a file already, and its secret may still be needed",
            place=str(target),
            cure="name a new file; with --secret, hidden inputs stay as they were",
        ) from None
    except OSError as error:
        raise KitError(
            f"{target.name} cannot be written: {error.strerror}",
            place=str(target.parent),
            cure="name a file in a folder that you may write to, on a disk with free space",
        ) from error
