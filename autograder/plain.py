"""Text that a student may have written, made safe to show.

An exception's message, a printed line, the name of a function or of a file can
carry terminal escapes, characters that reverse or hide their neighbours, or
megabytes. Whatever leaves the sandbox and whatever a report shows goes through
here; escaping for HTML or CSV comes after.
"""

from __future__ import annotations

import re
import unicodedata

# CSI; then OSC, DCS, SOS, PM and APC with their end; then every other two-part escape.
# The bodies exclude what could begin the next one, so that a scan stays linear.
ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x80-\x9f\n]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]?"
)
LINE_ENDS = re.compile("\r\n?|[\x85\u2028\u2029]")
# What is hidden and yet a letter, a mark or a symbol: fillers, joiners, variation selectors, tags.
HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
# By category: controls (bidi among them), private use, not assigned (noncharacters among them).
UNSEEN = ("Cc", "Cf", "Co", "Cn")
SURROGATES = re.compile("[\ud800-\udfff]")
# A tower of combining marks covers the lines around it; no language needs more than four.
TOWERS = re.compile(
    "([\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{4})"
    "[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+"
)
# What GitHub's runner, which reads every line that a job prints, takes for an order.
ORDERS = re.compile(r":(?=:[A-Za-z])|##(?=\[)")
ELLIPSIS = "…"


def clean(text: str, longest: int) -> str:
    """Return `text` without controls, escapes and hidden characters, at most `longest` long.

    Line ends become `\\n`; `\\n` and `\\t` stay. What is cut off shows as an ellipsis.
    """
    text = LINE_ENDS.sub("\n", ESCAPES.sub("", text))
    text = _seen(SURROGATES.sub("\ufffd", HIDDEN.sub("", text)))
    text = TOWERS.sub(r"\1", text)
    return text if len(text) <= longest else text[: longest - 1].rstrip() + ELLIPSIS


def clean_line(text: str, longest: int) -> str:
    """Return `text` as `clean` does, with every run of white space as one space."""
    # Cut last: a long indentation is not worth an ellipsis.
    text = " ".join(clean(text, max(longest, len(text))).split())
    return clean(text, longest)


def terminal_line(text: str, longest: int) -> str:
    """Return `text` as `clean_line` does, such that a terminal or a CI job only shows it."""
    return ORDERS.sub(r"\g<0> ", clean_line(text, longest))


def _seen(text: str) -> str:
    if text.replace("\n", "").replace("\t", "").isprintable():  # nearly always, and fast
        return text
    return "".join(
        character
        for character in text
        if character in "\n\t" or unicodedata.category(character) not in UNSEEN
    )
