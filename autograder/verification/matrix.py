"""The kill matrix: which check catches which known mistake, and by how much.

There is a gap if no check catches a mistake, if a mistake is barely caught, or if a check catches
nothing that others miss. Each gap is one sentence with the cure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from autograder.checks.known_mistake import Misconception
from autograder.checks.marks import step_of
from autograder.judging.conditions import STANDING
from autograder.model.symbols import WRONG
from autograder.model.verdict import ANSWERED, telling
from autograder.verification.mutants.figures import Kills
from autograder.verification.trial import Trial

LEAST_MARGIN = 100.0


@dataclass(frozen=True)
class Row:
    """One known mistake, and how the checks of its step catch it.

    margin: in tolerances. named: the misconception that the student is told, if any. answers: it
    returns something in one of the checks that catch it.
    """

    misconception: str
    step: str
    caught_by: tuple[str, ...]
    margin: float
    named: str | None
    answers: bool = True

    def gaps(self) -> tuple[str, ...]:
        """Return one sentence for each gap of this mistake."""
        if not self.caught_by:
            return (
                f"no check of {self.step} catches {self.misconception}: write one that does, or "
                "remove the misconception",
            )
        gaps = []
        if self.margin < LEAST_MARGIN:
            gaps.append(
                f"{self.misconception} moves the result of {self.step} by only {self.margin:.3g} "
                f"tolerances ({LEAST_MARGIN:.0f} are expected): draw inputs that show it more "
                "clearly"
            )
        if self.named != self.misconception and not self.answers:
            gaps.append(
                f"{self.misconception} is known by the exception alone, and others may raise it "
                f"too: draw inputs for a check of {self.step} on which it returns numbers, or "
                "remove the misconception"
            )
        elif self.named != self.misconception:
            gaps.append(
                f"a student with {self.misconception} is told "
                f"{self.named or 'only that values differ'}: draw inputs for the first check of "
                f"{self.step} that tell the two apart"
            )
        return tuple(gaps)


@dataclass(frozen=True)
class Matrix:
    """All rows, and the checks in order, each with its reason to stay, if one is given."""

    rows: tuple[Row, ...]
    checks: tuple[tuple[str, str, str], ...]  # step, check, reason

    def gaps(self) -> tuple[str, ...]:
        """Return one sentence for each gap."""
        found = [gap for row in self.rows for gap in row.gaps()]
        for step, check, reason in self.checks:
            if not reason and not self.own_kills(step, check):
                found.append(
                    f"the check {check} of {step} catches no mistake that the other checks of the "
                    "step miss: write the misconception that it is for, or mark it "
                    "`stays(reason)`"
                )
        return tuple(found)

    def own_kills(self, step: str, check: str) -> tuple[str, ...]:
        """Return the mistakes that only this check catches, of those that the author wrote."""
        return tuple(
            row.misconception
            for row in self.rows
            if row.step == step
            and {other for other in row.caught_by if not other.startswith(STANDING)} == {check}
        )


def kill_matrix(trial: Trial) -> Matrix:
    """Run every check of each step over every known mistake of that step."""
    rows = tuple(_row(trial, known) for known in trial.reference.misconceptions)
    return Matrix(rows, columns(trial))


def columns(trial: Trial) -> tuple[tuple[str, str, str], ...]:
    """Return each check of an exercise once: its step, its name, its reason to stay."""
    checks = dict.fromkeys(
        (step_of(check) or "", check.originalname, _reason(check))
        for check in trial.checks
        if step_of(check)
    )
    return tuple(checks)


def _row(trial: Trial, known: Misconception) -> Row:
    with trial.replaced({known.step: known.wrong}):
        seen = trial.run_step(known.step)
    failed = {check: result for check, result in seen.items() if result.finding}
    findings = [result.finding for result in seen.values()]
    place = telling(findings)
    told = findings[place] if place is not None else None
    return Row(
        misconception=known.name,
        step=known.step,
        caught_by=tuple(dict.fromkeys(check.originalname for check in failed)),
        margin=max((result.margin for result in failed.values()), default=0.0),
        named=told.misconception if told else None,
        answers=any(each.outcome in ANSWERED for each in findings if each),
    )


def _reason(check: pytest.Function) -> str:
    mark = check.get_closest_marker("stays")
    return str(mark.args[0]) if mark else ""


def matrix_text(title: str, matrix: Matrix) -> str:
    """Return the matrix as a Markdown table per step."""
    lines = [f"## {title}", ""]
    steps = dict.fromkeys(step for step, _, _ in matrix.checks)
    for step in steps:
        checks = [(check, reason) for of, check, reason in matrix.checks if of == step]
        rows = [row for row in matrix.rows if row.step == step]
        lines += [f"### {step}", ""]
        lines += ["| mistake | " + " | ".join(_words(check) for check, _ in checks) + " | margin |"]
        lines += ["|---|" + "---|" * len(checks) + "---:|"]
        for row in rows:
            marks = [WRONG if check in row.caught_by else "" for check, _ in checks]
            # Two digits, because the others depend on the processor.
            amount = "any" if math.isinf(row.margin) else f"{float(f'{row.margin:.2g}'):,.0f}"
            cells = [row.misconception.replace("_", " "), *marks, amount]
            lines.append("| " + " | ".join(cells) + " |")
        lines.append("")
        lines += [f"- {_words(check)} stays: {reason}" for check, reason in checks if reason]
        lines += [""] if any(reason for _, reason in checks) else []
    return "\n".join(lines)


def kills_text(kills: Iterable[Kills]) -> str:
    """Return how many mutants every check kills as a Markdown table."""
    lines = [
        "### mutants",
        "",
        "| step | check | killed | by no other check |",
        "|---|---|---:|---:|",
    ]
    lines += [
        f"| {each.step} | {_words(each.check)} | {each.kills} | {each.alone} |" for each in kills
    ]
    return "\n".join([*lines, ""])


def _words(check: str) -> str:
    return check.removeprefix("test_").replace("_", " ")
