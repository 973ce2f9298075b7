"""Ask a class everything that the graders ask of a right hand-in, and look at no answer.

So this is the least that any grader which asks these questions in this sandbox has to pay: a warm
fork with all layers, the hand-in loaded, every question answered, every reply received. Workers
know all questions from their beginning. Nothing is drawn, expected, read or compared; no step is
asked again, and there is no chain.

A program that a row of the benchmark runs and measures: `questions_alone.py EXERCISE TEXTS`, with
the folder of an exercise and a JSON file of hand-ins.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

import pytest

from autograder.checks.marks import by_purpose
from autograder.checks.plugin import GradingPlugin, run_graders
from autograder.checks.reference import Reference, read_reference
from autograder.judging.expectation import Expectation
from autograder.sandbox import SandboxedStudent, Zygote
from autograder.values.request import Request, Returned


class _AnyReply(Mapping[bytes, Returned]):
    """Knows every reply, so that none is read."""

    def __contains__(self, reply: object) -> bool:
        return True

    def __getitem__(self, reply: bytes) -> Returned:
        return Returned(None)

    def __iter__(self) -> Iterator[bytes]:
        return iter(())

    def __len__(self) -> int:
        return 1


def everything_asked(reference: Reference) -> tuple[tuple[Request, ...], ...]:
    """Return the questions that decide: those of all functions, then those of each layer."""
    found: list[Request] = []

    def judge(plugin: GradingPlugin) -> None:
        for step in reference.exercise.steps:
            own, _, standing = by_purpose(plugin.collected.of_step(step.name))
            for item in (*own, *standing):
                found.extend(_asked_by(plugin, item, reference))

    run_graders(GradingPlugin(reference, judge))

    def layer(request: Request) -> str:
        return request.target if request.target in reference.layers else ""

    return tuple(tuple(asked) for _, asked in groupby(found, layer))


def _asked_by(plugin: GradingPlugin, item: pytest.Item, reference: Reference) -> list[Request]:
    """Return all that a check asks, also what it only compares with another answer."""
    judged: list[Request] = []
    compared: list[Request] = []

    def record(
        request: Request, expectation: Expectation, asked: Sequence[Request], pairs: object
    ) -> None:
        judged.append(request)
        compared.extend(asked)

    plugin.recorded(item, reference, record)
    return compared or judged


def main(folder: Path, texts: Path) -> None:
    """Print how many questions were answered."""
    reference = read_reference(folder)
    exercise, answered = reference.exercise, 0
    everything = everything_asked(reference)
    with Zygote(exercise.library, exercise.limits, secrets=exercise.secret_folders) as zygote:
        for text in json.loads(texts.read_text(encoding="utf-8")):
            with SandboxedStudent(zygote, (text,), seed=0) as student:
                for requests in everything:
                    answered += len(student.ask_all(requests, [_AnyReply()] * len(requests)))
    print(f"{answered} answers to {sum(map(len, everything))} questions a hand-in")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
