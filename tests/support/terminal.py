"""A learner's terminal: a command in a pseudo-terminal, keys, and saves as editors make them."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest

pexpect = pytest.importorskip("pexpect", reason="a pseudo-terminal is needed: not on Windows")
PATIENCE = 120  # seconds: a machine may be busy
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A command in a pseudo-terminal, wide enough that no line wraps."""

    def __init__(self, folder: Path, *command: str, **env: str) -> None:
        self.process = pexpect.spawn(
            command[0],
            list(command[1:]),
            cwd=str(folder),
            env={**os.environ, "TERM": "xterm-256color", "NO_COLOR": "1", **env},
            dimensions=(60, 200),
            encoding="utf-8",
            timeout=PATIENCE,
        )
        self._rest = ""

    def sees(self, words: str) -> str:
        """Wait for words on the screen; return what was printed up to them, without escapes."""
        raw = ""
        end = time.monotonic() + PATIENCE
        while words not in (text := ESCAPES.sub("", self._rest + raw)):
            assert time.monotonic() < end, f"{words!r} did not come: {text}"
            try:
                raw += self.process.read_nonblocking(1 << 16, timeout=1)
            except pexpect.TIMEOUT:
                continue
            except pexpect.EOF:
                pytest.fail(f"it ended before {words!r}: {text}")
        before, _, self._rest = text.partition(words)
        return before + words

    def press(self, keys: str) -> None:
        self.process.send(keys)

    def ends(self) -> int:
        """Wait for the end; return the exit code."""
        self.process.expect(pexpect.EOF)
        self.process.close()
        assert self.process.exitstatus is not None, self.process.signalstatus
        return int(self.process.exitstatus)


def by_rename(file: Path, text: str) -> None:
    """Save as most editors do: another file, then its name changed."""
    new = file.with_name(f"{file.name}~")
    new.write_text(text, encoding="utf-8")
    os.replace(new, file)
