"""Claims put into a finding: the first that is true wherever the step is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autograder.judging.expression import expression
from autograder.model.claim import Claim, Measure
from autograder.model.verdict import Finding

FIXED = "Is a fixed number written where a size belongs?"


def described(finding: Finding, claims: Sequence[Claim], passed: Sequence[Measure] = ()) -> Finding:
    """Return one finding with the most specific claim about it, if there is any."""
    return described_together([finding], [claims], passed)[0]


def described_together(
    findings: Sequence[Finding],
    claims: Sequence[Sequence[Claim]],
    passed: Sequence[Measure] = (),
) -> list[Finding]:
    """Return the findings of a step with the claims about them, one sequence for each finding.

    A claim of a kind that is true of all of them comes first. `passed` are measures of results
    that are right.
    """
    kind = _common(claims)
    told = [
        next((claim for claim in each if claim.kind == kind), each[0] if each else None)
        for each in claims
    ]
    measures = [claim.measure for claim in told if claim and claim.measure]
    sized = _sized(kind, measures, passed)
    return [_worded(finding, claim, sized) for finding, claim in zip(findings, told)]


def _common(claims: Sequence[Sequence[Claim]]) -> str | None:
    for claim in claims[0] if claims else ():
        if all(any(other.kind == claim.kind for other in each) for each in claims):
            return claim.kind
    return None


def _sized(kind: str | None, measures: Sequence[Measure], passed: Sequence[Measure]) -> str:
    """Return the expression of the sizes that all measures of a step have in common."""
    return expression([*measures, *passed]) if kind and measures else ""


def _worded(finding: Finding, claim: Claim | None, sized: str) -> Finding:
    if claim is None:
        return finding
    if not claim.leads:
        return replace(finding, look=claim.fact)
    fact, look = claim.fact, claim.look or finding.look
    if claim.measure and sized:
        fact = f"{fact} That is {sized}."
        look = FIXED if "," in sized else look
    seen = f"{finding.fact} {finding.look}".strip()
    return replace(finding, fact=fact, look=look, details=(*finding.details, seen), vague=False)
