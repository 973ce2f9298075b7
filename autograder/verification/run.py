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
    """Prove every exercise and print a table, then a sentence for every gap."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count() or 1, context) as pool:
        # The long halves first, so that the short ones fill up what is left of the time.
        accepted = [pool.submit(prove_accepted, folder, seeds) for folder in folders]
        caught = [pool.submit(prove_caught, folder) for folder in folders]
        proofs = tuple(Proof(one.result(), two.result()) for one, two in zip(caught, accepted))
    console.print(proof_table(proofs))
    for proof in proofs:
        for gap in proof.gaps:
            console.print(Text(f"{proof.caught.exercise}: {gap}", style="red"), soft_wrap=True)
    return proofs


def proof_table(proofs: Sequence[Proof]) -> Table:
    """Return one row per exercise: what was tried, the least margin, the gaps."""
    table = Table(box=None, pad_edge=False)
    table.add_column("exercise", no_wrap=True, min_width=18)
    for heading in ("mistakes", "checks", "least margin", "variants", "seeds", "gaps", "seconds"):
        table.add_column(heading, justify="right")
    for proof in proofs:
        caught, accepted = proof.caught, proof.accepted
        table.add_row(
            caught.exercise,
            str(caught.mistakes),
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
