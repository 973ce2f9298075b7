"""Readable substitutes for the signs that a terminal's encoding lacks.

Not every terminal knows UTF-8: a Windows console may know cp1252, a server only ASCII. A sign that
it cannot show is replaced by one that it can. What has no substitute is written as its escape.
"""

from __future__ import annotations

import codecs
import io
import sys

HANDLER = "readable-substitutes"
# One character wide where a table has to stay in line.
SUBSTITUTES = {
    "✓": "v",
    "✗": "x",
    "·": ".",
    "∞": "~",
    "☠": "#",
    "⊘": "/",
    "…": "...",
    "→": ">",
    "↓": "v",
    "━": "=",
    "─": "-",
    "│": "|",
    "•": "*",
    "×": "x",
    "≥": ">=",
    "≤": "<=",
    "≠": "!=",
    "≈": "~",
    "−": "-",
    "–": "-",
    "—": "-",
    "“": '"',
    "”": '"',
    "‘": "'",
    "’": "'",
    "√": "sqrt",
    "²": "^2",
    "⁶": "^6",
    "ᵀ": "^T",
    "ℕ": "N",
    "\u00a0": " ",
}
BRAILLE = ("\u2800", "\u28ff")  # rich's spinners


def print_any_character() -> None:
    """Let standard output and error show a substitute for whatever their encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=HANDLER)


def substitute(sign: str) -> str:
    """Return what stands for a sign: its substitute, or else its escape, such as `\\u2713`."""
    if BRAILLE[0] <= sign <= BRAILLE[1]:
        return "*"
    return SUBSTITUTES.get(sign) or sign.encode("ascii", "backslashreplace").decode("ascii")


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(substitute, error.object[error.start : error.end])), error.end


codecs.register_error(HANDLER, _replaced)
