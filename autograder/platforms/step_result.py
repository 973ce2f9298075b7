"""A verdict as other programs take it: Gradescope, GitHub's Classroom and jobs, JUnit."""

from __future__ import annotations

import base64
import json
import math
from dataclasses import dataclass
from xml.etree import ElementTree

from autograder.errors import KitError
from autograder.model.sanitize import ORDERS, clean_line
from autograder.model.symbols import BY_LAYER, OUR_FAULT, number, step_mark, why_not_graded
from autograder.model.verdict import NOT_JUDGED, CheckVerdict, StepVerdict, Verdict
from autograder.reports.finding import html, shown, step_text

LONGEST_TITLE, LONGEST_REASON = 200, 600


@dataclass(frozen=True)
class StepResult:
    """One step: its number and title, how it ended, its points, and the finding as plain text."""

    number: int
    title: str
    words: str
    text: str
    points: float
    max_points: float

    @property
    def full(self) -> bool:
        """Whether it has all of its points."""
        return self.points >= self.max_points


def step_results(verdict: Verdict) -> tuple[StepResult, ...]:
    """Return the result of every step; all text is cleaned and bounded."""
    return tuple(_result(number, step) for number, step in enumerate(verdict.steps, 1))


def refuse_ungraded(verdict: Verdict, reader: str) -> None:
    """Raise `KitError` when there is no mark, and say why."""
    if not verdict.graded:
        student = clean_line(verdict.student, 60)
        ours = verdict.infrastructure
        raise KitError(
            f"the work of {student} is not graded, so there is no score for {reader}: "
            f"{clean_line(why_not_graded(verdict), LONGEST_REASON).removesuffix('.')}",
            place=f"exercise {clean_line(verdict.exercise, 60)}",
            cure="grade it again; what was judged before is kept"
            if ours
            else "have it handed in again, or enter a mark there by hand",
        )


def not_graded(verdict: Verdict) -> str:
    """Return for its student why there is no mark, cleaned and bounded; "" when there is one."""
    why = OUR_FAULT if verdict.infrastructure else why_not_graded(verdict)
    return clean_line(why, LONGEST_REASON)


def remarks_of(verdict: Verdict) -> tuple[str, ...]:
    """Return the remarks on a submission, cleaned and bounded."""
    return tuple(shown(remark) for remark in verdict.remarks)


def _result(number: int, step: StepVerdict) -> StepResult:
    told = step_text(step)
    text = "\n".join((*told.finding.parts, *told.finding.details)) or told.mark.sentence
    title = clean_line(step.title, LONGEST_TITLE)
    return StepResult(
        number, title, step_mark(step).words, text, step.points + 0.0, step.max_points
    )


# A verdict as GitHub Classroom's reporter takes it: JSON in Base64, in a step's output `result`.
#
# What the reporter reads is in its source (education/autograding-grading-reporter, `src/main.js`,
# `notify-classroom.js`, `console-results.js`): `status`, `max_score` and `tests`, each with
# `name`, `status`, `score`, `line_no` and `message`. It sends the sum of the tests' scores, so
# partial points arrive. It sends none where `max_score` is 0: so it is where the work was not
# graded.


def classroom_results(verdict: Verdict) -> str:
    """Return one line of Base64, for `echo "result=..." >> "$GITHUB_OUTPUT"`."""
    text = json.dumps(classroom_facts(verdict))
    return base64.b64encode(text.encode("utf-8")).decode("ascii")


def classroom_facts(verdict: Verdict) -> dict[str, object]:
    """Return what the reporter reads."""
    results = step_results(verdict)
    graded = verdict.graded
    tests = [
        {
            "name": f"{result.number}. {result.title}",
            "status": ("pass" if result.full else "fail") if graded else "error",
            "score": result.points if graded else 0,
            "message": result.text if graded else not_graded(verdict),
            "line_no": 0,
        }
        for result in results
    ]
    status = "pass" if all(result.full for result in results) else "fail"
    return {
        "version": 1,
        "status": status if graded else "error",
        "max_score": verdict.max_points if graded else 0,
        "tests": tests,
    }


# A verdict as Gradescope's `results.json`, after its documentation for autograders.
#
# https://gradescope-autograders.readthedocs.io/en/latest/specs/ (Output Format): a `score` and
# `tests`, each with `score`, `max_score`, `status`, `name`, `number`, `output`, `output_format`
# and `visibility`. There is no `max_score` of the whole: Gradescope has it from the assignment.


def gradescope_results(verdict: Verdict) -> str:
    """Return the text of `results.json`; the finding of a step is what the student reads.

    What the autograder prints is kept from students. Raise `KitError` when there is no mark:
    Gradescope knows no result without a score.
    """
    refuse_ungraded(verdict, "Gradescope")
    tests = [
        {
            "name": result.title,
            "name_format": "text",
            "number": str(result.number),
            "score": result.points,
            "max_score": result.max_points,
            "status": "passed" if result.full else "failed",
            "output": result.text,
            "output_format": "text",
            "visibility": "visible",
        }
        for result in step_results(verdict)
    ]
    facts = {
        "score": verdict.points + 0.0,
        "execution_time": math.ceil(verdict.seconds),
        "output": "\n".join(remarks_of(verdict)),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": tests,
    }
    return json.dumps(facts, indent=2) + "\n"


# A verdict as the summary of a job on GitHub: `attn platform result ... >> "$GITHUB_STEP_SUMMARY"`.
#
# A summary is Markdown, and a student's text in it must not become a heading, a link or a
# picture. So the table is one block of HTML, in which GitHub reads no Markdown, without an empty
# line.


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


# A verdict as JUnit XML: a suite for each step, a case for each of its checks.
#
# The form is that of `junit-10.xsd` of Jenkins' xunit plugin, which GitLab and the actions that
# show test reports read as well.

_LONGEST = 300


def junit_report(verdict: Verdict) -> str:
    """Return the XML; a check that was not judged is an `error`, one that failed a `failure`.

    Checks of a step whose points come from a right layer are `skipped`.
    """
    suites = [_suite(step) for step in verdict.steps]
    counts = ("tests", "failures", "errors")
    totals = {name: str(sum(int(each.get(name, "0")) for each in suites)) for name in counts}
    name = clean_line(verdict.exercise, _LONGEST)
    facts = {"name": name, "time": f"{verdict.seconds:.3f}", **totals}
    root = ElementTree.Element("testsuites", facts)
    root.extend(suites)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _suite(step: StepVerdict) -> ElementTree.Element:
    bad = [check for check in step.checks if not check.passes]
    errors = sum(check.outcome in NOT_JUDGED for check in bad)
    failures = 0 if step.by_layer else len(bad) - errors
    suite = ElementTree.Element(
        "testsuite",
        name=clean_line(step.name, _LONGEST),
        tests=str(len(step.checks)),
        failures=str(failures),
        errors=str(errors),
        skipped=str(len(bad) - errors - failures),
    )
    for check in step.checks:
        suite.append(_case(step, check))
    return suite


def _case(step: StepVerdict, check: CheckVerdict) -> ElementTree.Element:
    title, suite = clean_line(check.title, _LONGEST), clean_line(step.name, _LONGEST)
    case = ElementTree.Element("testcase", name=title, classname=suite)
    if check.passes:
        return case
    if step.by_layer and check.outcome not in NOT_JUDGED:
        ElementTree.SubElement(case, "skipped", message=BY_LAYER.sentence)
        return case
    kind = "error" if check.outcome in NOT_JUDGED else "failure"
    line = clean_line(check.finding.line, _LONGEST) if check.finding else ""
    told = ElementTree.SubElement(case, kind, type=check.outcome.value, message=line)
    # A job may print the file, and its runner takes some lines for orders.
    told.text = ORDERS.sub(r"\g<0> ", shown(check.finding.message)) if check.finding else ""
    return case
