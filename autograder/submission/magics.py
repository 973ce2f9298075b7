"""Cells without what only IPython understands: `%magic`, `!command`, `name?`, pasted prompts.

IPython's own transformer is not used. It tokenizes the whole text again for every magic, up
to five hundred times; a hundred magics in 120 kB took minutes. That is too much for text that
may be hostile. It writes calls of `get_ipython()`, which does not exist while grading. And
neither a student's small installation nor a plain grader needs IPython. The tests compare
this module with it. Every line keeps its number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import dedent

RUN_THEIR_BODY = ("%%capture", "%%prun", "%%time")
_CELL_MAGIC = re.compile(r"(%%\w+)")
_HELP = re.compile(r"\s*(?:\?{1,2}.*|%{0,2}[\w.*]+(?:\[\d+\])?\s*\?{1,2}\s*)$")
_NAMES = re.compile(r"[\w.,()\[\]*'\" \t]+")
_TIMED = re.compile(r"(\s*)%time\s+(?=\S)")
_LINE = re.compile(r"\s*[!%]")
# What a session shows before the lines of a statement, where it is copied from.
_PROMPTS = (
    (re.compile(r"\s*>>>(?: |$)"), re.compile(r"\s*(?:>>>|\.\.\.)(?: |$)")),
    (re.compile(r"\s*In \[\d+\]: ?"), re.compile(r"\s*(?:In \[\d+\]:|\.{3,}:) ?")),
)
_TOKEN = re.compile(r"'''|\"\"\"|['\"]|[()\[\]{}]|#.*")


@dataclass(frozen=True)
class Plain:
    """A cell as plain Python. `magic` is the cell magic that keeps it from being run."""

    text: str
    magic: str = ""


def without_magics(cell: str) -> Plain:
    """Return a cell that is not plain Python, without IPython's own lines."""
    lines = cell.split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return Plain(cell)
    lines = _at_the_margin(_without_prompts(lines, lines[first]))
    magic = _CELL_MAGIC.match(lines[first])
    if magic:
        if magic[1] not in RUN_THEIR_BODY:
            return Plain("", magic[1])
        lines[first] = ""
    return Plain("\n".join(_plain_lines(lines)))


def _without_prompts(lines: list[str], first: str) -> list[str]:
    """Return lines without the prompts of the session that they were copied from, if any."""
    for begins, prompt in _PROMPTS:
        if begins.match(first):
            return [prompt.sub("", line, count=1) for line in lines]
    return lines


def _at_the_margin(lines: list[str]) -> list[str]:
    """Return lines without the indentation that all of them have."""
    return dedent("\n".join(lines)).split("\n")


def _plain_lines(lines: list[str]) -> Iterator[str]:
    state = _State()
    command = False  # inside a command that goes on after a backslash
    for line in lines:
        if command:
            command = line.endswith("\\")
            yield ""
        elif state.between:
            plain = _plain(line)
            command = plain is not line and line.endswith("\\")
            yield plain
            state.read(plain)
        else:
            yield line
            state.read(line)


def _plain(line: str) -> str:
    """Return a line that begins a statement as Python; IPython's own lines are replaced."""
    names, equals, value = line.partition("=")
    if value.lstrip().startswith(("!", "%")) and _NAMES.fullmatch(names):
        return f"{names}{equals} {'[]' if value.lstrip().startswith('!') else 'None'}"
    timed = _TIMED.match(line)
    if timed:
        return timed[1] + line[timed.end() :]
    if _LINE.match(line) or _HELP.match(line):
        return line[: len(line) - len(line.lstrip())] + "pass"
    return line


class _State:
    """Where the end of a line of Python lies: in a string, in brackets, or in neither."""

    def __init__(self) -> None:
        self._depth = 0
        self._quote = ""
        self._joined = False

    @property
    def between(self) -> bool:
        """Whether the next line begins a statement."""
        return not (self._depth or self._quote or self._joined)

    def read(self, line: str) -> None:
        """Go on to the end of `line`."""
        self._joined = line.endswith("\\")
        place = 0
        while place < len(line):
            if self._quote:
                place = self._string(line, place)
                continue
            token = _TOKEN.search(line, place)
            if not token:
                return
            place = token.end()
            if token[0][0] in "'\"":
                self._quote = token[0]
            elif token[0][0] == "#":
                self._joined = False
                return
            else:
                self._depth = max(0, self._depth + (1 if token[0] in "([{" else -1))
        if len(self._quote) == 1 and not self._joined:
            self._quote = ""  # such a string ends with its line, closed or not

    def _string(self, line: str, place: int) -> int:
        """Return the place up to which the string goes; a backslash escapes the next character."""
        while place < len(line):
            if line[place] == "\\":
                place += 2
            elif line.startswith(self._quote, place):
                place += len(self._quote)
                self._quote = ""
                return place
            else:
                place += 1
        return place
