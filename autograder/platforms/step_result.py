"""A verdict as other programs take it: Gradescope, GitHub's Classroom and jobs, JUnit."""

from __future__ import annotations

import base64
import json
import math
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from autograder.authoring.build import TRACES
from autograder.authoring.contents import (
    Files,
    archive_of,
    build_wheel,
    needed,
    read_wheel,
    requirements_text,
)
from autograder.errors import KitError
from autograder.reports.finding import html, shown, step_text
from autograder.values.exercise import Exercise, shared_folders
from autograder.values.sanitize import ORDERS, clean_line
from autograder.values.symbols import BY_LAYER, OUR_FAULT, number, step_mark, why_not_graded
from autograder.values.verdict import NOT_JUDGED, CheckVerdict, StepVerdict, Verdict

LONGEST_TITLE, LONGEST_REASON = 200, 600


@dataclass(frozen=True)
class StepResult:
    """One step: its number and title, its points, and the finding as plain text."""

    number: int
    title: str
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
    return StepResult(number, title, text, step.points + 0.0, step.max_points)


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
    if not verdict.graded:
        raise _no_score(verdict)
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


def _no_score(verdict: Verdict) -> KitError:
    why = clean_line(why_not_graded(verdict), LONGEST_REASON).removesuffix(".")
    again = "grade it again; what was judged before is kept"
    return KitError(
        f"the work of {clean_line(verdict.student, 60)} is not graded, so there is no score for "
        f"Gradescope: {why}",
        place=f"exercise {clean_line(verdict.exercise, 60)}",
        cure=again
        if verdict.infrastructure
        else "have it handed in again, or enter a mark there by hand",
    )


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


# Gradescope's autograder.zip: the kit, one exercise with its solution, and two scripts.
#
# It holds what students must not see: the solution, the checks, and the secret of the inputs.

# The two scripts in Gradescope's autograder.zip, after its documentation for autograders.
#
# https://gradescope-autograders.readthedocs.io/en/latest/specs/: the zip's files are put into
# /autograder/source. As root, `setup.sh` runs there once, when the image is built, and
# /autograder/run_autograder for every hand-in. That finds the hand-in in /autograder/submission,
# and leaves /autograder/results/results.json. What it prints is shown to instructors only.

SETUP, RUN = "setup.sh", "run_autograder"
SECRET_NAME, SOLUTIONS, REQUIREMENTS = "input.secret", "solutions", "requirements.txt"
# Where Gradescope puts everything. Only the kit's tests have another place.
_ROOT = "root=${ATTN_AUTOGRADER_ROOT:-/autograder}"

_SETUP = """#!/usr/bin/env bash
# Made by `attn platform gradescope`. Gradescope runs it as root, once, when it builds the image.
set -euo pipefail
@ROOT@
export DEBIAN_FRONTEND=noninteractive

fits() {
  "$1" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

# The versions of the packages were chosen with the first of these.
names=(@PYTHONS@)
python=
for name in "${names[@]}"; do
  if fits "$name"; then python=$name; break; fi
done
if [ -z "$python" ]; then
  for name in "${names[@]}"; do
    if apt-get install -y "$name" "$name-venv" && fits "$name"; then python=$name; break; fi
  done
fi
if [ -z "$python" ]; then
  echo "error: no Python 3.11 or newer can be installed in this image"
  echo "cure:  choose a newer base image where you upload the zip"
  exit 1
fi
if ! ldconfig -p | grep 'libseccomp\\.so\\.2' >/dev/null; then apt-get install -y libseccomp2; fi

cd "$root/source"
"$python" -m venv "$root/kit"
"$root/kit/bin/python" -m pip install --quiet --requirement @REQUIREMENTS@
chmod a+rx "$root"
chmod -R a+rX "$root/kit"
# Students' code runs as another user, who may not even look here.
chmod -R go= "$root/source"
"$root/kit/bin/attn" doctor || true
"""

_RUN = """#!/usr/bin/env bash
# Made by `attn platform gradescope`. It grades what lies in submission/, and writes
# results/results.json.
# What it prints is for instructors. Without a score, it leaves no results: that is not a zero.
set -euo pipefail
@ROOT@
exercise=@EXERCISE@
attn=$root/kit/bin/attn
results=$root/results/results.json
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$root/results" "$work/class" "$work/graded"
chmod go= "$root/results"
rm -f "$results"
# Links stay links. A folder around the hand-in keeps it from passing for a course.
cp -RP "$root/submission" "$work/class/submission"
install -m 600 "$root/source/@SECRET@" "$work/graded/@SECRET@"
cd "$work"

code=0
"$attn" grade class --exercise "$exercise" --solutions "$root/source/@SOLUTIONS@" \\
  --output graded --processes 1@OPTIONS@ || code=$?
if [ "$code" -gt 1 ]; then
  echo "No score: grading was refused, as said above. If this machine offers no protection, grade"
  echo "elsewhere ('attn platform collect' reads Gradescope's export), or make the zip again with"
  echo "'attn platform gradescope $exercise --allow-protection process', if you trust the code."
  exit "$code"
fi
"$attn" result graded --format gradescope --to "$results"
"""


def setup_script(python: str) -> str:
    """Return setup.sh; `python` is the version that is best, such as "3.12"."""
    names = (f"python{python}", "python3", "python3.13", "python3.12", "python3.11")
    return _filled(_SETUP, PYTHONS=" ".join(dict.fromkeys(names)), REQUIREMENTS=REQUIREMENTS)


def run_script(exercise: str, options: Sequence[str] = ()) -> str:
    """Return run_autograder, which grades `exercise` with further options of `attn grade`."""
    return _filled(
        _RUN,
        EXERCISE=shlex.quote(exercise),
        OPTIONS="".join(f" {shlex.quote(option)}" for option in options),
        SECRET=SECRET_NAME,
        SOLUTIONS=SOLUTIONS,
    )


def _filled(script: str, **values: str) -> str:
    for name, value in {"ROOT": _ROOT, **values}.items():
        script = script.replace(f"@{name}@", value)
    return script


# Gradescope's own limit is not documented; far more than an exercise and a wheel of the kit have.
LARGEST = 64 * 1024 * 1024


@dataclass(frozen=True)
class GradescopeAutograder:
    """What goes into the zip: the exercise, the secret that its inputs are drawn from, further
    options of `attn grade`, and a wheel of the kit (None: one is built)."""

    exercise: Exercise
    secret: bytes
    options: tuple[str, ...] = ()
    wheel: Path | None = None

    def files(self) -> Files:
        """Return the files of the zip, by path; raise `KitError` when they cannot be made."""
        wheel = read_wheel(self.wheel) if self.wheel else build_wheel(())
        extras = ["grading", *(["torch"] if self.exercise.library == "torch" else [])]
        requirements = requirements_text(f"./{wheel.name}", needed(wheel.requires, extras))
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        return {
            SETUP: setup_script(python).encode(),
            RUN: run_script(self.exercise.name, self.options).encode(),
            REQUIREMENTS: requirements.encode(),
            SECRET_NAME: self.secret,
            wheel.name: wheel.content,
            **_solution(self.exercise),
        }

    def archive(self) -> bytes:
        """Return the zip; its scripts are executable. Raises as `files`."""
        return archive_of(self.files(), executable=(SETUP, RUN))


def _solution(exercise: Exercise) -> Files:
    """Return the files that grading reads: the exercise's own, and those that it shares."""
    root = exercise.folder.resolve()
    files: Files = {}
    for folder in (root, *shared_folders(root)):
        for path in sorted(folder.rglob("*")):
            inside = path.relative_to(root.parent)
            if path.is_file() and not set(inside.parts) & set(TRACES):
                files[f"{SOLUTIONS}/{inside.as_posix()}"] = path.read_bytes()
    if sum(map(len, files.values())) > LARGEST:
        raise KitError(
            "the exercise has more files than an autograder.zip can take",
            place=str(root),
            cure="keep only the exercise's own files in its folder",
        )
    return files
