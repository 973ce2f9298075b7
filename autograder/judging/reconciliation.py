"""The findings of one step put together: one name for all of them, or what is true of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from autograder.judging.compare import compare
from autograder.judging.description import described_together
from autograder.judging.diagnosis import PAIR, worded
from autograder.judging.expectation import Agrees, Expectation
from autograder.judging.question_sizes import sizes_of
from autograder.model.claim import Measure
from autograder.model.request import Request, Returned
from autograder.model.verdict import Finding


@dataclass(frozen=True)
class PassedQuestion:
    """A question that was answered as expected."""

    request: Request
    expectation: Expectation

    @property
    def measure(self) -> Measure | None:
        """The factor of a right result, which is 1, and the sizes where that was seen."""
        if not isinstance(self.expectation, Agrees) or self.request.read:
            return None
        expected, form = self.expectation.expected, self.expectation.form
        return Measure(1.0, sizes_of(expected, form, self.request))

    def is_answered_by(self, reply: Returned) -> bool:
        """Say whether a reply, be it to another question of the step, is the answer to this."""
        wanted = self.expectation
        if not isinstance(wanted, Agrees) or self.request.read or self.request.method:
            return False
        return compare(reply.value, wanted.expected, wanted.form) is None


def reconciled(
    findings: Sequence[Finding | None],
    passed: Sequence[PassedQuestion] = (),
    ruled_out: Callable[[str], bool] = lambda name: False,
) -> tuple[Finding | None, ...]:
    """Name the one mistake that explains all findings of a step, or describe what is wrong.

    Two mistakes may give the same result on the inputs of one check and not on another's.
    `passed` are the questions of the step that were answered right, and `ruled_out` says of a
    mistake, by name, that it would have failed one of them.
    """
    chosen = _one_name(findings, ruled_out)
    if chosen is None:  # NaN may be of a second mistake, and say nothing of the first
        lost = [each for each in findings if each and each.evidence and each.evidence.has_nan]
        others = [each for each in findings if each not in lost]
        first, second = (_one_name(each, ruled_out) for each in (others, lost))
        chosen = f"{first}{PAIR}{second}" if first and second else first
    settled = [_settled(finding, chosen) for finding in findings]
    return tuple(_described(settled, passed))


def _one_name(findings: Sequence[Finding | None], ruled_out: Callable[[str], bool]) -> str | None:
    """Return the mistake that explains all these findings and is not ruled out, if there is one."""
    # What ended without a result matches many mistakes and is not named by them.
    named = [finding for finding in findings if finding and finding.misconception]
    matched = [name for finding in named for name, _ in finding.matches]
    # Which gives the very result in most checks, rather than one that only ends alike.
    likely = sorted(dict.fromkeys(matched), key=matched.count, reverse=True)
    explaining = (name for name in likely if all(_explains(name, each) for each in findings))
    return next((name for name in explaining if not ruled_out(name)), None)


def _parts(name: str) -> tuple[str, ...]:
    """Return the names that explain what `name` does: itself, and each of a pair."""
    return (name, *name.split(PAIR)) if PAIR in name else (name,)


def _explains(name: str, finding: Finding | None) -> bool:
    if finding is None or finding.evidence is None or finding.evidence.allowed is None:
        return True
    return any(part in finding.evidence.allowed for part in _parts(name))


def _settled(finding: Finding | None, chosen: str | None) -> Finding | None:
    """Return a finding in the words of the chosen mistake, or bare and with its evidence."""
    if finding is None or finding.evidence is None:
        return finding and replace(finding, matches=())
    words = dict(finding.matches)
    name = next((part for part in _parts(chosen or "") if part in words), None)
    if name is None:
        return replace(finding.evidence.bare, matches=(), evidence=finding.evidence)
    return worded(finding.evidence.bare, name, words[name])


def _described(
    findings: Sequence[Finding | None], passed: Sequence[PassedQuestion]
) -> list[Finding | None]:
    """Describe the findings that are left without a name, all in the same way if one fits all."""
    told = [finding and replace(finding, evidence=None) for finding in findings]
    places, bare, claims = [], [], []
    for place, finding in enumerate(findings):
        if finding and finding.evidence and finding.evidence.claims:
            places.append(place)
            bare.append(replace(finding, evidence=None))
            claims.append(finding.evidence.claims())
    measures = [question.measure for question in passed] if bare else []
    together = described_together(bare, claims, [measure for measure in measures if measure])
    for place, finding in zip(places, together):
        told[place] = finding
    return told
