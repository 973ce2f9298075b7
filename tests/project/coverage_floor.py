"""The least coverage that is demanded, in percent, and that it only rises.

`make coverage` runs it after the table: `python tests/project/coverage_floor.py` says when the
floor in pyproject.toml can be raised. That it never falls is seen in the history of that file.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Points that differ from run to run: which process was killed before it had written.
VARIATION = 0.5


def floor_in(pyproject: str) -> float:
    """The floor that the text of pyproject.toml demands; 0 where it demands none."""
    coverage = tomllib.loads(pyproject).get("tool", {}).get("coverage", {})
    return float(coverage.get("report", {}).get("fail_under", 0))


def next_floor(floor: float, total: float) -> float:
    """The floor to write when `total` percent were run: the same, or more than a point above."""
    reached = float(int(total - VARIATION))
    return reached if total - floor > 1 and reached > floor else floor


def committed_floors(root: Path) -> dict[str, float]:
    """Every floor that was ever committed, by commit; {} where there is no history."""
    asked = ("log", "--format=%H", "-G", "^fail_under", "--", "pyproject.toml")
    commits = told_by_git(root, *asked).split()
    texts = {one: told_by_git(root, "show", f"{one}:./pyproject.toml") for one in commits}
    return {one: floor_in(text) for one, text in texts.items()}


def told_by_git(root: Path, *words: str) -> str:
    """What git says of the repository at `root`; "" when there is no git, or no repository."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        run = subprocess.run(
            ["git", *words], cwd=root, env=own, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return ""
    return run.stdout if run.returncode == 0 else ""


def fall(root: Path) -> str:
    """Say that the floor was higher once, and where; "" when it was not."""
    now = floor_in((root / "pyproject.toml").read_text(encoding="utf-8"))
    commit, most = max(committed_floors(root).items(), key=lambda each: each[1], default=("", 0.0))
    if most <= now:
        return ""
    return f"fail_under is {now:g}, and was {most:g} in {commit[:10]}: write tests, or {most:g}"


def main() -> None:
    """Say what was run and what is demanded, and which floor to write."""
    command = [sys.executable, "-m", "coverage", "report", "--format=total", "--fail-under=0"]
    run = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    total = float(run.stdout)
    floor = floor_in((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    print(f"{total:g} % of the lines and branches were run; {floor:g} % are demanded")
    if (higher := next_floor(floor, total)) > floor:
        print(f"raise the floor: write fail_under = {higher:g} in pyproject.toml")
    if words := fall(ROOT):
        sys.exit(f"error: {words}")


if __name__ == "__main__":
    main()
