"""The group that every command belongs to, and what all of them share."""

from __future__ import annotations

import errno
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape

from autograder.errors import KitError

FOLDER = click.Path(path_type=Path)
OUT = Console(highlight=False)
ERRORS = Console(stderr=True, highlight=False)
# Faults of the machine that no command can foresee: not worth a traceback.
_FULL = "make room on that disk, and run the same command again"
_CLOSED = "work where you may write, or change the permissions there"
CURES = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EROFS: _CLOSED,
    errno.EACCES: _CLOSED,
    errno.EPERM: _CLOSED,
    errno.EIO: "look after that disk: it does not read or write",
}


class Kit(click.Group):
    """A command group that tells a `KitError` as three short lines and exit code 2."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; see the class."""
        try:
            return super().invoke(ctx)
        except KitError as error:
            _tell(error)
        except OSError as error:
            if error.errno not in CURES:
                raise
            place = str(error.filename or Path.cwd())
            _tell(KitError(f"{error.strerror}", place=place, cure=CURES[error.errno]))
        ctx.exit(2)


def _tell(error: KitError) -> None:
    ERRORS.print(f"[bold red]error:[/] {escape(error.fact)}", soft_wrap=True)
    ERRORS.print(f"  where: {escape(error.place)}", soft_wrap=True)
    ERRORS.print(f"  cure:  {escape(error.cure)}", soft_wrap=True)


def exercise_folders(solutions: Path) -> tuple[Path, ...]:
    """Return the folders of all exercises below `solutions`; raise `KitError` when there is none."""
    from autograder.exercise import MANIFEST

    folders = tuple(sorted(path.parent for path in solutions.glob(f"*/{MANIFEST}")))
    if not folders:
        raise KitError(
            "there are no exercises here", place=str(solutions), cure="name the solutions/ folder"
        )
    return folders
