"""`attn site`: the exercises as a folder of web pages, with nothing to install."""

from __future__ import annotations

from pathlib import Path

import click

from autograder.cli.kit import FOLDER, example, out


@click.command(epilog=example("attn site my-site"))
@click.argument("directory", type=FOLDER)
@click.option("--exercise", "names", multiple=True, help="Which exercises [default: all in NumPy].")
def site(directory: Path, names: tuple[str, ...]) -> None:
    """Make a folder of web pages in which the exercises run: Python is in the browser.

    Any static host can serve it. Nothing is graded there. Node and npm are needed once, to fetch
    Python for browsers and an editor.
    """
    from autograder.model.exercise import find_exercise, read_exercise
    from autograder.model.shipped import shipped
    from autograder.site.parts import fetch_parts, missing_parts, parts_folder
    from autograder.site.site_folder import make_site

    if names:
        exercises = [find_exercise(name, shipped()) for name in names]
    else:
        every = map(
            read_exercise, sorted(path.parent for path in shipped().glob("*/exercise.toml"))
        )
        exercises = [each for each in every if each.library == "numpy"]
    parts = parts_folder()
    if missing_parts(parts):
        out().print("fetching Python for browsers, NumPy and an editor: npm, PyPI (110 MB) …")
        fetch_parts(parts)
    size = make_site(exercises, parts, directory)
    out().print(f"{directory}: {size / 1e6:.1f} MB, {', '.join(each.name for each in exercises)}")
    out().print(f"Look at it: python -m http.server --directory {directory}", soft_wrap=True)
