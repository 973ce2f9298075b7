"""Which line of the code makes the first NaN, seen by running it once more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from autograder.judging.diagnosis import told_by_cause
from autograder.model.request import Failed, Reply, Request, Respondent, Returned
from autograder.model.verdict import Finding
from autograder.protocol.wire import arrays_in

_WHY = {
    "sqrt": "The root of a negative number is NaN.",
    "log": "The logarithm of a negative number is NaN.",
    "subtract": "An infinite number less another one is NaN.",
    "divide": "0 divided by 0 is NaN, and so is infinity by infinity.",
    "multiply": "0 times infinity is NaN.",
}


def with_first_nan(
    finding: Finding, request: Request, reply: Reply, respondent: Respondent
) -> Finding:
    """Return a finding on a result with NaN that has no name, told by the line that makes it.

    Only NumPy says which line that is.
    """
    if finding.misconception or not isinstance(reply, Returned) or not _holds_nan(reply):
        return finding
    with np.errstate(invalid="raise"):
        stopped = respondent.ask(request)
    exception = stopped.exception if isinstance(stopped, Failed) else None
    if exception is None or exception.type_name != "FloatingPointError" or not exception.line:
        return finding
    why = next((words for name, words in _WHY.items() if name in exception.message), "")
    fact = f"{finding.fact} Line {exception.line}, `{exception.code}`, makes the first one."
    told = told_by_cause(finding, fact, why)
    return replace(told, details=finding.details)


def _holds_nan(reply: Returned) -> bool:
    return any(np.isnan(each).any() for each in arrays_in(reply.value) if each.dtype.kind == "f")
