"""A verdict as JUnit XML: a suite for each step, a case for each of its checks.

The form is that of `junit-10.xsd` of Jenkins' xunit plugin, which GitLab and the actions that show
test reports read as well.
"""

from __future__ import annotations

from xml.etree import ElementTree

from autograder.model.sanitize import ORDERS, clean_line
from autograder.model.symbols import BY_LAYER
from autograder.model.verdict import NOT_JUDGED, CheckVerdict, StepVerdict, Verdict
from autograder.reports.finding import shown

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
