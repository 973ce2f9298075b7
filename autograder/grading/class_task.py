"""One class and one exercise: what there is to grade, where results go, and how it is graded."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path

from autograder.grading.roster import GroupHandIn, HandIn
from autograder.model.exercise import Exercise
from autograder.model.marking import DEFAULT_RULES, MarkingRules


@dataclass(frozen=True)
class GradingOptions:
    """How to grade: in how many processes (None: as many as the class is worth), isolated or not
    (`allow_process`), whether to judge `again` what has been judged before, on which `cluster`
    (None: only here), and what there are points for, as in `MarkingRules` (None: as the course
    says)."""

    processes: int | None = None
    allow_process: bool = False
    again: bool = False
    cluster: str | None = None
    layer_earns_steps: bool | None = None
    partial_points: bool | None = None


@dataclass(frozen=True)
class ClassTask:
    """One class and one exercise: who handed in what and where, where results go (and whether
    somebody named another folder than the usual one), where the secret of its inputs lies, and
    what its course gives points for, and the groups of which one hand-in counts for all."""

    exercise: Exercise
    hand_ins: tuple[HandIn, ...]
    graded: Path
    output: Path
    output_named: bool
    secret: Path
    rules: MarkingRules = DEFAULT_RULES
    groups: tuple[GroupHandIn, ...] = ()

    def rules_for(self, options: GradingOptions) -> MarkingRules:
        """What there are points for: options overrule the course."""
        names = [each.name for each in fields(MarkingRules)]
        chosen = {name: getattr(options, name) for name in names}
        return replace(self.rules, **{k: v for k, v in chosen.items() if v is not None})
