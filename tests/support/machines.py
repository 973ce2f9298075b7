"""Other machines, emulated on this one: an ordinary user's, a container's, an older kernel's.

A filter that refuses what such a machine refuses, and the capabilities it leaves, are
what a process can see of it. It is not the machine itself, and no test says so.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import autograder

TESTS = Path(__file__).resolve().parents[1]
NOBODY_IN_PARTICULAR = "12345"
# What Docker leaves to root by default.
DOCKER_CAPABILITIES = (
    "chown dac_override fsetid fowner mknod net_raw setgid setuid setfcap setpcap "
    "net_bind_service sys_chroot kill audit_write"
).split()

# Refuses what its first argument names, then runs the command in the others.
REFUSE = """
import errno, os, sys
import pyseccomp as seccomp

refuse = seccomp.SyscallFilter(seccomp.ALLOW)
kinds = sys.argv[1].split(",")
if "namespaces" in kinds:
    for name in ("unshare", "setns", "mount", "umount2", "pivot_root", "mount_setattr"):
        refuse.add_rule(seccomp.ERRNO(errno.EPERM), name)
    for bit in (0x80, *(1 << position for position in (17, 25, 26, 27, 28, 29, 30))):
        condition = seccomp.Arg(0, seccomp.MASKED_EQ, bit, bit)
        refuse.add_rule(seccomp.ERRNO(errno.EPERM), "clone", condition)
    refuse.add_rule(seccomp.ERRNO(errno.ENOSYS), "clone3")
if "mounts" in kinds:  # namespaces can be made, but nothing mounted in them
    refuse.add_rule(seccomp.ERRNO(errno.EACCES), "mount")
if "landlock" in kinds:
    refuse.add_rule(seccomp.ERRNO(errno.ENOSYS), "landlock_create_ruleset")
if "landlock switched off" in kinds:
    refuse.add_rule(seccomp.ERRNO(errno.EOPNOTSUPP), "landlock_create_ruleset")
refuse.load()
os.execv(sys.argv[2], sys.argv[2:])
"""


def refusing(kinds: str, command: Iterable[str]) -> list[str]:
    """Return the command that runs `command` where `kinds` ("namespaces,landlock") are refused."""
    return [sys.executable, "-c", REFUSE, kinds, *command]


def blocked(path: Path) -> Path | None:
    """Return the topmost folder above `path` that another user may not enter."""
    for folder in reversed((path, *path.parents)):
        if not folder.stat().st_mode & 0o001:
            return folder
    return None


def private_view(folders: list[Path]) -> list[str]:
    """Return the shell commands that make `folders` reachable, in their own mount namespace."""
    lines = []
    closed = {folder: gate for folder in folders if (gate := blocked(folder))}
    for number, folder in enumerate(closed):
        stage = f'"$stage/{number}"'
        lines += [f"mkdir {stage}", f"mount --bind {shlex.quote(str(folder))} {stage}"]
    for gate in set(closed.values()):
        lines.append(f"mount -t tmpfs -o mode=755 tmpfs {shlex.quote(str(gate))}")
    for number, folder in enumerate(closed):
        place = shlex.quote(str(folder))
        lines += [f"mkdir -p {place}", f'mount --bind "$stage/{number}" {place}']
    return lines


def in_view(command: Iterable[str], *, folders: Iterable[Path] = (), run_as: str = "") -> list[str]:
    """Return the command that runs `command` where every user reaches interpreter and tests.

    Only for root. `run_as` are words of setpriv that say as whom or with what.
    """
    package = Path(autograder.__file__).resolve().parent
    prefixes = (Path(sys.base_prefix), Path(sys.prefix))
    wanted = list(dict.fromkeys((*prefixes, package, TESTS, *folders)))
    script = [
        "set -e",
        'stage=$(mktemp -d); chmod 755 "$stage"; mount -t tmpfs tmpfs "$stage"',
        *private_view(wanted),
        'cd "$PWD"',  # the folder it was in may be under what is new
        f"exec {'setpriv ' + run_as if run_as else ''} {shlex.join(command)}",
    ]
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", "\n".join(script)]


def as_ordinary_user(command: Iterable[str], *, folders: Iterable[Path] = ()) -> list[str]:
    """Return the command that runs `command` as a user with no rights; the same for such a user."""
    if os.geteuid() != 0:
        return list(command)
    who = f"--reuid {NOBODY_IN_PARTICULAR} --regid {NOBODY_IN_PARTICULAR} --clear-groups"
    return in_view(command, folders=folders, run_as=who)


def tried_as_ordinary_user(*words: str, folders: Iterable[Path] = ()) -> None:
    """Run pytest with `words` as a user with no rights; every test has to pass, none is skipped."""
    package = Path(autograder.__file__).parent
    pytest = [sys.executable, "-B", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *words]
    run = subprocess.run(
        as_ordinary_user(pytest, folders=folders),
        cwd=TESTS.parent,
        env={
            "PATH": os.environ["PATH"],
            "HOME": "/",
            "PYTHONPATH": f"{package.parent}{os.pathsep}{TESTS}",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert " passed" in run.stdout and "skipped" not in run.stdout, run.stdout


def as_in_docker(command: Iterable[str], *, landlock: bool = True) -> list[str]:
    """Return the command that runs `command` as a container of Docker's default would.

    Root has fourteen capabilities there, an ordinary user none, and neither may make namespaces.
    """
    inner = refusing("namespaces" if landlock else "namespaces,landlock", command)
    if os.geteuid() != 0:
        return inner
    left = ",".join(f"+{name}" for name in DOCKER_CAPABILITIES)
    return in_view(inner, run_as=f"--bounding-set -all,{left}")
