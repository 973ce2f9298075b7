"""Attempts to reach what lies outside the sandbox, and how one of them is made."""

from __future__ import annotations

import os
import socket
import tempfile
from pathlib import Path

from autograder.sandbox import SandboxedStudent, Zygote
from autograder.values.request import Reply, Request

# Each defines attempt(folder, port, host), which returns when it got through and raises when not.
OUT_OF_REACH = {
    "read a secret file": "open(folder + '/secret').read()",
    "list the folder of the secret": "os.listdir(folder)",
    "write beside the secret": "open(folder + '/planted', 'w').close()",
    "change the mode of the secret": "os.chmod(folder + '/secret', 0o600)",
    "read the environment of the host": "open(f'/proc/{host}/environ', 'rb').read()",
    "read the files of the host": "os.listdir(f'/proc/{host}/fd')",
    "signal the host": "os.kill(host, 0)",
    "signal every process there is": "os.kill(-1, 0)",
    "connect to the host": "socket.create_connection(('127.0.0.1', port), 1).close()",
    "make a socket": "socket.socket(socket.AF_UNIX).close()",
    "fork": "pid = os.fork()\n    pid or os._exit(0)\n    os.waitpid(pid, 0)",
    "run a program": "subprocess.run(['/bin/true'], check=True)",
    "leave a namespace": "check(libc.unshare(0x400))",
    # To what it is: who is not root may not raise it, and tests may run at a low one.
    "change the priority of the host": (
        f"os.setpriority(os.PRIO_PROCESS, host, {os.getpriority(os.PRIO_PROCESS, 0)})"
    ),
    "read the limits of the host": "resource.prlimit(host, resource.RLIMIT_CPU)",
    "make a file in memory": "os.close(os.memfd_create('x'))",
    "lock a file against others": "fcntl.flock(os.open(os.__file__, os.O_RDONLY), fcntl.LOCK_SH)",
    "make a shared memory segment": (
        "made = libc.shmget(0, 4096, 0o1600)\n    check(made)\n    libc.shmctl(made, 0, None)"
    ),
}
PREAMBLE = """
import ctypes, fcntl, os, resource, socket, subprocess
libc = ctypes.CDLL(None, use_errno=True)

def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")

def attempt(folder, port, host):
    {body}
    return "through"
"""


def secret_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder open to all users with a secret in it, which only a sandbox can hide."""
    folder = tempfile.TemporaryDirectory(prefix="attn-secret-")
    Path(folder.name).chmod(0o755)
    Path(folder.name, "secret").write_text("what is to stay hidden", encoding="ascii")
    return folder


def try_it(zygote: Zygote, body: str) -> Reply:
    """Run one attempt of `OUT_OF_REACH` in a worker of `zygote`."""
    with secret_folder() as folder, socket.create_server(("127.0.0.1", 0)) as listener:
        arguments = (folder, listener.getsockname()[1], os.getpid())
        with SandboxedStudent(zygote, (PREAMBLE.format(body=body),), seed=1) as student:
            reply = student.ask(Request("attempt", arguments))
        assert sorted(os.listdir(folder)) in (["secret"], ["planted", "secret"])
        return reply
