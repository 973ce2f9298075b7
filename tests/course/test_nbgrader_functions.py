"""nbgrader's functions are its own, whether nbgrader is imported or not."""

from __future__ import annotations

import subprocess
import sys

from nbgrader import utils

from autograder.course import nbgrader_functions

FUNCTIONS = "compute_checksum determine_grade is_grade is_solution is_task parse_utc".split()
# It prints what each function is made of, in a process that has not imported nbgrader.
ALONE = """
import sys
from autograder.course import nbgrader_functions
for name in sys.argv[1:]:
    code = getattr(nbgrader_functions, name).__code__
    print(name, code.co_filename, code.co_firstlineno, code.co_code.hex())
assert "nbgrader" not in sys.modules
"""


def test_functions_without_nbgrader_are_the_very_ones_that_nbgrader_has() -> None:
    run = subprocess.run(
        [sys.executable, "-c", ALONE, *FUNCTIONS], capture_output=True, text=True, check=True
    )
    codes = [getattr(utils, name).__code__ for name in FUNCTIONS]
    assert run.stdout.splitlines() == [
        f"{name} {code.co_filename} {code.co_firstlineno} {code.co_code.hex()}"
        for name, code in zip(FUNCTIONS, codes, strict=True)
    ]


def test_where_nbgrader_is_imported_its_functions_are_not_loaded_twice() -> None:
    assert nbgrader_functions._functions() is utils
