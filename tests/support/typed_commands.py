"""Commands as they are typed: in a process of their own, or in this one, which costs far less."""

from __future__ import annotations

import io
import json
import multiprocessing.forkserver
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from multiprocessing.forkserver import ForkServer
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from autograder.cli import kit
from autograder.cli.command_line import attn as command_line
from autograder.learning.job import MODULE

ATTN = str(Path(sys.executable).with_name("attn"))
UNREADABLE = re.compile(r"\\[xuU][0-9a-f]{2}|\ufffd|\?{2}")  # in place of a sign


@dataclass(frozen=True)
class Run:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """What `--json` printed."""
        facts: dict[str, Any] = json.loads(self.out)
        return facts

    @property
    def words(self) -> str:
        """The output with every run of white space as one space, so that no wrap matters."""
        return " ".join(self.out.split())

    @property
    def said(self) -> str:
        """All that it printed."""
        return self.out + self.err


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    """What was printed in this process since it was last asked, with single spaces."""
    return " ".join(capsys.readouterr().out.split())


def attn(
    *words: object,
    folder: Path,
    command: str = ATTN,
    keys: str = "",
    encoding: str = "utf-8",
    **env: str,
) -> Run:
    """Run a command in a terminal of this encoding; its output must be readable in it."""
    run = subprocess.run(
        [command, *map(str, words)],
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": encoding, **env},
        input=keys,
        capture_output=True,
        encoding=encoding,
        check=False,
        timeout=900,
    )
    return Run(run.returncode, run.stdout, run.stderr)


def nbgrader(*words: object, folder: Path, **env: str) -> Run:
    """Run a command of nbgrader's, which looks for `alembic` on the PATH, as `attn` runs ours."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    named = {"command": sys.executable, "PATH": path, **env}
    return attn("-m", "nbgrader", *words, folder=folder, **named)


def typed(*words: object, folder: Path, keys: str = "", encoding: str = "utf-8", **env: str) -> Run:
    """Do in this process what `attn` does in one of its own.

    What a process leaves at its end to nobody is put back. The children that run a learner's code
    are forked from servers that live as long as this process, with its environment: tests about
    processes, and about what they inherit, use `attn`.
    """
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding) for _ in range(2))
    typed_keys = io.TextIOWrapper(io.BytesIO(keys.encode(encoding)), encoding)
    with (
        _what_a_process_leaves_to_nobody(),
        chdir(folder),
        patch.dict(os.environ, env),
        patch.object(sys, "stdin", typed_keys),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        code = _ended(words)
    return Run(code, *map(_printed, (out, err)))


def _ended(words: Sequence[object]) -> int:
    for console in (kit.out, kit.errors):
        console.cache_clear()  # it knows the width and the colors of the terminal before
    known = set(threading.enumerate())
    try:
        command_line.main([*map(str, words)], prog_name="attn")
    except SystemExit as end:
        assert isinstance(end.code, int | None), end.code
        return end.code or 0
    finally:
        for thread in set(threading.enumerate()) - known:
            if not thread.daemon:
                thread.join()  # as Python does at its end
    raise AssertionError("a command ends with an exit code")


def _printed(stream: io.TextIOWrapper) -> str:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode(stream.encoding)


class _ForkServers:
    """A fork server for each library, which several commands use one after the other."""

    def __init__(self) -> None:
        self._started: dict[tuple[str, ...], ForkServer] = {}
        self._wanted: tuple[str, ...] = ()

    def set_forkserver_preload(self, modules: list[str]) -> None:
        self._wanted = tuple(modules)
        if self._wanted not in self._started:
            self._started[self._wanted] = ForkServer()
            self._started[self._wanted].set_forkserver_preload(modules)

    def connect_to_new_process(self, fds: Sequence[int]) -> tuple[int, int]:
        return self._started[self._wanted].connect_to_new_process(fds)


_servers = _ForkServers()


@contextmanager
def _what_a_process_leaves_to_nobody() -> Iterator[None]:
    with (
        patch.dict(os.environ),
        patch.object(sys, "path", [*sys.path]),
        patch.object(sys, "meta_path", [*sys.meta_path]),
        patch.multiple(
            multiprocessing.forkserver,
            set_forkserver_preload=_servers.set_forkserver_preload,
            connect_to_new_process=_servers.connect_to_new_process,
        ),
    ):
        try:
            yield
        finally:
            sys.modules.pop(MODULE, None)
