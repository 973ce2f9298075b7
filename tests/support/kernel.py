"""A real kernel, asked as JupyterLab asks it: with the id of each cell, and with a person there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupyter_client.manager import start_new_kernel


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
            message = self.client.get_iopub_msg(timeout=120)
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
    """Start a kernel in `folder`, and end it afterwards."""
    manager, client = start_new_kernel(cwd=str(folder))
    try:
        yield Kernel(client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
