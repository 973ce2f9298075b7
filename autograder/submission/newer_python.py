"""Code that a newer Python reads and this one does not: a fault of the course, not of its owner.

Python tells only that it cannot read a text, never that a later version could. So the syntax that
is new is put into older words, and the text counts as newer where it can be read then. Nothing is
run, and what is new and not known here stays an error as before.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence, Set
from typing import Any

from autograder.submission.cells import find_in_piece, parsed

Version = tuple[int, int]

_VERSION = re.compile(r"(\d{1,2})\.(\d{1,3})(?:\.|$)")
_DEEPEST, _MOST_LETTERS = 3, 20_000
_FORMATTED = re.compile(r"(?i)(?<![\w])(f|rf|fr|t|rt|tr)('''|\"\"\"|'|\")")
# A plain string or a comment.
_PLAIN = re.compile(
    r"(?is)(?<![\w])(?:[bru]|br|rb)?(?:'''.*?(?<!\\)'''|\"\"\".*?(?<!\\)\"\"\""
    r"|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")|#[^\n]*"
)
_ALIAS = re.compile(r"^([ \t]*)type[ \t]+(\w+)(?:\[[^\n=]*\])?[ \t]*=", re.MULTILINE)
_PARAMETERS = re.compile(r"\b(def|class)([ \t]+\w+)[ \t]*\[(?:[^\[\]\n]|\[[^\[\]\n]*\])*\]")
_FORMAT = re.compile(r"[:!](?!=)")  # what says how a value is written; or a part of an expression
_EXCEPT = re.compile(r"^([ \t]*except\*?[ \t]+)([\w.]+(?:[ \t]*,[ \t]*[\w.]+)+):", re.MULTILINE)


def version_in(notebook: Any) -> Version | None:
    """Return the Python that a notebook says it was saved with, if it says so."""
    facts = notebook
    for key in ("metadata", "language_info", "version"):
        facts = facts.get(key) if isinstance(facts, dict) else None
    return version_of(facts) if isinstance(facts, str) else None


def version_of(text: str) -> Version | None:
    """Return the version that a text begins with, such as 3.12.1; None where it is none."""
    found = _VERSION.match(text)
    return (int(found[1]), int(found[2])) if found else None


def needed_python(
    pieces: Sequence[str], steps: Set[str], claimed: Version | None
) -> Version | None:
    """Return the Python that a step, or what is used beside it, needs, if newer than this one.

    A hand-in that is `claimed` to be written with an older one needs no newer one.
    """
    here = sys.version_info[:2]
    for piece in pieces:
        if len(piece) > _MOST_LETTERS or parsed(piece) is not None:
            continue
        names = {each.name for each in find_in_piece(piece)}
        others = [other for other in pieces if other is not piece]
        if not names & steps and not any(_mentions(other, names) for other in others):
            continue
        needed = _needed(piece, claimed)
        if needed and needed > here and (claimed is None or claimed >= needed):
            return needed
    return None


def _mentions(text: str, names: Set[str]) -> bool:
    return not names.isdisjoint(re.findall(r"\w+", text))


def _needed(text: str, claimed: Version | None) -> Version | None:
    """Return the version that reads a text which cannot be read here, if that is known."""
    old = in_older_words(text)
    if old is None:
        return None
    if parsed(old) is not None:
        return 3, 12
    # Python 2 wrote this too, so somebody has to say that it is the new one.
    bracketed = _EXCEPT.sub(r"\1(\2):", old)
    return (3, 14) if claimed and parsed(bracketed) is not None else None


def in_older_words(text: str, depth: int = 0) -> str | None:
    """Return a text in which what Python 3.12 brought is written as before; None where it cannot.

    A formatted string becomes an empty one, once the expressions in it can be read.
    """
    pieces = _pieces(text, depth)
    if pieces is None:
        return None
    plain = "".join("''" if _FORMATTED.match(piece) else piece for piece in pieces)
    return _ALIAS.sub(r"\1\2 =", _PARAMETERS.sub(r"\1\2", plain))


def needs_version(text: str) -> Version | None:
    """Return the Python that brought what is in `text`; None where nothing newer is known.

    It is the same whichever Python is in use here.
    """
    pieces = _pieces(text, 0) if len(text) <= _MOST_LETTERS else None
    if pieces is None:
        return None
    code = "".join("''" if _FORMATTED.match(p) or _PLAIN.match(p) else p for p in pieces)
    grown = bool(_ALIAS.search(code) or _PARAMETERS.search(code))
    return (3, 12) if grown or any(map(_is_newer_string, pieces)) else None


def _pieces(text: str, depth: int) -> list[str] | None:
    """Return a text in pieces: strings, comments, and the letters between; None where it cannot."""
    pieces: list[str] = []
    at = 0
    while at < len(text):
        if found := _FORMATTED.match(text, at):
            end = _end_of_formatted(text, found.end(), found[2], depth)
            if end is None:
                return None
        elif found := _PLAIN.match(text, at):
            end = found.end()
        else:
            end = at + 1
        pieces.append(text[at:end])
        at = end
    return pieces


def _is_newer_string(piece: str) -> bool:
    """Whether a formatted string has its own quote, a backslash or the like in an expression."""
    found = _FORMATTED.match(piece)
    if found is None:
        return False
    quote = found[2]
    inside = piece[found.end() : -len(quote)]
    new = "\\#" if len(quote) > 1 else "\\#\n"
    return quote in re.sub(r"(?s)\\.", "", inside) or any(
        letter in expression for expression in _expressions(inside) for letter in new
    )


def _expressions(inside: str) -> Iterator[str]:
    """Give the expressions in a formatted string, without how their values are written."""
    at = 0
    while at < len(inside):
        if inside.startswith(("{{", "}}", "\\"), at):
            at += 2
        elif inside[at] == "{":
            end = _end_of_expression(inside, at + 1, 0)
            if end is None:
                return
            yield _FORMAT.split(inside[at + 1 : end - 1])[0]
            at = end
        else:
            at += 1


def _end_of_formatted(text: str, at: int, quote: str, depth: int) -> int | None:
    """Return where a formatted string ends whose text begins at `at`; None where it does not."""
    while at < len(text) and depth <= _DEEPEST:
        if text.startswith(quote, at):
            return at + len(quote)
        if text.startswith(("{{", "}}", "\\"), at):
            at += 2
        elif text[at] == "{":
            end = _end_of_expression(text, at + 1, depth)
            if end is None:
                return None
            at = end
        elif text[at] == "\n" and len(quote) == 1:
            return None
        else:
            at += 1
    return None


def _end_of_expression(text: str, start: int, depth: int) -> int | None:
    """Return the place after the bracket that ends an expression; None where there is none."""
    at, open_brackets, end = start, 0, None
    while at < len(text):
        letter = text[at]
        if found := _FORMATTED.match(text, at):
            inner = _end_of_formatted(text, found.end(), found[2], depth + 1)
            if inner is None:
                return None
            at = inner
            continue
        if found := _PLAIN.match(text, at):
            at = found.end()
            continue
        if letter in "([{":
            open_brackets += 1
        elif letter in ")]}" and open_brackets:
            open_brackets -= 1
        elif letter == "}" or (
            letter in ":!" and not open_brackets and text[at + 1 : at + 2] != "="
        ):
            end = at
            break
        at += 1
    if end is None or not _is_expression(text[start:end], depth):
        return None
    return end + 1 if text[end] == "}" else _end_of_format(text, end + 1, depth)


def _end_of_format(text: str, at: int, depth: int) -> int | None:
    """Return the place after what says how a value is written, in which values may stand too."""
    while at < len(text) and text[at] != "}":
        if text[at] == "{":
            end = _end_of_expression(text, at + 1, depth + 1) if depth < _DEEPEST else None
            if end is None:
                return None
            at = end
        else:
            at += 1
    return at + 1 if at < len(text) else None


def _is_expression(text: str, depth: int) -> bool:
    old = in_older_words(text, depth + 1) if depth < _DEEPEST else None
    bare = old.rstrip().removesuffix("=") if old else ""
    return bool(bare.strip()) and parsed(f"({bare}\n)") is not None
