"""The kill matrix: which check catches which known mistake, and by how much.

There is a gap if no check catches a mistake, if a mistake is barely caught, or if a check catches
nothing that others miss. Each gap is one sentence with the cure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from autograder.authoring.harness import Harness, Seen
from autograder.authoring.mutation_proof import Kills
from autograder.checks.marks import by_purpose, step_of
from autograder.checks.reference import Misconception
from autograder.judging.conditions import STANDING
from autograder.values.symbols import WRONG
from autograder.values.verdict import ANSWERED, telling

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


def kill_matrix(harness: Harness) -> Matrix:
    """Run every check of each step over every known mistake of that step."""
    rows = tuple(_row(harness, known) for known in harness.reference.misconceptions)
    return Matrix(rows, columns(harness))


def columns(harness: Harness) -> tuple[tuple[str, str, str], ...]:
    """Return each check of an exercise once: its step, its name, its reason to stay."""
    checks = dict.fromkeys(
        (step, check.originalname, str(mark.args[0]) if mark else "")
        for check in harness.checks
        if (step := step_of(check))
        for mark in [check.get_closest_marker("stays")]
    )
    return tuple(checks)


def _row(harness: Harness, known: Misconception) -> Row:
    with harness.replaced({known.step: known.wrong}):
        seen = harness.run_step(known.step)
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


# Mistakes are named in the class too: a forward that behaves like one wrong step is told which.
#
# Every known mistake of a function is put into the reference's chain. Then the class is judged as
# if a student had written it in one piece, without step functions.


def class_naming_gaps(harness: Harness, first: int = 0, apart: int = 1) -> tuple[str, ...]:
    """Return a sentence for each mistake inside the class that is not named to the student.

    All mistakes are tried, or beginning with the `first`, each that is `apart` from the one before.
    """
    tried = harness.reference.misconceptions[first::apart]
    return tuple(gap for known in tried for gap in _gap(harness, known))


def _gap(harness: Harness, known: Misconception) -> Iterator[str]:
    for step in harness.reference.layers:
        if known.step == step:
            continue
        with harness.replaced({known.step: known.wrong}):
            seen = _first(harness, step)
        if seen is None or seen.finding is None:
            continue  # it does not show in the class, or only by exceptions, which name nothing
        named = seen.finding.misconception
        if named is None or not _alike(harness, step, named, known):
            yield (
                f"a {step} that behaves as {known.name} is told "
                f"{named or 'only that values differ'}: draw inputs for its checks that tell "
                "the two apart"
            )


def _first(harness: Harness, step: str) -> Seen | None:
    failing = [seen for seen in harness.run_step(step).values() if seen.finding]
    answered = any(seen.finding and seen.finding.outcome in ANSWERED for seen in failing)
    return failing[0] if answered else None


def _alike(harness: Harness, step: str, named: str, known: Misconception) -> bool:
    """Whether two mistakes are the same once they are inside the class.

    For example, keys times queries is the same as queries and keys swapped: both texts are true.
    """
    if named == known.name:
        return True
    other = next(each for each in harness.reference.misconceptions if each.name == named)
    margins = []
    for each in (known, other):
        with harness.replaced({each.step: each.wrong}):
            # Where these fail, the standing checks are not asked.
            own, telling, _ = by_purpose(harness.checks_of(step))
            seen = [harness.run(check) for check in (*own, *telling)]
            margins.append([result.margin for result in seen if result.finding])
    ours, theirs = margins
    # Margins count tolerances. Results that agree within a tolerance have margins that differ by
    # at most 1. With half precision that can be a large part of a margin.
    return len(ours) == len(theirs) and bool(np.allclose(ours, theirs, rtol=0.02, atol=1.0))


# Known mistakes are caught and named on many inputs, because every hand-in gets its own.
#
# The matrix shows a single draw, the exercise's own. Here the same is tried on many draws.

FIRST_SEED = 2_000_000
FEWEST = 2
VARIANTS_PER_MISTAKE = 10  # seeds for a variant per seed for a mistake, which takes longer


@dataclass(frozen=True)
class ManyInputs:
    """The result of `seeds` draws: the least margin of all, and a sentence for every gap."""

    seeds: int
    least_margin: float
    gaps: tuple[str, ...]


def seeds_for_mistakes(seeds: int) -> range:
    """Return the seeds for mistakes, when `seeds` seeds are tried for each variant."""
    count = max(FEWEST, seeds // VARIANTS_PER_MISTAKE)
    return range(FIRST_SEED, FIRST_SEED + count)


def on_many_inputs(harness: Harness, seeds: Iterable[int]) -> ManyInputs:
    """Try every known mistake on the inputs of each seed; report a gap with its first seed.

    Inside a class, where looking for a name takes most of the time, a seed is for a half of them.
    """
    tried, margin = 0, math.inf
    found: dict[str, tuple[str, ...]] = {}
    for place, seed in enumerate(seeds):
        drawn = harness.drawn_from(seed)
        matrix = kill_matrix(drawn)
        tried, margin = tried + 1, min([margin, *(row.margin for row in matrix.rows)])
        gaps = {row.misconception: row.gaps() for row in matrix.rows}
        gaps |= {gap: (gap,) for gap in class_naming_gaps(drawn, place % FEWEST, FEWEST)}
        for what, sentences in gaps.items():
            if sentences:
                found.setdefault(what, tuple(f"with seed {seed}, {each}" for each in sentences))
    return ManyInputs(tried, margin, tuple(gap for gaps in found.values() for gap in gaps))
