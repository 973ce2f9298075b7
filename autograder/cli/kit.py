"""The group that every command belongs to, and what all of them share."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape

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
            ERRORS.print(f"[bold red]error:[/] {escape(error.fact)}", soft_wrap=True)
            ERRORS.print(f"  where: {escape(error.place)}", soft_wrap=True)
            ERRORS.print(f"  cure:  {escape(error.cure)}", soft_wrap=True)
            ctx.exit(2)


def exercise_folders(solutions: Path) -> tuple[Path, ...]:
    """Return the folders of all exercises below `solutions`; raise `KitError` when there is none."""
    from autograder.exercise import MANIFEST

    folders = tuple(sorted(path.parent for path in solutions.glob(f"*/{MANIFEST}")))
    if not folders:
        raise KitError(
            "there are no exercises here", place=str(solutions), cure="name the solutions/ folder"
        )
    return folders
