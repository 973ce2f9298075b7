"""What the processes of `attn grade` import, on which the first verdict waits."""

from __future__ import annotations

import subprocess
import sys

import pytest

LED_BY = (
    "autograder.cli.command_line autograder.cli.grade autograder.cli.class_results "
    "autograder.grading.class_run"
)
IMPORTED = {
    "the starter, before it starts others": (
        "autograder.cli.command_line autograder.cli.grade",
        "numpy rich jinja2 sqlite3 pytest",
    ),
    "the starter": (LED_BY, "numpy pytest"),
    "a grader process that runs the script again": ("autograder.cli", "click rich"),
    "a grader process that writes pages": ("autograder.cli.student_files", "click rich numpy"),
    "a grader process that makes notebooks": (
        "autograder.course.graded_notebook",
        "click rich numpy nbgrader sqlalchemy jupyter_server",
    ),
}


@pytest.mark.parametrize("process", IMPORTED)
def test_a_process_imports_what_it_needs_and_nothing_that_others_need(process: str) -> None:
    modules, unneeded = IMPORTED[process]
    code = (
        "import sys\n"
        f"for name in {modules.split()!r}: __import__(name)\n"
        f"print(*sorted(set({unneeded.split()!r}) & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
