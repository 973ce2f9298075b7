"""A class that is read and judged, of which only outlines are in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autograder.model.marking import MarkingRules
from autograder.model.value_file import StoredSequence, ValueFile
from autograder.model.verdict import Verdict
from autograder.model.verdict_outline import VerdictOutlines
from autograder.submission.reading import Submission


@dataclass(frozen=True)
class JudgedClass:
    """What was handed in and the verdicts on it, in the same order.

    Submissions and whole verdicts are read anew whenever one is asked for: go through them one by
    one. What is about all of the class needs only the outlines.
    """

    submissions: Sequence[Submission]
    verdicts: Sequence[Verdict]
    outlines: Sequence[Verdict]

    @classmethod
    def in_memory(
        cls, submissions: Sequence[Submission], verdicts: Sequence[Verdict]
    ) -> JudgedClass:
        """Return a class that is small enough to be held as it is."""
        return cls(submissions, verdicts, verdicts)


class IncomingVerdicts:
    """The verdicts on `submissions` as they come in, marked by `rules` and put into a file."""

    def __init__(
        self, submissions: Sequence[Submission], rules: MarkingRules, file: ValueFile
    ) -> None:
        self._submissions, self._rules = submissions, rules
        self._places = {each.student: place for place, each in enumerate(submissions)}
        self._verdicts = StoredSequence[Verdict](file, len(submissions))
        self._outlines: list[Verdict | None] = [None] * len(submissions)
        self._outline_of = VerdictOutlines().of

    def add(self, verdict: Verdict) -> Verdict:
        """Put a verdict away; return its outline."""
        marked = self._rules.marked(verdict)
        place = self._places[verdict.student]
        self._verdicts[place] = marked
        outline = self._outlines[place] = self._outline_of(marked)
        return outline

    @property
    def outlines(self) -> Iterator[Verdict]:
        """Those of the verdicts that are there."""
        return (each for each in self._outlines if each)

    @property
    def missing(self) -> list[int]:
        """The places of the submissions without a verdict."""
        return [place for place, each in enumerate(self._outlines) if each is None]

    def whole_class(self) -> JudgedClass:
        """Return the class, once no verdict is missing."""
        assert not self.missing
        return JudgedClass(self._submissions, self._verdicts, tuple(self.outlines))
