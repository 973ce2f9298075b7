"""Makes the rungs of an exercise from its reference and its known mistakes.

A wrong line is offered only if a worked example refuses it in its place: then `attn check` refuses
it, too. `attn verify` proves the same with the hidden checks.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from autograder.building.regions import Solution, read_solution
from autograder.checks.reference import Reference, read_reference
from autograder.judging.examples import FILE as EXAMPLES
from autograder.judging.examples import Example, examples_in
from autograder.judging.expectation import judge
from autograder.judging.inprocess import InProcess
from autograder.judging.stopped_code import still_running
from autograder.judging.time_limit import StillRunning
from autograder.ladder.gap import gapped_line
from autograder.ladder.mistaken_lines import lines_of_mistakes, lines_with_exchanged_names
from autograder.ladder.quiet_run import quiet_run
from autograder.ladder.rungs import FILE, PuzzleLine, Rungs, write_rungs
from autograder.ladder.statements import NoRungs, ReferenceStep, reference_step
from autograder.model.verdict import Finding, Outcome

MOST_WRONG = 3
# Errors of a line that does not belong here at all: it teaches nothing.
STRAY = ("AttributeError", "NameError", "TypeError", "UnboundLocalError", "RecursionError")
ENOUGH = 2  # wrong lines: with fewer from mistakes, names are exchanged


@dataclass(frozen=True)
class MadeRungs:
    """The rungs of an exercise, and a sentence for each step that gets none."""

    exercise: str
    rungs: tuple[Rungs, ...]
    without: tuple[str, ...]

    @property
    def files(self) -> dict[str, str]:
        """The file that lies beside the solution, by its name."""
        return {FILE: write_rungs(self.exercise, self.rungs)}


def made_rungs(folder: Path, examples: str) -> MadeRungs:
    """Return the rungs of the exercise in `folder`, whose examples file has the text `examples`.

    They are a help that a step can do without: one whose lines cannot be sorted gets none.
    """
    return rungs_of(read_reference(folder), examples_in(examples))


def stale_rungs(folder: Path, assignments: Path) -> tuple[str, ...]:
    """Return a sentence if the rungs beside the solution are missing or differ."""
    name = folder.resolve().name
    if not (assignments / name / EXAMPLES).is_file():
        return ()  # which is said of the worked examples
    file = folder / FILE
    there = file.read_text(encoding="utf-8") if file.is_file() else None
    examples = (assignments / name / EXAMPLES).read_text(encoding="utf-8")
    same = there == made_rungs(folder, examples).files[FILE]
    return () if same else (f"{name}/{FILE} {'is missing' if there is None else 'differs'}",)


def rungs_of(reference: Reference, examples: Sequence[Example]) -> MadeRungs:
    """Return the rungs of every step that can have some."""
    exercise, solution = reference.exercise, read_solution(reference.exercise)
    made, without = list[Rungs](), list[str]()
    for step in exercise.steps:
        try:
            made.append(_Maker(reference, solution, step.name, examples).made())
        except NoRungs as reason:
            without.append(f"no lines to sort for {step.name}: {reason}")
    rungs = tuple(each for each in made if len(each.lines) > 1)
    return MadeRungs(exercise.name, rungs, tuple(without))


def defined(names: Mapping[str, Any], step: str, code: str) -> dict[str, Any]:
    """Return a namespace in which `code` defines the step; raises what the code raises."""
    namespace = dict(names)
    exec(compile(code, f"<{step}>", "exec"), namespace)
    return namespace


@dataclass(frozen=True)
class _Maker:
    """One step, and the worked examples that decide which of its lines are wrong."""

    reference: Reference
    solution: Solution
    name: str
    examples: Sequence[Example]

    def made(self) -> Rungs:
        step = reference_step(self.solution, self.name)
        true = tuple(each.line for each in step.statements)
        bare = Rungs(self.name, step.frame, true)
        finding = self._finding(bare.code(bare.true))
        if finding:
            raise NoRungs(f"put together from its own lines, it is refused. {finding.fact}")
        wrong = self._wrong(step, bare)
        # A learner sees every line of a part before those of the next.
        shown = sorted(
            _mixed([*true, *wrong], self.name), key=lambda each: bare.parts.index(each.part)
        )
        gap = gapped_line(step, wrong)
        rungs = replace(bare, lines=tuple(shown))
        if gap is None:
            return rungs
        return replace(rungs, gap=gap.place, gapped=gap.text, filling=gap.filling)

    def _wrong(self, step: ReferenceStep, bare: Rungs) -> tuple[PuzzleLine, ...]:
        mistakes = (
            (known.name, known.wrong)
            for known in self.reference.misconceptions
            if known.step == self.name
        )
        later = {step.name for step in self.reference.exercise.steps} - set(
            self.reference.exercise.before(self.name)
        )
        known = lines_of_mistakes(step, mistakes, vars(self.reference.module).keys() - later)
        chosen = _spread(self._refused(bare, known), MOST_WRONG)
        if len(chosen) < ENOUGH:
            exchanged = self._refused(bare, lines_with_exchanged_names(step))
            chosen += _spread(exchanged, ENOUGH - len(chosen), chosen)
        return tuple(chosen)

    def _refused(self, bare: Rungs, lines: Iterable[PuzzleLine]) -> list[PuzzleLine]:
        """Return the lines that an example refuses: first those that run, and look most alike."""
        seen = {line.text for line in bare.lines}
        found = []
        for line in lines:
            if line.text in seen:
                continue
            seen.add(line.text)
            finding = self._finding(bare.code(bare.with_wrong(line)))
            if finding and not _teaches_nothing(finding):
                runs = finding.outcome is Outcome.WRONG_VALUES
                own = bare.true[line.place].text
                alike = SequenceMatcher(None, own, line.text, autojunk=False).ratio()
                found.append((not runs, -alike, line.text, line))
        return [line for *_, line in sorted(found, key=lambda each: each[:3])]

    def _finding(self, code: str) -> Finding | None:
        """Return what the first example says against this code of the step, None if none does."""
        exercise = self.reference.exercise
        library, seconds = exercise.library, exercise.limits.seconds_per_call
        try:
            with quiet_run(library, seconds):
                names = defined(vars(self.reference.module), self.name, code)
                respondent = InProcess(names, library)
                for example in self.examples:
                    if example.step == self.name:
                        reply = respondent.ask(example.request)
                        finding = judge(example.expectation, example.request, reply, (), False)
                        if finding:
                            return finding
        except StillRunning as error:
            return still_running(self.name, error.seconds)
        return None


def _teaches_nothing(finding: Finding) -> bool:
    """Say whether a line does not belong here at all, or would keep a learner waiting."""
    stray = any(name in finding.fact for name in STRAY)
    return finding.outcome is Outcome.TIMED_OUT or (finding.outcome is Outcome.RAISED and stray)


def _spread(
    lines: Sequence[PuzzleLine], most: int, taken: Sequence[PuzzleLine] = ()
) -> list[PuzzleLine]:
    """Return at most so many lines, as far as possible for different places."""
    return [line for line, _ in zip(_by_turns(lines, [each.place for each in taken]), range(most))]


def _by_turns(lines: Sequence[PuzzleLine], taken: list[int]) -> Iterator[PuzzleLine]:
    left = list(lines)
    while left:
        least = min(taken.count(line.place) for line in left)
        line = next(each for each in left if taken.count(each.place) == least)
        left.remove(line)
        taken.append(line.place)
        yield line


def _mixed(lines: Sequence[PuzzleLine], seed: str) -> list[PuzzleLine]:
    """Return the lines in an order that depends on nothing but `seed`."""
    mixed = list(lines)
    random.Random(seed).shuffle(mixed)
    return mixed
