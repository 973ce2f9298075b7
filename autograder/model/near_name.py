"""The name that was probably meant by a name that nothing has."""

from __future__ import annotations

from collections.abc import Iterable

ALIKE = 0.6  # of two names, as `difflib` measures it


def near_name(typed: str, names: Iterable[str]) -> str | None:
    """Return the one of `names` that `typed` is most like, or None if it is like none of them.

    Capitals do not matter, and neither does an end that was left out.
    """
    from difflib import get_close_matches  # every process reads exercises, few need this

    plain = {name.lower(): name for name in names}
    wanted = typed.lower()
    begun = [name for name in plain if wanted and name.startswith(wanted)]
    close = get_close_matches(wanted, plain, n=1, cutoff=ALIKE)
    found = wanted if wanted in plain else next(iter([*begun[:1], *close]), None)
    return plain[found] if found else None


def did_you_mean(typed: str, names: Iterable[str]) -> str:
    """Return the beginning of a cure, such as "did you mean softmax? Otherwise ", or ""."""
    name = near_name(typed, names)
    return f"did you mean {name}? Otherwise " if name else ""
