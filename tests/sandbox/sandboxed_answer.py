"""Run by tests in other circumstances: start the sandbox, ask a submission, print what came of it.

`python sandboxed_answer.py [layer to leave out ...]` prints JSON: the level, the worker's user and
an answer for which a module is imported late, or the fact, place and cure of a refusal.
"""

from __future__ import annotations

import json
import os
import sys

from autograder.errors import KitError
from autograder.model.exercise import Limits
from autograder.model.request import Request, Returned
from autograder.sandbox import SandboxedStudent, Zygote

LATE = "def f():\n    import numpy.polynomial.chebyshev, wave\n    return 42"


def main(without: tuple[str, ...]) -> dict[str, object]:
    """Return what came of it."""
    limits = Limits(seconds_per_call=5.0, memory_megabytes=256)
    try:
        with Zygote("numpy", limits, without=without) as zygote:
            with SandboxedStudent(zygote, (LATE,), seed=1) as student:
                reply = student.ask(Request("f"))
            answer = reply.value if isinstance(reply, Returned) else str(reply)
            uid = zygote.measured.uid
            return {"level": zygote.protection, "uid": uid, "host": os.getuid(), "answer": answer}
    except KitError as error:
        return {"fact": error.fact, "place": error.place, "cure": error.cure}


if __name__ == "__main__":
    print(json.dumps(main(tuple(sys.argv[1:]))))
