"""Run by tests in other circumstances: start the sandbox, ask a submission, print what came of it.

`python sandboxed_answer.py [layer to leave out ...]` prints JSON: the level, the worker's user, an
answer for which a module is imported late, and how many of 300 threads could be started; or the
fact, place and cure of a refusal.
"""

from __future__ import annotations

import json
import os
import sys

from autograder.errors import KitError
from autograder.sandbox import SandboxedStudent, Zygote
from autograder.values.exercise import Limits
from autograder.values.request import Reply, Request, Returned

LATE = "def f():\n    import numpy.polynomial.chebyshev, wave\n    return 42"
# Small ones, so that it is not the memory that bounds them.
THREADS = """
import threading

def started():
    threading.stack_size(1 << 16)
    end, number = threading.Event(), 0
    try:
        for number in range(300):
            threading.Thread(target=end.wait, daemon=True).start()
        number += 1
    except RuntimeError:
        pass
    end.set()
    return number
"""


def main(without: tuple[str, ...]) -> dict[str, object]:
    """Return what came of it."""
    limits = Limits(seconds_per_call=5.0, memory_megabytes=256)
    try:
        with Zygote("numpy", limits, without=without) as zygote:
            with SandboxedStudent(zygote, (LATE,), seed=1) as student:
                reply = student.ask(Request("f"))
            with SandboxedStudent(zygote, (THREADS,), seed=1) as student:
                threads = student.ask(Request("started"))
            return {
                "level": zygote.protection,
                "uid": zygote.measured.uid,
                "host": os.getuid(),
                "answer": _value(reply),
                "threads": _value(threads),
            }
    except KitError as error:
        return {"fact": error.fact, "place": error.place, "cure": error.cure}


def _value(reply: Reply) -> object:
    return reply.value if isinstance(reply, Returned) else str(reply)


if __name__ == "__main__":
    print(json.dumps(main(tuple(sys.argv[1:]))))
