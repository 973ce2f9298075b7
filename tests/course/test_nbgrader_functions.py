"""nbgrader's functions are its own, whether nbgrader is imported or not."""

from __future__ import annotations

import subprocess
import sys

import pytest
from nbgrader import utils

FUNCTIONS = "compute_checksum determine_grade is_grade is_solution is_task parse_utc".split()
# It prints what the function is made of, in a process that has not imported nbgrader.
ALONE = """
import sys
from autograder.course import nbgrader_functions
code = getattr(nbgrader_functions, sys.argv[1]).__code__
assert "nbgrader" not in sys.modules
print(code.co_filename, code.co_firstlineno, code.co_code.hex())
"""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_without_nbgrader_is_the_very_one_that_nbgrader_has(name: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", ALONE, name], capture_output=True, text=True, check=True
    )
    code = getattr(utils, name).__code__
    assert run.stdout.split() == [code.co_filename, str(code.co_firstlineno), code.co_code.hex()]


def test_where_nbgrader_is_imported_its_functions_are_not_loaded_twice() -> None:
    once = (
        "from nbgrader import utils; from autograder.course import nbgrader_functions as ours; "
        "assert ours.determine_grade is utils.determine_grade"
    )
    subprocess.run([sys.executable, "-c", once], check=True)
