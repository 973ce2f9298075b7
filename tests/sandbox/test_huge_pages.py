"""The zygote's memory in huge pages: where the kernel can do it, and nothing changes where not."""

from __future__ import annotations

import ctypes
import mmap

from autograder.worker.control import ProcessStats
from autograder.worker.zygote_main import collapse

SIZE = 8 << 20


def test_memory_holds_the_same_after_it_was_put_into_huge_pages() -> None:
    with mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory[:] = bytes(range(256)) * (SIZE // 256)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        assert 0 <= collapse([(start, start + SIZE)]) <= SIZE >> 21
        assert memory[:] == bytes(range(256)) * (SIZE // 256)


def test_what_is_not_there_or_too_small_is_left_alone() -> None:
    assert collapse([]) == 0
    assert collapse([(1 << 30, (1 << 30) + 4096)]) == 0
    assert collapse([(1 << 21, 1 << 23)]) == 0, "nothing is mapped there"


def test_a_process_finds_its_own_memory() -> None:
    stats = ProcessStats()
    with mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        assert any(first <= start and start + SIZE <= last for first, last in stats.writable())
