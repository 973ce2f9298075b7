"""`attn result`: one student's verdict in the form that another program reads."""

from __future__ import annotations

from pathlib import Path

import click

from autograder.cli.kit import FOLDER, example
from autograder.errors import KitError
from autograder.model.sanitize import terminal_line

FORMATS = ("gradescope", "classroom", "junit", "summary")


@click.command(epilog=example("attn result homework-graded --student ada --format gradescope"))
@click.argument("results", metavar="VERDICT", type=FOLDER)
@click.option("--format", "form", type=click.Choice(FORMATS), required=True, help="For whom.")
@click.option("--student", help="Whose verdict, where the folder has several.")
@click.option("--to", "target", type=FOLDER, help="A file to write [default: print it].")
def result(results: Path, form: str, student: str | None, target: Path | None) -> None:
    """Turn a verdict into what Gradescope, GitHub Classroom or another CI reads.

    VERDICT is a file in verdicts/, or a folder of results. The points are the automatic ones.
    """
    from autograder.model.files import write_whole
    from autograder.platforms.classroom_results import classroom_results
    from autograder.platforms.gradescope_results import gradescope_results
    from autograder.platforms.job_summary import job_summary
    from autograder.platforms.junit_report import junit_report
    from autograder.reports.verdict_files import read_verdict, read_verdicts

    makers = dict(zip(FORMATS, (gradescope_results, classroom_results, junit_report, job_summary)))
    if not results.exists():
        raise KitError(
            "there is no such verdict",
            place=str(results),
            cure="name a file in verdicts/, or the folder that `attn grade` has written",
        )
    if results.is_dir():
        inner = results / "verdicts"
        found = read_verdicts(inner if inner.is_dir() else results)
    else:
        found = (read_verdict(results),)
    chosen = [each for each in found if student in (None, each.student)]
    if len(chosen) != 1:
        names = ", ".join(terminal_line(each.student, 60) for each in found[:10])
        raise KitError(
            "there are several verdicts" if student is None else "there is no such student",
            place=str(results),
            cure=f"name one with --student: {names}{' and others' if found[10:] else ''}",
        )
    text = makers[form](chosen[0])
    if target:
        write_whole(target, text)
    else:
        click.echo(text.removesuffix("\n"))
