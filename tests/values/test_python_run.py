"""Another Python is run to its end, and what it said is kept."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from autograder.values.this_machine import PythonRun, run_python

SAYS = "import os, sys; print(' one \\n\\n', os.getcwd(), file=sys.stderr); sys.exit({code})"


def test_a_run_says_how_it_ended_and_what_it_wrote(tmp_path: Path) -> None:
    run = run_python(("-c", SAYS.format(code=3)), folder=tmp_path)
    assert run == PythonRun(3, ("one", str(tmp_path))) and run.failed
    assert not run_python(("-c", SAYS.format(code=0))).failed


def test_a_run_gets_the_environment_and_no_input() -> None:
    code = "import os, sys; sys.exit(os.environ['WORD'] + sys.stdin.read())"
    assert run_python(("-c", code), environment={"WORD": "alone"}).said == ("alone",)


def test_what_is_no_text_is_replaced() -> None:
    code = "import sys; sys.stderr.buffer.write(b'caf\\xe9')"
    assert run_python(("-c", code)).said == ("caf\N{REPLACEMENT CHARACTER}",)


def test_a_run_that_takes_too_long_is_ended() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        run_python(("-c", "import time; time.sleep(60)"), seconds=0.2)
