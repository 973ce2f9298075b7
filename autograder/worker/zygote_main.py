"""The warm process that workers are forked from: the library loaded, nothing secret in it.

It is exec'ed with a clean environment and one socket, never forked from pytest,
because a fork inherits memory. It never runs a student's code and never reads
from a worker; it takes orders only from the host.
"""

from __future__ import annotations

import ctypes
import errno
import importlib
import os
import sys
from collections.abc import Iterable
from typing import NoReturn

from autograder.worker import confinement, syscalls
from autograder.worker.control import Control, Layers, Plan, ProcessStats

# The zygote's memory in huge pages, so that a fork copies few page tables.
#
# PyTorch fills two hundred megabytes. To copy the tables of their small pages, and to tear them
# down again, takes longer than most students' code.

_ADVICE_COLLAPSE = 25  # since Linux 6.1
_HUGE = 2 << 20


def collapse(regions: Iterable[tuple[int, int]]) -> int:
    """Have the kernel put memory into huge pages where it can; return how many there are then.

    A kernel that knows nothing of this refuses, and all stays as it was.
    """
    advise = confinement.libc.madvise
    found = 0
    for start, end in regions:
        first = -(-start // _HUGE) * _HUGE
        for address in range(first, end - _HUGE + 1, _HUGE):
            place, size = ctypes.c_void_p(address), ctypes.c_size_t(_HUGE)
            found += advise(place, size, ctypes.c_int(_ADVICE_COLLAPSE)) == 0
    return found


REFUSED = 96
MOST_SAID = 2000  # characters about why a library cannot be imported


def main(descriptor: int) -> NoReturn:
    """Isolate this process as the host's plan says, load the library, and serve forks."""
    control = Control(descriptor)
    sys.argv = ["worker"]
    os.umask(0o022)  # another user enters the folders that are made for workers
    confinement.die_with_parent()
    facts, _ = control.hear()
    plan = Plan.read(facts)
    if plan.import_path:
        sys.path[:] = plan.import_path
    layers, missing = _find_layers(plan)
    outside, inside = confinement.identities(), {}
    try:
        if layers.namespaces:
            _become_first_process(plan, control)
        itself = ProcessStats()
        inside = confinement.identities()
        if layers.namespaces:
            confinement.enter_minimal_root(plan.readable)
    except OSError as error:
        control.tell(refused={"namespaces": str(error)} | confinement.refusals(plan.uid != 0))
        sys.exit(REFUSED)
    try:
        # Only now, so that the import proves that a worker can import NumPy too.
        forks = importlib.import_module("autograder.worker.forks")
        forks.arrays.warm_up(plan.library)
        collapse(itself.writable())
    except Exception as error:  # a library may raise anything, for example without one of its files
        control.tell(**_why_not_loaded(error))
        sys.exit(REFUSED)
    if (threads := itself.threads()) != 1:
        control.tell(failed=f"{threads} threads are running after the import")
        sys.exit(REFUSED)
    control.tell(
        ready={
            "namespaces": [name for name in outside if inside[name] != outside[name]],
            "landlock": layers.landlock,
            "seccomp": layers.seccomp is not None,
            "missing": missing,
        }
    )
    forks.Forks(plan, layers, control, itself).serve()
    raise AssertionError("serving never returns")


def _find_layers(plan: Plan) -> tuple[Layers, dict[str, str]]:
    """Return the layers of this machine, and the reason for each missing one."""
    missing = {name: "left out on request" for name in plan.without}
    abi, program = 0, None
    if "landlock" not in plan.without:
        abi = confinement.version()
        if not abi:
            missing["landlock"] = _why_no_landlock(ctypes.get_errno())
    if "seccomp" not in plan.without:
        try:
            program = syscalls.assemble()  # before the root changes: it looks for libseccomp
        except (OSError, RuntimeError) as error:
            missing["seccomp"] = str(error)
    namespaces, bounded = "namespaces" not in plan.without, "rlimits" not in plan.without
    return Layers(namespaces, abi, program, bounded), missing


def _why_not_loaded(error: BaseException) -> dict[str, str]:
    """Return the error that made an import fail, and the module that was not found, if any."""
    while error.__cause__:  # NumPy puts a page of advice around it
        error = error.__cause__
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    return {"failed": f"{type(error).__name__}: {error}"[:MOST_SAID], "module": name or ""}


def _why_no_landlock(number: int) -> str:
    if number == errno.EOPNOTSUPP:
        return "the kernel has it switched off"
    return f"the kernel has none, or hides it; it came with Linux 5.13 ({os.strerror(number)})"


def _become_first_process(plan: Plan, control: Control) -> None:
    """Go on as the first process of new namespaces; the original process only waits."""
    confinement.leave_namespaces(as_root=plan.uid != 0)
    child = os.fork()
    if child:
        control.close()  # otherwise the host would not notice when the child ends
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    confinement.die_with_parent()
