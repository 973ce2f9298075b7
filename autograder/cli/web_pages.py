"""`attn site`: the exercises as a folder of web pages, with nothing to install."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from autograder.cli.kit import FOLDER, example, out, source_folders


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
    from autograder.model.exercise import find_exercise, read_exercise
    from autograder.model.shipped import shipped
    from autograder.releasing.wheel import build_wheel, read_wheel
    from autograder.site.parts import fetch_parts, missing_parts, parts_folder
    from autograder.site.site_folder import SiteOptions, make_site

    if names:
        exercises = [find_exercise(name, shipped()) for name in names]
    else:
        folders = sorted(path.parent for path in shipped().glob("*/exercise.toml"))
        exercises = sorted(
            map(read_exercise, folders), key=lambda each: (each.optional, each.difficulty)
        )
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
