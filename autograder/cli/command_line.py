"""The command `attn`: its subcommands and nothing else. The work is done elsewhere.

Each command imports what it needs when it runs. So `attn --help` is immediate, and a
student's installation does not need nbgrader.
"""

from __future__ import annotations

from pathlib import Path

import click

from autograder import __version__
from autograder.cli import instructor, learner
from autograder.cli.instructor import site
from autograder.cli.kit import Kit, out
from autograder.cli.platform_commands import platform
from autograder.values.this_machine import (
    leave_out_the_current_folder,
    refuse_the_current_folder,
)


@click.group(
    cls=Kit,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="attn")
@click.pass_context
def attn(ctx: click.Context) -> None:
    """Build attention step by step, and grade a class that does."""
    refuse_the_current_folder()
    leave_out_the_current_folder()
    if ctx.invoked_subcommand is None:
        from autograder.learning.once import greet

        greet(Path(), out())


attn.add_for("learners", learner.COMMANDS)
attn.add_for(
    "instructors",
    (
        *(instructor.doctor, instructor.course, instructor.release),
        *(instructor.grade, instructor.report, platform, site),
    ),
)
attn.add_for("authors", (instructor.build, instructor.verify))
attn.add_earlier({name: f"platform {name}" for name in platform.commands})
attn.add_earlier(
    {"debug": "check --debug", "puzzle": "hint --order", "solution": "hint --solution"}
)
attn.add_earlier({"demo": "course demo", "tell": "report --tell"})
