"""The reference, step by step, as somebody would paste it."""

from __future__ import annotations

import ast

from support.learner_workspace import ROOT

MARKERS = ("### BEGIN SOLUTION", "### END SOLUTION")


def reference_steps(exercise: str) -> dict[str, str]:
    """The code of every step of an exercise, in order, by the name of the step."""
    text = (ROOT / "solutions" / exercise / "solution.py").read_text(encoding="utf-8")
    return _definitions("\n".join(_unmarked(text)))


def pasted(text: str, exercise: str, step: str) -> str:
    """A learner's file with the reference of one step in the place of theirs."""
    own = _definitions(text)[step]
    assert text.count(own) == 1, step
    return text.replace(own, reference_steps(exercise)[step])


def _unmarked(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip() not in MARKERS]


def _definitions(text: str) -> dict[str, str]:
    lines = text.splitlines()
    return {
        node.name: "\n".join(lines[node.lineno - 1 : node.end_lineno])
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
