"""The known mistakes that checks have found since this kernel was started."""

from __future__ import annotations

from autograder.model.verdict import Finding

_met: dict[str, None] = {}


def note_mistake(finding: Finding | None) -> None:
    """Note the mistake that a finding names, if it names one."""
    if finding and finding.misconception:
        _met[finding.misconception] = None


def met_mistakes() -> tuple[str, ...]:
    """Return their names, in the order in which they were met."""
    return tuple(_met)
