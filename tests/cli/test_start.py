"""What the processes of commands import, and how many threads they compute with."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from autograder.values.this_machine import ONE_THREAD

LED_BY = (
    "autograder.cli.command_line autograder.cli.grade autograder.cli.report "
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
        "click rich numpy",
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


def test_a_command_computes_with_one_thread_unless_its_user_says_more() -> None:
    code = (
        "import os, sys\n"
        "sys.argv = ['attn', '--version']\n"
        "try: __import__('autograder.cli').cli.main()\n"
        f"finally: print(*(os.environ.get(name) for name in {[*ONE_THREAD]!r}))"
    )
    left = {name: value for name, value in os.environ.items() if name not in ONE_THREAD}
    for said, counts in ({}, "1 1 1"), ({"OMP_NUM_THREADS": "2"}, "2 1 1"):
        run = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env={**left, **said}
        )
        assert run.stdout.splitlines()[-1] == counts, run.stderr
