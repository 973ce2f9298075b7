"""Answers to steps, written as code in a text, each below its name and what is said of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from autograder.authoring.harness import Harness, read_harness
from autograder.values.verdict import Finding
from support.learner_workspace import ROOT

HEADING = re.compile(r"^# ([^:\n]+):((?: .*|\n# .*)*)\n", re.MULTILINE)


@dataclass(frozen=True)
class WrittenAnswer:
    """Code of one step, in which `Reference` is the reference's own."""

    name: str
    says: str
    code: str

    @cached_property
    def step(self) -> str:
        """What the code defines last."""
        nodes = ast.parse(self.code).body
        return [n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)][-1]

    def beside(self, right: Mapping[str, Any], file: str = "<answer>") -> dict[str, Any]:
        """The names of the reference, with this answer in the place of its step."""
        names = {**right, "Reference": right[self.step]}
        exec(compile(self.code, file, "exec"), names)
        return names


def answers_in(text: str) -> dict[str, WrittenAnswer]:
    """The answers of a text, by the names in their headings: `# NAME: what is said of it`."""
    _, *parts = HEADING.split(text)
    rows = zip(parts[0::3], parts[1::3], parts[2::3])
    return {
        name: WrittenAnswer(name, says.replace("\n#", "").strip(), f"{code.rstrip()}\n")
        for name, says, code in rows
    }


@cache
def harness_of(exercise: str) -> Harness:
    return read_harness(ROOT / "solutions" / exercise)


def hidden_findings(exercise: str, answer: WrittenAnswer) -> list[Finding]:
    """What the hidden checks of its step find in an answer, all other steps being right."""
    harness, step = harness_of(exercise), answer.step
    with harness.replaced({step: answer.beside(vars(harness.module))[step]}):
        seen = harness.run_step(step)
    return [result.finding for result in seen.values() if result.finding]
