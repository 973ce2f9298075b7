"""Whole hand-ins, right and wrong, for two ways of checking that have to say the same.

And what may differ: the same but for a few exceptions, each with its reason.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from autograder.checks.reference import Misconception, read_reference
from support.learner_workspace import NAME, ROOT
from support.nameless_mistakes import SHARPER, written

RIGHT = ("correct_compact_class", "correct_einsum", "correct_loops", "correct_minus_infinity")
OF_EACH_STEP = 2  # known mistakes

# What ends otherwise than with a wrong result.
ENDINGS = {
    "endless loop": "while True:\n    pass",
    "endless loop that catches all": (
        "while True:\n    try:\n        scores = scores + 1\n    except:\n        pass"
    ),
    "calls itself": "return softmax(scores)",
    "exits": "exit()",
    "ends Python": "import os\nos._exit(3)",
    "asks": 'return scores * int(input("how many? "))',
    "prints": 'print("scores", scores.shape)\nreturn scores',
    "prints without end": 'while True:\n    print("x" * 1000)',
    "fails in a library": "return np.linalg.inv(scores[0, 0])",
    "fails in a module of Python": "import statistics\nreturn statistics.mean('abc')",
    "imports what is not there": "import pandas\nreturn pandas",
    "does not exist": "return scores.soft_max()",
    "raises nothing of ours": "raise KeyboardInterrupt",
    "wants much memory": "return [np.zeros((8_000, 8_000)) for _ in range(40)]",
    "wants more memory than there is": "return np.zeros((200_000, 200_000)) + scores.sum()",
    "makes whole numbers": "return scores.astype(int)",
    "overflows": "powers = np.exp(scores)\nreturn powers / powers.sum(-1, keepdims=True)",
}
# What stands below the right steps.
BELOW = {
    "fails at the top": "print('here')\nnumbers = [1, 2][3]",
    "exits at the top": "import sys\nsys.exit('done')",
}


@dataclass(frozen=True)
class Allowed:
    """What is left out on both sides before they are compared, and why it may differ."""

    why: str
    words: str  # a regular expression; where a detail has it, the detail is left out


EXCEPTIONS = (
    Allowed(
        "the limit is in wall time there, and code is stopped where it jumps back",
        r"after \d+ s at line \d+(?: of `\w+`)?, `[^`]*`",
    ),
    Allowed(
        "WebAssembly has no floating-point flags, so the line that makes the first NaN is unknown",
        r"Line \d+, `[^`]*`, makes the first one\.",
    ),
    Allowed("with addresses of 32 bits, `int` makes whole numbers of 32 bits", r"\bint(?:32|64)\b"),
)


def hand_ins() -> Iterator[tuple[str, str]]:
    """Give each hand-in as a name and the text of a file."""
    yield "the reference", written(NAME)
    yield "nothing", (ROOT / "assignments" / NAME / f"{NAME}.py").read_text(encoding="utf-8")
    for each in RIGHT:
        file = ROOT / "tests" / "sample_class" / NAME / f"{each}.py"
        yield each, written(NAME) + "\n\n" + file.read_text(encoding="utf-8")
    yield "a mistake without a name", written(NAME, compute_attention_weights=SHARPER)
    for known in known_mistakes(OF_EACH_STEP):
        yield known.name, written(NAME, **{known.step: code_of(known)})
    for name, body in ENDINGS.items():
        text = "def softmax(scores):\n" + textwrap.indent(body, "    ")
        yield name, written(NAME, softmax=text)
    yield "is no Python", written(NAME, softmax="def softmax(scores)\n    return scores")
    hinted = "def softmax(scores: Floot[np.ndarray, 'B S S']):\n    return scores"
    yield "has a slip in a type hint", written(NAME, softmax=hinted)
    for name, code in BELOW.items():
        yield name, f"{written(NAME)}\n\n{code}\n"


def known_mistakes(of_each: int) -> Iterator[Misconception]:
    """Give so many known mistakes of each step: of those that are functions of NumPy alone."""
    given = Counter[str]()
    for known in read_reference(ROOT / "solutions" / NAME).misconceptions:
        alone = (
            inspect.isfunction(known.wrong) and not inspect.getclosurevars(known.wrong).nonlocals
        )
        if alone and {*inspect.getclosurevars(known.wrong).globals} <= {"np", "solution"}:
            given[known.step] += 1
            if given[known.step] <= of_each:
                yield known


def code_of(known: Misconception) -> str:
    """Return the code of a known mistake, as a learner would have written it."""
    text = textwrap.dedent(inspect.getsource(known.wrong)).replace("solution.", "")
    return text.replace(f"def {known.wrong.__name__}(", f"def {known.step}(")


def differences(there: Any, here: Any, place: str = "") -> Iterator[str]:
    """Give what differs between two documents, but for the exceptions; `here` is the native one."""
    limit, first_nan, whole_numbers = (each.words for each in EXCEPTIONS)
    if isinstance(here, dict) and isinstance(there, dict):
        told = re.search(first_nan, str(here.get("fact")))  # what follows from it is left out
        for key in sorted({*here, *there}):
            if not (told and key in ("look", "details")):
                yield from differences(there.get(key), here.get(key), f"{place}.{key}")
    elif isinstance(here, list) and isinstance(there, list):
        known = [
            each
            for each in here
            if not (isinstance(each, str) and re.search(first_nan, each)) or each in there
        ]
        if len(there) != len(known):
            yield f"{place}: {there} and not {here}"
        for number, (one, other) in enumerate(zip(there, known)):
            yield from differences(one, other, f"{place}[{number}]")
    elif isinstance(here, str) and isinstance(there, str):
        before = re.split(first_nan, here)[0].rstrip()
        same = there.startswith(before) if re.search(first_nan, here) else there == here
        left_out = f"{limit}|{whole_numbers}"
        if not same and re.sub(left_out, "…", there) != re.sub(left_out, "…", here):
            yield f"{place}: {there!r} and not {here!r}"
    elif there != here:
        yield f"{place}: {there!r} and not {here!r}"
