"""A real kernel, asked as JupyterLab asks it: with the id of each cell, and with a person there.

It is forked from a process that has imported what kernels import, so every test can have its own.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.connect import write_connection_file

IMPORTED = (
    *("ipykernel.debugger", "ipykernel.kernelapp", "ipykernel.ipkernel"),
    *("IPython.extensions.storemagic", "sqlite3", "tornado.platform.asyncio"),
    "autograder.learning.notebook_check",
)
PATIENCE = 120  # seconds: a machine may be busy


@dataclass(frozen=True)
class Kernel:
    """A running kernel; `client` speaks to it."""

    client: Any

    def run(self, text: str, cell: str | None = None, *, person: bool = False) -> str:
        """Run a cell; return what it shows, and what it says of an error.

        cell: its id, as JupyterLab sends it. person: whether somebody could answer `input()`.
        """
        content = {
            "code": text,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": person,
            "stop_on_error": False,
        }
        metadata = {"cellId": cell} if cell else {}
        request = self.client.session.msg("execute_request", content, metadata=metadata)
        self.client.shell_channel.send(request)
        shown: list[str] = []
        while True:
            message = self.client.get_iopub_msg(timeout=PATIENCE)
            if message["parent_header"].get("msg_id") != request["header"]["msg_id"]:
                continue
            found = message["content"]
            if message["msg_type"] == "status" and found["execution_state"] == "idle":
                return "\n".join(shown)
            shown += _shown(found)


def _shown(content: dict[str, Any]) -> list[str]:
    texts = [content.get("text", ""), content.get("data", {}).get("text/plain", "")]
    return [each for each in (*texts, *content.get("traceback", ())) if each]


@contextmanager
def running_kernel(folder: Path) -> Iterator[Kernel]:
    """Start a kernel in `folder`, with the environment of now, and end it afterwards."""
    with tempfile.TemporaryDirectory(prefix="kernel-") as own:
        connection, _ = write_connection_file(os.path.join(own, "connection.json"))
        environment = {**os.environ, "IPYTHONDIR": own}  # and not the home directory
        words = (
            *("-f", connection, "--log-level=ERROR", "--HistoryManager.enabled=False"),
            f"--IPKernelApp.parent_handle={os.getpid()}",  # as a server does: without a greeting
        )
        process = _forks().Process(
            target=_serve, args=(str(folder), environment, words), daemon=True
        )
        process.start()
        client: Any = BlockingKernelClient()
        client.load_connection_file(connection)
        client.start_channels()
        try:
            client.wait_for_ready(timeout=PATIENCE)
            yield Kernel(client)
        finally:
            client.stop_channels()
            process.kill()
            process.join()


@cache
def _forks() -> ForkServerContext:
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # or the debugger warns of itself
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(IMPORTED))
    return context


def _serve(folder: str, environment: dict[str, str], words: tuple[str, ...]) -> None:
    from ipykernel.kernelapp import launch_new_instance

    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    launch_new_instance(argv=list(words))
