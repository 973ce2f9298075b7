"""Whether an exception comes from a `raise` of the code itself, or from a library written in C.

PyTorch raises NotImplementedError for operators that it does not have, such as `^` of numbers with
a fraction. The last frame of Python is then the code's own, as it is where a stub raises.
"""

from __future__ import annotations

import dis
from types import TracebackType

_RAISE = dis.opmap["RAISE_VARARGS"]


def is_raise(step: TracebackType) -> bool:
    """Say whether the code of this step of a traceback was at a `raise` of its own."""
    code = step.tb_frame.f_code.co_code
    return step.tb_lasti < len(code) and code[step.tb_lasti] == _RAISE
