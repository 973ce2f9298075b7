"""Sentences under a cell: text that fits the page in a notebook, lines of 72 letters elsewhere.

A notebook breaks printed lines where its page ends, so lines that end earlier would break twice.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape

from autograder.reports.finding import html

WIDTH = 72
_STYLE = "margin:.3em 0;max-width:52em"
_pages: list[Callable[[str], None]] = []  # who gets HTML, where there is a page and no notebook


@contextmanager
def shown_in_page(show: Callable[[str], None]) -> Iterator[None]:
    """Hand what is displayed to `show`, as HTML."""
    _pages.append(show)
    try:
        yield
    finally:
        _pages.pop()


def display(text: str, page: str) -> None:
    """Show `page`, which is HTML, where that can be shown, and elsewhere `text`."""
    ipython = sys.modules.get("IPython")
    if _pages:
        _pages[-1](page)
    elif ipython is None or ipython.get_ipython() is None:
        print(text)
    else:
        ipython.display.display({"text/plain": text, "text/html": page}, raw=True)


def show_text(text: str, *, is_table: bool = False) -> None:
    """Show text line by line; a table scrolls where it is too wide, and other lines break."""
    # Printed in a notebook, a line would break anywhere, even within a word or a number.
    wide = "pre" if is_table else "pre-wrap;overflow-wrap:break-word"
    style = f"{_STYLE};white-space:{wide};word-break:normal;overflow-x:auto"
    display(text, f"<pre style='{style}'>{escape(text)}</pre>")


def say(*sentences: str) -> None:
    """Show sentences, each in a line or paragraph of its own, close to each other."""
    text = "\n".join(textwrap.fill(each, WIDTH, break_long_words=False) for each in sentences)
    display(text, f"<div style='{_STYLE}'>{'<br>'.join(map(html, sentences))}</div>")
