"""Prove all exercises, side by side, and say what was proved: the work behind `attn verify`."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from autograder.verification.proof import Proof, prove

HEAD = """# What every check catches

Written by `attn verify --matrix`. A row is a known mistake, a column a check of the step; ✗ where
the check catches it. The margin is by how many tolerances the mistake moves the result at most
("any": it changes the type, the shape or a property, or raises).

"""


def prove_all(folders: Sequence[Path], seeds: int, console: Console) -> tuple[Proof, ...]:
    """Prove every exercise and print a table, then a sentence for every gap."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(len(folders), os.cpu_count() or 1), context) as pool:
        proofs = tuple(pool.map(partial(prove, seeds=seeds), folders))
    console.print(proof_table(proofs))
    for proof in proofs:
        for gap in proof.gaps:
            console.print(Text(f"{proof.exercise}: {gap}", style="red"), soft_wrap=True)
    return proofs


def proof_table(proofs: Sequence[Proof]) -> Table:
    """Return one row per exercise: what was tried, the least margin, the gaps."""
    table = Table(box=None, pad_edge=False)
    table.add_column("exercise")
    for heading in ("mistakes", "checks", "least margin", "variants", "seeds", "gaps", "seconds"):
        table.add_column(heading, justify="right")
    for proof in proofs:
        table.add_row(
            proof.exercise,
            str(proof.mistakes),
            str(proof.checks),
            f"{proof.least_margin:,.0f}",
            str(proof.variants),
            str(proof.seeds),
            str(len(proof.gaps)),
            f"{proof.seconds:.0f}",
        )
    return table


def matrix_document(proofs: Sequence[Proof]) -> str:
    """Return the kill matrices of all exercises as one Markdown document."""
    return HEAD + "\n".join(proof.matrix for proof in proofs)
