"""What every command of the benchmark has in common: its options, and how it shows its figures."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from autograder.values.exercise import Exercise, read_exercise
from benchmarks.cost import ROOT, adopt_orphans
from benchmarks.figures import Figure, append_figure, table
from support.mixed_class import SEED

EXERCISES = ("numpy_single_head", "torch_multi_head")
FEW = 4  # hand-ins of the small class, which is taken off the large one

Measure = Callable[[Exercise, argparse.Namespace, Path], Iterator[Figure]]


def options(
    about: str | None, hand_ins: int, turns: int = 2, exercises: Sequence[str] = EXERCISES
) -> argparse.ArgumentParser:
    """Return the options that all commands have, with these defaults."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hand-ins", type=int, default=hand_ins, help=f"default: {hand_ins}")
    parser.add_argument("--turns", type=int, default=turns, help=f"default: {turns}")
    parser.add_argument("--few", type=int, default=FEW, help="hand-ins of the small class")
    parser.add_argument("--exercise", action="append", help=f"default: {', '.join(exercises)}")
    parser.add_argument("--figures", type=Path, help="also add the figures to this file")
    parser.set_defaults(exercises=exercises)
    return parser


def show(measure: Measure, arguments: argparse.Namespace) -> None:
    """Measure every exercise; print each figure when it is there, and all as a table."""
    adopt_orphans()
    print(f"seed of the class: {SEED}")
    found = []
    for name in arguments.exercise or arguments.exercises:
        exercise = read_exercise(ROOT / "solutions" / name)
        with tempfile.TemporaryDirectory() as folder:
            for figure in measure(exercise, arguments, Path(folder)):
                print(figure.line, flush=True)
                if arguments.figures:
                    append_figure(figure, arguments.figures)
                found.append(figure)
    print(f"\n{table(found)}")


def write_texts(texts: Sequence[str], file: Path) -> str:
    """Write the texts of hand-ins for a program of the benchmark; return the file's name."""
    file.write_text(json.dumps(list(texts)), encoding="utf-8")
    return str(file)
