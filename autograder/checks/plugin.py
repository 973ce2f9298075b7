"""The pytest plugin that judges submissions with a grader file.

pytest collects `graders.py` once, in the trusted process; its run loop then goes
over the submissions and runs every check against each of them.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from autograder.checks.author_error import wrong_checks
from autograder.checks.chain import Run
from autograder.checks.check_runner import CheckRunner, CollectedChecks
from autograder.checks.marks import BY_HAND, Draw
from autograder.checks.memory import COLLECTING
from autograder.checks.reference import Reference
from autograder.checks.student import Student
from autograder.checks.submission_judge import SubmissionJudge
from autograder.errors import KitError
from autograder.values.exercise import GRADERS

# How pytest, and Python in a SyntaxError, name a line of the grader file.
_LINE_OF_CHECKS = re.compile(rf'{re.escape(GRADERS)}(?::|", line )(\d+)')


class GradingPlugin:
    """Runs every collected check against every respondent that `judge` passes to `judged_by`.

    pytest's run loop calls `judge`; afterwards the caller reads what it kept.
    """

    def __init__(
        self,
        reference: Reference,
        judge: Callable[[GradingPlugin], None],
        *,
        public: bool = False,
    ) -> None:
        self.reference = reference
        self._judge = judge
        self._public = public
        self._runner = CheckRunner(reference, public=public)
        submissions = SubmissionJudge(self._runner)
        self.judged_by, self.steps_of_layer = submissions.judged, submissions.steps_of_layer
        self.recorded = self._runner.recorded

    # What pytest calls.

    def pytest_configure(self, config: pytest.Config) -> None:
        """Register the marks of a grader file."""
        for line in (
            "step(name): the step that the check belongs to",
            "public(**sizes): also given to students, as a worked example",
            f"{BY_HAND}(tokens, followed): the example of the text, only given to students",
            "stays(reason): why a check stays that catches nothing of its own",
            "chain_of_steps: the student's steps end to end",
        ):
            config.addinivalue_line("markers", line)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Put the checks in the order of the steps; a step without a check is an error."""
        self.reference.memories.use(COLLECTING)
        checks = CollectedChecks.of(self.reference, items, public=self._public)
        self._runner.checks = checks
        items[:] = checks.items

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Say why a grader file cannot be collected, rather than that its checks are missing."""
        if report.failed:
            told = str(report.longrepr)
            reason = told.splitlines()[-1].removeprefix("E").strip()
            lines = _LINE_OF_CHECKS.findall(told)
            fact = f"the checks cannot be collected: {reason}"
            cure = "correct that line" if lines else "correct the file"
            raise wrong_checks(self.reference.exercise, fact, cure, *lines[-1:])

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Judge, in place of pytest's own loop over the checks."""
        if session.testsfailed:
            raise session.Interrupted("the grader file cannot be collected")
        self._judge(self)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> pytest.TestReport:
        """Keep what a check raised, without pytest's own slow report on it."""
        if call.excinfo is not None:
            self._runner.caught(call.excinfo.value)
        outcome: Any = "passed" if call.excinfo is None else "failed"
        return pytest.TestReport(
            item.nodeid,
            item.location,
            {},
            outcome,
            longrepr=None,
            when=call.when,  # type: ignore[arg-type]
        )

    @pytest.fixture
    def student(self, request: pytest.FixtureRequest) -> Student:
        """The code under check, for the step that the check is marked with."""
        return self._runner.student(request.node)

    @pytest.fixture
    def draw(self, request: pytest.FixtureRequest) -> Draw:
        """Random inputs of named axes; parametrize it (indirect) with other sizes."""
        return self._runner.draw(request.node, getattr(request, "param", {}))

    @pytest.fixture
    def chain(self) -> Callable[[Run], None]:
        """Judges the student's own steps end to end."""
        return self._runner.chain

    # What the judge calls.

    @property
    def collected(self) -> CollectedChecks:
        """The checks, in the order of the steps."""
        return self._runner.checks


# Have pytest collect one grader file, and nothing else, and run the loop of a plugin over it.

_AUTOLOAD = "PYTEST_DISABLE_PLUGIN_AUTOLOAD"


def run_graders(plugin: GradingPlugin) -> None:
    """Let pytest collect the grader file of the plugin's exercise and run its loop.

    Raises `KitError` when the file cannot be collected or holds no checks, and MemoryError.
    """
    graders = plugin.reference.exercise.folder.resolve() / GRADERS
    raised: list[KitError | MemoryError] = []
    exit_code = _collected(graders, plugin, raised)
    if raised:
        raise raised[0]
    if exit_code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise KitError(
            f"pytest cannot run the checks ({exit_code!r})",
            place=str(graders),
            cure=f"run `python -m pytest --collect-only {graders}` and correct what it says",
        )


def _collected(graders: Path, plugin: GradingPlugin, raised: list[KitError | MemoryError]) -> int:
    options = "-s --assert=plain --strict-markers --noconftest --import-mode=importlib"
    # Each of them would look at every check of every submission, or write where nobody reads.
    without = (
        "cacheprovider terminal logging warnings faulthandler junitxml unraisableexception "
        "threadexception setuponly setupplan unittest anyio"
    )
    arguments = [*options.split(), "-c", "/dev/null", "--rootdir", str(graders.parent)]
    arguments += [word for name in without.split() for word in ("-p", f"no:{name}")]

    class Errors:
        """Keeps an error that pytest would only print."""

        @pytest.hookimpl(tryfirst=True)
        def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> bool:
            if isinstance(excinfo.value, KitError | MemoryError):
                raised.append(excinfo.value)
                return True
            return False

    # pytest keeps the file by its bare name, which is the same in every exercise.
    sys.modules.pop(graders.stem, None)
    with _without_pytest_settings():
        return pytest.main([*arguments, str(graders)], plugins=[plugin, Errors()])


@contextmanager
def _without_pytest_settings() -> Iterator[None]:
    """Keep settings that are meant for other uses of pytest from changing the checks."""
    settings = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS")
    kept = {name: os.environ.pop(name, None) for name in (*settings, _AUTOLOAD)}
    os.environ[_AUTOLOAD] = "1"
    try:
        yield
    finally:
        del os.environ[_AUTOLOAD]
        os.environ.update({name: value for name, value in kept.items() if value is not None})
