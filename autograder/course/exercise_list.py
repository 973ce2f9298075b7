"""The list of exercises in `attn.toml`, to which some are added; every other line stays."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import tomli_w

from autograder.errors import KitError

_LIST = re.compile(r"^exercises[ \t]*=[ \t]*\[", re.MULTILINE)


def with_exercises(text: str, exercises: tuple[str, ...], place: Path) -> str:
    """Return the text of `attn.toml` with this list of exercises.

    Raise `KitError`, with the line to write, when the list cannot be found in it.
    """
    wanted = tomllib.loads(text) | {"exercises": list(exercises)}
    line = tomli_w.dumps({"exercises": list(exercises)}).strip()
    for found in _LIST.finditer(text):
        for end in re.finditer(r"\]", text[found.end() :]):
            candidate = text[: found.start()] + line + text[found.end() + end.end() :]
            if _facts(candidate) == wanted:
                return candidate
    raise KitError(
        f"the list of exercises cannot be found in {place.name}",
        place=str(place),
        cure=f"write it as {' '.join(line.split())}, at the beginning of a line",
    )


def _facts(text: str) -> dict[str, object] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None
