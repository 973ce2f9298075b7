"""The instructor's commands: make a course, grade a class, see it all in a demo."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from autograder.cli.kit import FOLDER, OUT, exercise_folders


@click.group()
def course() -> None:
    """Make an nbgrader course."""


@course.command("new")
@click.argument("directory", type=FOLDER)
@click.option("--solutions", type=FOLDER, default=Path("solutions"), show_default=True)
@click.option("--assignments", type=FOLDER, default=Path("assignments"), show_default=True)
@click.option("--exercise", "exercises", multiple=True, help="Which exercises; all by default.")
def new(directory: Path, solutions: Path, assignments: Path, exercises: tuple[str, ...]) -> None:
    """Make DIRECTORY a course in which nbgrader's own commands work."""
    from autograder.course.creation import create_course

    chosen = exercises or tuple(folder.name for folder in exercise_folders(solutions))
    made = create_course(directory, solutions=solutions, assignments=assignments, exercises=chosen)
    OUT.print(f"made the course {made.directory} with {', '.join(chosen)}")
    OUT.print(f"next: cd {directory} && nbgrader generate_assignment {chosen[0]}")


@click.command()
@click.argument("submissions", type=FOLDER)
@click.option("--exercise", help="Which exercise; a course's only one by default.")
@click.option("--solutions", type=FOLDER, help="Where the exercises are; a course knows.")
@click.option("--output", type=FOLDER, help="Where the results go.")
@click.option("--processes", type=click.IntRange(min=1), help="Grader processes; one per core.")
@click.option(
    "--allow-protection",
    type=click.Choice(["process"]),
    help="Grade though this machine cannot isolate submissions. Only for code you trust.",
)
def grade(
    submissions: Path,
    exercise: str | None,
    solutions: Path | None,
    output: Path | None,
    processes: int | None,
    allow_protection: str | None,
) -> None:
    """Grade a class: a course directory, or a folder of files named by student."""
    from autograder.grading.run import grade_path

    graded = grade_path(
        submissions,
        exercise=exercise,
        solutions=solutions,
        output=output,
        processes=processes,
        allow_process=allow_protection == "process",
        console=OUT,
    )
    OUT.print(f"open next: {graded.output / 'feedback' / 'index.html'}", soft_wrap=True)
    sys.exit(0 if graded.complete else 1)


@click.command()
@click.argument("directory", type=FOLDER, default=Path("demo-course"))
@click.option("--solutions", type=FOLDER, default=Path("solutions"), show_default=True)
@click.option("--assignments", type=FOLDER, default=Path("assignments"), show_default=True)
@click.option("--class", "zoo", type=FOLDER, default=Path("tests/submissions"), show_default=True)
def demo(directory: Path, solutions: Path, assignments: Path, zoo: Path) -> None:
    """Make a course with a class of all kinds, release, collect and grade it."""
    from autograder.course.demo import run_demo

    run_demo(directory, solutions=solutions, assignments=assignments, zoo=zoo, console=OUT)
