"""A verdict as GitHub Classroom's reporter takes it: JSON in Base64, in a step's output `result`.

What the reporter reads is in its source (education/autograding-grading-reporter, `src/main.js`,
`notify-classroom.js`, `console-results.js`): `status`, `max_score` and `tests`, each with `name`,
`status`, `score`, `line_no` and `message`. It sends the sum of the tests' scores, so partial points
arrive. It sends none where `max_score` is 0: so it is where the work was not graded.
"""

from __future__ import annotations

import base64
import json

from autograder.model.verdict import Verdict
from autograder.platforms.step_result import not_graded, step_results


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
