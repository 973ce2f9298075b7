"""Whole hand-ins, on the way that a student's file goes: full marks for right, one step for wrong.

Inside this process everything can be handed to a function, and everything comes back. Between a
check and a student's code lies the wire, which only some values cross. And here the steps around a
wrong one are judged too. So files are graded: the reference's own, and copies of it in which a
variant, a known mistake or a mutant stands in the place of steps.
"""

from __future__ import annotations

import inspect
import random
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from autograder.authoring.harness import VARIANTS, Harness, Variant
from autograder.authoring.mutant import Mutant
from autograder.authoring.mutant_judge import Fate, JudgedMutant
from autograder.checks.reference import MISCONCEPTIONS, Misconception
from autograder.grading.batch import grade_batch
from autograder.submission.cells import find_definitions
from autograder.submission.reading import Submission, read_submission
from autograder.values.exercise import SOLUTION, Exercise, shared_folders
from autograder.values.verdict import Finding, Outcome, StepVerdict, Verdict

SEED = 12  # of the sample of mutants

# Stands before what is replaced. A worker knows nothing of the kit's checks and can
# read no folder of solutions, so the modules come along as text.
LOADER = """
import sys as _sys
import types as _types

_texts = {texts!r}


def _module(path):
    module = _types.ModuleType(path.replace("/", "_").removesuffix(".py"))
    module.__file__ = path
    exec(compile(_texts[path], path, "exec"), vars(module))
    return module


_checks = _types.ModuleType("autograder.checks")
_checks.shared_beside = lambda file, path: _module(path)
_checks.solution_beside = lambda file: _module({solution!r})
_sys.modules["autograder.checks"] = _checks
_steps = _module({file!r}).{name}
"""


def right_answer_gaps(exercise: Exercise, variants: Iterable[Variant]) -> tuple[str, ...]:
    """Grade the reference and every variant as hand-ins; return a sentence for each refusal.

    Raises `KitError` when the sandbox does not meet the demands.
    """
    files = right_answers(exercise, variants)
    return tuple(gap for verdict in _graded(exercise, files) for gap in _refusals(verdict))


def right_answers(exercise: Exercise, variants: Iterable[Variant]) -> dict[str, str]:
    """Return the texts of hand-ins that are right, by name: the reference, and every variant."""
    texts = _texts(exercise, VARIANTS)
    files = {"the reference": texts[SOLUTION]}
    return files | {f"the variant {each.name}": _variant_file(texts, each) for each in variants}


def mistake_gaps(harness: Harness) -> tuple[str, ...]:
    """Grade every known mistake as a hand-in; return a sentence for each step lost otherwise.

    Raises `KitError` when the sandbox does not meet the demands.
    """
    exercise, known = harness.reference.exercise, harness.reference.misconceptions
    files = known_mistakes(exercise, known)
    return tuple(
        gap
        for each, verdict in zip(known, _graded(exercise, files), strict=True)
        for gap in _mistake_gaps(harness, each, verdict)
    )


def known_mistakes(exercise: Exercise, known: Iterable[Misconception]) -> dict[str, str]:
    """Return the texts of hand-ins with one known mistake each, by its name."""
    texts = _texts(exercise, MISCONCEPTIONS)
    return {each.name: _mistake_file(texts, each) for each in known}


def with_mutant(exercise: Exercise, mutant: Mutant) -> str:
    """Return the text of a hand-in with a mutant in the place of its step."""
    text = (exercise.folder / SOLUTION).read_text(encoding="utf-8")
    return _replaced(text, mutant.step, mutant.text)


def mutant_gaps(harness: Harness, judged: Sequence[JudgedMutant], count: int) -> tuple[str, ...]:
    """Grade `count` mutants, drawn from a fixed seed; return a sentence per disagreement.

    Just those that the judging in this process refuses lose their step, and no other. Raises
    `KitError` when the sandbox does not meet the demands.
    """
    exercise = harness.reference.exercise
    sample = random.Random(SEED).sample(list(judged), min(count, len(judged)))
    files = {
        f"mutant {number}": with_mutant(exercise, each.mutant) for number, each in enumerate(sample)
    }
    return tuple(
        gap
        for each, verdict in zip(sample, _graded(exercise, files), strict=True)
        for gap in _mutant_gaps(harness, each, verdict)
    )


def _texts(exercise: Exercise, file: str) -> dict[str, str]:
    """Return the code that `file` of an exercise may load, by the name that it loads it by."""
    folder = exercise.folder.resolve()
    shared = (path for each in shared_folders(folder) for path in sorted(each.rglob("*.py")))
    paths = {SOLUTION: folder / SOLUTION, file: folder / file}
    paths |= {path.relative_to(folder.parent).as_posix(): path for path in shared}
    return {name: path.read_text(encoding="utf-8") for name, path in paths.items()}


def _variant_file(texts: Mapping[str, str], variant: Variant) -> str:
    """Return the reference's file with the steps of a variant below it.

    A class that builds on one of them builds on the reference's: a variant answers for no other.
    """
    steps = "".join(f"{step} = _steps.{step}\n" for step in variant.steps)
    # Otherwise, if the variant could not be loaded, the reference would pass in its place.
    without = f"del {', '.join(variant.steps)}\n"
    return f"{texts[SOLUTION]}\n{without}{_loader(texts, VARIANTS, variant.name)}{steps}"


def _mistake_file(texts: Mapping[str, str], known: Misconception) -> str:
    wrong = f"{known.step} = _steps.{known.name}"
    loader = _loader(texts, MISCONCEPTIONS, known.step)
    return _replaced(texts[SOLUTION], known.step, loader + wrong)


def _loader(texts: Mapping[str, str], file: str, name: str) -> str:
    return LOADER.format(texts=texts, solution=SOLUTION, file=file, name=name)


def _replaced(text: str, step: str, code: str) -> str:
    """Return a module with `code` in the place of a step; what builds on it finds the new one."""
    lines = text.split("\n")
    span = next(span for span in find_definitions(text) if span.name == step)
    lines[span.first - 1 : span.last] = [code]
    return "\n".join(lines)


def _graded(exercise: Exercise, files: Mapping[str, str]) -> tuple[Verdict, ...]:
    with tempfile.TemporaryDirectory() as directory:
        submissions = [
            _handed_in(exercise, name, text, Path(directory) / f"{number}.py")
            for number, (name, text) in enumerate(files.items())
        ]
        return grade_batch(exercise.folder, submissions)


def _handed_in(exercise: Exercise, name: str, text: str, path: Path) -> Submission:
    path.write_text(text, encoding="utf-8")
    return replace(read_submission(path, exercise, name), student=name)


def _refusals(verdict: Verdict) -> Iterator[str]:
    for step in verdict.steps:
        if not step.passes:
            yield f"in the sandbox, {verdict.student} fails {_refusing(step)}"
        elif step.leaning:
            yield (
                f"in the sandbox, {verdict.student} passes {step.name} only with the reference's "
                "answers in place of earlier steps: let its class work with its own steps"
            )
    chain = verdict.chain
    if chain.outcome is not Outcome.PASSED and chain.finding:
        yield f"in the sandbox, {verdict.student} fails the steps end to end: {_why(chain.finding)}"


def _mistake_gaps(harness: Harness, known: Misconception, verdict: Verdict) -> Iterator[str]:
    own = _of(verdict, known.step)
    who = f"in the sandbox, a hand-in with {known.name}"
    if verdict.infrastructure:
        yield f"{who} cannot be judged: it fails {_refusing(own)}"
        return
    if not _is_lost(own):
        yield (
            f"{who} keeps the points of {own.name}: write a check whose question and answer can "
            "cross into the sandbox"
        )
    elif own.finding is None or own.finding.misconception != known.name:
        yield f"{who} is told otherwise: it fails {_refusing(own)}"
    for step in _lost_as_well(harness, known.step, verdict):
        yield (
            f"{who} in {own.name} loses {step.name} as well: it fails {_refusing(step)} Let "
            f"{step.name} call {own.name} by its name, with small sizes and numbers, so that a "
            "right answer can stand in for the wrong one"
        )


def _mutant_gaps(harness: Harness, judged: JudgedMutant, verdict: Verdict) -> Iterator[str]:
    own = judged.mutant.step
    killed = judged.fate in (Fate.KILLED, Fate.REFUSED)
    if _is_lost(_of(verdict, own)) != killed:
        here, there = ("loses its points", "keeps them")[:: 1 if killed else -1]
        yield f"a mutant {here} in this process, but {there} in the sandbox: {judged.sentence}"
    others = [step.name for step in _lost_as_well(harness, own, verdict)]
    if others:
        yield f"one mistake costs {', '.join(others)} as well: {judged.sentence}"


def _lost_as_well(harness: Harness, own: str, verdict: Verdict) -> list[StepVerdict]:
    """Return the other steps that a mistake costs, but for classes that build on its own."""
    module = harness.reference.module
    base = getattr(module, own)
    return [
        step
        for step in verdict.steps
        if _is_lost(step) and step.name != own and not _builds_on(getattr(module, step.name), base)
    ]


def _of(verdict: Verdict, step: str) -> StepVerdict:
    return next(each for each in verdict.steps if each.name == step)


def _is_lost(step: StepVerdict) -> bool:
    return not step.passes and not step.by_layer


def _builds_on(other: object, base: object) -> bool:
    return inspect.isclass(base) and inspect.isclass(other) and issubclass(other, base)


def _refusing(step: StepVerdict) -> str:
    """Return which check refuses a step, and why."""
    failing = step.failing
    if failing is None or failing.finding is None:
        return f"{step.name}: {step.outcome}."
    return f"{failing.name} of {step.name}: {_why(failing.finding)}"


def _why(finding: Finding) -> str:
    """Return the words of a finding, as the author of the checks needs them."""
    if finding.outcome is Outcome.INFRASTRUCTURE and finding.details:
        return f"the check could not be run ({'; '.join(finding.details)})"
    return " ".join([finding.message, *finding.details])
