"""Sentences under a cell: text that fits the page in a notebook, lines of 72 letters elsewhere.

A notebook breaks printed lines where its page ends, so lines that end earlier would break twice.
"""

from __future__ import annotations

import sys
import textwrap

from autograder.reports.finding import html

WIDTH = 72
_STYLE = "margin:.3em 0;max-width:52em"


def say(*sentences: str) -> None:
    """Show sentences, each in a line or paragraph of its own, close to each other."""
    # A line of output may break anywhere, even within a number.
    text = "\n".join(textwrap.fill(each, WIDTH, break_long_words=False) for each in sentences)
    ipython = sys.modules.get("IPython")
    if ipython is None or ipython.get_ipython() is None:
        print(text)
        return
    page = f"<div style='{_STYLE}'>{'<br>'.join(map(html, sentences))}</div>"
    ipython.display.display({"text/plain": text, "text/html": page}, raw=True)
