"""Judge a class as judged_class.py does, with no diagnosis: a result is right, or it is not.

No known mistake is tried, and nothing else is said about a wrong result than how it differs. What
is left of it: a failing step is judged once more, and its checks that only tell are asked.

A program that a row of the benchmark runs and measures, with the arguments of judged_class.py.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from autograder.judging import expectation as expectations
from autograder.judging.diagnosis import Candidate
from autograder.model.request import Reply, Request
from autograder.model.verdict import Finding

_in_full = expectations.judge


def _plainly(
    expectation: expectations.Expectation,
    request: Request,
    reply: Reply,
    candidates: Iterable[Candidate],
    describe: bool = True,
) -> Finding | None:
    """Return what `judge` returns, in the barest words."""
    return _in_full(expectation, request, reply, (), describe=False)


# Here, and before the checks are imported: every grader process imports this file too.
expectations.judge = _plainly

from benchmarks.judged_class import judged, summary  # noqa: E402


def main(folder: Path, texts: Path) -> None:
    """Print how many hand-ins have all points.

    Raises RuntimeError when a result was diagnosed after all.
    """
    verdicts = judged(folder, texts)
    named = {step.finding.misconception for v in verdicts for step in v.steps if step.finding}
    if named - {None, ""}:
        raise RuntimeError(f"these were named: {named}")
    print(summary(verdicts))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
