"""Text that a student may have written, made safe to show.

An exception's message, a printed line, the name of a function or of a file can
carry terminal escapes, characters that reverse or hide their neighbors, or
megabytes. Whatever leaves the sandbox and whatever a report shows goes through
here; escaping for HTML or CSV comes after.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path

# CSI; then OSC, DCS, SOS, PM and APC with their end; then every other two-part escape.
# The bodies exclude what could begin the next one, so that a scan stays linear.
ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x80-\x9f\n]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]?"
)
LINE_ENDS = re.compile("\r\n?|[\x85\u2028\u2029]")
# Hidden, although letters, marks or symbols: fillers, joiners, variation selectors, tags.
HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
# By category: controls (bidi included), private use, not assigned (noncharacters included).
UNSEEN = ("Cc", "Cf", "Co", "Cn")
SURROGATES = re.compile("[\ud800-\udfff]")
# What Python makes of a byte in a file name that is not UTF-8.
RAW_BYTES = range(0xDC80, 0xDD00)
# A tower of combining marks covers the lines around it; no language needs more than four.
TOWERS = re.compile(
    "([\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{4})"
    "[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+"
)
# GitHub's runner reads every line that a job prints, and takes these for commands.
ORDERS = re.compile(r":(?=:[A-Za-z])|##(?=\[)")
ELLIPSIS = "…"
LONGEST_NAME = 80
UNSEEN_NAME = "(a name that cannot be seen)"


def clean(text: str, longest: int) -> str:
    """Return `text` without controls, escapes and hidden characters, at most `longest` long.

    Line ends become `\\n`; `\\n` and `\\t` stay; a byte of a file's name that is not UTF-8 is
    written out, as `\\xe9`. What is cut off shows as an ellipsis.
    """
    if not _is_printable(text):
        text = LINE_ENDS.sub("\n", ESCAPES.sub("", text))
        text = _seen(SURROGATES.sub(_written_out, HIDDEN.sub("", text)))
    elif not text.isascii():  # what is printable and hidden all the same is not ASCII
        text = HIDDEN.sub("", text)
    text = text if text.isascii() else TOWERS.sub(r"\1", text)
    return text if len(text) <= longest else text[: longest - 1].rstrip() + ELLIPSIS


def clean_line(text: str, longest: int) -> str:
    """Return `text` as `clean` does, with every run of white space as one space."""
    # Cut last: a long indentation is not worth an ellipsis.
    text = " ".join(clean(text, max(longest, len(text))).split())
    return clean(text, longest)


def listed(names: Sequence[str], most: int = 5, longest: int = 40) -> str:
    """Return the first names, each as `clean_line` gives it, and how many more there are."""
    shown = ", ".join(clean_line(name, longest) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def terminal_line(text: str, longest: int) -> str:
    """Return `text` as `clean_line` does, so that a terminal or a CI job only displays it."""
    return ORDERS.sub(r"\g<0> ", clean_line(text, longest))


def file_name(path: Path) -> str:
    """Return the name of a file or folder in one clean line of at most 80 characters."""
    return clean_line(path.name, LONGEST_NAME) or UNSEEN_NAME


def _written_out(surrogate: re.Match[str]) -> str:
    number = ord(surrogate[0])
    return f"\\x{number - 0xDC00:02x}" if number in RAW_BYTES else "\ufffd"


def _is_printable(text: str) -> bool:
    """Whether there is no control, escape, surrogate or end of a line but `\\n` and `\\t`.

    Nearly every text is so, and this is far quicker than to look for each of them.
    """
    return text.replace("\n", "").replace("\t", "").isprintable()


def _seen(text: str) -> str:
    if _is_printable(text):
        return text
    return "".join(
        character
        for character in text
        if character in "\n\t" or unicodedata.category(character) not in UNSEEN
    )
