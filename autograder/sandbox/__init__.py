"""The trusted side of the sandbox: start workers, ask them, and judge how they end."""

from autograder.model.protection import Protection
from autograder.sandbox.sandboxed_student import SandboxedStudent
from autograder.sandbox.zygote import Zygote

__all__ = ["Protection", "SandboxedStudent", "Zygote"]
