"""What tests cost: seconds of processor time by folder, and of the dearest files and tests.

A plugin of pytest, which `make test-costs` names. Wall time says little where several tests run
side by side. Counted is what the process of a test and those that it started and waited for have
used, with the fixtures made for it; a fixture that many share is with the first of them.
"""

from __future__ import annotations

import resource
from collections import Counter
from collections.abc import Generator

import pytest

COST = "processor seconds"
SHOWN = 20
_BEFORE = pytest.StashKey[float]()


def used() -> float:
    """Give the processor seconds of this process and of the processes that it has waited for."""
    parts = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(part.ru_utime + part.ru_stime for part in parts)


def pytest_collection_finish(session: pytest.Session) -> None:
    session.config.stash[_BEFORE] = used()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note at each phase of a test what was used since the phase before."""
    report = yield
    before, now = item.config.stash[_BEFORE], used()
    item.config.stash[_BEFORE] = now
    report.user_properties = [(COST, now - before)]
    return report


class CostTables:
    """Adds up what the reports of all processes tell, and prints it at the end."""

    def __init__(self) -> None:
        self.by_test: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == COST and isinstance(value, float):
                self.by_test[report.nodeid] += value  # type: ignore[assignment]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        files, folders = Counter[str](), Counter[str]()
        for test, seconds in self.by_test.items():
            file = test.partition("::")[0]
            files[file] += seconds
            folders[file.rpartition("/")[0]] += seconds
        shown = (("folder", folders, None), ("file", files, SHOWN), ("test", self.by_test, SHOWN))
        for what, table, most in shown:
            terminalreporter.section(f"{COST} by {what}")
            for name, seconds in table.most_common(most):
                terminalreporter.write_line(f"{seconds:8.1f}  {name}")
        terminalreporter.write_line(f"{sum(self.by_test.values()):8.1f}  all of them")


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(CostTables())
