"""How well a submission was isolated while it was graded; every verdict records it."""

from __future__ import annotations

import enum


class Protection(enum.StrEnum):
    """The level that was measured, strongest first."""

    FULL = "full"  # namespaces, Landlock, system call filter, limits
    LANDLOCK = "landlock"  # Landlock, system call filter, limits: most containers
    NAMESPACES = "namespaces"  # namespaces, system call filter, limits: an older kernel
    PROCESS = "process"  # only a process of its own, which is nothing to rely on
