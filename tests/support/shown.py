"""What a person sees: text as rich prints it, and how well a color stands out from another."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO

from rich.console import Console

READABLE = 4.5  # WCAG's least contrast of text


def console_of(width: int = 100, color: bool = False) -> Console:
    """Return a console that keeps what is printed to it."""
    return Console(
        file=StringIO(),
        width=width,
        force_terminal=color,
        no_color=not color,
        color_system="truecolor" if color else None,
    )


def text_on(console: Console) -> str:
    """Return what a console of `console_of` shows."""
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def printed(shown: object, width: int = 100, color: bool = False) -> str:
    """Return how rich prints something."""
    console = console_of(width, color)
    console.print(shown)
    return text_on(console)


def rgb(color: str) -> list[float]:
    """Return the parts of a color as `#20a0ff` has it."""
    return [float(int(color[start : start + 2], 16)) for start in (1, 3, 5)]


def contrast(one: Sequence[float], other: Sequence[float]) -> float:
    """Return WCAG's contrast of two colors, whose parts go up to 255."""
    low, high = sorted(map(_luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: Sequence[float]) -> float:
    parts = [part / 255 for part in color]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
