"""The proof of one exercise; one without gaps is kept until something changes that it depends on.

A proof is kept in a file beside the solutions, under a key of everything that it reads: the files
of the exercise and what it shares, the source of every room of this package that a proof can reach,
the versions of Python and of all that is installed, and what was asked for. The file lies in
nobody's repository: a new clone, and so CI, proves everything itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from autograder.errors import KitError
from autograder.model.exercise import shared_folders
from autograder.model.files import write_whole
from autograder.verification.mutants.figures import Kills, MutantFigures
from autograder.verification.mutation_proof import ProvedByMutants
from autograder.verification.proof import Accepted, Caught

FOLDER = ".proofs"
PACKAGE = Path(__file__).resolve().parents[1]
_OURS = re.compile(rf"\b{PACKAGE.name}\.(\w+)")
_LARGEST = 1_000_000  # bytes; ours have 20,000


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
        proof = _read(kept["proof"])
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


def _read(facts: dict[str, Any]) -> Proof:
    caught, accepted, mutants = (
        part and {**part, "gaps": tuple(part["gaps"])}
        for part in (facts["caught"], facts["accepted"], facts["mutants"])
    )
    if mutants:
        mutants["figures"] = MutantFigures(**mutants["figures"])
        mutants["kills"] = tuple(Kills(**each) for each in mutants["kills"])
    return Proof(
        Caught(**caught), Accepted(**accepted), ProvedByMutants(**mutants) if mutants else None
    )


def _engine() -> str:
    """Return a hash of the rooms that a proof can reach, and of the versions of all packages."""
    digest = hashlib.sha256(f"{platform.python_version()} {platform.machine()}".encode())
    installed = {f"{each.name} {each.version}" for each in metadata.distributions()}
    digest.update("\n".join(sorted(installed)).encode())
    _add_files(digest, PACKAGE, [_place(room) for room in sorted(rooms_below("verification"))])
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
