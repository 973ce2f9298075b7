"""Frozen values as JSON, character for character as `json.dumps(indent=2)` writes them.

With an indentation, Python's own writer is not the one in C, and takes most of the time that it
takes to write a verdict down. Here no copy is made of the values first, either.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Collection, Sequence
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any


def indented_json(value: object, left_out: Collection[str] = (), indent: int = 2) -> str:
    """Return `value` as JSON; a dataclass is an object, without the fields named in `left_out`.

    Text is not escaped into ASCII. Raises TypeError for what JSON has no form for.
    """
    return _text(value, tuple(left_out), "\n", " " * indent)


def _text(value: Any, left_out: tuple[str, ...], margin: str, step: str) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None:
        return "null"
    if isinstance(value, tuple | list):
        inner = margin + step
        return _within(
            "[", [_text(each, left_out, inner, step) for each in value], "]", margin, inner
        )
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, float) and math.isfinite(value):
        return float.__repr__(value)
    if isinstance(value, dict):
        inner = margin + step
        texts = [
            f"{encode_basestring(k)}: {_text(v, left_out, inner, step)}" for k, v in value.items()
        ]
        return _within("{", texts, "}", margin, inner)
    fields = _fields(value.__class__, left_out)
    if fields is None:
        return json.dumps(value)
    inner = margin + step
    texts = []
    for name, head in fields:
        each = getattr(value, name)
        # Most of what there is are texts: without a call for each.
        if isinstance(each, str):
            texts.append(head + encode_basestring(each))
        else:
            texts.append(head + _text(each, left_out, inner, step))
    return _within("{", texts, "}", margin, inner)


def _within(begin: str, texts: Sequence[str], end: str, margin: str, inner: str) -> str:
    return f"{begin}{inner}{f',{inner}'.join(texts)}{margin}{end}" if texts else begin + end


@lru_cache(maxsize=64)
def _fields(kind: type[Any], left_out: tuple[str, ...]) -> tuple[tuple[str, str], ...] | None:
    """Return the fields of a dataclass that are written: their names, and these as JSON."""
    if not dataclasses.is_dataclass(kind):
        return None
    names = (field.name for field in dataclasses.fields(kind))
    return tuple((name, f"{encode_basestring(name)}: ") for name in names if name not in left_out)
