"""The proof by mutants of one exercise; and whole hand-ins, as students' files go."""

from __future__ import annotations

import ast
import inspect
import random
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.authoring.harness import VARIANTS, Harness, Variant, read_harness, recorded_examples
from autograder.authoring.mutant import Mutant, changed_lines, mutants_of, spread
from autograder.authoring.mutant_judge import Fate, JudgedMutant, MutantJudge, definitions
from autograder.authoring.mutated_step import Subject, Tree
from autograder.checks.marks import step_of
from autograder.checks.reference import MISCONCEPTIONS, Misconception
from autograder.errors import KitError
from autograder.grading.batch import grade_batch
from autograder.submission.cells import find_definitions
from autograder.submission.reading import Submission, read_submission
from autograder.values.exercise import SOLUTION, Exercise, shared_code
from autograder.values.verdict import Finding, Outcome, StepVerdict, Verdict

# Whole hand-ins, on the way that a student's file goes: full marks for right, one step for wrong.
#
# Inside this process everything can be handed to a function, and everything comes back. Between a
# check and a student's code lies the wire, which only some values cross. And here the steps
# around a wrong one are judged too. So files are graded: the reference's own, and copies of it in
# which a variant, a known mistake or a mutant stands in the place of steps.

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
    paths = {SOLUTION: folder / SOLUTION, file: folder / file}
    paths |= {path.relative_to(folder.parent).as_posix(): path for path in shared_code(folder)}
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


# Survivors that the author declares with a reason, in `survivors.toml` beside the solution.

FILE = "survivors.toml"
_REQUIRED, _OPTIONAL = ("step", "kind", "reason"), ("old", "new")


@dataclass(frozen=True)
class Declared:
    """Mutants of one kind that may survive, and why.

    They are told by their lines, never by line numbers. Without `old` or `new`, the entry is for a
    whole family: every mutant of the kind, whatever its lines were, or are now.
    """

    step: str
    kind: str
    reason: str
    old: str | None = None
    new: str | None = None

    def matches(self, mutant: Mutant) -> bool:
        """Say whether a mutant is one of these."""
        return (
            (self.step, self.kind) == (mutant.step, mutant.kind)
            and self.old in (None, mutant.old)
            and self.new in (None, mutant.new)
        )

    @property
    def words(self) -> str:
        """The entry in one line."""
        lines = (f"{key} {text!r}" for key, text in (("old", self.old), ("new", self.new)) if text)
        return ", ".join((self.step, self.kind, *lines))


def read_declared(folder: Path) -> tuple[Declared, ...]:
    """Read the declared survivors of the exercise in `folder`; there may be no such file.

    Raises `KitError` when the file cannot be read, or an entry is incomplete or has no reason.
    """
    file = folder / FILE
    if not file.exists():
        return ()
    try:
        entries = tomllib.loads(file.read_text(encoding="utf-8")).get("survivor", [])
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _wrong(file, f"{FILE} cannot be read: {error}") from None
    return tuple(_entry(file, entry) for entry in entries)


def _entry(file: Path, entry: dict[str, object]) -> Declared:
    texts = {key: value.strip() for key, value in entry.items() if isinstance(value, str)}
    unknown = sorted(set(entry) - {*_REQUIRED, *_OPTIONAL})
    missing = [key for key in _REQUIRED if not texts.get(key)]
    if unknown or missing or len(texts) != len(entry):
        raise _wrong(
            file,
            f"an entry of {FILE} (step {texts.get('step', 'missing')}) "
            + (
                f"has no {missing[0]}" if missing else f"cannot have {', '.join(unknown) or 'this'}"
            ),
        )
    return Declared(**texts)


def _wrong(file: Path, fact: str) -> KitError:
    return KitError(
        fact,
        place=str(file),
        cure="write [[survivor]] with the texts step, kind and reason; old and new for one mutant",
    )


def undeclared(
    judged: Iterable[JudgedMutant], declared: Sequence[Declared]
) -> tuple[JudgedMutant, ...]:
    """Return the survivors that no entry matches."""
    return tuple(
        each
        for each in judged
        if each.fate is Fate.SURVIVED and not any(one.matches(each.mutant) for one in declared)
    )


def stale(
    declared: Iterable[Declared], judged: Sequence[JudgedMutant], made: Sequence[Mutant]
) -> tuple[Declared, ...]:
    """Return the entries that match no survivor, although all that they match were judged.

    `made` are all mutants, of which `judged` may be a selection.
    """
    fates = {each.mutant: each.fate for each in judged}
    found = []
    for entry in declared:
        matching = [mutant for mutant in (*made, *fates) if entry.matches(mutant)]
        known = [fates.get(mutant) for mutant in matching]
        if Fate.SURVIVED not in known and None not in known:
            found.append(entry)
    return tuple(found)


# Pairs of changes in one step: two mistakes may hide each other.


def sampled_pairs(
    subject: Subject, singles: Sequence[Mutant], count: int, learn: Callable[[Tree], Subject]
) -> Iterator[Mutant]:
    """Give `count` mutants of mutants, drawn from a fixed seed.

    `learn` returns a tree with the kinds of value that the inputs of the checks show in it.
    """
    drawn = random.Random(f"{SEED} {subject.tree.name}")
    for first in drawn.sample(singles, min(count, len(singles))):
        seconds = mutants_of(learn(_tree(first.text)))
        if not seconds:
            continue
        second = drawn.choice(seconds)
        old, new = changed_lines(ast.unparse(subject.tree), second.text)
        if old or new:  # else the second took the first back
            yield Mutant(first.step, f"{first.kind} and {second.kind}", old, new, second.text)


def _tree(text: str) -> Tree:
    (tree,) = ast.parse(text).body
    assert isinstance(tree, ast.FunctionDef | ast.ClassDef)
    return tree


# The figures of an exercise: what became of its mutants, and which check kills how many.

LEAST_PUBLIC = 98  # percent of what the hidden checks kill


@dataclass(frozen=True)
class MutantFigures:
    """Numbers of mutants.

    equivalent: not to be told from the reference. accepted: other only in dtype, or within the
    tolerance. killed: by a hidden check; public, named and described are parts of those, the last
    two None when nobody asked what the student is told.
    """

    mutants: int
    equivalent: int
    accepted: int
    killed: int
    public: int
    named: int | None
    described: int | None
    declared: int
    survivors: int

    @property
    def public_percent(self) -> float:
        """How many of the killed the public checks kill too."""
        return 100 * self.public / self.killed if self.killed else 100.0


@dataclass(frozen=True)
class Kills:
    """How many mutants a check kills, and how many of them no other check of the step does."""

    step: str
    check: str
    kills: int
    alone: int


def figures_of(
    judged: Sequence[JudgedMutant], undeclared: Sequence[JudgedMutant], naming: bool
) -> MutantFigures:
    """Count the mutants of an exercise; `undeclared` are the survivors without a reason."""
    killed = [each for each in judged if each.fate is Fate.KILLED]

    def count(fate: Fate) -> int:
        return sum(each.fate is fate for each in judged)

    return MutantFigures(
        mutants=len(judged),
        equivalent=count(Fate.EQUIVALENT) + count(Fate.REFUSED),
        accepted=count(Fate.ACCEPTED),
        killed=len(killed),
        public=sum(each.public for each in killed),
        named=sum(each.named for each in killed) if naming else None,
        described=sum(each.described and not each.named for each in killed) if naming else None,
        declared=count(Fate.SURVIVED) - len(undeclared),
        survivors=len(undeclared),
    )


def kills_of(
    checks: Iterable[tuple[str, str]], judged: Sequence[JudgedMutant]
) -> tuple[Kills, ...]:
    """Count for each check, as (step, name), what it kills and what it alone kills."""
    found = []
    for step, check in dict.fromkeys(checks):
        own = [each for each in judged if each.mutant.step == step and check in each.caught_by]
        alone = sum(each.caught_by == (check,) for each in own)
        found.append(Kills(step, check, len(own), alone))
    return tuple(found)


QUICK = 2  # mutants of each kind in each step
PAIRS = 20  # of each step
IN_SANDBOX = 24  # of each exercise


@dataclass(frozen=True)
class ProvedByMutants:
    """What became of the mutants of an exercise."""

    figures: MutantFigures
    kills: tuple[Kills, ...]
    gaps: tuple[str, ...]


def prove_by_mutants(folder: Path, every: bool) -> ProvedByMutants:
    """Mutate the reference and judge the mutants: a few of each kind, or with `every`, all.

    With `every`, pairs are tried too, and a sample is graded in the sandbox. Raises `KitError` when
    the files of the exercise do not fit together, or the sandbox does not meet the demands.
    """
    harness = read_harness(folder)
    declared = read_declared(folder)
    examples = recorded_examples(folder)
    made: list[Mutant] = []
    judged: list[JudgedMutant] = []
    for step in harness.reference.exercise.steps:
        judge = MutantJudge(harness, step.name, examples)
        all_of_step, chosen = _chosen(judge, harness, step.name, every)
        made += all_of_step
        judged += filter(None, (judge.judged(mutant, naming=every) for mutant in chosen))
    survivors = undeclared(judged, declared)
    figures = figures_of(judged, survivors, naming=every)
    gaps = [f"no check sees this mutant: {each.sentence}" for each in survivors]
    gaps += [
        f"the declared survivor is none any more: {entry.words}"
        for entry in stale(declared, judged, made)
    ]
    gaps += [
        f"{', '.join(each.caught_by)} refuses what no probe tells from the reference: "
        f"{each.mutant.words}"
        for each in judged
        if each.fate is Fate.REFUSED
    ]
    if figures.public_percent < LEAST_PUBLIC:
        gaps.append(
            f"the public checks kill only {figures.public_percent:.1f} percent of the mutants that "
            f"the hidden ones kill ({LEAST_PUBLIC} are expected): a student may pass at home and "
            "fail in class"
        )
    gaps += mutant_gaps(harness, judged, IN_SANDBOX) if every else ()
    checks = [(own, check.originalname) for check in harness.checks if (own := step_of(check))]
    return ProvedByMutants(figures, kills_of(checks, judged), tuple(gaps))


def _chosen(
    judge: MutantJudge, harness: Harness, step: str, every: bool
) -> tuple[tuple[Mutant, ...], tuple[Mutant, ...]]:
    """Return all mutants of a step, and those that are judged."""
    subject = judge.subject(definitions(harness)[step])
    made = mutants_of(subject)
    if not every:
        return made, spread(made, QUICK)
    return made, (*made, *sampled_pairs(subject, made, PAIRS, judge.subject))
