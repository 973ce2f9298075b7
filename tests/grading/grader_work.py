"""Work for grader processes under test: what an item says is done, good or bad."""

from __future__ import annotations

import mmap
import os
import signal
import time
from collections.abc import Callable, Sequence

from autograder.errors import KitError
from autograder.grading.watched_process import WorkProgress, usable_cores


def do(items: Sequence[str], progress: WorkProgress) -> None:
    """Do what every item says, in a grader process."""
    for number, item in enumerate(items):
        progress.begin(number)
        for word in item.split():
            progress.part(word)
            _do(word)
        progress.done(f"{item} by {os.getpid()} in {os.getcwd()}")


def do_batch_after_batch(items: Sequence[str], progress: WorkProgress) -> None:
    """Do what every item says, of every batch that follows, and say which setting-up served it."""
    set_up.append(len(set_up))
    batch: Sequence[str] | None = items
    while batch is not None:
        for number, item in enumerate(batch):
            progress.begin(number)
            _do(item)
            progress.done((os.getpid(), set_up[-1]))
        batch = progress.next_batch()


set_up: list[int] = []


def _do(word: str) -> None:
    """Do what a word says; behind a colon it names a file or a folder, or whom it waits for."""
    kind, _, place = word.partition(":")
    match kind:
        case "spins":
            while True:
                pass
        case "spins_until":
            while not os.path.exists(place):
                pass
        case "until":
            _wait_for(lambda: os.path.exists(place))
        case "makes":
            open(place, "x").close()
        case "meets":
            count, _, folder = place.partition(":")
            open(os.path.join(folder, str(os.getpid())), "a").close()
            _wait_for(lambda: len(os.listdir(folder)) >= int(count))
        case "sleeps":
            time.sleep(3600)
        case "sleeps_once":
            if not os.path.exists(place):
                open(place, "x").close()
                time.sleep(3600)
        case "eats":
            bytearray(1 << 40)
        case "crashes":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "ends":
            os._exit(3)
        case "fails":
            raise KitError("the exercise is broken", place="here", cure="mend it")


def _wait_for(true: Callable[[], bool]) -> None:
    while not true():
        time.sleep(0.01)


def tell_cores(items: Sequence[str], progress: WorkProgress) -> None:
    """Do what every item says, and tell on which cores this process may run."""
    for number, item in enumerate(items):
        progress.begin(number)
        _do(item)
        progress.done(usable_cores())


def tell_batch(items: Sequence[str], progress: WorkProgress) -> None:
    """Tell of every item how many there are in its batch."""
    for number in range(len(items)):
        progress.begin(number)
        progress.done(len(items))


def needs_much_itself(items: Sequence[str], progress: WorkProgress) -> None:
    """Take a gigabyte of addresses before the first item, as a large library does."""
    with mmap.mmap(-1, 1 << 30):
        do(items, progress)


def never_begins(items: Sequence[str], progress: WorkProgress) -> None:
    """End before the first item."""
    os._exit(7)


def ends_once(items: Sequence[str], progress: WorkProgress) -> None:
    """End at the first try of an item, which names a file that remembers it."""
    for number, item in enumerate(items):
        progress.begin(number)
        try:
            os.close(os.open(item, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            progress.done(item)
        else:
            os.kill(os.getpid(), signal.SIGKILL)


_prepared: list[bool] = []


def prepare() -> None:
    """Note that it was done."""
    _prepared.append(True)


def cannot_be_prepared() -> None:
    """Fail."""
    raise OSError("nothing can be prepared here")


def tell_prepared(items: Sequence[str], progress: WorkProgress) -> None:
    """Say of every item whether this process had been prepared before."""
    for number, _ in enumerate(items):
        progress.begin(number)
        progress.done(bool(_prepared))
