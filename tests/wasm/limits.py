"""Runs code with a time limit in Pyodide, for `test_limits.py`; prints how each ended, as JSON.

limits.py ROOT FOLDER, where the code is, by name, in codes.json, with the modules that it imports
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


def ended(code: str) -> str:
    """Run code for a tenth of a second of its own; return how it ended."""
    try:
        with limited(0.1, lambda frame, after: None):
            exec(compile(code, "learner.py", "exec"), {})
    except StillRunning:
        return "stopped"
    except Exception as error:
        return type(error).__name__
    return "done"


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
codes = json.loads(Path(folder, "codes.json").read_text(encoding="utf-8"))
seen: dict[str, Any] = {name: ended(code) for name, code in codes.items()}
seen["listens afterwards"] = monitoring.get_tool(monitoring.PROFILER_ID) is not None
seen["in a notebook"] = told(softmax)
print(json.dumps(seen))
