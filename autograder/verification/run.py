"""Prove all exercises, side by side, and say what was proved: the work behind `attn verify`."""

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
from autograder.verification.many_inputs import seeds_for_mistakes
from autograder.verification.proof import Accepted, Caught, prove_accepted, prove_caught

HEAD = """# What every check catches

Written by `attn verify --matrix`. A row is a known mistake, a column a check of the step; ✗ where
the check catches it. The margin is by how many tolerances the mistake moves the result at most
("any": it changes the type, the shape or a property, or raises).

"""


@dataclass(frozen=True)
class Proof:
    """What was tried for one exercise, and a sentence for every gap."""

    caught: Caught
    accepted: Accepted

    @property
    def gaps(self) -> tuple[str, ...]:
        """All gaps, what is not caught first."""
        return (*self.caught.gaps, *self.accepted.gaps)


def prove_all(folders: Sequence[Path], seeds: int, console: Console) -> tuple[Proof, ...]:
    """Prove every exercise and print a table, then a sentence for every gap.

    `seeds` are for each correct variant; the known mistakes, which take longer, get fewer.
    """
    with _pool() as pool:
        # The long halves first, so that the short ones fill up what is left of the time.
        accepted = [pool.submit(prove_accepted, folder, seeds) for folder in folders]
        drawn = seeds_for_mistakes(seeds)
        caught = [pool.submit(prove_caught, folder, drawn) for folder in folders]
        proofs = tuple(Proof(one.result(), two.result()) for one, two in zip(caught, accepted))
    console.print(proof_table(proofs))
    for proof in proofs:
        for gap in proof.gaps:
            console.print(Text(f"{proof.caught.exercise}: {gap}", style="red"), soft_wrap=True)
    return proofs


def _pool() -> ProcessPoolExecutor:
    """Return a process per core; raise `KitError` where they could not wait for each other."""
    try:
        return ProcessPoolExecutor(os.cpu_count() or 1, multiprocessing.get_context("spawn"))
    except OSError as error:
        raise limit_reached(error) or KitError(
            f"processes cannot wait for each other here: no semaphore can be made "
            f"({error.strerror})",
            place="/dev/shm",
            cure="let it be there and be written (`mount -o remount,rw /dev/shm`; docker run "
            "--shm-size), with a few kilobytes free",
        ) from None


def proof_table(proofs: Sequence[Proof]) -> Table:
    """Return one row per exercise: what was tried on how many draws, the least margin, the gaps."""
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
