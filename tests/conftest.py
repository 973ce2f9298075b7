"""How many processes the tests run in."""

import os


def pytest_xdist_auto_num_workers() -> int:
    """Run two processes for each core, because tests wait for half of the time."""
    return 2 * (os.cpu_count() or 1)
