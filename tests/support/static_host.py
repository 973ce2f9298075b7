"""A static host on this machine: it serves the files of a folder, and nothing else."""

from __future__ import annotations

import threading
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class _Quiet(SimpleHTTPRequestHandler):
    def __init__(self, *words: Any, sent: list[str], **named: Any) -> None:
        self._sent = sent
        super().__init__(*words, **named)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Note what is sent whole."""
        if code == HTTPStatus.OK:
            self._sent.append(self.path)

    def log_message(self, format: str, *words: object) -> None:
        """Say nothing."""


class StaticHost:
    """Serves `folder` from its making until it is closed; `sent` are the paths of whole files."""

    def __init__(self, folder: Path) -> None:
        self.sent: list[str] = []
        handler = partial(_Quiet, directory=str(folder), sent=self.sent)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        """The address of the folder."""
        return f"http://127.0.0.1:{self._server.server_port}/"

    def close(self) -> None:
        """End it, as a network that is gone."""
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> StaticHost:
        """Give itself."""
        return self

    def __exit__(self, *failure: object) -> None:
        """Close it."""
        self.close()
