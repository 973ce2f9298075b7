"""The author's commands: generate the assignments, and prove the graders."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import click

from autograder.cli.kit import FOLDER, example, exercise_folders, out, source_folders
from autograder.errors import Faults, KitError


@click.command(epilog=example("attn build --check"))
@click.argument("solutions", type=FOLDER, default=Path("solutions"))
@click.option("--assignments", type=FOLDER, help="Where to write [default: beside solutions/].")
@click.option("--check", is_flag=True, help="Write nothing; fail if a generated file is stale.")
def build(solutions: Path, assignments: Path | None, check: bool) -> None:
    """Generate assignments/ from solutions/, and the lines to sort of each solution."""
    from autograder.authoring.build import build_all, stale
    from autograder.authoring.making import made_rungs, stale_rungs
    from autograder.checks.recording import record_examples

    target = assignments or solutions.parent / "assignments"
    folders = exercise_folders(solutions)
    if not check:
        without: list[str] = []

        def beside(folder: Path, examples: bytes) -> dict[str, str]:
            rungs = made_rungs(folder, examples)
            without.extend(f"{folder.name}: {each}" for each in rungs.without)
            return rungs.files

        built = build_all(folders, target, examples=record_examples, beside=beside)
        for name, written in built.items():
            out().print(f"{name}: {len(written)} files in {target / name}")
        for sentence in without:
            out().print(sentence, markup=False, soft_wrap=True)
        return
    faults, outdated = Faults(), list[str]()
    for folder in folders:
        with faults.noted():
            outdated += stale(folder, target, examples=record_examples)
            outdated += stale_rungs(folder, target)
    faults.refuse()
    if outdated:
        raise KitError(
            f"{len(outdated)} generated files are stale: {'; '.join(outdated)}",
            place=str(target),
            cure="run `attn build` and commit what it writes",
        )
    out().print(f"{target} is up to date")


@click.command(epilog=example("attn verify --exercise numpy_single_head"))
@click.argument("solutions", type=FOLDER, default=Path("solutions"))
@click.option("--exercise", "exercises", multiple=True, help="Which exercises [default: all].")
@click.option("--seeds", default=200, show_default=True, help="Seeds per correct variant.")
@click.option(
    "--mutants",
    type=click.Choice(["all", "quick", "none"]),
    default="quick",
    show_default=True,
    help="How many mutants of the reference: all, a few of each kind, or none.",
)
@click.option("--matrix", type=FOLDER, help="Write the kill matrix to this file.")
@click.option("--again", is_flag=True, help="Also prove again what was proved and is as it was.")
def verify(
    solutions: Path,
    exercises: tuple[str, ...],
    seeds: int,
    mutants: str,
    matrix: Path | None,
    again: bool,
) -> None:
    """Prove the graders: every known mistake is caught and named, no right answer is refused."""
    from autograder.authoring.run import matrix_document, prove_all
    from autograder.values.exercise import find_exercise

    chosen = [find_exercise(name, solutions).folder for name in exercises]
    proofs = prove_all(chosen or exercise_folders(solutions), seeds, out(), mutants, again)
    if matrix:
        matrix.write_text(matrix_document(proofs), encoding="utf-8")
    sys.exit(1 if any(proof.gaps for proof in proofs) else 0)


# `attn site`: the exercises as a folder of web pages, with nothing to install.


@click.command(epilog=example("attn site my-site"))
@click.argument("directory", type=FOLDER)
@click.option("--exercise", "names", multiple=True, help="Which exercises [default: all].")
@click.option("--course-name", default="", help="Whose pages these are: stands on each of them.")
@click.option("--wheel", type=FOLDER, help="The kit's wheel to download [default: build it].")
@click.option(
    "--with-answers",
    is_flag=True,
    help="Also offer lines of the solutions to sort, for who learns alone. Not for a course.",
)
def site(
    directory: Path,
    names: tuple[str, ...],
    course_name: str,
    wheel: Path | None,
    with_answers: bool,
) -> None:
    """Make a folder of web pages in which the exercises run: Python is in the browser.

    Any static host can serve it. Nothing is graded there. Exercises with PyTorch are notebooks to
    download. Node and npm are needed once, to fetch Python for browsers and an editor.
    """
    from autograder.authoring.contents import build_wheel, read_wheel
    from autograder.site.parts import fetch_parts, missing_parts, parts_folder
    from autograder.site.site_folder import SiteOptions, make_site
    from autograder.values.exercise import find_exercise, read_exercise
    from autograder.values.this_machine import shipped

    if names:
        exercises = [find_exercise(name, shipped()) for name in names]
    else:
        every = map(read_exercise, exercise_folders(shipped()))
        exercises = sorted(every, key=lambda each: (each.optional, each.difficulty))
    parts = parts_folder()
    if missing_parts(parts):
        out().print("fetching Python for browsers, NumPy and an editor: npm, PyPI (110 MB) …")
        fetch_parts(parts)
    answers = source_folders(None, None).solutions if with_answers else None
    options = SiteOptions(exercises, parts, course_name, answers=answers)
    if more := options.to_download:
        kit = read_wheel(wheel) if wheel else build_wheel([each.folder for each in more])
        options = replace(options, wheel=kit)
    size, apart = make_site(options, directory)
    later = f", and {apart / 1e6:.1f} MB to download for PyTorch" if apart else ""
    which = ", ".join(each.name for each in exercises)
    out().print(f"{directory}: {size / 1e6:.1f} MB{later}, {which}", soft_wrap=True)
    out().print(f"Look at it: python -m http.server --directory {directory}", soft_wrap=True)
