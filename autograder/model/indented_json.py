"""Frozen values as JSON, character for character as `json.dumps(indent=2)` writes them.

With an indentation, Python's own writer is not the one in C, and takes most of the time that it
takes to write a verdict down. Here no copy is made of the values first, either.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Collection, Iterable
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any

_STEP = "  "


def indented_json(value: object, left_out: Collection[str] = ()) -> str:
    """Return `value` as JSON; a dataclass is an object, without the fields named in `left_out`.

    Text is not escaped into ASCII. Raises TypeError for what JSON has no form for.
    """
    return _text(value, tuple(left_out), "\n")


def _text(value: Any, left_out: tuple[str, ...], margin: str) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None:
        return "null"
    if isinstance(value, tuple | list):
        inner = margin + _STEP
        return _within("[", [_text(each, left_out, inner) for each in value], "]", margin)
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, float) and math.isfinite(value):
        return float.__repr__(value)
    if isinstance(value, dict):
        inner = margin + _STEP
        pairs = [f"{encode_basestring(k)}: {_text(v, left_out, inner)}" for k, v in value.items()]
        return _within("{", pairs, "}", margin)
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return json.dumps(value)
    inner = margin + _STEP
    parts = [
        f"{key}: {_text(getattr(value, name), left_out, inner)}"
        for name, key in _names(value.__class__, left_out)
    ]
    return _within("{", parts, "}", margin)


def _within(begin: str, parts: Iterable[str], end: str, margin: str) -> str:
    whole = f",{margin}{_STEP}".join(parts)
    return f"{begin}{margin}{_STEP}{whole}{margin}{end}" if whole else f"{begin}{end}"


@lru_cache(maxsize=64)
def _names(kind: type[Any], left_out: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return the fields of a dataclass that are written: their names, and these as JSON."""
    names = (field.name for field in dataclasses.fields(kind))
    return tuple((name, encode_basestring(name)) for name in names if name not in left_out)
