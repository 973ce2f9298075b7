"""Names that code uses as global ones, and that none of its cells sets.

Python's own table of symbols tells that. It takes half of a millisecond, so it is asked only where
a look at the text leaves something open: nearly every hand-in begins with its imports.
"""

from __future__ import annotations

import re
import symtable
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

from autograder.submission.cells import UNREADABLE

_MOST_LINES = 100  # at the top of a cell that are looked at
# No part of a pattern is tried twice: a line may be as long as a text.
_END = r"[ \t]*+(?:#[^\r\n]*+)?+(?:\n|\Z)"
_NOTHING = re.compile(r"(?:[ \t]*+(?:#[^\r\n]*+)?+\n)*+")
_IMPORT = re.compile(rf"(?:from[ \t]++[\w.]++[ \t]++)?+import[ \t]++([\w., \t]++){_END}", re.ASCII)
_DOCSTRING = re.compile(rf'"""[^"\\]*+"""{_END}')
_FOREIGN = re.compile(r"[^\0-\x7f]")


def unset_names(cells: Sequence[str], names: frozenset[str]) -> set[str]:
    """Return those of `names` that cells use outside functions, or as global, and that none sets.

    A cell that Python cannot read uses and sets nothing.
    """
    looks = [(cell, *_look(cell, names)) for cell in cells]
    # Be it Python or not, a cell needs no other one for what its own imports set.
    left = {name for _, its_set, its_used in looks for name in its_used - its_set}
    used = set[str]()
    # First those whose imports may set what the other cells use: that leaves little to ask.
    for cell, its_set, its_used in sorted(looks, key=lambda look: left.isdisjoint(look[1])):
        if not left.isdisjoint(its_set | its_used):
            really_used, really_set = _used_and_set(cell, left)
            used |= really_used
            left -= really_set
    return used & left


def _look(cell: str, names: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return which of `names` the imports at the top of a cell set, and which stand below them.

    If Python can read the cell, it sets the former. It uses and sets none but these.
    """
    imported, end = _top(cell)
    return names & imported, _written(cell[end:], names)


def _used_and_set(cell: str, names: set[str]) -> tuple[set[str], set[str]]:
    """Return which of `names` a cell uses as global ones, and which it sets."""
    used, bound = set[str](), set[str]()
    for table in _tables(cell):
        top = table.get_type() == "module"
        for name in names.intersection(table.get_identifiers()):
            symbol = table.lookup(name)
            if (top or symbol.is_declared_global()) and _is_set(symbol):
                bound.add(name)
            if symbol.is_referenced() and (top or symbol.is_global()):
                used.add(name)
    return used, bound


def _is_set(symbol: symtable.Symbol) -> bool:
    return symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()


def _tables(cell: str) -> Iterator[symtable.SymbolTable]:
    """Yield the table of names of a cell, and of every scope within it."""
    try:
        waiting: list[symtable.SymbolTable] = [symtable.symtable(cell, "cell", "exec")]
    except UNREADABLE:
        return
    while waiting:
        table = waiting.pop()
        yield table
        waiting += table.get_children()


def _written(text: str, names: frozenset[str]) -> frozenset[str]:
    """Return the names that stand in a text as words, be it in a comment."""
    if not text.isascii() and any(map(_is_read_as_ascii, set(_FOREIGN.findall(text)))):
        return names
    return frozenset(name for name in names if _is_hidden(name) or _stands_in(name, text))


def _is_read_as_ascii(sign: str) -> bool:
    """Whether Python reads a sign of another script, in a name, as plain letters."""
    return f"_{sign}".isidentifier() and unicodedata.normalize("NFKC", sign).isascii()


def _is_hidden(name: str) -> bool:
    """Whether code can use a name that does not stand in it: classes rename what begins with _."""
    return name.startswith("_") or not name.isascii()


def _stands_in(name: str, text: str) -> bool:
    return name in text and _word(name).search(text) is not None


@lru_cache(maxsize=64)  # names of an exercise
def _word(name: str) -> re.Pattern[str]:
    # It begins with the letters themselves: those are found quickly.
    return re.compile(rf"{re.escape(name)}(?!\w)(?<!\w{re.escape(name)})")


def _top(cell: str) -> tuple[frozenset[str], int]:
    """Return the names that the imports at the top of a cell set, and where the rest begins."""
    found: list[str] = []
    place = 0
    for _ in range(_MOST_LINES):
        if nothing := _NOTHING.match(cell, place):
            place = nothing.end()
        if line := _IMPORT.match(cell, place):
            found += map(_set_by, line[1].split(","))
        elif not (line := _DOCSTRING.match(cell, place)):
            break
        place = line.end()
    return frozenset(found), place


def _set_by(imported: str) -> str:
    """Return the name that a part of an import sets: `np` for `numpy as np`, `a` for `a.b`."""
    words = imported.split()
    return words[-1] if "as" in words else imported.split(".")[0].strip()
