"""What a student wrote, as HTML in which nothing can run.

nbgrader's feedback and formgrader pages put markdown cells out as they are, also
when `sanitize_html` is set, and formgrader's lie where the instructor is logged in.
These two functions take the place of the filters that the templates use.
"""

from __future__ import annotations

from bleach import clean
from nbconvert.filters import markdown2html

INLINE = ("a", "abbr", "b", "br", "code", "del", "em", "i", "s", "span", "strong", "sub", "sup")
BLOCKS = ("blockquote", "details", "div", "hr", "li", "ol", "p", "pre", "summary", "ul")
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
TABLES = ("table", "tbody", "td", "th", "thead", "tr")
TAGS = frozenset((*INLINE, *BLOCKS, *HEADINGS, *TABLES))
# No style, no id, no on...: a page is changed by its own code only. Links are http, https, mailto.
ATTRIBUTES = {"a": ["href", "title"], "abbr": ["title"], "div": ["class"], "span": ["class"]}


def clean_html(page: object) -> str:
    """Return `page`, HTML from anywhere, with every other tag shown as text."""
    text = page.decode("utf-8", "replace") if isinstance(page, bytes) else str(page)
    return str(clean(text, tags=TAGS, attributes=ATTRIBUTES))


def clean_markdown(source: str) -> str:
    """Return the HTML of a markdown cell, cleaned; formulas stay for MathJax."""
    return clean_html(markdown2html(source))
