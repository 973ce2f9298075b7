"""How many processes the tests run in, how many threads those compute with, and what they share."""

import os
import shutil
import tempfile
from collections.abc import Iterator

import pytest

from autograder.values.this_machine import ONE_THREAD
from support.built_once import FOLDER

os.environ.update(ONE_THREAD)


def pytest_xdist_auto_num_workers() -> int:
    """Run two processes more than there are cores: a third of the time, a test only waits."""
    return (os.cpu_count() or 1) + 2


def pytest_configure(config: pytest.Config) -> None:
    """Make the folder of what is built once a run; the processes of xdist inherit its name."""
    if not hasattr(config, "workerinput"):
        os.environ[FOLDER] = tempfile.mkdtemp(prefix="attn-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove it, in the process that has made it."""
    if not hasattr(config, "workerinput") and FOLDER in os.environ:
        shutil.rmtree(os.environ.pop(FOLDER), ignore_errors=True)


@pytest.fixture(autouse=True)
def environment_of_before() -> Iterator[None]:
    """Put back what a test leaves in the environment, also by way of a library."""
    before = dict(os.environ)
    yield
    if dict(os.environ) != before:
        os.environ.clear()
        os.environ.update(before)
