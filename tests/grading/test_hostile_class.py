"""Hostile hand-ins by the hundred, each class of them with one honest classmate.

They are drawn from a seed: files, notebooks, folders, names, replies. Each writer puts what one
student hands in below a folder. Code in it begins with `CALLING_CARD`, which leaves a file behind
wherever it runs outside the sandbox. The classmate always has the same marks, the run always ends
within its bound, nothing of ours runs what was handed in, and nobody of the class brings about a
fault of the grader.
"""

from __future__ import annotations

import copy
import json
import os
import random
import re
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from autograder.reports.grades_csv import read_verdicts
from support.broken.case import NAME, STEPS, Work
from support.copied_exercise import copy_exercise
from support.typed_commands import ATTN

SEED = int(os.environ.get("ATTN_SEED", "20261121"))
CLASS, CLASSES = 100, 5
# Seconds: a hand-in's own time, and what reading, judging and writing it take on a slow machine.
BOUND_OF_ONE, BOUND_OF_A_RUN = 20.0, 60.0
LIMITS = {"seconds_per_call": 0.5, "seconds_per_submission": 3.0}

CALLING_CARD = "try:\n    open({marker!r} + '/ran', 'w').close()\nexcept OSError:\n    pass\n"
NAMES = (
    *(b"jos\xe9", b"\xff\xfe", b"na\xefve \xa4"),
    *("josé", "jose\u0301", "JOSÉ", "\u202egnp.exe", "\u200bhidden", "a\nb", "tab\there"),
    *("-rf", "--output", "=cmd()", "@sum", "'; drop table verdicts; --", "<script>alert(1)<"),
    *("solutions", "graders", "conftest", "sitecustomize", "usercustomize", "pickle", "numpy"),
    *("journal.sqlite", "gradebook", "class.json", "input.secret", "con", "nul", "~", "$HOME"),
    *("%s%n", "{0}", "{{config}}", "a" * 200, "::error::", "##[group]", "\x1b[2J", "学生"),
)
BESIDE = (
    *("attn.toml", "nbgrader_config.py", "conftest.py", "pytest.ini", "pyproject.toml"),
    *("pickle.py", "numpy.py", "sitecustomize.py", "solution.py", "graders.py", "exercise.toml"),
    *("timestamp.txt", "submission_secret.txt", "journal.sqlite", "gradebook.db"),
)


@dataclass(frozen=True)
class Hostility:
    """Where hostile hand-ins are written, by which draws, and where they would leave a trace."""

    folder: Path
    random: random.Random
    marker: Path

    @property
    def card(self) -> str:
        """Code that shows that it ran where it must not."""
        return CALLING_CARD.format(marker=str(self.marker))

    @property
    def script(self) -> str:
        """The right answers with the calling card before them."""
        return f"{self.card}\n{Work(self.folder).script}"

    def write(self, name: bytes, suffix: str, content: str | bytes) -> Path:
        """Write one file; `name` is whatever a file system takes."""
        path = Path(os.fsdecode(name + suffix.encode()))
        data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
        (self.folder / path).write_bytes(data)
        return self.folder / path


Writer = Callable[[Hostility, bytes], object]


def hand_in(hostility: Hostility, number: int) -> str:
    """Write one hostile hand-in; return the name of its kind."""
    writer = hostility.random.choice(WRITERS)
    writer(hostility, _name(hostility.random, number))
    return writer.__name__


def _name(draw: random.Random, number: int) -> bytes:
    name = draw.choice(NAMES)
    raw = name if isinstance(name, bytes) else name.encode()
    return raw.replace(b"/", b"_")[:200] + f"_{number}".encode()


# --- files --------------------------------------------------------------------------------------


def bytes_of_no_encoding(hostility: Hostility, name: bytes) -> None:
    """Random bytes, or right work with bytes changed, cut or repeated."""
    draw = hostility.random
    data = bytearray(hostility.script.encode())
    for _ in range(draw.randrange(1, 40)):
        data[draw.randrange(len(data))] = draw.randrange(256)
    changed = draw.choice(
        [bytes(data), bytes(data[: draw.randrange(len(data))]), draw.randbytes(5000)]
    )
    hostility.write(name, draw.choice([".py", ".ipynb", ".ipynb.txt", ".PY"]), changed)


def links_and_odd_files(hostility: Hostility, name: bytes) -> None:
    """A link, a pipe or a folder where a file belongs."""
    path = hostility.folder / os.fsdecode(name + b".py")
    match hostility.random.randrange(4):
        case 0:
            path.symlink_to(hostility.random.choice(["/dev/zero", "/etc/passwd", path.name, "/"]))
        case 1:
            os.mkfifo(path)
        case 2:
            path.mkdir()
        case _:
            hostility.write(name, ".docx", b"PK\x03\x04" + hostility.random.randbytes(2000))


# --- notebooks ----------------------------------------------------------------------------------


def notebook_of_odd_json(hostility: Hostility, name: bytes) -> None:
    """A notebook in which values are of other kinds than the format says."""
    draw = hostility.random
    work = Work(hostility.folder)
    notebook: dict[str, Any] = {"cells": work.cells, "metadata": {}, "nbformat": 4}
    notebook["cells"].insert(0, {"cell_type": "code", "source": hostility.card})
    for _ in range(draw.randrange(1, 12)):
        _spoil(notebook, draw)
    hostility.write(name, ".ipynb", json.dumps(notebook))


def _spoil(value: Any, draw: random.Random) -> None:
    """Put something odd somewhere into a JSON value."""
    while isinstance(value, dict | list) and value:
        key = draw.choice(list(value)) if isinstance(value, dict) else draw.randrange(len(value))
        if draw.random() < 0.3 or not isinstance(value[key], dict | list):
            value[key] = copy.deepcopy(draw.choice(ODD_JSON))
            return
        value = value[key]


ODD_JSON: tuple[Any, ...] = (
    *(None, True, -1, 1e308, float("nan"), "", [], {}, [[]], "\u0000", "\ud800", "\u2028"),
    *(["a", 1], {"source": 1}, "def softmax(", "x" * 10_000, [None] * 500, 10**30),
    *("\u0000def softmax(scores):\n    return scores", "%%bash\nls", "!ls", "raise SystemExit"),
)


def notebook_of_odd_text(hostility: Hostility, name: bytes) -> None:
    """JSON that is deep, double, cut off or no notebook at all."""
    draw = hostility.random
    deep = draw.choice([10, 900, 100_000])
    hostility.write(
        name,
        ".ipynb",
        draw.choice(
            [
                "[" * deep + "]" * deep,
                '{"cells":' * deep + "1" + "}" * deep,
                '{"cells": [], "cells": [{"cell_type": "code", "source": "1/0"}]}',
                '{"worksheets": [{"cells": [{"cell_type": "code", "input": ["x = 1"]}]}]}',
                '{"cells": [' + '{"cell_type": "code", "source": "x"},' * 1999 + "{}]}",
                '{"cells": [{"cell_type": "code", "source": ' + "9" * 5000 + "}]}",
                "\ufeff{}",
                "null",
                "",
            ]
        ),
    )


# --- folders ------------------------------------------------------------------------------------


def folder_of_everything(hostility: Hostility, name: bytes) -> None:
    """A folder with work in it, and files that would be read if they were ours."""
    draw = hostility.random
    folder = hostility.folder / os.fsdecode(name)
    folder.mkdir()
    inside = Hostility(folder, draw, hostility.marker)
    for beside in draw.sample(BESIDE, k=draw.randrange(len(BESIDE))):
        text = hostility.card if beside.endswith(".py") else draw.choice(["x" * 5000, "[]", "\0"])
        (folder / beside).write_text(text, encoding="utf-8")
    if draw.random() < 0.7:
        inside.write(NAME.encode(), ".py", inside.script)
    for number in range(draw.choice([0, 3, 300])):
        inside.write(_name(draw, number), draw.choice([".py", ".ipynb"]), inside.card)
    deepest = folder
    for _ in range(draw.choice([0, 60])):
        deepest = deepest / "down"
    deepest.mkdir(parents=True, exist_ok=True)


# --- code ---------------------------------------------------------------------------------------


def code_that_is_hard_to_read(hostility: Hostility, name: bytes) -> None:
    """Right work and a statement that is deep, long or empty beside it."""
    draw = hostility.random
    many = draw.choice([50, 700, 5000])
    statement = draw.choice(
        [
            "scores" + ".a" * many,
            "x = " + "(" * min(many, 190) + "1" + ")" * min(many, 190),
            "x = " + "-" * many + "1",
            "x = 1; y = scores" + ".a" * many,
            "x = " + "+".join(["1"] * many),
            "\n" * many + "\n".join(f"undefined_{n}" for n in range(10)),
            "if x:\n" + "".join(f"{' ' * n}if x:\n" for n in range(1, 90)) + " " * 90 + "pass",
            "lambda: " * min(many, 500) + "0",
            "f'" + "{x}" * many + "'",
            "%" * many,
            "?" * many,
            "x = '" + "\\\\" * many,
            "@" + ".a".join(["x"] * min(many, 700)) + "\ndef f(): pass",
            "class A" + "(A" * min(many, 90) + ")" * min(many, 90) + ": pass",
            "def softmax(scores):\n    scores" + ".a" * many,
            "raise " + "A(" * min(many, 90) + ")" * min(many, 90),
        ]
    )
    place = draw.choice([f"{statement}\n{hostility.script}", f"{hostility.script}\n{statement}\n"])
    hostility.write(name, ".py", place)


# --- replies ------------------------------------------------------------------------------------

_FORGER = """
import json as _json, os as _os, random as _random, struct as _struct, sys as _sys
_draw = _random.Random({seed})
_wire = _sys.modules["autograder.worker.wire"]
_encode = _wire.encode
_ODD = [None, True, -1, 10**400, 1e999, "", [], dict(), [[]], "x" * 5000]
_KINDS = ["array", "plain", "float", "sequence", "linear", "seed", "opaque", "odd", None, 3]
def _facts(depth=0):
    facts = dict(
        kind=_draw.choice(_KINDS),
        value=_draw.choice([*_ODD, "0x1p-3", "nan"]),
        dtype=_draw.choice(["f2", "f4", "f8", "b1", "c8", "i8", "u1", "odd", None]),
        shape=_draw.choice([[], [0], [1], [2, 3], [1] * 8, [1 << 28], [-1], [1 << 40], "odd", None]),
        type=_draw.choice(["dict", "\\x1b[2J", "x" * 500, None, 3]),
        seed=_draw.choice([0, -1, 1 << 62, 1 << 70, "odd"]),
    )
    facts["items"] = [_facts(depth + 1) for _ in range(_draw.randrange(4))] if depth < 4 else []
    return facts
def _forged(value, payload, depth=0):
    if _draw.random() < {share}:
        if _draw.random() < 0.5:
            payload.append(_draw.randbytes(_draw.choice([0, 1, 4, 8, 24, 48, 4096])))
        return _facts()
    return _encode(value, payload, depth)
_wire.encode = _forged
"""
_RAW = """
import os as _os, random as _random
_draw = _random.Random({seed})
def {step}(*arguments, **keywords):
    header = _draw.choice([
        b"{{}}", b"[]", b"null", b'{{"id": 2}}', b'{{"ask": 1, "step": "softmax"}}', _draw.randbytes(40),
        b'{{"id": 2, "raised": {{"type": "E", "message": "m", "line": 1, "code": "", "shapes": {{}}}}}}',
        b'{{"id": 3, "value": {{"kind": "plain", "value": null}}, "after": [], "attributes": {{}}}}',
        b"[" * 5000,
    ])
    size = _draw.choice([0, 1, 8, 1 << 40])
    prefix = b"ATN1" + len(header).to_bytes(4, "little") + size.to_bytes(8, "little")
    _os.write(3, _draw.choice([prefix + header, prefix, header, b"x" * 100_000]))
    {ending}
"""
_EXCEPTION = """
class _Odd({base}):
    def __str__(self):
        return {text}
    def __reduce__(self):
        return (print, ("no",))
def {step}(*arguments, **keywords):
    raise _Odd({text})
"""


def forged_replies(hostility: Hostility, name: bytes) -> None:
    """Right work in a worker whose answers are forged."""
    draw = hostility.random
    share = draw.choice([0.02, 0.3, 1.0])
    forger = _FORGER.format(seed=draw.randrange(1 << 30), share=share)
    hostility.write(name, ".py", f"{hostility.script}\n\n# %%\n{forger}")


def frames_of_its_own(hostility: Hostility, name: bytes) -> None:
    """A step that writes to the host by itself."""
    draw = hostility.random
    ending = draw.choice(["return arguments[0]", "_os._exit(0)", "return None", "raise SystemExit"])
    raw = _RAW.format(seed=draw.randrange(1 << 30), step=draw.choice(STEPS), ending=ending)
    hostility.write(name, ".py", f"{hostility.script}\n\n# %%\n{raw}")


def odd_exceptions(hostility: Hostility, name: bytes) -> None:
    """A step that raises what is odd to show."""
    draw = hostility.random
    base = draw.choice(["Exception", "BaseException", "KeyError", "MemoryError", "StopIteration"])
    text = draw.choice(["'x' * 10**6", "'\\x1b[2J\\u202e\\ud800'", "1 / 0", "'<script>'", "b'1'"])
    code = _EXCEPTION.format(base=base, text=text, step=draw.choice(STEPS))
    hostility.write(name, ".py", f"{hostility.script}\n\n# %%\n{code}")


def odd_values(hostility: Hostility, name: bytes) -> None:
    """A step that gives back what nobody asked for."""
    draw = hostility.random
    value = draw.choice(
        [
            *("None", "...", "iter([1])", "{'a': 1}", "{1, 2}", "object", "type", "print", "b'x'"),
            *("((1, 2), 3)", "[[[[[[1]]]]]]", "np.ma.array([1.0])", "np.matrix([[1.0]])"),
            *("np.array(['a'])", "np.array([None])", "np.zeros((0, 3))", "np.zeros((1,) * 32)"),
            *("np.longdouble(1)", "np.float16(1)", "np.complex128(1j)", "10**5000", "float('nan')"),
            *("np.broadcast_to(np.float64(1), (10**5, 10**5))", "np.random.default_rng(0)", "np"),
            *("np.datetime64('2020')", "np.zeros(3, dtype='i4,f8')", "(x for x in ())", "-0.0"),
        ]
    )
    code = f"def {draw.choice(STEPS)}(*arguments, **keywords):\n    return {value}\n"
    hostility.write(name, ".py", f"{hostility.script}\n\n# %%\n{code}")


WRITERS: tuple[Writer, ...] = (
    bytes_of_no_encoding,
    links_and_odd_files,
    notebook_of_odd_json,
    notebook_of_odd_text,
    folder_of_everything,
    code_that_is_hard_to_read,
    forged_replies,
    frames_of_its_own,
    odd_exceptions,
    odd_values,
)


# --- the class ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def solutions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The exercise with tight limits, so that waiting for loops does not take the time."""
    folder = tmp_path_factory.mktemp("tight") / "solutions"
    copy_exercise(NAME, folder)
    facts = folder / NAME / "exercise.toml"
    text = facts.read_text(encoding="utf-8")
    for limit, value in LIMITS.items():
        text, count = re.subn(rf"^{limit} = .*$", f"{limit} = {value}", text, flags=re.MULTILINE)
        assert count == 1
    facts.write_text(text, encoding="utf-8")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("number", "size"), [(CLASSES, 40), *((n, CLASS) for n in range(CLASSES))])
def test_an_honest_classmate_of_hostile_hand_ins_has_full_marks(
    number: int, size: int, solutions: Path, tmp_path: Path
) -> None:
    seed = SEED + number
    print(f"seed {seed}: ATTN_SEED={SEED}, class {number}")
    homework, marker = tmp_path / "homework", tmp_path / "markers"
    homework.mkdir()
    marker.mkdir(mode=0o777)
    marker.chmod(0o777)
    hostility = Hostility(homework, random.Random(seed), marker)
    kinds = Counter(hand_in(hostility, each) for each in range(size))
    Work(homework).write(Work(homework).script, "honest_classmate.py")
    command = [ATTN, "grade", "homework", "--exercise", NAME, "--solutions", str(solutions)]
    bound, begun = BOUND_OF_A_RUN + size * BOUND_OF_ONE, time.monotonic()
    run = subprocess.run(
        [*command, "--processes", "2"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=bound,
        check=False,
    )
    assert run.returncode in (0, 1), run.stdout[-3000:] + run.stderr[-3000:]
    assert time.monotonic() - begun < bound
    assert "Traceback" not in run.stderr, run.stderr[-3000:]
    assert not list(marker.iterdir())
    verdicts = read_verdicts(tmp_path / "homework-graded" / "verdicts")
    honest = [each for each in verdicts if each.student == "honest_classmate"]
    assert [(each.points, each.max_points) for each in honest] == [(22.0, 22.0)]
    assert len(verdicts) >= size * 0.9, (kinds, len(verdicts))
    ours = [each.student for each in verdicts if each.infrastructure]
    assert not ours, ours
