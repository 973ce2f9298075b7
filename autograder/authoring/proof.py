"""Everything that `attn verify` proves about one exercise, and the gaps that remain."""

from __future__ import annotations

import doctest
import importlib
import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from autograder.authoring.build import build
from autograder.authoring.harness import (
    LEAST_VARIANTS,
    Harness,
    read_harness,
    read_variants,
    recorded_examples,
    refusals,
    refused_at_home,
)
from autograder.authoring.kill_matrix import (
    class_naming_gaps,
    kill_matrix,
    matrix_text,
    on_many_inputs,
)
from autograder.authoring.probing import defined, quiet_run
from autograder.authoring.rungs import FILE, GAP, Rungs, read_rungs
from autograder.authoring.sandbox_proof import mistake_gaps, right_answer_gaps
from autograder.authoring.text_rules import compose_texts, word_gaps
from autograder.checks.marks import step_of
from autograder.checks.recording import refuse_what_cannot_cross
from autograder.checks.reference import Reference
from autograder.checks.substitution import unanswerable_steps
from autograder.errors import KitError
from autograder.grading.batch import grade_batch
from autograder.judging.conditions import STANDING
from autograder.judging.time_limit import StillRunning
from autograder.submission.reading import read_submission
from autograder.values.exercise import Exercise, Step, generated
from autograder.values.request import Reply, Request

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
