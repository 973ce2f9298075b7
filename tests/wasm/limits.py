"""Tries the time limit in Pyodide: runs there, for `test_limits.py`. Prints what was seen as JSON.

limits.py ROOT FOLDER, a folder for modules
"""

import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

root, folder = sys.argv[1:]
sys.path[:0] = [root, folder]

from autograder.judging import time_limit  # noqa: E402
from autograder.judging.time_limit import StillRunning, limited  # noqa: E402
from autograder.learning.notebook_check import open_exercise  # noqa: E402

BUSY = "import time\nend = time.monotonic() + {seconds}\nwhile time.monotonic() < end:\n    pass\n"


def stopped(code: str, seconds: float = 0.1) -> bool:
    """Run code with a limit; return whether it was stopped."""
    try:
        with limited(seconds, lambda frame, after: None):
            exec(compile(code, "learner.py", "exec"), {})
    except StillRunning:
        return True
    return False


def refused(code: str) -> str:
    """Return the name of the error that code ends with."""
    try:
        stopped(code)
    except Exception as error:
        return type(error).__name__
    return ""


def module(name: str, seconds: float) -> str:
    """Write a module that is busy while it is imported; return the code that imports it."""
    Path(folder, f"{name}.py").write_text(BUSY.format(seconds=seconds), encoding="utf-8")
    return f"import {name}\n"


def told(step: Any) -> str:
    """Return what a notebook's check prints about a step."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            print(open_exercise("numpy_single_head")(step))
        except Exception as error:
            print(error)
    return out.getvalue()


def softmax(scores: Any) -> None:
    while True:
        scores = scores + 1


time_limit.IMPORTING = 1.5
monitoring: Any = vars(sys)["monitoring"]  # since Python 3.12
seen = {
    "a loop": stopped("while True:\n    pass"),
    "a loop in a generator that a library asks": stopped("sum(each for each in iter(int, 1))"),
    "a function that a library calls": stopped(
        "import itertools\nsum(map(lambda each: 0, itertools.count()))"
    ),
    "a loop that catches all": stopped(
        "while True:\n    try:\n        while True:\n            pass\n    except:\n        pass"
    ),
    "a tree of calls": stopped("def f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)\nf(60)"),
    "a sleep": stopped("from time import sleep\nsleep(60)"),
    "a short sleep": stopped("import time\ntime.sleep(0.01)"),
    "a sleep before now": refused("import time\ntime.sleep(-1)"),
    "a sleep of no number": refused("import time\ntime.sleep('1')"),
    "short work": stopped("sum(range(1000))"),
    "an import that takes long": stopped(module("slow", 0.8)),
    "an import that fails, and then work": stopped(
        "try:\n    import not_there\nexcept ImportError:\n    pass\n" + BUSY.format(seconds=0.6)
    ),
    "an import that takes long, and then work": stopped(
        module("slow_too", 0.8) + BUSY.format(seconds=0.6)
    ),
    "an import without end": stopped(module("endless", 60)),
    "afterwards": monitoring.get_tool(monitoring.PROFILER_ID) is not None,
    "in a notebook": told(softmax),
}
print(json.dumps(seen))
