"""The command `attn`: its subcommands and nothing else. The work is done elsewhere.

Each command imports what it needs when it runs. So `attn --help` is immediate, and a
student's installation does not need nbgrader.
"""

from __future__ import annotations

import click

from autograder import __version__
from autograder.cli import after_grading, author, instructor, learner
from autograder.cli.collect import collect
from autograder.cli.export_marks import export
from autograder.cli.gradescope_zip import gradescope
from autograder.cli.kit import Kit
from autograder.cli.student_result import result
from autograder.model.import_path import (
    leave_out_the_current_folder,
    refuse_the_current_folder,
)


@click.group(cls=Kit, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="attn")
def main() -> None:
    """Build attention step by step, and grade a class that does."""
    refuse_the_current_folder()
    leave_out_the_current_folder()


for command in (
    *learner.COMMANDS,
    *(instructor.course, instructor.release, instructor.grade, instructor.demo, instructor.doctor),
    *(after_grading.report, after_grading.tell),
    *(collect, export, result, gradescope),
    *(author.build, author.verify, author.costs),
):
    main.add_command(command)
