"""`attn platform result`, held against what the readers of its formats document."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from jsonschema import Draft202012Validator

from autograder.errors import KitError
from autograder.platforms.step_result import (
    classroom_facts,
    classroom_results,
    gradescope_results,
    job_summary,
    junit_report,
)
from autograder.reports.grades_csv import read_verdict
from autograder.values.verdict import (
    CheckVerdict,
    Finding,
    Outcome,
    StepVerdict,
    Verdict,
)
from platforms.gradescope_schema import GRADESCOPE
from platforms.platform_downloads import attn
from support.released_course import grade, released_course, sample_class
from support.verdicts import EXERCISE, verdict, write_verdicts

HOSTILE = "]]></failure>\x1b[2J\x00\ud800 <img src=x onerror=y>\n\n# big `a`b` ![x](http://e.vil)\n::error::x"


def hostile() -> Verdict:
    finding = Finding(Outcome.WRONG_VALUES, HOSTILE, right=HOSTILE, details=(HOSTILE,))
    found = verdict("eve", softmax=finding, project_qkv=finding)
    return replace(found, remarks=(HOSTILE,))


def by_layer() -> Verdict:
    """A verdict in which the first step is not written, and the layer does its work."""
    made = verdict("lea")
    first = EXERCISE.steps[0]
    check = CheckVerdict.of("values", "right values", Finding(Outcome.NOT_WRITTEN, "not there"))
    return replace(made, steps=(StepVerdict.of(first, (check,), by_layer=True), *made.steps[1:]))


def test_gradescope_gets_a_score_for_each_step_and_what_a_student_reads() -> None:
    facts = json.loads(gradescope_results(hostile()))
    Draft202012Validator(GRADESCOPE).validate(facts)
    tests = facts["tests"]
    assert facts["score"] == hostile().points == sum(test["score"] for test in tests)
    assert [test["max_score"] for test in tests] == [step.points for step in EXERCISE.steps]
    assert [test["status"] for test in tests[:3]] == ["failed", "passed", "failed"]
    assert tests[0]["score"] == 0.0 and "<img src=x" in tests[0]["output"]
    assert "\x1b" not in tests[0]["output"] and "\x00" not in tests[0]["output"]


def test_a_step_done_by_the_layer_has_its_points_everywhere() -> None:
    found = by_layer()
    assert json.loads(gradescope_results(found))["tests"][0]["status"] == "passed"
    assert classroom_facts(found)["status"] == "pass"
    root = ElementTree.fromstring(junit_report(found))
    assert root.get("failures") == "0" and root.find(".//testcase/skipped") is not None


def test_classrooms_reporter_finds_the_points_of_every_step() -> None:
    found = hostile()
    sent: dict[str, Any] = json.loads(base64.b64decode(classroom_results(found), validate=True))
    assert sent["status"] == "fail" and sent["max_score"] == found.max_points
    assert 0 < sum(test["score"] for test in sent["tests"]) == found.points < found.max_points
    assert {test["status"] for test in sent["tests"]} == {"pass", "fail"}
    assert all(test["line_no"] == 0 for test in sent["tests"])
    assert json.loads(base64.b64decode(classroom_results(verdict("ada"))))["status"] == "pass"


def test_junit_counts_what_is_in_it_and_survives_any_text() -> None:
    text = junit_report(hostile())
    root = ElementTree.fromstring(text)
    suites = root.findall("testsuite")
    assert [suite.get("name") for suite in suites] == [step.name for step in EXERCISE.steps]
    for outer in (root, *suites):
        assert int(outer.get("tests", "-1")) == len(outer.findall(".//testcase"))
        assert int(outer.get("failures", "-1")) == len(outer.findall(".//failure"))
        assert int(outer.get("errors", "-1")) == len(outer.findall(".//error"))
    assert root.get("failures") == "2" and float(root.get("time", "nan")) == 0.5
    assert not any(line.strip().startswith("::error") for line in text.splitlines())
    allowed = {"testsuites", "testsuite", "testcase", "failure", "error", "skipped"}
    assert {element.tag for element in root.iter()} <= allowed


class Tags(HTMLParser):
    """The names of the tags that a reader of a page sees."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.names.add(tag)


def test_a_students_text_stays_text_in_the_summary_of_a_job() -> None:
    text = job_summary(hostile())
    assert Tags(text).names <= {"h2", "table", "caption", "tr", "th", "td", "code", "p", "br"}
    assert "" not in text.splitlines()  # an empty line would end the block of HTML
    assert all(line.startswith("<") for line in text.splitlines())
    assert "20 of 22 points" in job_summary(verdict("a", softmax=Finding(Outcome.RAISED, "x")))


def test_a_screen_reader_hears_what_the_table_of_a_job_holds() -> None:
    text = job_summary(verdict("a", softmax=Finding(Outcome.RAISED, "x")))
    assert "<caption>" in text
    heads = re.findall("<th[^>]*>", text)
    assert heads and all("scope=" in head for head in heads)


def test_the_command_writes_each_form_from_a_folder_of_results(tmp_path: Path) -> None:
    write_verdicts(tmp_path / "verdicts", [verdict("ada"), hostile()])
    several = attn("platform", "result", tmp_path, "--format", "junit")
    assert several.code == 2 and "--student: ada, eve" in several.err
    target = tmp_path / "results.json"
    words = ("--format", "gradescope", "--student", "eve", "--to", target)
    assert attn("platform", "result", tmp_path, *words).code == 0
    assert target.read_text(encoding="utf-8") == gradescope_results(hostile())
    alone = attn("platform", "result", tmp_path / "verdicts" / "ada.json", "--format", "classroom")
    assert alone.out == classroom_results(verdict("ada")) + "\n"
    missing = attn("platform", "result", tmp_path / "nobody.json", "--format", "summary")
    assert missing.code == 2 and "no such verdict" in missing.err


def test_a_verdict_of_another_version_is_refused_and_one_without_is_read(tmp_path: Path) -> None:
    text = verdict("ada").to_json()
    path = tmp_path / "ada.json"
    path.write_text(text.replace('  "version": 1,\n', ""), encoding="utf-8")
    assert read_verdict(path) == verdict("ada")
    path.write_text(text.replace('"version": 1', '"version": 2'), encoding="utf-8")
    with pytest.raises(KitError, match="not a verdict"):
        read_verdict(path)


@pytest.mark.slow
def test_every_verdict_of_the_sample_class_can_be_given_to_each(tmp_path: Path) -> None:
    course = released_course(tmp_path / "course", sample_class())
    grade(course)
    files = sorted(course.graded(EXERCISE.name).glob("verdicts/*.json"))
    assert len(files) == len(sample_class())
    for file in files:
        found = read_verdict(file)
        Draft202012Validator(GRADESCOPE).validate(json.loads(gradescope_results(found)))
        ElementTree.fromstring(junit_report(found))
        assert job_summary(found) and classroom_results(found)
