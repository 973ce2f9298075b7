"""The command `attn`, and how it starts and ends.

A grader process runs the same script as its starter, and takes from this package what writes pages.
So importing it is cheap.
"""

import gc
import os
import sys

from autograder.values.this_machine import ONE_THREAD


def main() -> None:
    """Read the command line and run the command; never returns."""
    for variable, count in ONE_THREAD.items():
        os.environ.setdefault(variable, count)
    try:
        from autograder.cli.command_line import attn
    except KeyboardInterrupt:  # later, click says it in the same way
        sys.stderr.write("\nAborted!\n")
        sys.exit(1)
    try:
        attn()
    finally:
        # The last search for cycles at the end of a process frees what the system frees anyway.
        gc.freeze()
