"""The checks of an exercise, as pytest collects them from its grader file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pytest

from autograder.checks.author_error import wrong_checks
from autograder.checks.marks import BY_HAND, by_purpose, let_share_inputs, step_of
from autograder.checks.reference import Reference
from autograder.checks.standing import standing_checks
from autograder.judging.conditions import STANDING

_CHAIN = "chain_of_steps"
Purposes = tuple[list[pytest.Item], list[pytest.Item], list[pytest.Item]]


@dataclass(frozen=True)
class CollectedChecks:
    """The checks of an exercise in the order of its steps; those of the chain come last.

    by_hand: the examples that the text works by hand, in the order of the steps. They are written
    down for students, and asked in no class.
    """

    items: tuple[pytest.Item, ...] = ()
    by_hand: tuple[pytest.Item, ...] = ()

    @classmethod
    def of(
        cls, reference: Reference, items: Sequence[pytest.Item], *, public: bool
    ) -> CollectedChecks:
        """Return an author's checks in order, each step's standing checks after its own.

        Checks of a step that is left out are, too. If `public`, the standing checks are asked as
        worked examples. Raises `KitError` when a
        check names no step, or a step has no check.
        """
        exercise = reference.exercise
        items = [item for item in items if step_of(item) not in exercise.grading.left_out]
        order = {step.name: index for index, step in enumerate(exercise.steps)}
        for item in items:
            if step_of(item) not in order and not item.get_closest_marker(_CHAIN):
                fact = f"the check {item.name} names no step"
                raise wrong_checks(exercise, fact, "mark it with its step")
        by_hand = [item for item in items if item.get_closest_marker(BY_HAND)]
        items = [item for item in items if item not in by_hand]
        checked = {step_of(item) for item in items}
        for name in order:
            if name not in checked:
                fact = f"the step {name} has no check"
                raise wrong_checks(exercise, fact, "write one in graders.py")
        for item in items:
            if item.get_closest_marker(_CHAIN):
                let_share_inputs(item)  # its steps have been asked with inputs of a hand-in's own
        known = [*items, *standing_checks(reference, items, public=public)]

        def in_order(checks: list[pytest.Item]) -> tuple[pytest.Item, ...]:
            return tuple(
                sorted(checks, key=lambda each: order.get(step_of(each) or "", len(order)))
            )

        return cls(in_order(known), in_order(by_hand))

    @cached_property
    def of_the_chain(self) -> tuple[pytest.Item, ...]:
        """The checks of the student's steps end to end."""
        return tuple(item for item in self.items if item.get_closest_marker(_CHAIN))

    def of_step(self, name: str) -> tuple[pytest.Item, ...]:
        """Return the checks that belong to a step."""
        return self._by_step.get(name, ())

    def by_purpose(self, name: str) -> Purposes:
        """Return the checks of a step that decide, those that only tell, and the standing ones."""
        return self._by_purpose.get(name, ([], [], []))

    @cached_property
    def _by_purpose(self) -> dict[str | None, Purposes]:
        return {name: by_purpose(items) for name, items in self._by_step.items()}

    @cached_property
    def _by_step(self) -> dict[str | None, tuple[pytest.Item, ...]]:
        names = {step_of(item) for item in self.items}
        return {name: tuple(item for item in self.items if step_of(item) == name) for name in names}

    def place_of(self, item: pytest.Item) -> int:
        """Return the place of a check among all. Names do not tell standing checks apart."""
        return self._places[item]

    @cached_property
    def _places(self) -> dict[pytest.Item, int]:
        return {item: place for place, item in enumerate(self.items)}

    @cached_property
    def shown(self) -> tuple[pytest.Item, ...]:
        """What is written down for students, in the order of the steps.

        Each test of an author that is marked as public comes once, then the standing checks. What
        the text works by hand comes last: its few round numbers tell less of a mistake.
        """
        functions = {
            (step_of(item), _function_of(item)): item
            for item in reversed(self.items)
            if item.get_closest_marker("public")
        }
        public = list(reversed(functions.values()))
        steps = dict.fromkeys(step_of(item) for item in public)
        return tuple(
            item for step in steps for item in (*public, *self.by_hand) if step_of(item) == step
        )

    def after(self, item: pytest.Item) -> pytest.Item:
        """Return the check that follows; after the last one, the first."""
        return self.items[(self.place_of(item) + 1) % len(self.items)]


def _function_of(item: pytest.Item) -> str:
    """The name of a check, without the values of its parameters if an author gave it any."""
    standing = item.name.startswith(STANDING)
    return item.name if standing else getattr(item, "originalname", item.name)
