"""How long a learner waits: a cold `attn check` against importing the library, and a save under
`attn watch` until the answer is on the screen. Medians of one run, interleaved; then the trainings
of `attn play`, once. Not a test.

Run it as `python benchmarks/learner_times.py [ROUNDS]`, on a machine that does nothing else.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pexpect

ROOT = Path(__file__).resolve().parents[1]
ATTN = str(Path(sys.executable).with_name("attn"))
EXERCISES = {"numpy": "numpy_single_head", "torch": "torch_single_head"}
TRAINED = ("torch_single_head", "torch_multi_head", "vit_multi_head")
PLAYED = 60.0  # seconds for all trainings of an exercise
TARGETS = {"numpy": (4.0, 150), "torch": (1.5, 300)}
# Until a child is ready again; it is not to be seen from outside.
PAUSE = {"numpy": 2.0, "torch": 8.0}
BROKEN = "\n\ndef {step}(*arguments):\n    return None\n"


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def workspace(folder: Path, name: str) -> Path:
    """A workspace with the reference as the learner's file; return that file."""
    subprocess.run([ATTN, "start", folder, "--exercise", name], check=True, capture_output=True)
    file = folder / name / f"{name}.py"
    shutil.copy(ROOT / "solutions" / name / "solution.py", file)
    file.with_suffix(".ipynb").unlink()
    return file


def cold(library: str, folder: Path, rounds: int) -> None:
    bare = [sys.executable, "-c", f"import {library}"]
    check = [ATTN, "check", EXERCISES[library], "--in", str(folder)]
    times: dict[str, list[float]] = {"import": [], "check": []}
    for _ in range(rounds + 1):
        times["import"].append(seconds(lambda: subprocess.run(bare, check=True)))
        run = seconds(lambda: subprocess.run(check, check=True, capture_output=True))
        times["check"].append(run)
    medians = {what: statistics.median(each[1:]) for what, each in times.items()}
    print(
        f"{library}: import {medians['import'] * 1000:.0f} ms, attn check "
        f"{medians['check'] * 1000:.0f} ms, {medians['check'] / medians['import']:.2f} times "
        f"(expected: at most {TARGETS[library][0]:g})"
    )


def warm(library: str, file: Path, rounds: int) -> None:
    """Save a right and a wrong file in turn, and wait for the words on the screen."""
    right = file.read_text(encoding="utf-8")
    step = next(line.split("(")[0][4:] for line in right.splitlines() if line.startswith("def "))
    wrong = right + BROKEN.format(step=step)
    watch = pexpect.spawn(
        ATTN,
        ["watch"],
        cwd=str(file.parent),
        env={**os.environ, "TERM": "xterm"},
        dimensions=(40, 100),
        encoding="utf-8",
        timeout=60,
    )
    watch.expect("Every step of")
    times = []
    for number in range(2 * rounds):
        time.sleep(PAUSE[library])
        text, words = ((wrong, "returns None|is None"), (right, "Every step of"))[number % 2]
        began = time.perf_counter()
        file.write_text(text, encoding="utf-8")
        watch.expect(words)
        times.append(time.perf_counter() - began)
    watch.send("q")
    watch.expect(pexpect.EOF)
    print(
        f"{library}: from the save to the answer {statistics.median(times) * 1000:.0f} ms, "
        f"{min(times) * 1000:.0f} to {max(times) * 1000:.0f} "
        f"(expected: at most {TARGETS[library][1]} ms)"
    )


def played(name: str, folder: Path) -> None:
    """Train on every task of an exercise, once."""
    workspace(folder, name)
    play = [ATTN, "play", name, "--in", str(folder)]
    took = seconds(lambda: subprocess.run(play, check=True, capture_output=True))
    print(f"{name}: attn play {took:.0f} s (expected: less than {PLAYED:g})")


def main(rounds: int) -> None:
    for library, name in EXERCISES.items():
        with tempfile.TemporaryDirectory() as folder:
            file = workspace(Path(folder) / "work", name)
            cold(library, file.parent.parent, rounds)
            warm(library, file, rounds)
    for name in TRAINED:
        with tempfile.TemporaryDirectory() as folder:
            played(name, Path(folder) / "work")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
