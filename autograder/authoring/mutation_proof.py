"""The proof by mutants of one exercise: every wrong one is seen, or is declared with a reason."""

from __future__ import annotations

import ast
import random
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.authoring.harness import Harness, read_harness, recorded_examples
from autograder.authoring.mutant import Mutant, changed_lines, mutants_of, spread
from autograder.authoring.mutant_judge import Fate, JudgedMutant, MutantJudge, definitions
from autograder.authoring.mutated_step import Subject, Tree
from autograder.authoring.sandbox_proof import mutant_gaps
from autograder.checks.marks import step_of
from autograder.errors import KitError

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

SEED = 12


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
