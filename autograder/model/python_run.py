"""This Python, run in a process of its own until it ends; and what it said."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class PythonRun:
    """How the process ended: its exit code, and the lines that it wrote to its error stream."""

    code: int
    said: tuple[str, ...]

    @property
    def failed(self) -> bool:
        """Whether it ended with an error."""
        return self.code != 0


def run_python(
    arguments: Sequence[str],
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    seconds: float | None = None,
) -> PythonRun:
    """Run this Python with `arguments` in `folder`, or in the current one; it reads no input.

    Without an `environment` it gets ours. Raises subprocess.TimeoutExpired after `seconds`.
    """
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=seconds,
        check=False,
    )
    lines = (line.strip() for line in done.stderr.splitlines())
    return PythonRun(done.returncode, tuple(line for line in lines if line))
