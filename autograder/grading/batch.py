"""Judge a batch of submissions in this process: one pytest session, one zygote.

This is the function that runs in every grader process, on this machine or on
another. The cost of starting pytest and the zygote is paid once for all the
batches that the process gets one after the other.
"""

from __future__ import annotations

import ast
import atexit
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path

from autograder.checks.marks import fault_detail
from autograder.checks.memory import InputSeeds, Memories
from autograder.checks.plugin import GradingPlugin, run_graders
from autograder.checks.reference import Reference, read_reference
from autograder.checks.substitution import reference_answer
from autograder.errors import KitError
from autograder.grading.journal import (
    DEFAULT_RUN,
    GradingRun,
    JournalFault,
    JudgedStep,
    common_seed,
    exercise_hash,
    infrastructure,
    input_seed,
    judged_by,
    needs_newer_python,
    shared_seed,
    unfinished,
    worker_seed,
)
from autograder.grading.watched_process import WorkProgress
from autograder.sandbox.zygote import Zygote
from autograder.sandbox.zygote_process import is_memory_error
from autograder.submission.cells import DefinitionNode, parsed
from autograder.submission.reading import Submission
from autograder.submission.salvage import Loaded
from autograder.submission.slip import explained_step, step_by_parameter_name
from autograder.submission.slips import slips_in
from autograder.submission.syntax_tree import names_of_statements
from autograder.values.exercise import Exercise, Limits, given_text, read_exercise
from autograder.values.request import ExceptionReport
from autograder.values.verdict import StepVerdict, Verdict

# Remarks on what a submission calls: worth a word, never worth a point.
#
# The author names calls in `exercise.toml`, such as "numpy.matrix". They are looked for in the
# syntax tree, so a comment or a string is not a call. A student who wants to hide a call can do
# so: this is a remark, not a boundary.

_MODULES = {"np": "numpy"}  # what everybody calls it, and its name


def remarks_on(submission: Submission, exercise: Exercise) -> tuple[str, ...]:
    """Return the author's words for every named call that the submission's steps come to.

    What no step calls says nothing of them: the released notebook has cells of its own, too.
    """
    steps = [step.name for step in exercise.steps]
    trees = list(filter(None, map(parsed, submission.cells)))
    wanted = {remark.uses.rpartition(".")[2] for remark in exercise.remarks}
    named = (names for tree in trees for names in names_of_statements(tree))
    if wanted.isdisjoint(steps) and all(
        each.whole and wanted.isdisjoint(each.mentioned) for each in named
    ):
        return ()
    used = _used(trees, steps)
    told = (remark.words for remark in exercise.remarks if remark.uses in used)
    return tuple(dict.fromkeys(told))  # two names may have the same words


def _used(trees: Iterable[ast.Module], steps: Iterable[str]) -> set[str]:
    """The names in the steps, in what they name and so on, and outside of every definition."""
    inside: dict[str, list[DefinitionNode]] = {}
    used = set(steps)
    for tree in trees:
        for statement in tree.body:
            if isinstance(statement, DefinitionNode):
                inside.setdefault(statement.name, []).append(statement)
            else:
                used.update(_names(statement))
    while reached := used & inside.keys():
        for name in reached:
            for node in inside.pop(name):
                used.update(_names(node))
    return used


def _names(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Attribute):
            yield node.attr
            if isinstance(node.value, ast.Name):
                yield f"{_MODULES.get(node.value.id, node.value.id)}.{node.attr}"
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.ImportFrom):
            yield from (name.name for name in node.names)
            yield from (f"{node.module}.{name.name}" for name in node.names)


# The sandboxes that this grader process keeps: one for each exercise, measured once.


def begun_sandbox(exercise: Exercise, allow_process: bool, graded: Path | None) -> Zygote:
    """Return the sandbox that this process judges `exercise` in; the first call starts it.

    Raises `KitError` where none can be started.
    """
    hidden = (graded,) if graded else ()
    limits, secrets = exercise.limits, exercise.secret_folders
    return _zygote(exercise.library, limits, allow_process, secrets, *hidden).begin()


@cache
def entered_sandbox(begun: Zygote) -> Zygote:
    """Wait until a sandbox is ready, and measure it.

    Raises `KitError` when it falls short of the demand.
    """
    return begun.__enter__()


@cache
def _zygote(
    library: str, limits: Limits, allow_process: bool, secrets: tuple[Path, ...], *hidden: Path
) -> Zygote:
    zygote = Zygote(library, limits, allow_process, secrets=secrets, hidden=hidden)
    atexit.register(zygote.close)
    return zygote


@dataclass(frozen=True)
class Judging:
    """What a batch is judged with; see `grade_batch`."""

    plugin: GradingPlugin
    reference: Reference
    zygote: Zygote
    run: GradingRun
    exercise_hash: str


def grade_batch(
    folder: Path,
    submissions: Sequence[Submission],
    run: GradingRun = DEFAULT_RUN,
    progress: WorkProgress | None = None,
) -> tuple[Verdict, ...]:
    """Return the verdicts on `submissions`, in their order, by the exercise in `folder`.

    What the journal of `run` holds is not judged again, and a verdict counts once the journal holds
    it. `progress` gets every verdict, and every step on the way; what it has next is judged in the
    same session. Raises `KitError` when the exercise cannot be used or the sandbox falls short of
    the demand, and MemoryError.
    """
    progress = progress or WorkProgress(lambda message: None, None)
    digest, exercise = exercise_hash(folder), read_exercise(folder)
    known = _kept(run, digest, exercise, submissions, progress)
    if len(known) < len(submissions):
        # The library is imported here while it is imported there.
        zygote = begun_sandbox(exercise, run.allow_process, run.graded)
        reference = replace(read_reference(folder), memories=_memories(digest))

        def judge(plugin: GradingPlugin) -> None:
            entered_sandbox(zygote)
            judging = Judging(plugin, reference, zygote, run, digest)
            _judge_rest(judging, submissions, known, progress)
            while (following := progress.next_batch()) is not None:
                found = _kept(run, digest, exercise, following, progress)
                _judge_rest(judging, following, found, progress)

        run_graders(GradingPlugin(reference, judge))
    return tuple(known[number] for number in range(len(submissions)))


def _kept(
    run: GradingRun,
    digest: str,
    exercise: Exercise,
    submissions: Sequence[Submission],
    progress: WorkProgress,
) -> dict[int, Verdict]:
    """Return what the journal holds of a batch, by place, and tell `progress` of that."""
    known: dict[int, Verdict] = {}
    with suppress(JournalFault):  # what cannot be read is judged again, and kept if possible
        for number, found in run.found(submissions, digest, exercise):
            known[number] = found
            progress.done(found, number)
    return known


def _judge_rest(
    judging: Judging,
    submissions: Sequence[Submission],
    known: dict[int, Verdict],
    progress: WorkProgress,
) -> None:
    """Judge those of a batch that are not `known`; keep every verdict, and put it there."""
    for number, submission in enumerate(submissions):
        if number in known:
            continue
        progress.begin(number)
        verdict = _tried(judging, submission, progress)
        if verdict.infrastructure:
            verdict = _tried(judging, submission, progress)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        verdict = replace(verdict, judged_at=now, judged_by=judged_by())
        known[number] = judging.run.kept(verdict, judging.reference.exercise, submission)
        progress.done(known[number])


def _tried(judging: Judging, submission: Submission, progress: WorkProgress) -> Verdict:
    """Judge one submission; a fault of ours takes no points, and nobody else's verdict."""
    try:
        return _judged(judging, submission, progress)
    except (KitError, MemoryError):
        raise  # about the exercise or the machine, or a bound of this process
    except Exception as error:
        if is_memory_error(ExceptionReport(type(error).__name__, str(error))):
            raise MemoryError(str(error)) from error
        return infrastructure(judging.reference.exercise, submission, fault_detail(error))


@cache
def _memories(digest: str) -> Memories:
    """Return what this process keeps for the exercise with this digest, from batch to batch."""
    return Memories()


def _judged(judging: Judging, submission: Submission, progress: WorkProgress) -> Verdict:
    exercise, zygote, secret = judging.reference.exercise, judging.zygote, judging.run.secret
    if submission.rejected:
        return unfinished(exercise, submission, submission.rejected)
    if submission.needs:
        return needs_newer_python(exercise, submission)

    # Of a right hand-in, nobody reads about slips.
    given = given_text(exercise.folder)
    slips_of = cache(partial(slips_in, submission, exercise, given))

    def told(step: StepVerdict) -> StepVerdict:
        if step.passes:
            return step
        return step_by_parameter_name(explained_step(step, slips_of(step.name)), given)

    def send_step(step: StepVerdict) -> None:
        progress.part(JudgedStep(told(step), str(zygote.protection)))

    seed = input_seed(secret, exercise, submission.code_hash)
    seeds = InputSeeds(seed, shared_seed(secret, exercise, seed), common_seed(secret, exercise))
    generators = worker_seed(secret, exercise, seed)
    answer = partial(reference_answer, judging.reference)
    with Loaded(zygote, submission, exercise, seed=generators, answer=answer) as loaded:
        judged = judging.plugin.judged_by(
            loaded,
            send_step,
            seeds=seeds,
            layer_earns_steps=judging.run.layer_earns_steps,
            together=judging.run.together,
        )
        remarks = (*submission.remarks, *remarks_on(submission, exercise), *loaded.remarks())
    remarks = (*remarks, *judged.remarks)
    return Verdict(
        exercise=submission.exercise,
        student=submission.student,
        steps=tuple(map(told, judged.steps)),
        chain=judged.chain,
        code_hash=submission.code_hash,
        exercise_hash=judging.exercise_hash,
        seed=seed,
        protection=str(zygote.protection),
        seconds=round(judged.seconds, 4),
        remarks=remarks,
    )
