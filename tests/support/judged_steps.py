"""The checks of an exercise, run over respondents or namespaces in this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from autograder.checks.memory import InputSeeds
from autograder.checks.plugin import GradingPlugin, run_graders
from autograder.checks.reference import Reference
from autograder.checks.submission_judge import JudgedSteps
from autograder.judging.inprocess import InProcess
from autograder.values.request import Respondent


def judged_by(reference: Reference, *pairs: tuple[Respondent, int | None]) -> list[JudgedSteps]:
    """Judge respondents, each with the inputs of its seed, in one run of pytest."""
    kept: list[JudgedSteps] = []

    def judge(plugin: GradingPlugin) -> None:
        kept.extend(plugin.judged_by(one, seeds=InputSeeds(seed)) for one, seed in pairs)

    run_graders(GradingPlugin(reference, judge))
    return kept


def judged(reference: Reference, *namespaces: Mapping[str, Any]) -> list[JudgedSteps]:
    """Judge what several namespaces hold in one run of pytest."""
    library = reference.exercise.library
    with np.errstate(all="ignore"):
        return judged_by(reference, *((InProcess(names, library), None) for names in namespaces))
