"""The learner's commands: check one's own work."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from autograder.cli.kit import FOLDER, OUT


@click.command()
@click.argument("step", required=False)
@click.option("--in", "folder", type=FOLDER, default=Path("."), help="The assignment's folder.")
def check(step: str | None, folder: Path) -> None:
    """Check your own work, or one STEP of it, against the worked examples."""
    from autograder.terminal import check_folder

    sys.exit(0 if check_folder(folder, step, OUT) else 1)
