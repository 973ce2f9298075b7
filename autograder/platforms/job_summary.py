"""A verdict as the summary of a job on GitHub: `attn result ... >> "$GITHUB_STEP_SUMMARY"`.

A summary is Markdown, and a student's text in it must not become a heading, a link or a picture. So
the table is one block of HTML, in which GitHub reads no Markdown, without an empty line.
"""

from __future__ import annotations

from autograder.model.sanitize import clean_line
from autograder.model.symbols import number, step_mark
from autograder.model.verdict import Verdict
from autograder.platforms.step_result import not_graded, remarks_of, step_results
from autograder.reports.finding import html


def job_summary(verdict: Verdict) -> str:
    """Return the summary: the points, and for each step how it ended and the first finding."""
    name = html(clean_line(verdict.exercise, 100))
    points = f"{number(verdict.points)} of {number(verdict.max_points)} points"
    head = f"{name}: {points if verdict.graded else 'not graded'}"
    why = [] if verdict.graded else [f"<p>{html(not_graded(verdict))}</p>"]
    rows = [
        f"<tr><td>{result.number}</td><td>{step_mark(step).sign}</td>"
        f'<th scope="row">{html(result.title)}</th>'
        f"<td>{number(result.points) if verdict.graded else '?'}/{number(result.max_points)}</td>"
        f"<td>{html(result.text)}</td></tr>"
        for step, result in zip(verdict.steps, step_results(verdict))
    ]
    remarks = [f"<p>{html(remark)}</p>" for remark in remarks_of(verdict)]
    columns = ("number", "outcome", "step", "points", "look at")
    titles = "".join(f'<th scope="col">{each}</th>' for each in columns)
    table = ["<table>", "<caption>The steps</caption>", f"<tr>{titles}</tr>", *rows, "</table>"]
    return "\n".join([f"<h2>{head}</h2>", *why, *table, *remarks]) + "\n"
