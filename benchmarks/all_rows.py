"""Run every row of the benchmark, and write docs/benchmarks.md: `make bench` runs this.

Each row is a command of its own beside this file, in a process of its own. Their figures go into
one table, which is printed, and with `--page` put between the marks of a page, with the machine.
The rest of the page is written by hand. `--small` proves that every row runs; its figures say
nothing.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

from benchmarks.cost import ROOT
from benchmarks.figures import Figure, read_figures, table

HERE = Path(__file__).parent
PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- the table begins here -->", "<!-- the table ends here -->"
ROWS = {
    "course_cost.py": (1, "--hand-ins 8 --stock 4 --few 2 --turns 1"),
    "autograde_cost.py": (2, "--hand-ins 4 --few 2 --turns 1"),
    "pytest_cost.py": (3, "--hand-ins 12 --pytest 2 --turns 1"),
    "floor.py": (4, "--hand-ins 12 --few 4 --turns 1"),
    "growth.py": (5, "--hand-ins 12 --few 2 --most 12"),
    "process_counts.py": (6, "--hand-ins 12 --turns 1"),
    "cold_start.py": (7, "--turns 1"),
    "class_cost.py": (8, "--hand-ins 12 --turns 1"),
    "sandbox_overhead.py": (8, "--turns 3"),
}


def machine() -> dict[str, str]:
    """Return what figures depend on beside the code, by its name."""
    return {
        "processor": processor(Path("/proc/cpuinfo").read_text(encoding="utf-8")),
        "cores": str(os.cpu_count()),
        "kernel": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "torch", "nbgrader", "pytest")},
        "commit": commit(),
    }


def processor(facts: str) -> str:
    """Return the name of the processor from the text of /proc/cpuinfo."""
    names = [line.partition(":")[2].strip() for line in facts.splitlines() if "model name" in line]
    return names[0] if names else platform.machine()


def commit() -> str:
    """Return the commit that was measured, and whether files were changed since."""

    def git(*words: str) -> str:
        run = subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True)
        return run.stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no")
    return git("rev-parse", "--short=12", "HEAD") + " with changes" * bool(changed)


def section(figures: tuple[Figure, ...], facts: dict[str, str], seconds: float) -> str:
    """Return what stands between the marks of the page: the machine, and the table."""
    lines = [f"- {name}: {value}\n" for name, value in facts.items()]
    return f"{''.join(lines)}- time: {seconds / 60:.0f} minutes\n\n{table(figures)}"


def filled(page: str, text: str) -> str:
    """Return a page with `text` between its marks; raises ValueError when it has no marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the page has no place for the table, between {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{text}\n{END}{after}"


def run_rows(arguments: argparse.Namespace, file: Path) -> list[str]:
    """Run the rows that are asked for, each into `file`; return the commands that failed."""
    failed = []
    for name, (row, small) in ROWS.items():
        if arguments.row and row not in arguments.row:
            continue
        words = small.split() if arguments.small else []
        words += [word for each in arguments.exercise or () for word in ("--exercise", each)]
        print(f"\n== row {row}: {name} {' '.join(words)}", flush=True)
        begun = time.perf_counter()
        command = [sys.executable, str(HERE / name), *words, "--figures", str(file)]
        run = subprocess.run(command, env=os.environ | {"PYTHONPATH": _path()}, check=False)
        print(f"{name} took {time.perf_counter() - begun:.0f} s", flush=True)
        if run.returncode:
            failed.append(name)
    return failed


def _path() -> str:
    return os.pathsep.join([str(ROOT), str(ROOT / "tests")])


def main() -> int:
    """Run the rows and show the table; the page is left as it is when a row has failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--row", type=int, action="append", help="default: all")
    parser.add_argument("--exercise", action="append", help="default: one of each kind")
    parser.add_argument("--small", action="store_true", help="small classes: does every row run?")
    parser.add_argument("--page", type=Path, nargs="?", const=PAGE, help=f"default: {PAGE.name}")
    arguments = parser.parse_args()
    if arguments.small and arguments.page and arguments.page.samefile(PAGE):
        parser.error("figures of small classes say nothing: they are not for the page")
    page = arguments.page.read_text(encoding="utf-8") if arguments.page else f"{BEGIN}\n{END}"
    filled(page, "")  # before an hour has passed
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "figures"
        failed = run_rows(arguments, file)
        text = section(read_figures(file), machine(), time.perf_counter() - begun)
    print(f"\n{text}")
    if failed:
        print(f"error: {', '.join(failed)} failed; the page is not written", file=sys.stderr)
        return 1
    if arguments.page:
        arguments.page.write_text(filled(page, text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
