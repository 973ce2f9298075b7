"""What to look at in text that Python cannot read.

Python names the place where it gave up. The slip is one of a few: a capital letter, a word of
another language, a character that no keyboard types, a bracket.
"""

from __future__ import annotations

import keyword
import re

CONFLICT = re.compile(r"<{7}|={7}|>{7}")
_KINDS = ("SyntaxError", "IndentationError", "TabError")
_CHARACTER = re.compile(r"invalid (?:non-printable )?character.*U\+([0-9A-F]{4,6})")
_FIRST_WORD = re.compile(r"[^\W\d]\w*")
# Marks that look like those of a keyboard; they come with text that was copied.
_COPIED = "It may come from a web page or a word processor"
_ALIKE = {
    "-": "\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d",
    "*": "\u00d7\u2217\u22c5\u00b7\u2022\u2a2f",
    "/": "\u00f7\u2044\u2215",
    "**": "\u00b2\u00b3\u02c6",
    "<=": "\u2264\u2a7d",
    ">=": "\u2265\u2a7e",
    "!=": "\u2260",
    "->": "\u2192",
    "(": "\uff08",
    ")": "\uff09",
    ",": "\uff0c",
    ":": "\uff1a",
}
_QUOTES = "\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb\u00b4"
_SPACES = "\u00a0\u2007\u2009\u202f\u200b\u200c\u200d\u2060\u3000\ufeff"
# Words of other languages, with those of Python. Each begins a line or stands between two names.
_FOREIGN = (
    (r"^(?:function|func|fn|sub)\s", "A function begins with `def` in Python."),
    (r"^(?:else\s+if|elseif|elsif)\b", "In Python, `else if` is one word: `elif`."),
    (r"^(?:var|let|const)\s", "In Python, a name needs no `var` or `let` before it."),
    (r"&&", "Python writes `and` for `&&`."),
    (r"\|\|", "Python writes `or` for `||`."),
    (r"\+\+\s*$|--\s*$", "Python has no `++` and no `--`: `+= 1` adds one."),
    (r"(?:^|\s)!\s*[\w(]", "Python writes `not` for `!`."),
)
# The exception's type, a pattern of its message, and what to tell the student.
_MESSAGES = (
    (
        "IndentationError",
        r"unexpected indent",
        "That line begins further right than the one above it. All lines of a block begin in the "
        "same column.",
    ),
    (
        "IndentationError",
        r"unindent does not match",
        "That line begins in a column in which no line above it begins.",
    ),
    (
        "IndentationError",
        r"expected an indented block",
        "What belongs to the line with the colon has to begin further right than that line.",
    ),
    ("TabError", r"", "Tabs and spaces are mixed there: use spaces only."),
    ("SyntaxError", r"expected ':'", "A colon is missing at the end of that line."),
    (
        "SyntaxError",
        r"was never closed",
        "That bracket is opened and never closed: count the brackets from there on.",
    ),
    (
        "SyntaxError",
        r"unmatched|does not match opening",
        "That bracket closes none that is open: count the brackets up to there.",
    ),
    ("SyntaxError", r"unterminated", "A quote is opened there and never closed."),
    (
        "SyntaxError",
        r"outside function",
        "That line stands outside the function. How far is it indented?",
    ),
    (
        "SyntaxError",
        r"cannot assign to",
        "Only a name can stand on the left of `=`, or a part of an array such as `a[0]`.",
    ),
    (
        "SyntaxError",
        r"meant '=='",
        "`=` sets a name, and `==` compares. Which one is meant there?",
    ),
    (
        "SyntaxError",
        r"forgot a comma",
        "Two things stand side by side there: is a comma or a sign such as `*` missing?",
    ),
    (
        "SyntaxError",
        r"invalid decimal literal",
        "A name cannot begin with a digit, and a product needs its `*`.",
    ),
    (
        "SyntaxError",
        r"positional argument follows keyword",
        "In a call, values with a name such as `axis=0` stand behind those without one.",
    ),
    ("SyntaxError", r"keyword argument repeated", "One name is given two values in that call."),
    (
        "SyntaxError",
        r"^invalid syntax",
        "Look at the line above it too: is a bracket, a comma or a colon missing?",
    ),
)


def syntax_words(kind: str, message: str, code: str) -> str:
    """Return what to look at, "" when that is unknown.

    kind, message: the exception's type and its words. code: the line that Python names.
    """
    if kind not in _KINDS:
        return ""
    if kind == "SyntaxError":
        own = _character(message) or _written(message, code)
        if own:
            return own
    for each, pattern, sentence in _MESSAGES:
        if kind == each and re.search(pattern, message):
            return sentence
    return ""


def keyword_meant(word: str) -> str:
    """Return the word of Python that differs from `word` in capital letters only, or ""."""
    meant = {each.lower(): each for each in keyword.kwlist}.get(word.lower(), "")
    return "" if meant == word else meant


def _character(message: str) -> str:
    """Say what stands in the place of a mark of the keyboard."""
    found = _CHARACTER.search(message)
    if not found:
        return ""
    character = chr(int(found[1], 16))
    if character in _QUOTES:
        return "A curly quote comes from a word processor: type it again as a plain one."
    if character in _SPACES:
        return f"That space is not the one of the keyboard. {_COPIED}: type it again."
    for plain, others in _ALIKE.items():
        if character in others:
            return f"That is not the `{plain}` of the keyboard. {_COPIED}: type `{plain}` there."
    return f"Python cannot use that character there. {_COPIED}."


def _written(message: str, code: str) -> str:
    """Say which word of the line is not one of Python's."""
    if CONFLICT.match(code):
        return "That line is a mark that git leaves where two versions differ: choose one of them."
    if not message.startswith(("invalid syntax", "expected", "illegal")):
        return ""
    first = _FIRST_WORD.match(code)
    meant = keyword_meant(first[0]) if first else ""
    if first and meant and not re.match(r"\s*[=.\[]", code[first.end() :]):
        return (
            f"Python writes `{meant}` and not `{first[0]}`: capital and small letters are "
            "different."
        )
    return next((words for pattern, words in _FOREIGN if re.search(pattern, code)), "")
