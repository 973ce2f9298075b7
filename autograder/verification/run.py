"""Proves all exercises in parallel and says what was proved: the work of `attn verify`."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from autograder.errors import KitError
from autograder.grading.cores import usable_cores
from autograder.model.machine_fault import limit_reached
from autograder.model.parent_process import end_with_parent
from autograder.model.symbols import WRONG
from autograder.verification.many_inputs import seeds_for_mistakes
from autograder.verification.matrix import kills_text
from autograder.verification.mutation_proof import QUICK, ProvedByMutants, prove_by_mutants
from autograder.verification.proof import Accepted, Caught, prove_accepted, prove_caught

EVERY, FEW, NONE = "all", "quick", "none"  # how many mutants

HEAD = f"""# What every check catches

Written by `attn verify --matrix`. Each row is a known mistake, each column a check of the step;
{WRONG} means that the check catches it. The margin is the most by which the mistake moves the \
result,
in tolerances ("any": it changes the type, the shape or a property, or raises).

Below the rows of an exercise stand its mutants: small changes of the reference itself, {QUICK} of \
each kind in
each step. For every check, the table says how many it kills, and how many of them no other does.

"""


@dataclass(frozen=True)
class Proof:
    """All parts of the proof of one exercise; no `mutants` when none were asked for."""

    caught: Caught
    accepted: Accepted
    mutants: ProvedByMutants | None = None

    @property
    def gaps(self) -> tuple[str, ...]:
        """All gaps, beginning with what is not caught."""
        mutants = self.mutants.gaps if self.mutants else ()
        return (*self.caught.gaps, *self.accepted.gaps, *mutants)

    @property
    def seconds(self) -> float:
        """How long all parts took together."""
        mutants = self.mutants.seconds if self.mutants else 0.0
        return self.caught.seconds + self.accepted.seconds + mutants


def prove_all(
    folders: Sequence[Path], seeds: int, console: Console, mutants: str = FEW
) -> tuple[Proof, ...]:
    """Prove every exercise and print two tables, then a sentence for every gap.

    `seeds` are tried for each correct variant; known mistakes take longer and get fewer. `mutants`
    says how many are judged: "all", "quick" for a few of each kind, or "none".
    """
    with _processes() as pool:
        proofs = _proofs(pool, folders, seeds, mutants)
    if mutants != NONE:
        console.print(mutant_table(proofs))
        console.print()
    console.print(proof_table(proofs))
    for proof in proofs:
        for gap in proof.gaps:
            console.print(Text(f"{proof.caught.exercise}: {gap}", style="red"), soft_wrap=True)
    return proofs


def _proofs(
    pool: ProcessPoolExecutor, folders: Sequence[Path], seeds: int, mutants: str
) -> tuple[Proof, ...]:
    # The long parts go first, so that the short ones fill the remaining time.
    mutated = [
        pool.submit(prove_by_mutants, folder, mutants == EVERY)
        for folder in folders
        if mutants != NONE
    ]
    accepted = [pool.submit(prove_accepted, folder, seeds) for folder in folders]
    drawn = seeds_for_mistakes(seeds)
    caught = [pool.submit(prove_caught, folder, drawn) for folder in folders]
    return tuple(
        Proof(first.result(), second.result(), third.result() if third else None)
        for first, second, third in zip_longest(caught, accepted, mutated)
    )


@contextmanager
def _processes() -> Iterator[ProcessPoolExecutor]:
    """A process per core; if the block fails, they end at once, and not after their work.

    Raises `KitError` when one of them has ended before its work was done.
    """
    others = multiprocessing.active_children()
    with _pool() as pool:
        try:
            yield pool
        except BaseException as error:
            broken = _is_broken(pool, error)
            # Leaving the pool waits for all of them. When one has died, the pool ends the others,
            # but not one that was being started at that moment.
            for process in set(multiprocessing.active_children()).difference(others):
                process.kill()
            if broken:
                raise KitError(
                    "a process of the proof has ended before its work was done",
                    place=sys.executable,
                    cure="read the output above; if there is none, it was killed, perhaps for lack "
                    "of memory: prove one exercise at a time (`--exercise NAME`)",
                ) from error
            raise


def _is_broken(pool: ProcessPoolExecutor, error: BaseException) -> bool:
    """Return whether `error` says that a process of the pool has ended."""
    if isinstance(error, OSError):  # that of starting one while another dies: the pool knows
        try:
            pool.submit(int)
        except BrokenProcessPool:
            return True
    return isinstance(error, BrokenProcessPool)


def _pool() -> ProcessPoolExecutor:
    """Return a pool with a process per core; raise `KitError` if semaphores do not work."""
    try:
        spawn = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(len(usable_cores()), spawn, end_with_parent)
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
            f"{proof.seconds:.0f}",
        )
    return table


def mutant_table(proofs: Sequence[Proof]) -> Table:
    """Return a table with a row per exercise: how many mutants there are, and what became of them.

    "accepted" differ only in dtype, or within the tolerance. "public" is the part of the killed
    that worked examples kill too; "named" and "described" say what students are told.
    """
    table = Table(box=None, pad_edge=False)
    table.add_column("mutants of", no_wrap=True, min_width=18)
    fates = ("all", "equal", "accepted", "killed", "public", "named", "described")
    for heading in (*fates, "declared", "survive"):
        table.add_column(heading, justify="right")
    for mutants in [proof.mutants for proof in proofs if proof.mutants]:
        figures = mutants.figures
        told = (figures.named, figures.described)
        table.add_row(
            mutants.exercise,
            str(figures.mutants),
            str(figures.equivalent),
            str(figures.accepted),
            str(figures.killed),
            f"{figures.public_percent:.1f}%",
            *("-" if count is None else str(count) for count in told),
            str(figures.declared),
            str(figures.survivors),
        )
    return table


def matrix_document(proofs: Sequence[Proof]) -> str:
    """Return the kill matrices of all exercises as one Markdown document."""
    texts = []
    for proof in proofs:
        texts.append(proof.caught.matrix)
        if proof.mutants:
            texts.append(kills_text(proof.mutants.kills))
    return HEAD + "\n".join(texts)
