"""Survivors that the author declares with a reason, in `survivors.toml` beside the solution."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.errors import KitError
from autograder.verification.mutants.judged import Fate, JudgedMutant
from autograder.verification.mutants.mutant import Mutant

FILE = "survivors.toml"
_REQUIRED, _OPTIONAL = ("step", "kind", "reason"), ("old", "new")


@dataclass(frozen=True)
class Declared:
    """Mutants of one kind that may survive, and why.

    They are told by their lines, never by line numbers. Without `old` or `new`, the entry is for a
    whole family: every mutant of the kind, whatever its lines were, or are now.
    """

    step: str
    kind: str
    reason: str
    old: str | None = None
    new: str | None = None

    def matches(self, mutant: Mutant) -> bool:
        """Say whether a mutant is one of these."""
        return (
            (self.step, self.kind) == (mutant.step, mutant.kind)
            and self.old in (None, mutant.old)
            and self.new in (None, mutant.new)
        )

    @property
    def words(self) -> str:
        """The entry in one line."""
        lines = (f"{key} {text!r}" for key, text in (("old", self.old), ("new", self.new)) if text)
        return ", ".join((self.step, self.kind, *lines))


def read_declared(folder: Path) -> tuple[Declared, ...]:
    """Read the declared survivors of the exercise in `folder`; there may be no such file.

    Raises `KitError` when the file cannot be read, or an entry is incomplete or has no reason.
    """
    file = folder / FILE
    if not file.exists():
        return ()
    try:
        entries = tomllib.loads(file.read_text(encoding="utf-8")).get("survivor", [])
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _wrong(file, f"{FILE} cannot be read: {error}") from None
    return tuple(_entry(file, entry) for entry in entries)


def _entry(file: Path, entry: dict[str, object]) -> Declared:
    texts = {key: value.strip() for key, value in entry.items() if isinstance(value, str)}
    unknown = sorted(set(entry) - {*_REQUIRED, *_OPTIONAL})
    missing = [key for key in _REQUIRED if not texts.get(key)]
    if unknown or missing or len(texts) != len(entry):
        raise _wrong(
            file,
            f"an entry of {FILE} (step {texts.get('step', 'missing')}) "
            + (
                f"has no {missing[0]}" if missing else f"cannot have {', '.join(unknown) or 'this'}"
            ),
        )
    return Declared(**texts)


def _wrong(file: Path, fact: str) -> KitError:
    return KitError(
        fact,
        place=str(file),
        cure="write [[survivor]] with the texts step, kind and reason; old and new for one mutant",
    )


def undeclared(
    judged: Iterable[JudgedMutant], declared: Sequence[Declared]
) -> tuple[JudgedMutant, ...]:
    """Return the survivors that no entry matches."""
    return tuple(
        each
        for each in judged
        if each.fate is Fate.SURVIVED and not any(one.matches(each.mutant) for one in declared)
    )


def stale(
    declared: Iterable[Declared], judged: Sequence[JudgedMutant], made: Sequence[Mutant]
) -> tuple[Declared, ...]:
    """Return the entries that match no survivor, although all that they match were judged.

    `made` are all mutants, of which `judged` may be a selection.
    """
    fates = {each.mutant: each.fate for each in judged}
    found = []
    for entry in declared:
        matching = [mutant for mutant in (*made, *fates) if entry.matches(mutant)]
        known = [fates.get(mutant) for mutant in matching]
        if Fate.SURVIVED not in known and None not in known:
            found.append(entry)
    return tuple(found)
