"""What a wrong step returns on inputs that the whole class gets.

A mistake without a name is known by its answer: whoever returns the same has made the same one.
Nothing of it decides a verdict, so these inputs need not differ from hand-in to hand-in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from autograder.checks.check_questions import UNFIT, parameters, questions_of
from autograder.checks.check_runner import CheckRunner
from autograder.checks.conversation import CheckQuestion
from autograder.checks.draw import Draw
from autograder.checks.marks import needs_only_ours
from autograder.judging.answer_digest import answer_digest
from autograder.judging.conditions import STANDING
from autograder.judging.expectation import Agrees
from autograder.model.request import Respondent, Returned
from autograder.model.verdict import ANSWERED, StepVerdict


@dataclass(frozen=True)
class CommonAnswers:
    """Asks a respondent what the whole class is asked, with inputs drawn from `seed`.

    `leaning` gives the earlier steps for which the reference answers meanwhile, so that
    a mistake shows alike after right steps and after wrong ones.
    """

    runner: CheckRunner
    respondent: Respondent
    leaning: Callable[[str], tuple[str, ...]]
    seed: int

    def noted(self, step: StepVerdict) -> StepVerdict:
        """Return the verdict with the digest of its answer, if it is a mistake without a name.

        Without one stay right steps, known mistakes, what raises or does not end, now or when it
        was judged, and what only a standing check sees, whose sentence says what it is.
        """
        failing = step.failing
        if failing is None or failing.finding is None or step.by_layer:
            return step
        nameless = failing.finding.misconception is None and failing.outcome in ANSWERED
        if not nameless or failing.name.startswith(STANDING):
            return step
        questions = self._questions(step.name, failing.name)
        if not questions:
            return step
        leaning_on = self.leaning(step.name)
        replies = [self.respondent.ask(each.request, leaning_on) for each in questions]
        if not all(isinstance(reply, Returned) for reply in replies):
            return step  # whatever keeps it from returning now is no answer
        return replace(step, answer=answer_digest(replies))

    def _questions(self, step: str, check: str) -> tuple[CheckQuestion, ...]:
        """Return what a check asks that expects a result and nothing drawn by the code itself."""
        checks = self.runner.checks
        item = next((each for each in checks.of_step(step) if each.name == check), None)
        if not isinstance(item, pytest.Function) or not needs_only_ours(item):
            return ()
        reference = self.runner.reference
        sizes = parameters(item).get("draw", {})
        draw = Draw.hidden(reference.exercise, item.name, sizes, self.seed)
        reference.memories.use(self.seed)
        try:
            asked: tuple[CheckQuestion, ...] = reference.drawn(
                ("common", item.nodeid, draw.identity),
                lambda: questions_of(item, reference, draw),
            )
        except UNFIT:  # a check that looks at replies asks nothing that can be told beforehand
            return ()
        finally:
            reference.memories.use(None)
        return tuple(each for each in asked if isinstance(each.expectation, Agrees))
