"""Everything that `attn verify` proves about one exercise, its kill matrix, the gaps left."""

from __future__ import annotations

import doctest
import importlib
import math
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from autograder.authoring.build import build
from autograder.authoring.harness import (
    LEAST_VARIANTS,
    Harness,
    Seen,
    read_harness,
    read_variants,
    recorded_examples,
    refusals,
    refused_at_home,
)
from autograder.authoring.mutation_proof import Kills, mistake_gaps, right_answer_gaps
from autograder.authoring.probing import defined, quiet_run
from autograder.authoring.rungs import FILE, GAP, Rungs, read_rungs
from autograder.authoring.text_rules import compose_texts, word_gaps
from autograder.checks.marks import by_purpose, step_of
from autograder.checks.plugin import refuse_what_cannot_cross
from autograder.checks.reference import Misconception, Reference
from autograder.checks.substitution import unanswerable_steps
from autograder.errors import KitError
from autograder.grading.batch import grade_batch
from autograder.judging.conditions import STANDING
from autograder.judging.time_limit import StillRunning
from autograder.submission.reading import read_submission
from autograder.values.exercise import Exercise, Step, generated
from autograder.values.request import Reply, Request
from autograder.values.symbols import WRONG
from autograder.values.verdict import ANSWERED, telling

# The kill matrix: which check catches which known mistake, and by how much.
#
# There is a gap if no check catches a mistake, if a mistake is barely caught, or if a check
# catches nothing that others miss. Each gap is one sentence with the cure.

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


# The similar code of the third hints does what it says: it is run, as Python's `doctest` does.

# A student reads it beside other code, and does not scroll.
LONGEST_LINE, MOST_LINES = 76, 16


def similar_code_gaps(exercise: Exercise) -> tuple[str, ...]:
    """Return a sentence for each step whose similar code prints something else, or is too long."""
    return tuple(gap for step in exercise.steps if step.similar for gap in _gaps(exercise, step))


def _gaps(exercise: Exercise, step: Step) -> Iterator[str]:
    names = {"np": np, "math": math}
    if exercise.library == "torch":
        names |= {"torch": importlib.import_module("torch")}
        names |= {"nn": importlib.import_module("torch.nn")}
    lines = step.similar.strip().split("\n")
    if len(lines) > MOST_LINES or max(map(len, lines)) > LONGEST_LINE:
        yield (
            f"the similar code of {step.name} is longer than {MOST_LINES} lines of {LONGEST_LINE} "
            "characters: show less"
        )
    name = f"the similar code of {step.name}"
    test = doctest.DocTestParser().get_doctest(step.similar, names, name, None, 0)
    if not test.examples:
        yield f"{name} is not written as typed into Python: begin its lines with >>>"
    said: list[str] = []
    with quiet_run(exercise.library, exercise.limits.seconds_per_call):
        doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    if said:
        found = " ".join("".join(said).split())
        yield f"{name} does not print what stands below it: {found}"


# The graders fail closed: handing in nothing earns nothing, through the real grading path.

IMPORTS_ONLY = "import math\n\nimport numpy as np\n"


def closed_gaps(exercise: Exercise) -> tuple[str, ...]:
    """Grade the stubs, an empty file and a file with imports only; return a sentence per gap.

    Raises `KitError` when the sandbox does not meet the demands.
    """
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        build(exercise.folder, folder)
        stub = folder / exercise.name
        (folder / "empty.py").write_text("", encoding="utf-8")
        (folder / "imports.py").write_text(IMPORTS_ONLY, encoding="utf-8")
        files = {
            "the untouched notebook": stub / f"{exercise.name}.ipynb",
            "the untouched .py": stub / f"{exercise.name}.py",
            "an empty file": folder / "empty.py",
            "a file with imports only": folder / "imports.py",
        }
        submissions = [read_submission(path, exercise, name) for name, path in files.items()]
        verdicts = grade_batch(exercise.folder, submissions)
    return tuple(
        f"{verdict.student} gets {verdict.points:g} points of {exercise.name}, but must get none"
        for verdict in verdicts
        if verdict.points or verdict.infrastructure
    )


# What an exercise lacks, and what its checks hand over, that no finding would ever tell.


def missing_gaps(harness: Harness) -> tuple[str, ...]:
    """Return a sentence for each part that is missing: the check of the steps end to end."""
    if any(check.get_closest_marker("chain_of_steps") for check in harness.checks):
        return ()
    return (
        "no check runs the steps end to end: write one with the fixture `chain`, and mark it "
        "`chain_of_steps`",
    )


def crossing_gaps(harness: Harness) -> tuple[str, ...]:
    """Return a sentence for each check that hands over what does not reach a student's code.

    Or that hands a class more than the reference would answer for in the place of a wrong step.

    Raises `KitError` when a check cannot be run.
    """
    found: list[str] = []
    for check in harness.checks:
        # A standing check hands over what these do, and is no author's to mend.
        own = not check.name.startswith(STANDING)
        watched = _Handing(harness.reference, check.name, own)
        if step_of(check):
            harness.run(check, naming=False, respondent=watched)
        found += watched.lost
    return tuple(dict.fromkeys(found))


@dataclass
class _Handing:
    """A `Respondent`: the reference, which looks at what it is asked."""

    reference: Reference
    check: str
    own: bool  # whether an author wrote it
    lost: tuple[str, ...] = ()

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        try:
            if self.own:
                refuse_what_cannot_cross(self.check, request, self.reference)
        except KitError as error:
            self.lost = (f"{error.fact}: {error.cure}",)
        if request.target in self.reference.layers:
            self.lost += tuple(
                f"{self.check} asks {request.target} what the reference does not answer for in the "
                f"place of {step}, which would cost whoever has that wrong both: use smaller sizes"
                for step in unanswerable_steps(self.reference, request)
            )
        return self.reference.ask(request)


# The lines to sort hold what they promise: the right ones pass, and each wrong one is refused.
#
# A worked example refused every wrong line when `attn build` chose it. Here the hidden checks
# have to refuse it too, and every check has to accept the step that is put together from the
# right lines.


def rung_gaps(harness: Harness) -> tuple[str, ...]:
    """Return a sentence for each line that is not what it is shown as; none without the file.

    Raises `KitError` when the file cannot be read.
    """
    exercise = harness.reference.exercise
    file = generated(exercise.folder, FILE)
    if not file.is_file():
        return ()  # `attn build --check` says so
    steps = {step.name for step in exercise.steps}
    return tuple(
        gap
        for rungs in read_rungs(file).values()
        if rungs.step in steps
        for gap in (*_line_gaps(harness, rungs), *_filling_gaps(harness, rungs))
    )


def _line_gaps(harness: Harness, rungs: Rungs) -> Iterator[str]:
    refused = _refusing(harness, rungs.step, rungs.code(rungs.true))
    if refused:
        yield (
            f"the lines of {rungs.step} in {FILE}, in the right order, are refused by {refused}: "
            "run `attn build`"
        )
    for line in rungs.wrong:
        if not _refusing(harness, rungs.step, rungs.code(rungs.with_wrong(line))):
            yield (
                f"the line `{line.text.strip()}` is offered as a wrong one for {rungs.step}, and "
                "no check refuses it: run `attn build`, or write a check that does"
            )


def _filling_gaps(harness: Harness, rungs: Rungs) -> Iterator[str]:
    if rungs.gap is None:
        return
    filled = rungs.code(rungs.with_gap()).replace(GAP, f"({rungs.filling})")
    refused = _refusing(harness, rungs.step, filled)
    if refused:
        yield f"the gap of {rungs.step}, filled with `{rungs.filling}`, is refused by {refused}"


def _refusing(harness: Harness, step: str, code: str) -> str:
    """Return the name of the first check that refuses this code of a step, "" if none does."""
    exercise = harness.reference.exercise
    try:
        with quiet_run(exercise.library, exercise.limits.seconds_per_submission):
            made = defined(vars(harness.module), code)[step]
            with harness.replaced({step: made}):
                for check in harness.checks_of(step):
                    if harness.run(check, naming=False).finding:
                        return str(check.name)
    except StillRunning:
        return "the time limit"
    return ""


@dataclass(frozen=True)
class Caught:
    """One half of a proof: wrong code is caught and named on any inputs, with words for it.

    `seeds` counts the draws tried beside the exercise's own. `least_margin`, in tolerances, is the
    least of all draws.
    """

    mistakes: int
    seeds: int
    checks: int
    least_margin: float
    matrix: str
    gaps: tuple[str, ...]


@dataclass(frozen=True)
class Accepted:
    """The other half of a proof: right code is never refused."""

    variants: int
    seeds: int
    gaps: tuple[str, ...]


def prove_caught(folder: Path, seeds: Sequence[int]) -> Caught:
    """Prove that every known mistake is clearly caught and named, and that no work gets no points.

    Mistakes are tried on the exercise's own inputs and on those of each of `seeds`. A hand-in with
    one, graded as a file, loses that step and no other. Raises `KitError` when the files of the
    exercise do not fit together.
    """
    heard: set[str] = set()
    harness = read_harness(folder, heard.add)
    exercise = harness.reference.exercise
    compose_texts(harness)
    matrix = kill_matrix(harness)
    own_gaps = (*matrix.gaps(), *class_naming_gaps(harness))
    many = on_many_inputs(harness, seeds)
    gaps = (
        *own_gaps,
        *many.gaps,
        *word_gaps(harness, heard),
        *closed_gaps(exercise),
        *mistake_gaps(harness),
        *rung_gaps(harness),
        *similar_code_gaps(exercise),
    )
    return Caught(
        mistakes=len(matrix.rows),
        seeds=many.seeds,
        checks=len(matrix.checks),
        least_margin=min([many.least_margin, *(row.margin for row in matrix.rows)]),
        matrix=matrix_text(exercise.title, matrix),
        gaps=gaps,
    )


def prove_accepted(folder: Path, seeds: int) -> Accepted:
    """Prove that no correct variant is refused, on any of `seeds` seeds or by a worked example."""
    harness = read_harness(folder)
    variants = read_variants(harness)
    few = f"there are only {len(variants)} correct variants: write {LEAST_VARIANTS} in variants.py"
    gaps = ((few,) if len(variants) < LEAST_VARIANTS else ()) + refusals(harness, variants, seeds)
    gaps += refused_at_home(harness, variants, recorded_examples(folder))
    gaps += missing_gaps(harness) + crossing_gaps(harness)
    gaps += right_answer_gaps(harness.reference.exercise, variants)
    return Accepted(len(variants), seeds, gaps)
