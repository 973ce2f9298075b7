"""Write down the public checks as worked examples, the reference standing in for the student."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.checks.expectation import Agrees, Expectation
from autograder.checks.plugin import GradingPlugin, run_graders, step_of, title_of
from autograder.checks.reference import Reference, read_reference
from autograder.diagnosis import same
from autograder.errors import KitError
from autograder.examples import Example, write_examples
from autograder.request import Request, Returned


def record_examples(folder: Path) -> str:
    """Return the text of the examples file of the exercise in `folder`.

    Raises `KitError` when a step has no public check, hence no worked example.
    """
    reference = read_reference(folder)
    examples: list[Example] = []

    def judge(plugin: GradingPlugin) -> None:
        for item in plugin.items("public"):
            plugin.recorded(item, reference, _recorder(reference, item, examples))

    run_graders(GradingPlugin(reference, judge, public=True))
    shown = {example.step for example in examples}
    for step in reference.exercise.steps:
        if step.name not in shown:
            raise KitError(
                f"the step {step.name} has no worked example",
                place=str(folder / "graders.py"),
                cure="mark one of its checks as public",
            )
    return write_examples(reference.exercise.name, examples)


def _recorder(reference: Reference, item: pytest.Item, examples: list[Example]):  # type: ignore[no-untyped-def]
    def record(request: Request, expectation: Expectation) -> None:
        mistakes = []
        if not request.read and reference.exercise.step(request.target).compare != "distribution":
            right = reference.ask(request)
            mistakes = [
                candidate
                for candidate in reference.candidates(request)
                # A mistake that does not show on these inputs has nothing to say about them.
                if not isinstance(expectation, Agrees) or not same(candidate.reply, right, expectation.form)
                if isinstance(candidate.reply, Returned) or candidate.reply.exception
            ]
        step = step_of(item) or ""
        name = getattr(item, "originalname", item.name)
        examples.append(Example(step, name, title_of(item), request, expectation, tuple(mistakes)))

    return record
