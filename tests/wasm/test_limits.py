"""In a browser's Python, which has no threads, code that does not end is stopped all the same."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from wasm.in_node import ROOT, start_script

BUSY = "import time\nend = time.monotonic() + {seconds}\nwhile time.monotonic() < end:\n    pass\n"
WORK = BUSY.format(seconds=0.6)
SLOW = {"slow": 0.8, "slow_too": 0.8, "endless": 60}  # modules: seconds that an import takes
CODES = {  # and how it ends, if it has a tenth of a second and an import 1.5 s
    "a loop": ("while True:\n    pass", "stopped"),
    "a loop in a generator that a library asks": (
        "sum(each for each in iter(int, 1))",
        "stopped",
    ),
    "a function that a library calls": (
        "import itertools\nsum(map(lambda each: 0, itertools.count()))",
        "stopped",
    ),
    "a loop that catches all": (
        "while True:\n    try:\n        while True:\n            pass\n    except:\n        pass",
        "stopped",
    ),
    "a tree of calls": (
        "def f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)\nf(60)",
        "stopped",
    ),
    "a sleep": ("from time import sleep\nsleep(60)", "stopped"),
    "a short sleep": ("import time\ntime.sleep(0.01)", "done"),
    "a sleep before now": ("import time\ntime.sleep(-1)", "ValueError"),
    "a sleep of no number": ("import time\ntime.sleep('1')", "TypeError"),
    "short work": ("sum(range(1000))", "done"),
    "an import that takes long": ("import slow", "done"),
    "an import that takes long, and then work": (f"import slow_too\n{WORK}", "stopped"),
    "an import that fails, and then work": (
        f"try:\n    import not_there\nexcept ImportError:\n    pass\n{WORK}",
        "stopped",
    ),
    "an import without end": ("import endless", "stopped"),
}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `limits.py` saw."""
    work = tmp_path_factory.mktemp("limits")
    for name, seconds in SLOW.items():
        (work / f"{name}.py").write_text(BUSY.format(seconds=seconds), encoding="utf-8")
    codes = {name: code for name, (code, _) in CODES.items()}
    (work / "codes.json").write_text(json.dumps(codes), encoding="utf-8")
    with start_script(Path(__file__).with_name("limits.py"), ROOT, work, work=work) as node:
        out, err = node.communicate()
    assert node.returncode == 0, err
    facts: dict[str, Any] = json.loads(out.splitlines()[-1])
    return facts


@pytest.mark.parametrize("name", CODES)
def test_what_does_not_end_is_stopped_and_nothing_else_is(seen: dict[str, Any], name: str) -> None:
    assert seen[name] == CODES[name][1]


def test_nothing_listens_afterwards(seen: dict[str, Any]) -> None:
    assert not seen["listens afterwards"]


def test_the_check_of_a_notebook_names_the_line_of_a_loop(seen: dict[str, Any]) -> None:
    line = r"`softmax` was still running after 6 s at line \d+, `(scores = .*|while True:)`"
    assert re.search(line, seen["in a notebook"]), seen["in a notebook"]
