"""Proves all exercises in parallel and says what was proved: the work of `attn verify`."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from autograder.errors import KitError
from autograder.model.machine_fault import limit_reached
from autograder.model.symbols import WRONG
from autograder.verification.many_inputs import seeds_for_mistakes
from autograder.verification.proof import Accepted, Caught, prove_accepted, prove_caught

HEAD = f"""# What every check catches

Written by `attn verify --matrix`. Each row is a known mistake, each column a check of the step;
{WRONG} means that the check catches it. The margin is the most by which the mistake moves the \
result,
in tolerances ("any": it changes the type, the shape or a property, or raises).

"""


@dataclass(frozen=True)
class Proof:
    """Both halves of the proof of one exercise."""

    caught: Caught
    accepted: Accepted

    @property
    def gaps(self) -> tuple[str, ...]:
        """All gaps, beginning with what is not caught."""
        return (*self.caught.gaps, *self.accepted.gaps)


def prove_all(folders: Sequence[Path], seeds: int, console: Console) -> tuple[Proof, ...]:
    """Prove every exercise and print a table, then a sentence for every gap.

    `seeds` are tried for each correct variant; known mistakes take longer and get fewer.
    """
    with _pool() as pool:
        # The long halves go first, so that the short ones fill the remaining time.
        accepted = [pool.submit(prove_accepted, folder, seeds) for folder in folders]
        drawn = seeds_for_mistakes(seeds)
        caught = [pool.submit(prove_caught, folder, drawn) for folder in folders]
        proofs = tuple(
            Proof(first.result(), second.result()) for first, second in zip(caught, accepted)
        )
    console.print(proof_table(proofs))
    for proof in proofs:
        for gap in proof.gaps:
            console.print(Text(f"{proof.caught.exercise}: {gap}", style="red"), soft_wrap=True)
    return proofs


def _pool() -> ProcessPoolExecutor:
    """Return a pool with a process per core; raise `KitError` if semaphores do not work."""
    try:
        return ProcessPoolExecutor(os.cpu_count() or 1, multiprocessing.get_context("spawn"))
    except OSError as error:
        raise limit_reached(error) or KitError(
            f"processes cannot wait for each other here: no semaphore can be made "
            f"({error.strerror})",
            place="/dev/shm",
            cure="make sure that it exists and is writable, with a few kilobytes free "
            "(`mount -o remount,rw /dev/shm`; docker run --shm-size)",
        ) from None


def proof_table(proofs: Sequence[Proof]) -> Table:
    """Return a table with a row per exercise: what was tried, the least margin, the gaps."""
    table = Table(box=None, pad_edge=False)
    table.add_column("exercise", no_wrap=True, min_width=18)
    caught_by = ("mistakes", "seeds", "checks", "least margin")
    for heading in (*caught_by, "variants", "seeds", "gaps", "seconds"):
        table.add_column(heading, justify="right")
    for proof in proofs:
        caught, accepted = proof.caught, proof.accepted
        table.add_row(
            caught.exercise,
            str(caught.mistakes),
            str(caught.seeds),
            str(caught.checks),
            f"{caught.least_margin:,.0f}",
            str(accepted.variants),
            str(accepted.seeds),
            str(len(proof.gaps)),
            f"{caught.seconds + accepted.seconds:.0f}",
        )
    return table


def matrix_document(proofs: Sequence[Proof]) -> str:
    """Return the kill matrices of all exercises as one Markdown document."""
    return HEAD + "\n".join(proof.caught.matrix for proof in proofs)
