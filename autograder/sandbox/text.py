"""Text that a student's code wrote, made harmless for terminals, pages and tables.

Control characters and escape sequences can rewrite a terminal; characters that
turn the direction of text can make a line read as another.
"""

from __future__ import annotations

import unicodedata

_KEPT = "\n\t"
_REMOVED = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def clean(text: str, longest: int) -> str:
    """Return at most `longest` characters of `text`, without control and direction characters."""
    return "".join(
        character
        for character in text[:longest]
        if character in _KEPT or unicodedata.category(character) not in _REMOVED
    )
