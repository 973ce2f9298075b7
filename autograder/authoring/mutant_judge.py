"""Judges mutants of one step as a student's code is judged: by its checks, and by its probes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

import pytest

from autograder.authoring.harness import Harness, Seen
from autograder.authoring.mutant import Mutant
from autograder.authoring.mutated_step import Subject, Tree, learned
from autograder.authoring.observation import Deviation, Observation, deviation, observe
from autograder.authoring.probing import Probe, defined, probes_of, quiet, quiet_run
from autograder.checks.marks import by_purpose
from autograder.judging.asking import ask_example
from autograder.judging.examples import Example
from autograder.judging.inprocess import InProcess
from autograder.values.exercise import SOLUTION
from autograder.values.verdict import Finding, telling

Load = Callable[[], dict[str, Any]]  # runs a mutant in a new namespace and returns that


class Fate(StrEnum):
    """What became of a mutant."""

    EQUIVALENT = "equivalent"  # no probe tells it from the reference, and no check refuses it
    ACCEPTED = "accepted"  # it differs only in the dtype, or within the tolerance
    KILLED = "killed"
    SURVIVED = "survived"
    REFUSED = "refused"  # a check fails it, although no probe tells it from the reference


@dataclass(frozen=True)
class JudgedMutant:
    """A mutant and its fate.

    caught_by: the names of the hidden checks that fail it. public: whether a worked example fails
    it too. named: whether the student is told a known mistake; described: whether the student is
    told more than that values differ. shown_by: which probe tells it from the reference, in words,
    and by what.
    """

    mutant: Mutant
    fate: Fate
    caught_by: tuple[str, ...] = ()
    public: bool = False
    named: bool = False
    described: bool = False
    shown_by: str = ""

    @property
    def sentence(self) -> str:
        """The mutant, and how it can be told from the reference."""
        return f"{self.mutant.words}; {self.shown_by}" if self.shown_by else self.mutant.words


# Which standing check asks what a probe looks at. A step may be excused from one, with a reason.
ASKED_BY = {"gradients": "gradients", "dtypes": "other_precision"}


class MutantJudge:
    """The checks, the worked examples and the probes of one step."""

    def __init__(self, harness: Harness, step: str, examples: Sequence[Example]) -> None:
        self.harness = harness
        self.step = step
        self.library = harness.reference.exercise.library
        self.compare = harness.reference.exercise.step(step).compare
        self.examples = [example for example in examples if example.step == step]
        self.checks = harness.checks_of(step)
        # The answers of the reference, before any mutant can disturb it.
        for check in self.checks:
            self._run(check, getattr(harness.module, step), naming=False)
        own, telling, standing = by_purpose(self.checks)
        self._deciding = [*own, *standing]
        not_asked = harness.reference.exercise.grading.without.get(step, {})
        probes = [
            probe
            for probe in probes_of(harness.reference, [*own, *telling], step)
            if ASKED_BY.get(probe.aspect) not in not_asked
        ]
        self.expected = _useful(probes, self._names, self.library, self.compare)

    @property
    def _names(self) -> Mapping[str, Any]:
        return vars(self.harness.module)

    def subject(self, tree: Tree) -> Subject:
        """Return the step, as `tree` writes it, with the kinds of value that its inputs show."""
        whole = definitions(self.harness)
        arities = {
            name: len(node.args.args)
            for name, node in whole.items()
            if isinstance(node, ast.FunctionDef)
        }
        bare = Subject(tree, self.library, arities)
        plain = [probe for probe, _ in self.expected if probe.aspect == "values"]
        by_request = {probe.request.key: probe for probe in plain}
        return learned(
            bare,
            self._names,
            [probe.request for probe in plain],
            lambda names, request: observe(names, by_request[request.key], self.library),
        )

    def judged(self, mutant: Mutant, naming: bool) -> JudgedMutant | None:
        """Judge a mutant; None when it does not even load.

        Without `naming`, it is not looked for what the student is told.
        """
        # Compiled once; every namespace of it is a new one and remembers nothing.
        load = partial(defined, self._names, compile(mutant.text, f"<{mutant.step}>", "exec"))
        with quiet():
            try:
                names = load()
            except Exception:
                return None
        # A worker loads a hand-in once: what it remembers in one check is there in the next.
        caught = [check for check in self._deciding if self._fails(check, names[self.step])]
        shown = self._shown(load)
        fate = _fate(bool(caught), shown and shown[1])
        told = self._told(load) if caught and naming else None
        return JudgedMutant(
            mutant,
            fate,
            tuple(dict.fromkeys(check.originalname for check in caught)),
            bool(caught) and self._fails_an_example(load),
            bool(told and told.misconception),
            bool(told and not told.vague),
            f"{shown[0].aspect}, {shown[0].label}: {shown[1].words}" if shown else "",
        )

    def _run(self, check: pytest.Function, step: Any, naming: bool) -> Seen:
        with quiet_run(self.library), self.harness.replaced({self.step: step}):
            return self.harness.run(check, naming=naming)

    def _fails(self, check: pytest.Function, step: Any) -> bool:
        try:
            seen = self._run(check, step, naming=False)
        except Exception:
            return True  # the check stumbles over what came back, which fails a student too
        return seen.finding is not None

    def _told(self, load: Load) -> Finding | None:
        """Return what a student is told first about the step."""
        with quiet_run(self.library):
            try:
                with self.harness.replaced({self.step: load()[self.step]}):
                    seen = self.harness.run_step(self.step)
            except Exception:
                return None
        found = [each.finding for each in seen.values()]
        place = telling(found)
        return None if place is None else found[place]

    def _fails_an_example(self, load: Load) -> bool:
        with quiet():
            respondent = InProcess(load(), self.library)
        for example in self.examples:
            with quiet_run(self.library):
                if ask_example(example, respondent).finding:
                    return True
        return False

    def _shown(self, load: Load) -> tuple[Probe, Deviation] | None:
        """Return the first probe that tells a mutant from the reference, a mild one at last."""
        mild: tuple[Probe, Deviation] | None = None
        for probe, expected in self.expected:
            with quiet():
                seen = observe(load(), probe, self.library)
            found = deviation(seen, expected, self.compare, probe.request.dtype)
            if found and not found.mild:
                return probe, found
            if found and mild is None:
                mild = probe, found
        return mild


def _useful(
    probes: Sequence[Probe], names: Mapping[str, Any], library: str, compare: str
) -> tuple[tuple[Probe, Observation], ...]:
    """Return the probes that the reference answers alike each time, with its answers."""
    found = []
    for probe in probes:
        expected = observe(names, probe, library)
        again = observe(names, probe, library)
        if not deviation(again, expected, compare, probe.request.dtype):
            found.append((probe, expected))
    return tuple(found)


def _fate(caught: bool, shown: Deviation | None) -> Fate:
    if caught:
        return Fate.KILLED if shown else Fate.REFUSED
    if shown is None:
        return Fate.EQUIVALENT
    return Fate.ACCEPTED if shown.mild else Fate.SURVIVED


def definitions(harness: Harness) -> dict[str, Tree]:
    """Return the functions and classes of the reference as syntax trees, by name."""
    source = (harness.reference.exercise.folder / SOLUTION).read_text(encoding="utf-8")
    return {
        node.name: node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
