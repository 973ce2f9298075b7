"""Landlock: which files a worker may reach, and what it may do with them.

This layer still hides the solutions where namespaces are not allowed (most
containers), so its rules do not rely on the minimal root directory.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass

from autograder.worker import kernel

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_ASK_VERSION, _PATH_BENEATH = 1, 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK, _TRUNCATE, _IOCTL = 1 << 6, 1 << 11, 1 << 14, 1 << 15
_OF_A_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL
_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_ALL_RIGHTS = (1 << 16) - 1  # from version 5 on
_TCP, _SCOPES = 3, 3  # bind and connect; abstract sockets and signals


def version() -> int:
    """Return the kernel's Landlock version, 0 where there is none."""
    return max(0, kernel.syscall(_CREATE, None, 0, _ASK_VERSION))


@dataclass(frozen=True)
class Rule:
    """What is allowed below a path, or with the file that it names."""

    path: str
    rights: int


def rules(
    readable: Iterable[str], writable: Iterable[str], devices: Iterable[str]
) -> tuple[Rule, ...]:
    """Return the rules: reading below `readable`, files below `writable`, use of `devices`.

    Paths that do not exist are left out.
    """
    wanted = [(path, _READ_FILE | _READ_DIR) for path in readable]
    wanted += [(path, ~(_EXECUTE | _MAKE_CHAR | _MAKE_BLOCK)) for path in writable]
    wanted += [(path, _READ_FILE | _WRITE_FILE) for path in devices]
    return tuple(
        Rule(path, rights if os.path.isdir(path) else rights & _OF_A_FILE)
        for path, rights in wanted
        if os.path.exists(path)
    )


def restrict(allowed: Iterable[Rule]) -> int:
    """Allow what the rules say and nothing else; return the version that was applied.

    Raises OSError where there is no Landlock or the kernel refuses.
    """
    applied = version()
    if not applied:
        raise OSError(errno.ENOSYS, "the kernel has no Landlock")
    handled = _RIGHTS.get(applied, _ALL_RIGHTS)
    ruleset = kernel.check(_create(applied, handled), "landlock_create_ruleset")
    for rule in allowed:
        _allow(ruleset, rule.path, rule.rights & handled)
    kernel.check(kernel.syscall(_RESTRICT, ruleset, 0), "landlock_restrict_self")
    os.close(ruleset)
    return applied


def _create(applied: int, handled: int) -> int:
    words = struct.pack("<QQQ", handled, _TCP if applied >= 4 else 0, _SCOPES)
    size = 8 if applied < 4 else 16 if applied < 6 else 24
    return kernel.syscall(_CREATE, words[:size], size, 0)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except PermissionError:
        return  # what this user cannot reach need not be allowed
    rule = struct.pack("<Qi", rights, place)
    result = kernel.syscall(_ADD, ruleset, _PATH_BENEATH, rule, 0)
    os.close(place)
    kernel.check(result, f"landlock_add_rule {path}")
