"""How many processes the tests run in, and how many threads those compute with."""

import os

from autograder.model.thread_counts import ONE_THREAD

os.environ.update(ONE_THREAD)


def pytest_xdist_auto_num_workers() -> int:
    """Run one process more than there are cores: a third of the time, a test only waits."""
    return (os.cpu_count() or 1) + 1
