"""A PostgreSQL server of the system, alone in a folder: nobody reaches it but by its socket."""

from __future__ import annotations

import getpass
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MISSING = "these tests need PostgreSQL: install it, for example with `apt install postgresql`"
_PLACES = "/usr/lib/postgresql/*/bin"  # where Debian keeps it, off the path
_UNPRIVILEGED = "nobody"


def find_postgres() -> Path | None:
    """The folder of the server's programs; None where it is not installed."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    folders = sorted(Path("/").glob(_PLACES.lstrip("/")))
    return folders[-1] if folders else None


@contextmanager
def postgres_server(programs: Path) -> Iterator[str]:
    """Run a server; give the address of an empty database in it."""
    # A socket's path may have no more than 107 characters, and one of pytest's is longer.
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    owner = _UNPRIVILEGED if os.geteuid() == 0 else getpass.getuser()  # root may not run it
    try:
        os.chown(folder, pwd.getpwnam(owner).pw_uid, -1)

        def run(program: str, *words: object) -> None:
            command = [str(programs / program), *map(str, words)]
            subprocess.run(command, check=True, capture_output=True, user=owner, cwd=folder)

        data, options = folder / "data", f"-c listen_addresses= -k {folder}"
        run("initdb", "--pgdata", data, "--username", "grace", "--auth", "trust", "--no-sync")
        log = folder / "log"
        run("pg_ctl", "--pgdata", data, "--options", options, "--log", log, "--wait", "start")
        try:
            run("createdb", "--host", folder, "--username", "grace", "grades")
            yield f"postgresql+psycopg2://grace@/grades?host={folder}"
        finally:
            run("pg_ctl", "--pgdata", data, "--mode", "immediate", "--wait", "stop")
    finally:
        shutil.rmtree(folder)
