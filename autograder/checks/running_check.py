"""One run of a check: on what terms, and what it has shown so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import pytest

from autograder.checks.conversation import Conversation
from autograder.checks.marks import title_of
from autograder.judging.expectation import CheckFailed
from autograder.model.request import PipelinedRespondent, Respondent
from autograder.model.verdict import ChainVerdict, CheckVerdict, Finding


@dataclass(frozen=True)
class CheckTerms:
    """On what terms a check is run: who answers, and what is done with the answers.

    The reference answers for the steps in `leaning_on`. `naming` says whether a difference is
    traced to a known mistake; if it is a function, that is called when it is first needed.
    """

    respondent: Respondent
    leaning_on: tuple[str, ...] = ()
    naming: bool | Callable[[], bool] = True

    @cached_property
    def names(self) -> bool:
        """Whether a difference is traced to a known mistake."""
        return self.naming if isinstance(self.naming, bool) else self.naming()

    @cached_property
    def together(self) -> bool:
        """Whether questions can be asked together."""
        return isinstance(self.respondent, PipelinedRespondent)


@dataclass
class RunningCheck:
    """What one run of a check has shown so far."""

    item: pytest.Item
    terms: CheckTerms
    conversation: Conversation
    finding: Finding | None = None
    chain: ChainVerdict | None = None
    errors: list[BaseException] = field(default_factory=list)
    called: bool = True  # False while only what it asked before is asked again
    judged: bool = False

    @property
    def verdict(self) -> CheckVerdict:
        """How the check ended."""
        return CheckVerdict.of(self.item.name, title_of(self.item), self.finding)

    def caught(self, error: BaseException) -> None:
        """Keep what the check raised."""
        if isinstance(error, CheckFailed):
            self.finding = error.finding
        else:
            self.errors.append(error)
