"""Runs single checks over trusted code: the reference, known mistakes, correct variants.

pytest collects the checks, and `CheckRunner` runs them, as in grading. But a verdict needs only
what fails first, and a proof all that fails.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from autograder.authoring.probing import quiet_run
from autograder.checks.check_runner import CheckRunner, CollectedChecks
from autograder.checks.marks import author_error, by_purpose, refuse_other_fixtures, step_of
from autograder.checks.memory import InputSeeds
from autograder.checks.plugin import GradingPlugin, record_examples, run_graders
from autograder.checks.reference import Reference, load_module, read_reference
from autograder.checks.student import CheckQuestion, CheckTerms
from autograder.checks.varied_request import parameters
from autograder.errors import KitError
from autograder.judging.asking import ask_examples, reconciled
from autograder.judging.compare import arrays_of, comparable, tolerance
from autograder.judging.examples import Example, examples_in
from autograder.judging.expectation import Agrees
from autograder.judging.inprocess import InProcess
from autograder.judging.time_limit import StillRunning
from autograder.values.exercise import EXAMPLES, SOLUTION
from autograder.values.request import Reply, Request, Respondent, Returned
from autograder.values.verdict import Finding


@dataclass(frozen=True)
class Seen:
    """What one check saw: its finding, and how far the result was off, in tolerances."""

    finding: Finding | None
    margin: float


class Harness:
    """The checks of an exercise, and a module of its own in which steps can be replaced.

    Inputs are drawn from `seed`, the exercise's own when there is none. `hear` is called with
    every message that a check composes.
    """

    def __init__(
        self,
        reference: Reference,
        checks: tuple[pytest.Function, ...],
        seed: int | None = None,
        hear: Callable[[str], None] = lambda message: None,
    ) -> None:
        self.reference = reference
        self.checks = checks
        self.seed = seed
        self.hear = hear
        self.module = load_module(reference.exercise.folder.resolve() / SOLUTION, "harness")
        self._runner = CheckRunner(reference, public=False)
        self._runner.checks = CollectedChecks(checks)

    def drawn_from(self, seed: int) -> Harness:
        """Return the same harness with the inputs of another seed; forget the earlier inputs."""
        self.reference.forget()
        return Harness(self.reference, self.checks, seed, self.hear)

    def checks_of(self, step: str) -> tuple[pytest.Function, ...]:
        """Return the checks that belong to a step."""
        return tuple(check for check in self.checks if step_of(check) == step)

    @contextmanager
    def replaced(self, steps: Mapping[str, Any]) -> Iterator[ModuleType]:
        """Replace steps of the module under test, by name, with other functions or classes."""
        copy = dataclasses.replace(self.reference, module=self.module)
        with copy.replaced(steps) as module:
            yield module

    def run(
        self,
        check: pytest.Function,
        seed: int | None = None,
        naming: bool = True,
        respondent: Respondent | None = None,
    ) -> Seen:
        """Run one check over the module under test, with the inputs of `seed` or the harness's own.

        Without `naming`, no mistake is named and no margin is measured. A `respondent` answers
        instead of the module. Raises `KitError` when the check raises anything of its own.
        """
        refuse_other_fixtures(check, {"student", "draw", *parameters(check)})
        module = InProcess(vars(self.module), self.reference.exercise.library)
        self._runner.seeds = InputSeeds(self.seed if seed is None else seed)
        run = self._runner.run(check, CheckTerms(_Quiet(respondent or module), naming=naming))
        for error in run.errors:  # no answer makes a sound check raise anything
            raise error if isinstance(error, StillRunning) else author_error(check, error)
        margin = _largest(run.conversation.judged) if naming else 0.0
        if run.finding is None:
            return Seen(None, margin)
        self.hear(run.finding.message)
        # Where the values agree, what fails is a property: it holds, or it does not.
        return Seen(run.finding, margin if margin > 1 else math.inf)

    def run_step(self, step: str) -> dict[pytest.Function, Seen]:
        """Run every check of a step; if one mistake explains all findings, they all name it.

        As in grading, the standing checks are run when those of the author pass, and those that
        only tell mistakes apart when one fails.
        """
        own, telling, standing = by_purpose(self.checks_of(step))
        first = self._all(own)
        more = {} if _failing(first) else self._all(standing)
        told = self._all(telling) if _failing(first | more) else {}
        results = first | told | ({} if _failing(told) else more)
        checks = [check for check in self.checks_of(step) if check in results]
        seen = [results[check] for check in checks]
        findings = reconciled([result.finding for result in seen])
        for finding in filter(None, findings):
            self.hear(finding.message)
        named = [Seen(finding, result.margin) for finding, result in zip(findings, seen)]
        return dict(zip(checks, named))

    def _all(self, checks: Iterable[pytest.Function]) -> dict[pytest.Function, Seen]:
        return {check: self.run(check) for check in checks}


def _failing(results: Mapping[pytest.Function, Seen]) -> bool:
    return any(seen.finding for seen in results.values())


@dataclass(frozen=True)
class _Quiet:
    """Passes requests on; what NumPy has to warn of in wrong code, nobody hears."""

    respondent: Respondent

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        with np.errstate(all="ignore"):
            return self.respondent.ask(request)


def _largest(judged: Iterable[tuple[CheckQuestion, Reply]]) -> float:
    """Return how far the results are from the expected ones, in tolerances."""
    return max((_off(question, reply) for question, reply in judged), default=0.0)


def _off(question: CheckQuestion, reply: Reply) -> float:
    expectation = question.expectation
    if isinstance(expectation, Agrees) and not question.request.read:
        return margin(expectation, reply)
    return math.inf  # a property holds or it does not


def margin(expectation: Agrees, reply: Reply | None) -> float:
    """Return how far a result is off, in tolerances; infinite if it cannot be compared."""
    if not isinstance(reply, Returned):
        return math.inf
    form = expectation.form
    actual, expected = arrays_of(reply.value, form), arrays_of(expectation.expected, form)
    if len(actual) != len(expected):
        return math.inf
    pairs = zip(actual, expected)
    return max(_margin(ours, theirs, form.compare, form.precision) for ours, theirs in pairs)


def _margin(actual: Any, expected: Any, compare: str, precision: str) -> float:
    if (
        not isinstance(actual, np.ndarray)
        or actual.shape != expected.shape
        or actual.dtype.kind not in "biuf"
    ):
        return math.inf
    actual, expected = comparable(actual, compare), comparable(expected, compare)
    relative, absolute = tolerance(actual, expected, precision)
    with np.errstate(all="ignore"):
        off = np.abs(actual.astype(float) - expected) / (absolute + relative * np.abs(expected))
    return float(np.nan_to_num(off, nan=math.inf, posinf=math.inf).max(initial=0.0))


def read_harness(folder: Path, hear: Callable[[str], None] = lambda message: None) -> Harness:
    """Collect the checks of the exercise in `folder`; raise `KitError` when they do not fit.

    `hear` is called with every message that a check composes.
    """
    reference = read_reference(folder)
    collected: list[pytest.Function] = []

    def keep(plugin: GradingPlugin) -> None:
        collected.extend(
            item for item in plugin.collected.items if isinstance(item, pytest.Function)
        )

    run_graders(GradingPlugin(reference, keep))
    return Harness(reference, tuple(collected), hear=hear)


def recorded_examples(folder: Path) -> tuple[Example, ...]:
    """Return the worked examples of an exercise as a student reads them: written, and read again.

    Raises `KitError` as `attn build` does.
    """
    return examples_in(record_examples(folder))


# No false refusals: correct answers, written independently, pass every check on every seed.
#
# And every worked example, as it is written down: a learner's check knows nothing else.

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
        with quiet_run(exercise.library):
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
