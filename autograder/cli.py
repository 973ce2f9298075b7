"""The command `attn`: every way in, and nothing else. The work is done elsewhere.

What a command needs is imported inside it, so that `attn --help` is immediate and a
student's installation needs no nbgrader.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click
from rich.console import Console

from autograder import __version__
from autograder.errors import KitError

FOLDER = click.Path(path_type=Path)
OUT = Console(highlight=False)
ERRORS = Console(stderr=True, highlight=False)


class Kit(click.Group):
    """A command group that tells a `KitError` as three short lines and exit code 2."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; see the class."""
        try:
            return super().invoke(ctx)
        except KitError as error:
            ERRORS.print(f"[bold red]error:[/] {_plain(error.fact)}", soft_wrap=True)
            ERRORS.print(f"  where: {_plain(error.place)}", soft_wrap=True)
            ERRORS.print(f"  cure:  {_plain(error.cure)}", soft_wrap=True)
            ctx.exit(2)


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)


@click.group(cls=Kit, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="attn")
def main() -> None:
    """Build attention step by step, and grade a class that does."""


@main.command()
@click.argument("solutions", type=FOLDER, default=Path("solutions"))
@click.option("--assignments", type=FOLDER, default=None, help="Where to write; beside solutions/.")
@click.option("--check", is_flag=True, help="Write nothing; fail when a generated file is stale.")
def build(solutions: Path, assignments: Path | None, check: bool) -> None:
    """Generate assignments/ from solutions/ (for authors)."""
    from autograder.building.build import build as build_one
    from autograder.building.build import stale
    from autograder.checks.recording import record_examples

    target = assignments or solutions.parent / "assignments"
    outdated: list[str] = []
    for folder in exercise_folders(solutions):
        if check:
            outdated += stale(folder, target, examples=record_examples)
        else:
            written = build_one(folder, target, examples=record_examples)
            OUT.print(f"{folder.name}: {len(written)} files in {target / folder.name}")
    if outdated:
        raise KitError(
            f"{len(outdated)} generated files are stale: {'; '.join(outdated)}",
            place=str(target),
            cure="run `attn build` and commit what it writes",
        )
    if check:
        OUT.print(f"{target} is up to date")


def exercise_folders(solutions: Path) -> tuple[Path, ...]:
    """Return the folders of all exercises below `solutions`; raise `KitError` when there is none."""
    from autograder.exercise import MANIFEST

    folders = tuple(sorted(path.parent for path in solutions.glob(f"*/{MANIFEST}")))
    if not folders:
        raise KitError(
            "there are no exercises here", place=str(solutions), cure="name the solutions/ folder"
        )
    return folders


@main.command()
@click.argument("solutions", type=FOLDER, default=Path("solutions"))
@click.option("--exercise", "exercises", multiple=True, help="Which exercises; all by default.")
@click.option("--seeds", default=200, show_default=True, help="Seeds per correct variant.")
@click.option("--matrix", type=FOLDER, help="Write the kill matrix to this file.")
def verify(solutions: Path, exercises: tuple[str, ...], seeds: int, matrix: Path | None) -> None:
    """Prove the graders: every known mistake caught and named, no right answer refused."""
    from autograder.exercise import find_exercise
    from autograder.verification.run import matrix_document, prove_all

    chosen = [find_exercise(name, solutions).folder for name in exercises]
    proofs = prove_all(chosen or exercise_folders(solutions), seeds, OUT)
    if matrix:
        matrix.write_text(matrix_document(proofs), encoding="utf-8")
    sys.exit(1 if any(proof.gaps for proof in proofs) else 0)


@main.command()
@click.argument("step", required=False)
@click.option("--in", "folder", type=FOLDER, default=Path("."), help="The assignment's folder.")
def check(step: str | None, folder: Path) -> None:
    """Check your own work, or one STEP of it, against the worked examples."""
    from autograder.terminal import check_folder

    sys.exit(0 if check_folder(folder, step, OUT) else 1)


@main.group()
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


@main.command()
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


@main.command()
@click.argument("directory", type=FOLDER, default=Path("demo-course"))
@click.option("--solutions", type=FOLDER, default=Path("solutions"), show_default=True)
@click.option("--assignments", type=FOLDER, default=Path("assignments"), show_default=True)
@click.option("--class", "zoo", type=FOLDER, default=Path("tests/submissions"), show_default=True)
def demo(directory: Path, solutions: Path, assignments: Path, zoo: Path) -> None:
    """Make a course with a class of all kinds, release, collect and grade it."""
    from autograder.course.demo import run_demo

    run_demo(directory, solutions=solutions, assignments=assignments, zoo=zoo, console=OUT)


if __name__ == "__main__":
    main()
