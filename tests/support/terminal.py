"""A learner's terminal: a command in a pseudo-terminal, keys, and saves as editors make them."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from support.learner_workspace import NAME, ROOT, stub_file, written

pexpect = pytest.importorskip("pexpect", reason="a pseudo-terminal is needed: not on Windows")
PATIENCE = 120  # seconds: a machine may be busy
SIZE = ("COLUMNS", "LINES")
CLEAR = "\x1b[2J"
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A command in a pseudo-terminal, by default wide enough that no line wraps."""

    def __init__(
        self, folder: Path, *command: str, size: tuple[int, int] = (60, 200), **env: str
    ) -> None:
        self.process = pexpect.spawn(
            command[0],
            list(command[1:]),
            cwd=str(folder),
            env={**_without_a_size(os.environ), "TERM": "xterm-256color", "NO_COLOR": "1", **env},
            dimensions=size,
            encoding="utf-8",
            timeout=PATIENCE,
        )
        self._rest = ""
        self._raw = ""

    def sees(self, words: str) -> str:
        """Wait for words on the screen; return what was printed up to them, without escapes."""
        raw = ""
        end = time.monotonic() + PATIENCE
        while words not in (text := ESCAPES.sub("", self._rest + raw)):
            assert time.monotonic() < end, f"{words!r} did not come: {text}"
            try:
                read = self.process.read_nonblocking(1 << 16, timeout=1)
                raw, self._raw = raw + read, self._raw + read
            except pexpect.TIMEOUT:
                continue
            except pexpect.EOF:
                pytest.fail(f"it ended before {words!r}: {text}")
        before, _, self._rest = text.partition(words)
        return before + words

    def frame(self, *words: str) -> list[str]:
        """Wait for a new screen with all these words; return its lines."""
        end = time.monotonic() + PATIENCE
        while True:
            _, cleared, last = self._raw.rpartition(CLEAR)
            shown = ESCAPES.sub("", last)
            if cleared and all(word in shown for word in words) and shown.endswith("quit\r\n"):
                self._raw = ""
                return shown.split("\r\n")[:-1]
            assert time.monotonic() < end, f"{words!r} did not come: {shown}"
            with contextlib.suppress(pexpect.TIMEOUT):
                self._raw += self.process.read_nonblocking(1 << 16, timeout=1)

    def press(self, keys: str) -> None:
        self.process.send(keys)

    def close(self) -> None:
        """End the command, whatever it is doing."""
        if self.process.isalive():
            self.process.kill(signal.SIGKILL)
            self.process.wait()
        self.process.close()

    def ends(self) -> int:
        """Wait for the end; return the exit code."""
        self.process.expect(pexpect.EOF)
        self.process.close()
        assert self.process.exitstatus is not None, self.process.signalstatus
        return int(self.process.exitstatus)


def _without_a_size(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without what would be taken for the terminal's size; xdist sets it."""
    return {name: value for name, value in environment.items() if name not in SIZE}


def by_rename(file: Path, text: str) -> None:
    """Save as most editors do: another file, then its name changed."""
    new = file.with_name(f"{file.name}~")
    new.write_text(text, encoding="utf-8")
    os.replace(new, file)


def save(workspace: Path, **bodies: str) -> None:
    """Save the script with these steps written and no others, as most editors do."""
    stub = (ROOT / "assignments" / NAME / f"{NAME}.py").read_text(encoding="utf-8")
    by_rename(stub_file(workspace), written(stub, **bodies))
