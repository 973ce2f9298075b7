"""A verdict as Gradescope's `results.json`, after its documentation for autograders.

https://gradescope-autograders.readthedocs.io/en/latest/specs/ (Output Format): a `score` and
`tests`, each with `score`, `max_score`, `status`, `name`, `number`, `output`, `output_format` and
`visibility`. There is no `max_score` of the whole: Gradescope has it from the assignment.
"""

from __future__ import annotations

import json
import math

from autograder.model.verdict import Verdict
from autograder.platforms.step_result import refuse_ungraded, remarks_of, step_results


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
