"""Judge a class as judged_class.py does, with no diagnosis: a result is right, or it is not.

No known mistake is tried, no further question is asked to explain a wrong result, and nothing else
is said about it than how it differs. What is left: a failing step is judged once more.

A program that a row of the benchmark runs and measures, with the arguments of judged_class.py.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from autograder.judging import conditions
from autograder.judging import expectation as expectations
from autograder.judging.diagnosis import Candidate
from autograder.judging.examples import AnswerPair, PairMistake
from autograder.values.request import Reply, Request
from autograder.values.verdict import Finding

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


def _unexplained(
    finding: Finding,
    request: Request,
    expectation: expectations.Expectation,
    judge: conditions.Judge,
) -> Finding:
    """Return a finding as it is."""
    return finding


# Here, and before the checks are imported: every grader process imports this file too.
expectations.judge = _plainly
conditions.explained = _unexplained

from autograder.checks import marks  # noqa: E402
from autograder.checks.student import KnownPairs  # noqa: E402

_by_purpose = marks.by_purpose


def _deciding(
    items: Sequence[marks.Item],
) -> tuple[list[marks.Item], list[marks.Item], list[marks.Item]]:
    """Return the checks of one step as `by_purpose` does, without those that only tell."""
    own, _, standing = _by_purpose(items)
    return own, [], standing


def _none_alike(self: KnownPairs, pair: AnswerPair) -> Iterator[PairMistake]:
    """Give no known mistake that draws alike."""
    return iter(())


marks.by_purpose = _deciding
KnownPairs.mistakes = _none_alike  # type: ignore[method-assign]

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
