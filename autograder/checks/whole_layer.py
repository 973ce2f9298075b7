"""The student's own class as a whole: how it does by itself, and which steps it proves.

Somebody who writes only the class has done the work of its steps. What a right class proves is
not listed anywhere: a known mistake of a step is put into the reference, and when the checks of
the class see it, a class that passes them does that step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from autograder.checks.reference import Reference, load_module
from autograder.model.exercise import SOLUTION, Step
from autograder.model.request import Respondent
from autograder.model.verdict import ChainVerdict, LayerVerdict, StepVerdict

# Says whether the checks of a step find something wrong in what a respondent answers.
Sees = Callable[[Step, Respondent], bool]
_CONSTANT = 0.5  # neither 0 nor 1, which a mask may rightly hold


@dataclass(frozen=True)
class WholeLayer:
    """The class that an exercise ends in, and the steps that its checks prove."""

    reference: Reference
    sees: Sees
    _proven: dict[str, bool] = field(default_factory=dict, compare=False, repr=False)

    @property
    def step(self) -> Step | None:
        """The step that asks for the class: the first one worth points; None without a class."""
        steps, layers = self.reference.exercise.steps, self.reference.layers
        classes = [step for step in steps if step.name in layers]
        return next((step for step in classes if step.points), next(iter(classes), None))

    def verdict(self, steps: Iterable[StepVerdict]) -> LayerVerdict | None:
        """Return how the student's own class does; with the reference's steps it is not its own."""
        own = next((step for step in steps if self.step and step.name == self.step.name), None)
        if own is None or own.leaning:
            return None
        return LayerVerdict(own.name, own.outcome)

    def credited(
        self, steps: tuple[StepVerdict, ...], faulty: Collection[str] = ()
    ) -> tuple[StepVerdict, ...]:
        """Give the points of steps that are not written to a right layer that does their work.

        So they are given where the layer would be right but for the work of the steps in `faulty`.
        A step that is written and wrong keeps what its own checks say.
        """
        layer = self.verdict(steps)
        if layer is None or not (layer.is_right or faulty):
            return steps
        return tuple(
            self._credited(step) if self._is_open(step) and step.name not in faulty else step
            for step in steps
        )

    def proves(self, name: str) -> bool:
        """Say whether a class that passes its own checks does the work of the step `name`."""
        if name not in self._proven:
            wrongs = self._wrongs(name)
            self._proven[name] = any(self._is_seen(name, wrong) for wrong in wrongs)
        return self._proven[name]

    def _credited(self, step: StepVerdict) -> StepVerdict:
        if not self.proves(step.name):
            return step
        facts = self.reference.exercise.step(step.name)
        return StepVerdict.of(facts, step.checks, step.leaning, by_layer=True)

    def _is_open(self, step: StepVerdict) -> bool:
        """Whether a step is worth points and was never written."""
        is_function = step.name not in self.reference.layers
        return step.never_written and step.max_points > 0 and is_function

    def _is_seen(self, name: str, wrong: Any) -> bool:
        assert self.step
        # A module of its own: what is expected comes from the other one.
        folder = self.reference.exercise.folder.resolve()
        module = load_module(folder / SOLUTION, "respondent")
        respondent = replace(self.reference, module=module)
        with respondent.replaced({name: wrong}):
            return self.sees(self.step, respondent)

    def _wrongs(self, name: str) -> Iterator[Any]:
        """What can stand in the place of a step: its known mistakes, then a constant result."""
        known = self.reference.misconceptions
        yield from (mistake.wrong for mistake in known if mistake.step == name)
        yield _constant(getattr(self.reference.module, name))


def with_layer(chain: ChainVerdict, layer: LayerVerdict | None) -> ChainVerdict:
    """Return the verdict on the chain with that on the student's own class."""
    return replace(chain, layer=layer)


def _constant(function: Callable[..., Any]) -> Callable[..., Any]:
    """A step that gives results of the right shapes which hold one number everywhere."""

    def wrong(*arguments: Any, **keywords: Any) -> Any:
        return _filled(function(*arguments, **keywords))

    return wrong


def _filled(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_filled, value))
    if isinstance(value, np.ndarray):
        return np.full_like(value, _CONSTANT, dtype=float)
    if hasattr(value, "new_full"):  # a tensor
        return value.new_full(value.shape, _CONSTANT)
    return None
