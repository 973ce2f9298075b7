"""Text whose lines stay indented where they are wrapped, and code, which is never wrapped."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text


@dataclass(frozen=True)
class Indented:
    """A text with `first` spaces before its first line and `later` before all others."""

    text: Text
    first: int = 2
    later: int = 2

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Give the lines of the text, wrapped to the width of the console."""
        width = max(options.max_width - max(self.first, self.later), 1)
        for number, line in enumerate(self.text.wrap(console, width)):
            line.rstrip()
            yield Text(" " * (self.later if number else self.first)).append_text(line)


@dataclass(frozen=True)
class CodeRows:
    """Lines of code behind `margin` spaces, which a copy leaves as they are.

    Print it with `crop=False`: a line that is too long is for the terminal to break.
    """

    code: str
    margin: int = 2

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Give each line as it is."""
        for line in self.code.split("\n"):
            yield unbroken(Text(" " * self.margin + line if line else ""))


def unbroken(text: Text) -> Text:
    """Return a text that is not wrapped."""
    text.no_wrap, text.overflow = True, "ignore"
    return text
