"""What a hostile submission tries, and that nothing of it gets through.

`test_sandbox_levels.py` runs the attempts of `OUT_OF_REACH` without the sandbox
too, where each one goes through: so a denial here is not an attempt that is broken.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from autograder.sandbox import SandboxedStudent, Zygote
from autograder.values.exercise import Limits
from autograder.values.request import Failed, Request, Returned
from autograder.values.verdict import Outcome
from sandbox.out_of_reach import OUT_OF_REACH, try_it
from sandbox.questions import ask, failed, raised_by, value_of
from support.processes import descendants

LIMITS = Limits(seconds_per_call=1.0, memory_megabytes=256)


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with Zygote("numpy", LIMITS) as zygote:
        yield zygote


@pytest.mark.parametrize("body", OUT_OF_REACH.values(), ids=OUT_OF_REACH)
def test_nothing_outside_can_be_reached(zygote: Zygote, body: str) -> None:
    reply = failed(try_it(zygote, body))
    assert reply.outcome is Outcome.RAISED and reply.exception
    assert reply.exception.type_name in (
        *("PermissionError", "FileNotFoundError", "OSError", "ProcessLookupError"),
        "NotADirectoryError",
    )


def test_the_solutions_are_neither_importable_nor_readable(zygote: Zygote) -> None:
    code = (
        "import sys, os\nfrom pathlib import Path\ndef f():\n"
        "    import autograder.worker.wire\n"
        "    package = Path(autograder.worker.wire.__file__).parents[1]\n"
        "    return tuple(sorted(p.name for p in package.iterdir() if p.name != '__pycache__'))"
    )
    reply = ask(zygote, code)
    if isinstance(reply, Returned):  # at the level landlock the folder cannot even be listed
        assert reply.value == ("__init__.py", "worker")
    for name in ("solutions", "autograder.sandbox", "autograder.values.verdict"):
        missing = raised_by(zygote, f"def f():\n    import {name}")
        assert missing in ("ModuleNotFoundError", "PermissionError")


def test_a_worker_has_no_capability_and_cannot_gain_any(zygote: Zygote) -> None:
    code = (
        "import ctypes, os, struct\ndef f():\n    libc = ctypes.CDLL(None)\n"
        "    header = struct.pack('<Ii', 0x20080522, 0)\n"
        "    data = ctypes.create_string_buffer(24)\n"
        "    assert libc.capget(header, data) == 0\n"
        "    return os.getuid() != 0, any(data.raw), libc.prctl(39, 0, 0, 0, 0)"
    )
    assert value_of(zygote, code) == (True, False, 1)


def test_a_worker_has_three_files_its_channel_and_its_bell(zygote: Zygote) -> None:
    code = (
        "import os\ndef f():\n    found = []\n    for number in range(64):\n"
        "        try:\n            os.fstat(number)\n            found.append(number)\n"
        "        except OSError:\n            pass\n    return tuple(found)"
    )
    assert value_of(zygote, code) == (0, 1, 2, 3, 4)


def test_the_environment_holds_nothing_of_the_hosts(
    zygote: Zygote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTN_TOKEN", "what is to stay hidden")
    with Zygote("numpy", LIMITS) as fresh:
        names = value_of(fresh, "import os\ndef f(): return ' '.join(sorted(os.environ))")
    assert set(names.split()) <= {
        "PATH", "LANG", "LC_CTYPE", "HOME", "USER", "TMPDIR", "PYTHONHASHSEED",
        "PYTHONIOENCODING", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
        "MALLOC_ARENA_MAX",
    }  # fmt: skip


def memory_holds(pid: int, needle: bytes) -> bool:
    """Return whether any readable mapping of the process holds `needle`."""
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, mode = line.split()[:2]
            start, end = (int(number, 16) for number in span.split("-"))
            if not mode.startswith("r") or line.endswith(("[vvar]", "[vsyscall]", "[vvar_vclock]")):
                continue
            memory.seek(start)
            try:
                if needle in memory.read(end - start):
                    return True
            except OSError:  # a mapping of a file beyond its end
                continue
    return False


def test_the_memory_of_zygote_and_worker_holds_nothing_of_the_hosts() -> None:
    needle = b"canary-" + os.urandom(16).hex().encode()
    kept = bytearray(needle)
    planted = b"planted-" + os.urandom(16).hex().encode()
    with Zygote("numpy", LIMITS) as zygote:
        code = f"planted = {planted.decode()!r}\ndef f(x): return 1"
        with SandboxedStudent(zygote, (code,), seed=1) as student:
            assert isinstance(student.ask(Request("f", (np.ones(2),))), Returned)
            family = descendants(zygote.pid)
            assert len(family) >= 2
            assert not any(memory_holds(pid, needle) for pid in family)
            # The control: the same scan does find what is there.
            assert any(memory_holds(pid, planted) for pid in family)
    assert kept == needle


FORGED = {
    "no magic": "os.write(3, b'x' * 64)",
    "a length of 2**63": "os.write(3, struct.pack('<4sIQ', b'ATN1', 2, 1 << 63))",
    "no JSON": "frame(b'{{{')",
    "deep JSON": "frame(b'[' * 100_000)",
    "a list": "frame(b'[]')",
    "no id": "frame(b'{}')",
    "another id": 'frame(b\'{"id": 99, "value": {"kind": "plain", "value": 1}}\')',
    "a question that was not invited": 'frame(b\'{"ask": 1, "step": "g", "arguments": []}\')',
    "an unhashable dtype": 'value({"kind": "array", "dtype": {}, "shape": []})',
    "a negative axis": 'value({"kind": "array", "dtype": "f8", "shape": [-1]})',
    "an overflow that holds nothing": (
        'value({"kind": "array", "dtype": "f8", "shape": [0] + [1 << 28] * 7})'
    ),
    "more arguments than were sent": 'value({"kind": "plain", "value": 1}, after=9)',
    "an attribute not asked for": 'value({"kind": "plain", "value": 1}, attributes={"x": {}})',
    "a report that is none": 'frame(b\'{"id": 2, "raised": {"line": "x"}}\')',
    "failures for a call": 'frame(b\'{"id": 2, "failures": []}\')',
}
FORGER = """
import json, os, struct
def frame(head):
    os.write(3, struct.pack('<4sIQ', b'ATN1', len(head), 0) + head)
def value(facts, after=1, attributes={{}}):
    plain = {{"kind": "plain", "value": None}}
    reply = {{"id": 2, "value": facts, "after": [plain] * after, "attributes": attributes}}
    frame(json.dumps(reply).encode())
def f(x):
    {body}
    os.read(3, 1)
"""


@pytest.mark.parametrize("body", FORGED.values(), ids=FORGED)
def test_a_forged_frame_is_a_breach_of_protocol(zygote: Zygote, body: str) -> None:
    assert failed(ask(zygote, FORGER.format(body=body), np.ones(2))).outcome is Outcome.PROTOCOL


def test_a_reply_sent_twice_does_not_answer_the_next_request(zygote: Zygote) -> None:
    code = (
        "import json, os, struct\ndef f(x):\n"
        '    head = b\'{"id": 2, "value": {"kind": "plain", "value": 1}, '
        '"after": [{"kind": "plain", "value": 1}], "attributes": {}}\'\n'
        "    os.write(3, struct.pack('<4sIQ', b'ATN1', len(head), 0) + head)\n    return 2\n"
    )
    with SandboxedStudent(zygote, (code,), seed=1) as student:
        first = student.ask(Request("f", (np.ones(2),)))
        second = student.ask(Request("f", (np.ones(2),)))
    assert isinstance(first, Returned) and first.value == 1
    assert isinstance(second, Failed) and second.outcome is Outcome.PROTOCOL


HOSTILE = {
    "a message that raises": ("class E(Exception):\n    def __str__(self): 1 / 0", "E()"),
    "a message that is no text": ("class E(Exception):\n    def __str__(self): return 1", "E()"),
    "a class that lies": (
        "class E(Exception):\n    @property\n    def __class__(self): raise KeyError",
        "E()",
    ),
    "a message without end": ("class E(Exception): pass", "E('x' * 10_000_000)"),
    "escape sequences": ("class E(Exception): pass", "E('\\x1b]0;owned\\x07\\u202e<b>')"),
    "a name that lies": (
        "class M(type):\n    @property\n    def __name__(self): raise KeyError\n"
        "class E(Exception, metaclass=M): pass",
        "E()",
    ),
}


@pytest.mark.parametrize(("setup", "error"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_exception_is_told_in_harmless_text(
    zygote: Zygote, setup: str, error: str
) -> None:
    reply = failed(ask(zygote, f"{setup}\ndef f():\n    raise {error}"))
    assert reply.outcome is Outcome.RAISED and reply.exception
    assert reply.exception.type_name == "E" and len(reply.exception.message) <= 500
    assert all(character.isprintable() for character in reply.exception.message)


def test_limits_cannot_be_raised(zygote: Zygote) -> None:
    code = (
        "import resource\ndef f():\n"
        "    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)"
    )
    assert failed(ask(zygote, code)).outcome is Outcome.RAISED


def test_the_disk_is_bounded(zygote: Zygote) -> None:
    code = (
        "import os, tempfile\ndef f():\n    place = tempfile.gettempdir()\n"
        "    for number in range(10_000):\n        open(f'{place}/{number}', 'w').close()"
    )
    assert raised_by(zygote, code) in ("OSError", "FileNotFoundError")


def test_many_threads_are_bounded(zygote: Zygote) -> None:
    code = (
        "import threading\ndef f():\n    stop = threading.Event()\n"
        "    for _ in range(5000): threading.Thread(target=stop.wait, daemon=True).start()"
    )
    bounded = (Outcome.RAISED, Outcome.OUT_OF_MEMORY, Outcome.CRASHED)
    assert failed(ask(zygote, code)).outcome in bounded
