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
from autograder.errors import KitError
from autograder.judging.examples import FILE as EXAMPLES
from autograder.judging.examples import Example, read_examples
from autograder.judging.expectation import judge
from autograder.judging.inprocess import InProcess
from autograder.ladder.gap import gapped_line
from autograder.ladder.mistaken_lines import lines_of_mistakes, lines_with_exchanged_names
from autograder.ladder.quiet_run import quiet_run
from autograder.ladder.rungs import FILE, PuzzleLine, Rungs, write_rungs
from autograder.ladder.statements import ReferenceStep, reference_step
from autograder.model.exercise import SOLUTION
from autograder.model.files import write_whole
from autograder.model.verdict import Finding, Outcome

MOST_WRONG = 3
# Errors of a line that does not belong here at all: it teaches nothing.
STRAY = ("AttributeError", "NameError", "TypeError", "UnboundLocalError", "RecursionError")
ENOUGH = 2  # wrong lines: with fewer from mistakes, names are exchanged


def write_rungs_of(folder: Path, assignments: Path) -> None:
    """Write the rungs of the exercise in `folder` beside its solution.

    Its worked examples are those in `assignments`. Raises `KitError` when the solution does not
    fit, or when they cannot be read.
    """
    write_whole(folder / FILE, _text(folder, assignments))


def stale_rungs(folder: Path, assignments: Path) -> tuple[str, ...]:
    """Return a sentence if the rungs beside the solution are missing or differ."""
    name = folder.resolve().name
    if not (assignments / name / EXAMPLES).is_file():
        return ()  # which is said of the worked examples
    file = folder / FILE
    there = file.read_text(encoding="utf-8") if file.is_file() else None
    same = there == _text(folder, assignments)
    return () if same else (f"{name}/{FILE} {'is missing' if there is None else 'differs'}",)


def _text(folder: Path, assignments: Path) -> str:
    reference = read_reference(folder)
    examples = read_examples(assignments / reference.exercise.name)
    return write_rungs(reference.exercise.name, rungs_of(reference, examples))


def rungs_of(reference: Reference, examples: Sequence[Example]) -> tuple[Rungs, ...]:
    """Return the rungs of every step that has some."""
    solution = read_solution(reference.exercise)
    steps = (step.name for step in reference.exercise.steps)
    made = (_Maker(reference, solution, name, examples).made() for name in steps)
    return tuple(each for each in made if len(each.lines) > 1)


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
        self._refuse_wrong_reference(bare)
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
            if finding and not (finding.outcome is Outcome.RAISED and _is_stray(finding)):
                runs = finding.outcome is Outcome.WRONG_VALUES
                own = bare.true[line.place].text
                alike = SequenceMatcher(None, own, line.text, autojunk=False).ratio()
                found.append((not runs, -alike, line.text, line))
        return [line for *_, line in sorted(found, key=lambda each: each[:3])]

    def _finding(self, code: str) -> Finding | None:
        """Return what the first example says against this code of the step, None if none does."""
        library = self.reference.exercise.library
        with quiet_run(library):
            names = defined(vars(self.reference.module), self.name, code)
            respondent = InProcess(names, library)
            for example in self.examples:
                if example.step == self.name:
                    reply = respondent.ask(example.request)
                    finding = judge(example.expectation, example.request, reply, (), False)
                    if finding:
                        return finding
        return None

    def _refuse_wrong_reference(self, bare: Rungs) -> None:
        finding = self._finding(bare.code(bare.true))
        if finding:
            raise KitError(
                f"{self.name}, put together from its own lines, is refused: {finding.fact}",
                place=str(self.solution.path.parent / SOLUTION),
                cure="write the solution in plain statements, one below the other",
            )


def _is_stray(finding: Finding) -> bool:
    return any(name in finding.fact for name in STRAY)


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
