"""What a person sees: text as rich prints it, a page, and how well two colors are told apart."""

from __future__ import annotations

from collections.abc import Sequence
from html.parser import HTMLParser
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


VOID = set("meta link img br hr input col source wbr area base embed param track".split())


class Page(HTMLParser):
    """A page taken apart as a browser would: tags in order, attributes, scripts, text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.attributes: list[tuple[str, str]] = []  # of all tags, with those that stand twice
        self.scripts: list[str] = []  # where each is from, and what it does
        self.words: list[str] = []
        self.misplaced: list[str] = []  # ends of what is not open
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = [(name, value or "") for name, value in attrs]
        self.tags.append((tag, dict(named)))
        self.attributes += named
        if tag == "script":
            self.scripts.append(dict(named).get("src", ""))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.open[-1:] == [tag]:
            self.open.pop()
        else:
            self.misplaced.append(tag)

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["script"]:
            self.scripts[-1] += data
        elif self.open[-1:] != ["style"]:
            self.words.append(data)

    @property
    def well_formed(self) -> bool:
        """Whether every tag is closed in its place."""
        return not self.open and not self.misplaced

    @property
    def text(self) -> str:
        """What a person reads, with every run of white space as one space."""
        return " ".join(" ".join(self.words).split())
