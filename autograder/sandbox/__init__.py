"""The trusted side of the sandbox: start workers, ask them, and judge how they end.

Importing this package is cheap: only who starts workers pays for NumPy. The starter of a run takes
what it needs from here to limit its grader processes, and never starts a worker.
"""

from typing import TYPE_CHECKING

from autograder.values.symbols import Protection

if TYPE_CHECKING:
    from autograder.sandbox.workers import SandboxedStudent
    from autograder.sandbox.zygote import Zygote

__all__ = ["Protection", "SandboxedStudent", "Zygote"]


def __getattr__(name: str) -> object:
    if name == "SandboxedStudent":
        from autograder.sandbox.workers import SandboxedStudent

        return SandboxedStudent
    if name == "Zygote":
        from autograder.sandbox.zygote import Zygote

        return Zygote
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
