"""The zygote's memory in huge pages, so that a fork copies few page tables.

PyTorch fills two hundred megabytes. To copy the tables of their small pages, and to tear them down
again, takes longer than most students' code.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable

from autograder.worker import kernel

_ADVICE_COLLAPSE = 25  # since Linux 6.1
_HUGE = 2 << 20


def collapse(regions: Iterable[tuple[int, int]]) -> int:
    """Have the kernel put memory into huge pages where it can; return how many there are then.

    A kernel that knows nothing of this refuses, and all stays as it was.
    """
    advise = kernel.libc.madvise
    found = 0
    for start, end in regions:
        first = -(-start // _HUGE) * _HUGE
        for address in range(first, end - _HUGE + 1, _HUGE):
            place, size = ctypes.c_void_p(address), ctypes.c_size_t(_HUGE)
            found += advise(place, size, ctypes.c_int(_ADVICE_COLLAPSE)) == 0
    return found
