"""What a document shows of a terminal: commands, and what they print.

A fenced block that begins with `$ ` holds transcripts. In what is printed, a line `[...]` stands
for any number of lines, and times, sizes and the length of a bar may be others.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass

FENCE = re.compile(r"^```.*\n((?:.*\n)*?)```$", re.MULTILINE)
PROMPT = "$ "
LEFT_OUT = "[...]"
VARYING = re.compile(r"\b(\d+:\d\d:\d\d|\d+(\.\d)? [kM]B|\d+(\.\d)?/s)\b|━+")


@dataclass(frozen=True)
class Transcript:
    """A command as somebody types it, and the lines that it prints."""

    command: str
    lines: tuple[str, ...]


def blocks(text: str) -> tuple[str, ...]:
    """What stands between the fences of a document."""
    return tuple(FENCE.findall(text))


def transcripts(text: str) -> Iterator[Transcript]:
    """Every command of a document that is shown with what it prints."""
    for block in blocks(text):
        for part in f"\n{block}".split(f"\n{PROMPT}")[1:]:
            command, _, printed = part.partition("\n")
            yield Transcript(command.strip(), lines(printed))


def lines(text: str) -> tuple[str, ...]:
    """The lines of a text without what differs between two runs, or cannot be seen."""
    plain = (VARYING.sub("0", line).rstrip() for line in text.strip("\n").splitlines())
    return tuple(plain)


def differences(shown: tuple[str, ...], printed: str) -> str:
    """How what is printed differs from what a document shows; "" when it does not."""
    left_out = r"(?:.*\n)*?"
    pattern = "".join(
        left_out if line == LEFT_OUT else re.escape(f"{line}\n") for line in shown if line
    )
    real = [line for line in lines(printed) if line]
    if re.fullmatch(pattern, "".join(f"{line}\n" for line in real)):
        return ""
    return "\n".join(difflib.unified_diff(shown, real, "shown", "printed", lineterm="", n=1))
