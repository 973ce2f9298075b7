"""Proves all exercises in parallel and says what was proved: the work of `attn verify`."""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib import metadata
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from autograder.authoring.mutation_proof import QUICK, ProvedByMutants, prove_by_mutants
from autograder.authoring.proof import (
    Accepted,
    Caught,
    kills_text,
    prove_accepted,
    prove_caught,
    seeds_for_mistakes,
)
from autograder.errors import KitError
from autograder.grading.grader_pool import GraderPool, Loss
from autograder.grading.watched_process import Bounds, one_by_one, usable_cores
from autograder.values.exercise import shared_folders
from autograder.values.files import write_whole
from autograder.values.symbols import WRONG
from autograder.values.value_file import read_as

# The proof of one exercise; one without gaps is kept until something changes that it depends on.
#
# A proof is kept in a file beside the solutions, under a key of everything that it reads: the
# files of the exercise and what it shares, the source of every room of this package that a proof
# can reach, the versions of Python and of all that is installed, and what was asked for. The file
# lies in nobody's repository: a new clone, and so CI, proves everything itself.

FOLDER = ".proofs"
PACKAGE = Path(__file__).resolve().parents[1]
_OURS = re.compile(rf"\b{PACKAGE.name}\.(\w+)")
_LARGEST = 1_000_000  # bytes; ours have 20,000


@dataclass(frozen=True)
class Proof:
    """All parts of the proof of one exercise; no `mutants` when none were asked for.

    `seconds` is how long all parts took together.
    """

    exercise: str
    caught: Caught
    accepted: Accepted
    mutants: ProvedByMutants | None
    seconds: float

    @property
    def gaps(self) -> tuple[str, ...]:
        """All gaps, beginning with what is not caught."""
        mutants = self.mutants.gaps if self.mutants else ()
        return (*self.caught.gaps, *self.accepted.gaps, *mutants)


def proof_keys(folders: Iterable[Path], seeds: int, mutants: str) -> dict[Path, str]:
    """Return, for each exercise's folder, a hash of all that its proof depends on, as it is now."""
    common = f"{seeds} {mutants} {_engine()}"
    return {folder: _key(folder.resolve(), common) for folder in folders}


def _key(folder: Path, common: str) -> str:
    digest = hashlib.sha256(f"{folder.name} {common}".encode("utf-8", "surrogateescape"))
    _add_files(digest, folder.parent, [folder, *shared_folders(folder)])
    return digest.hexdigest()


def kept_proof(folder: Path, key: str) -> Proof | None:
    """Return the proof that is kept under `key`; None when there is none, or it was tampered with.

    What is kept has no gaps, so a file that tells of one counts as none.
    """
    file = _file(folder)
    try:
        if not file.is_file() or file.stat().st_size > _LARGEST:
            return None
        kept = json.loads(file.read_text(encoding="utf-8"))
        if kept["key"] != key or kept["seal"] != _seal(key, kept["proof"]):
            return None
        proof = read_as(Proof, kept["proof"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None  # it is proved again, and written anew
    return None if proof.gaps else proof


def keep_proof(folder: Path, key: str, proof: Proof) -> None:
    """Keep a proof; one with gaps is not, and neither is one in a folder of somebody else's."""
    if proof.gaps or _file(folder).parent.is_symlink():
        return
    facts = json.loads(json.dumps(asdict(proof)))
    kept = {"key": key, "seal": _seal(key, facts), "proof": facts}
    try:
        write_whole(_file(folder), json.dumps(kept))
    except KitError:
        return  # whoever may not write here proves it each time


def _file(folder: Path) -> Path:
    return folder.resolve().parent / FOLDER / f"{folder.name}.json"


def _seal(key: str, facts: Any) -> str:
    return hashlib.sha256(f"{key} {json.dumps(facts, sort_keys=True)}".encode()).hexdigest()


def _engine() -> str:
    """Return a hash of the rooms that a proof can reach, and of the versions of all packages."""
    digest = hashlib.sha256(f"{platform.python_version()} {platform.machine()}".encode())
    installed = {f"{each.name} {each.version}" for each in metadata.distributions()}
    digest.update("\n".join(sorted(installed)).encode())
    _add_files(digest, PACKAGE, [_place(room) for room in sorted(rooms_below("authoring"))])
    return digest.hexdigest()


def rooms_below(room: str) -> frozenset[str]:
    """Return a room, and each that its source names, or that the source of such a one names."""
    found, new = {room}, {room}
    while new:
        texts = (file.read_text(encoding="utf-8") for each in new for file in _sources(each))
        new = {name for text in texts for name in _OURS.findall(text) if _sources(name)} - found
        found |= new
    return frozenset(found)


def _place(room: str) -> Path:
    folder = PACKAGE / room
    return folder if folder.is_dir() else folder.with_suffix(".py")


def _sources(room: str) -> list[Path]:
    place = _place(room)
    return [place] if place.is_file() else sorted(place.rglob("*.py"))


def _add_files(digest: Any, root: Path, places: Iterable[Path]) -> None:
    for place in places:
        for file in [place] if place.is_file() else sorted(place.rglob("*")):
            name = file.relative_to(root)
            if file.is_file() and "__pycache__" not in name.parts:
                content = file.read_bytes()
                digest.update(os.fsencode(name) + f"\0{len(content)}\0".encode() + content)


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
            console.print(Text(f"{proof.exercise}: {gap}", style="red"), soft_wrap=True)


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
    parts: list[Callable[[], Any]] = [*caught, *mutated, *accepted]
    done = iter(in_processes([partial(_timed, part) for part in parts]))
    of_mistakes, of_mutants = [list(islice(done, len(parts))) for parts in (caught, mutated)]
    nothing: Any = (None, 0.0)
    found = zip_longest(folders, of_mistakes, done, of_mutants, fillvalue=nothing)
    return tuple(
        Proof(folder.resolve().name, one, other, third, first + second + last)
        for folder, (one, first), (other, second), (third, last) in found
    )


def _timed(part: Callable[[], Any]) -> tuple[Any, float]:
    begun = time.monotonic()
    return part(), time.monotonic() - begun


def in_processes(parts: Sequence[Callable[[], Any]]) -> list[Any]:
    """Return what each part returns, from a grader process per core, in the folder of this one.

    Raises `KitError` when a process ends twice while it does the same part.
    """
    done: dict[int, Any] = {}
    with GraderPool(len(usable_cores())) as pool:
        work = partial(one_by_one, partial(_done_in, Path.cwd()))
        for place, found in pool.results(work, parts, _UNBOUNDED):
            if isinstance(found, Loss):
                raise _lost(found)
            done[place] = found
    return [done[place] for place in range(len(parts))]


def _done_in(folder: Path, part: Callable[[], Any]) -> Any:
    os.chdir(folder)  # a grader process works in `/`
    return part()


def _lost(loss: Loss) -> KitError:
    return KitError(
        f"a process of the proof has ended before its work was done ({loss.detail})",
        place=sys.executable,
        cure="read the output above; if there is none, it was killed, perhaps for lack of memory: "
        "prove one exercise at a time (`--exercise NAME`)",
    )


def proof_table(proofs: Sequence[Proof]) -> Table:
    """Return a table with a row per exercise: what was tried, the least margin, the gaps."""
    caught_by = ("mistakes", "seeds", "checks", "least margin")
    table = _table("exercise", *caught_by, "variants", "seeds", "gaps", "seconds")
    for proof in proofs:
        caught, accepted = proof.caught, proof.accepted
        table.add_row(
            proof.exercise,
            *map(str, (caught.mistakes, caught.seeds, caught.checks)),
            f"{caught.least_margin:,.0f}",
            *map(str, (accepted.variants, accepted.seeds, len(proof.gaps))),
            f"{proof.seconds:.0f}",
        )
    return table


def _table(first: str, *headings: str) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(first, no_wrap=True, min_width=18)
    for heading in headings:
        table.add_column(heading, justify="right")
    return table


def mutant_table(proofs: Sequence[Proof]) -> Table:
    """Return a table with a row per exercise: how many mutants there are, and what became of them.

    "accepted" differ only in dtype, or within the tolerance. "public" is the part of the killed
    that worked examples kill too; "named" and "described" say what students are told.
    """
    fates = ("all", "equal", "accepted", "killed", "public", "named", "described")
    table = _table("mutants of", *fates, "declared", "survive")
    for proof in proofs:
        if not proof.mutants:
            continue
        figures = proof.mutants.figures
        told = (figures.named, figures.described)
        table.add_row(
            proof.exercise,
            *map(str, (figures.mutants, figures.equivalent, figures.accepted, figures.killed)),
            f"{figures.public_percent:.1f}%",
            *("-" if count is None else str(count) for count in told),
            *map(str, (figures.declared, figures.survivors)),
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
