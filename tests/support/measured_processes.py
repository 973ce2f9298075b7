"""What `make coverage` needs of the processes that tests start: a plugin of pytest, which it names.

A grader process is ended by SIGKILL, which leaves no time to write what it has run. Here SIGTERM
comes first, at which coverage writes; SIGKILL follows all the same.
"""

from __future__ import annotations

from multiprocessing.process import BaseProcess

PATIENCE = 5.0  # seconds
# The environment of a process that is not to be measured, because of what coverage itself does
# there: it imports modules of Python's first, needs sqlite3, handles SIGTERM and writes a file.
UNMEASURED = {"COVERAGE_PROCESS_CONFIG": ""}

kill = BaseProcess.kill


def kill_after_writing(process: BaseProcess) -> None:
    process.terminate()
    process.join(PATIENCE)
    kill(process)


def pytest_configure() -> None:
    BaseProcess.kill = kill_after_writing  # type: ignore[assignment, method-assign]
