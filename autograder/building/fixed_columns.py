"""Text whose columns have to stay below each other: drawings, and rows of numbers.

JupyterLab breaks the lines of a code fence where a window is narrow, and then no column stands
below its head. So a notebook gets HTML that scrolls sideways; its sanitizer keeps this style.
"""

from __future__ import annotations

import html
import re

_FENCE = re.compile(r"^```\n(?P<text>.*?)\n```$", re.MULTILINE | re.DOTALL)
_OPENING = '<pre style="white-space: pre; overflow-x: auto">'


def with_fixed_columns(prose: str) -> str:
    """Return Markdown `prose` with each code fence that names no language as such HTML."""
    return _FENCE.sub(
        lambda fence: f"{_OPENING}\n{html.escape(fence['text'], quote=False)}\n</pre>", prose
    )
