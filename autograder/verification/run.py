"""Proves all exercises in parallel and says what was proved: the work of `attn verify`."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice, starmap, zip_longest
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from autograder.errors import KitError
from autograder.grading.cores import usable_cores
from autograder.grading.grader_pool import GraderPool, Loss
from autograder.grading.watched_process import Bounds, one_by_one
from autograder.model.symbols import WRONG
from autograder.verification.kept_proof import Proof, keep_proof, kept_proof, proof_keys
from autograder.verification.many_inputs import seeds_for_mistakes
from autograder.verification.matrix import kills_text
from autograder.verification.mutation_proof import QUICK, prove_by_mutants
from autograder.verification.proof import prove_accepted, prove_caught

EVERY, FEW, NONE = "all", "quick", "none"  # how many mutants
# A proof takes as long as its author wants, in more memory than any machine has.
_UNBOUNDED = Bounds(math.inf, math.inf, megabytes=1 << 30)

HEAD = f"""# What every check catches

Written by `attn verify --matrix`. Each row is a known mistake, each column a check of the step;
{WRONG} means that the check catches it. The margin is the most by which the mistake moves the \
result,
in tolerances ("any": it changes the type, the shape or a property, or raises).

Below the rows of an exercise stand its mutants: small changes of the reference itself, {QUICK} of \
each kind in
each step. For every check, the table says how many it kills, and how many of them no other does.

"""


def prove_all(
    folders: Sequence[Path], seeds: int, console: Console, mutants: str = FEW, again: bool = False
) -> tuple[Proof, ...]:
    """Prove every exercise and print two tables, then a sentence for every gap.

    `seeds` are tried for each correct variant; known mistakes take longer and get fewer. `mutants`
    says how many are judged: "all", "quick" for a few of each kind, or "none". What was proved
    before and has not changed is not proved once more, unless `again`.
    """
    keys = proof_keys(folders, seeds, mutants)
    found = {} if again else {folder: kept_proof(folder, key) for folder, key in keys.items()}
    proved = {folder: proof for folder, proof in found.items() if proof}
    changed = [folder for folder in keys if folder not in proved]
    made = dict(zip(changed, _proofs(changed, seeds, mutants)))
    proved |= made
    for folder, key in proof_keys(made, seeds, mutants).items():
        if key == keys[folder]:  # nobody has edited it meanwhile
            keep_proof(folder, key, made[folder])
    proofs = tuple(proved[folder] for folder in keys)
    _show(proofs, console)
    if len(changed) < len(keys):
        console.print(_unchanged(len(keys) - len(changed)))
    return proofs


def _show(proofs: Sequence[Proof], console: Console) -> None:
    if any(proof.mutants for proof in proofs):
        console.print(mutant_table(proofs))
        console.print()
    console.print(proof_table(proofs))
    for proof in proofs:
        for gap in proof.gaps:
            console.print(Text(f"{proof.caught.exercise}: {gap}", style="red"), soft_wrap=True)


def _unchanged(count: int) -> str:
    which = "1 exercise has" if count == 1 else f"{count} exercises have"
    return f"{which} not changed since this was proved; --again proves everything once more."


def _proofs(folders: Sequence[Path], seeds: int, mutants: str) -> tuple[Proof, ...]:
    drawn = seeds_for_mistakes(seeds)
    mutated = [
        partial(prove_by_mutants, folder, mutants == EVERY) for folder in folders if mutants != NONE
    ]
    accepted = [partial(prove_accepted, folder, seeds) for folder in folders]
    caught = [partial(prove_caught, folder, drawn) for folder in folders]
    # The long parts go first, so that the short ones fill the remaining time.
    done = iter(in_processes([*caught, *mutated, *accepted]))
    of_mistakes, of_mutants = [list(islice(done, len(parts))) for parts in (caught, mutated)]
    return tuple(starmap(Proof, zip_longest(of_mistakes, done, of_mutants)))


def in_processes(parts: Sequence[Callable[[], Any]]) -> list[Any]:
    """Return what each part returns, from a grader process per core, in the folder of this one.

    Raises `KitError` when a process ends twice while it does the same part.
    """
    done: dict[int, Any] = {}
    with GraderPool(len(usable_cores())) as pool:
        work = partial(one_by_one, partial(_done_in, Path.cwd()))
        pool.run(work, parts, _UNBOUNDED, result=done.__setitem__, lost=_lost)
    return [done[place] for place in range(len(parts))]


def _done_in(folder: Path, part: Callable[[], Any]) -> Any:
    os.chdir(folder)  # a grader process works in `/`
    return part()


def _lost(place: int, loss: Loss) -> None:
    raise KitError(
        f"a process of the proof has ended before its work was done ({loss.detail})",
        place=sys.executable,
        cure="read the output above; if there is none, it was killed, perhaps for lack of memory: "
        "prove one exercise at a time (`--exercise NAME`)",
    )


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
