"""A JupyterLab of its own for a test: a free port, a token, and nobody's settings but ours.

What a person sees must not depend on the machine's own Jupyter, so home, configuration, data
and run-time folders are new; the extensions are those that the installation turns on by itself.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Self

SETTINGS = {
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    # Every cell of a notebook is in the page, also those below the window.
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
}
PATIENCE = 120  # seconds: a machine may be busy
ADDRESS = re.compile(r"(http://127\.0\.0\.1:\d+)/")


@dataclass(frozen=True)
class Home:
    """The folders of one person: what they open, and where Jupyter keeps their settings."""

    folder: Path

    @property
    def config(self) -> Path:
        """Jupyter's configuration folder, where an `nbgrader_config.py` may lie."""
        return self.folder / ".config" / "jupyter"

    @property
    def environment(self) -> dict[str, str]:
        """The environment of every process of this person."""
        kept = {
            name: text
            for name, text in os.environ.items()
            if not name.startswith(("JUPYTER", "IPYTHON", "PYTEST"))
        }
        here = Path(sys.executable).parent
        return kept | {
            "HOME": str(self.folder),
            "JUPYTER_CONFIG_DIR": str(self.config),
            "JUPYTER_DATA_DIR": str(self.folder / ".local" / "jupyter"),
            "JUPYTER_RUNTIME_DIR": str(self.folder / ".local" / "run"),
            "JUPYTER_PREFER_ENV_PATH": "0",
            "IPYTHONDIR": str(self.folder / ".ipython"),
            "PATH": f"{here}{os.pathsep}{os.environ['PATH']}",
        }

    def made(self) -> Self:
        """Make the folders, with the settings that keep a page still."""
        for name, settings in SETTINGS.items():
            file = self.config / "lab" / "user-settings" / f"{name}.jupyterlab-settings"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(settings), encoding="utf-8")
        return self

    def run(self, *words: object, folder: Path | None = None) -> str:
        """Run a command as this person; return what it said; raise when it fails."""
        run = subprocess.run(
            list(map(str, words)),
            cwd=folder or self.folder,
            env=self.environment | {"COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert run.returncode == 0, f"{words}: {run.stdout}{run.stderr}"
        return run.stdout + run.stderr


@dataclass
class Lab:
    """A running JupyterLab; `said` holds the last lines of its log."""

    process: subprocess.Popen[str]
    token: str
    address: str = ""
    said: deque[str] = field(default_factory=lambda: deque(maxlen=200))

    def url(self, path: str) -> str:
        """The address of a page, with the token in it."""
        return f"{self.address}/{path}?token={self.token}"

    def stop(self) -> None:
        """End the server and its kernels."""
        self.process.terminate()
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start_lab(home: Home, folder: Path, python: Path = Path(sys.executable)) -> Lab:
    """Start JupyterLab in `folder` with this interpreter; return when it answers."""
    token = secrets.token_hex(16)
    process = subprocess.Popen(
        [
            *(str(python), "-m", "jupyterlab", "--no-browser", "--allow-root"),
            *("--ServerApp.ip=127.0.0.1", "--ServerApp.port=0", f"--ServerApp.root_dir={folder}"),
            *(f"--IdentityProvider.token={token}", "--LabApp.expose_app_in_browser=True"),
        ],
        cwd=folder,
        env=home.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    lab = Lab(process, token)
    for line in process.stderr:
        lab.said.append(line)
        if found := ADDRESS.search(line):
            lab.address = found.group(1)
            break
    assert lab.address, "".join(lab.said)
    threading.Thread(target=_drain, args=(process.stderr, lab.said), daemon=True).start()
    _wait_until_it_answers(lab)
    return lab


def _wait_until_it_answers(lab: Lab) -> None:
    """Its address can be in the log before anybody listens there."""
    host, _, port = lab.address.removeprefix("http://").partition(":")
    end = time.monotonic() + PATIENCE
    while True:
        assert lab.process.poll() is None, "".join(lab.said)
        try:
            socket.create_connection((host, int(port)), timeout=PATIENCE).close()
            return
        except ConnectionRefusedError:
            assert time.monotonic() < end, "".join(lab.said)
            time.sleep(0.05)


def _drain(log: IO[str], said: deque[str]) -> None:
    with log:
        said.extend(log)
