"""No false refusals: correct answers, written independently, pass every check on every seed.

And every worked example, as it is written down: a learner's check knows nothing else.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.checks.marks import step_of
from autograder.checks.reference import load_module
from autograder.errors import KitError
from autograder.judging.asking import ask_examples
from autograder.judging.examples import Example
from autograder.judging.inprocess import InProcess
from autograder.model.exercise import EXAMPLES
from autograder.protocol import arrays
from autograder.verification.harness import Harness
from autograder.verification.probing import quiet

VARIANTS = "variants.py"
LEAST_VARIANTS = 10


@dataclass(frozen=True)
class Variant:
    """A correct answer: the functions and classes that differ from the reference's.

    Each of them calls no other step.
    """

    name: str
    steps: dict[str, Any]


def read_variants(harness: Harness) -> tuple[Variant, ...]:
    """Read `variants.py`: every public class in it is a variant, and its members are steps.

    Raises `KitError` when it is missing, or when a variant holds something that is not a step.
    """
    exercise = harness.reference.exercise
    path = exercise.folder.resolve() / VARIANTS
    module = load_module(path)
    names = {step.name for step in exercise.steps}
    found = []
    for name, variant in vars(module).items():
        if name.startswith("_"):
            continue
        if inspect.isclass(variant) and variant.__module__ == module.__name__:
            steps = _inherited(variant, names) | _own(variant)
            if not steps or not set(steps) <= names:
                raise KitError(
                    f"the variant {name} holds nothing, or something that is not a step",
                    place=str(path),
                    cure=f"name its functions after steps: {', '.join(sorted(names))}",
                )
            found.append(Variant(name, {key: _plain(value) for key, value in steps.items()}))
    return tuple(found)


def _own(variant: type) -> dict[str, Any]:
    return {key: value for key, value in vars(variant).items() if not key.startswith("__")}


def _inherited(variant: type, names: set[str]) -> dict[str, Any]:
    """Return what a variant inherits from shared classes, if it is a step of this exercise."""
    bases = [_own(base) for base in reversed(variant.__mro__[1:-1])]
    return {key: value for own in bases for key, value in own.items() if key in names}


def _plain(step: Any) -> Any:
    return step.__func__ if isinstance(step, staticmethod) else step


def refusals(harness: Harness, variants: Iterable[Variant], seeds: int) -> tuple[str, ...]:
    """Run every check over every variant on `seeds` seeds; return a sentence per refusal."""
    found = []
    for variant in variants:
        with harness.replaced(variant.steps):
            found += _refusals(harness, variant, seeds)
    return tuple(found)


def refused_at_home(
    harness: Harness, variants: Iterable[Variant], examples: Sequence[Example]
) -> tuple[str, ...]:
    """Ask the reference and every variant the worked examples; return a sentence per refusal."""
    found: list[str] = []
    for variant in (Variant("the reference", {}), *variants):
        who = variant.name if not variant.steps else f"the correct variant {variant.name}"
        with harness.replaced(variant.steps):
            found += (
                f"at home, {who} is refused by the example of {check} of {step}: {words} "
                f"Correct that check, so that what {EXAMPLES} holds of it is enough to judge by."
                for step, check, words in _refused_examples(harness, variant, examples)
            )
    return tuple(found)


def _refused_examples(
    harness: Harness, variant: Variant, examples: Sequence[Example]
) -> Iterator[tuple[str, str, str]]:
    exercise = harness.reference.exercise
    for step in exercise.steps:
        if variant.steps and not _concerned(harness, variant, step.name):
            continue
        with quiet():
            arrays.seed(0)
            asked = ask_examples(step, examples, InProcess(vars(harness.module), exercise.library))
        for each in asked.asked:
            if each.finding:
                yield step.name, each.example.check, each.finding.message


def _concerned(harness: Harness, variant: Variant, step: str | None) -> bool:
    """Whether a check concerns a variant: it checks one of its steps, or the class."""
    return step is not None and (step in variant.steps or step in harness.reference.layers)


def _refusals(harness: Harness, variant: Variant, seeds: int) -> list[str]:
    found = []
    for check in harness.checks:
        if not _concerned(harness, variant, step_of(check)):
            continue
        for seed in range(seeds):
            seen = harness.run(check, seed=1_000_000 + seed, naming=False)
            if seen.finding:
                found.append(
                    f"the correct variant {variant.name} is refused by {check.name} with seed "
                    f"{1_000_000 + seed}: {seen.finding.message} Correct the check, its inputs or "
                    "its tolerance."
                )
                break
    return found
