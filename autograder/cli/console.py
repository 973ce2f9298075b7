"""The console that commands write to."""

from __future__ import annotations

import shutil

from rich.console import Console, ConsoleDimensions


class SizedConsole(Console):
    """A console that asks every terminal for its size, also one that can do nothing else.

    rich takes a terminal with TERM=dumb, such as the shell in Emacs, for 80 columns wide.
    """

    @property
    def size(self) -> ConsoleDimensions:
        """The columns and lines of the terminal."""
        if self.is_dumb_terminal:
            return ConsoleDimensions(*shutil.get_terminal_size())
        return super().size

    @size.setter
    def size(self, size: tuple[int, int]) -> None:
        self.width, self.height = size
