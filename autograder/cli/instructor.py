"""The commands of instructors and authors: a course, a grading; a build, a proof."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autograder.cli.course_commands import (
    adopt,
    archive,
    check,
    copy,
    extend,
    hold,
    question,
    tell_pages,
    tell_release,
    update,
)
from autograder.cli.kit import (
    ASSIGNMENTS,
    FOLDER,
    SOLUTIONS,
    each_of,
    example,
    exercise_folders,
    out,
    source_folders,
)
from autograder.errors import Faults, KitError

if TYPE_CHECKING:
    from autograder.grading.class_task import GradingOptions


def _repository(_: click.Context, __: click.Parameter, value: str) -> str:
    if value and not re.fullmatch(r"[\w.-]+/[\w.-]+", value, re.ASCII):
        raise click.BadParameter("write OWNER/NAME, as in the address of the repository")
    return value


@click.group(epilog=example("attn course new my-course"))
def course() -> None:
    """Make an nbgrader course, and keep it up to date."""


for _command in (adopt, check, update, copy, archive, extend, hold, question):
    course.add_command(_command)


@course.command("new", epilog=example("attn course new my-course --exercise numpy_single_head"))
@click.argument("directory", type=FOLDER)
@SOLUTIONS
@ASSIGNMENTS
@click.option(
    "--exercise",
    "exercises",
    multiple=True,
    help="Which exercises [default: all that are not optional].",
)
def new(
    directory: Path,
    solutions: Path | None,
    assignments: Path | None,
    exercises: tuple[str, ...],
) -> None:
    """Make DIRECTORY a course in which nbgrader's own commands work."""
    from autograder.course.creation import create_course

    source = source_folders(solutions, assignments)
    chosen = exercises or _not_optional(source.solutions)
    made = create_course(
        directory,
        solutions=source.solutions,
        assignments=source.assignments,
        exercises=chosen,
    )
    out().print(f"made the course {made.directory} with {', '.join(chosen)}")
    for name in chosen:
        tell_release(made, directory, name)


def _not_optional(solutions: Path) -> tuple[str, ...]:
    from autograder.values.exercise import read_exercise

    every = map(read_exercise, exercise_folders(solutions))
    return tuple(exercise.name for exercise in every if not exercise.optional)


@click.command(epilog=example("attn release numpy_single_head --to handout --zip"))
@click.argument("exercises", metavar="EXERCISE...", nargs=-1, required=True)
@click.option("--to", "directory", type=FOLDER, required=True, help="A folder for the release.")
@click.option("--zip", "archives", is_flag=True, help="Also make an archive of each exercise.")
@click.option(
    "--github",
    metavar="OWNER/NAME",
    default="",
    callback=_repository,
    help="The release's repository; adds links to Colab and Binder.",
)
@click.option("--wheel", type=FOLDER, help="The kit's wheel to hand out [default: build it].")
@click.option(
    "--with-answers",
    is_flag=True,
    help="Put the solutions into the wheel, for who learns alone. Not for a course.",
)
@SOLUTIONS
@ASSIGNMENTS
def release(
    exercises: tuple[str, ...],
    directory: Path,
    archives: bool,
    github: str,
    wheel: Path | None,
    with_answers: bool,
    solutions: Path | None,
    assignments: Path | None,
) -> None:
    """Package exercises for students without nbgrader: a folder for each, with the kit inside.

    Refuses if assignments/ is stale, if a solution would be handed out, or if the folder holds
    files that did not come from a release.
    """
    from autograder.authoring.release import ReleaseOptions, release, release_summary

    if wheel and with_answers:
        raise click.UsageError("--with-answers builds the wheel, so leave --wheel out.")
    order = ReleaseOptions(exercises, archives, github, wheel, with_answers)
    source = source_folders(solutions, assignments)
    released = release(source, order, directory)
    out().print(release_summary(released, directory, github), soft_wrap=True, markup=False)
    if with_answers:
        out().print("The kit in it holds the solutions: it is for who learns alone.")


@click.command(epilog=example("attn grade homework --exercise numpy_single_head"))
@click.argument("submissions", type=FOLDER)
@click.option("--exercise", help="Which exercise [default: the course's only one].")
@click.option(
    "--solutions",
    type=FOLDER,
    help="Where the solutions are [default: as the course says, or beside the kit].",
)
@click.option("--output", type=FOLDER, help="Where the results go.")
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    help="How many grader processes [default: by the class, at most one per core].",
)
@click.option(
    "--allow-protection",
    type=click.Choice(["process"]),
    help="Grade even if this machine cannot isolate submissions. Only for code you trust.",
)
@click.option("--again", is_flag=True, help="Also judge again what was judged before.")
@click.option(
    "--steps-earn-alone",
    is_flag=True,
    help="Do not let a right class earn the points of its steps [default: as the course says].",
)
@click.option(
    "--partial-points",
    is_flag=True,
    help="Points also for a part of a step's checks [default: as the course says].",
)
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Judge on the workers of a Dask scheduler, such as tcp://10.0.0.5:8786; or `local`.",
)
def grade(
    submissions: Path,
    exercise: str | None,
    solutions: Path | None,
    output: Path | None,
    **given: Any,
) -> None:
    """Grade a class: a course directory, or a folder of files named by student."""
    from autograder.cli.grade import grade_path

    graded = grade_path(
        submissions,
        exercise=exercise,
        solutions=solutions,
        output=output,
        options=_grading_options(given),
    )
    out().print(f"open next: {graded.output / 'feedback' / 'index.html'}", soft_wrap=True)
    tell_pages(submissions, graded.output)
    sys.exit(0 if graded.complete else 1)


def _grading_options(given: dict[str, Any]) -> GradingOptions:
    """Take how to grade out of what was typed."""
    from autograder.grading.class_task import GradingOptions

    how = {name: given.pop(name) for name in ("processes", "again", "cluster") if name in given}
    return GradingOptions(
        **how,
        allow_process=given.pop("allow_protection") == "process",
        layer_earns_steps=False if given.pop("steps_earn_alone") else None,
        partial_points=given.pop("partial_points") or None,
    )


@course.command("demo", epilog=example("attn course demo demo-course"))
@click.argument("directory", type=FOLDER, default=Path("demo-course"))
@SOLUTIONS
@ASSIGNMENTS
@click.option(
    "--class",
    "sample_class",
    type=FOLDER,
    help="The sample class [default: the one beside the kit].",
)
def demo(
    directory: Path, solutions: Path | None, assignments: Path | None, sample_class: Path | None
) -> None:
    """Make a course with a sample class, then release, collect and grade it."""
    from demo.run import run_demo

    source = source_folders(solutions, assignments)
    run_demo(
        directory,
        solutions=source.solutions,
        assignments=source.assignments,
        sample_class=sample_class or source.solutions.parent / "tests" / "sample_class",
        console=out(),
    )


@click.command(epilog=example("attn doctor"))
@click.option("--json", "json_wanted", is_flag=True, help="Print the findings as JSON.")
def doctor(json_wanted: bool) -> None:
    """Say what this machine can do, how that was found out, and what is missing.

    Exits with 0 if untrusted code can be graded here by default, otherwise with 1.
    """
    from autograder.sandbox.doctor import as_json, examine, tell

    found = examine(Path())
    if json_wanted:
        click.echo(as_json(found))
    else:
        out().print(tell(found))
    sys.exit(0 if found.grading else 1)


# The instructor's commands after grading: the results once more, and words to students.


# What `attn grade` was told about the class, so that its verdicts are found again.
_of_a_graded_class = each_of(
    click.option("--exercise", help="Which exercise [default: the course's only one]."),
    click.option("--solutions", type=FOLDER, help="Where the solutions are, as for grading."),
    click.option("--output", type=FOLDER, help="Where the results are, as for grading."),
    click.option("--allow-protection", type=click.Choice(["process"]), help="If it was graded so."),
    click.option("--steps-earn-alone", is_flag=True, help="If it was graded so."),
    click.option("--partial-points", is_flag=True, help="If it was graded so."),
)


@click.command(epilog=example("attn report my-course"))
@click.argument("class_", metavar="CLASS", type=FOLDER)
@click.argument("mistake", metavar="[MISTAKE]", default="")
@click.argument("words", metavar="[WORDS]", default="")
@click.option("--anonymous", is_flag=True, help="Name nobody here, and add a page to project.")
@click.option("--tell", is_flag=True, help="Write WORDS to everybody who made MISTAKE.")
@click.option("--remove", is_flag=True, help="With --tell: take away what stands there.")
@_of_a_graded_class
def report(
    class_: Path,
    mistake: str,
    words: str,
    anonymous: bool,
    tell: bool,
    remove: bool,
    **graded: Any,
) -> None:
    """Write the results of a graded class again, with the marks that the gradebook has now.

    Nobody is judged: who has handed in since has no mark until you run `attn grade`.

    With --tell, WORDS stand on the page of everybody who made MISTAKE, also on those of later runs.
    Name the mistake as the class page, the terminal or the CSV prints it. Without WORDS, your
    editor opens.
    """
    if tell != bool(mistake) or remove > tell:
        raise click.UsageError("to write to who made a mistake, add --tell, the mistake and WORDS")
    told = "" if remove or not tell else _words(words)
    from autograder.cli.report import report_class

    reported = report_class(
        class_,
        options=_grading_options(graded),
        console=out(),
        mistake=mistake,
        words=told,
        anonymous=anonymous,
        **graded,
    )
    if not anonymous:
        out().print(f"open next: {reported.output / 'feedback' / 'index.html'}", soft_wrap=True)
        tell_pages(class_, reported.output)
    sys.exit(0 if reported.complete else 1)


def _words(typed: str) -> str:
    """Return the words to students that were typed, or else written in an editor."""
    if not typed.strip():
        if sys.stdin is None or not sys.stdin.isatty():
            raise click.UsageError("write the words in quotes, after the mistake")
        typed = click.edit("") or ""
        if not typed.strip():
            raise click.UsageError("nothing was written; to take words away, add --remove")
    return typed


# The author's commands: generate the assignments, and prove the graders.


@click.command(epilog=example("attn build --check"))
@click.argument("solutions", type=FOLDER, default=Path("solutions"))
@click.option("--assignments", type=FOLDER, help="Where to write [default: beside solutions/].")
@click.option("--check", is_flag=True, help="Write nothing; fail if a generated file is stale.")
def build(solutions: Path, assignments: Path | None, check: bool) -> None:
    """Generate assignments/ from solutions/, and the lines to sort of each solution."""
    from autograder.authoring.build import build_all, stale
    from autograder.authoring.making import made_rungs, stale_rungs
    from autograder.checks.plugin import record_examples

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
    from autograder.site.site_folder import (
        SiteOptions,
        fetch_parts,
        make_site,
        missing_parts,
        parts_folder,
    )
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
