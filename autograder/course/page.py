"""What a student wrote, as HTML in which nothing can run.

nbgrader's feedback and formgrader pages put markdown cells out as they are, also
when `sanitize_html` is set, and formgrader's lie where the instructor is logged in.
The functions take the place of the filters that the templates use; the preprocessor
is for what the templates put out without any.
"""

from __future__ import annotations

import re
from html import escape, unescape
from typing import Any

from bleach import clean
from nbconvert.filters import Highlight2HTML, markdown2html
from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode

from autograder.model import sanitize as plain

INLINE = ("a", "abbr", "b", "br", "code", "del", "em", "i", "s", "span", "strong", "sub", "sup")
BLOCKS = ("blockquote", "details", "div", "hr", "li", "ol", "p", "pre", "summary", "ul")
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
TABLES = ("table", "tbody", "td", "th", "thead", "tr")
TAGS = frozenset((*INLINE, *BLOCKS, *HEADINGS, *TABLES))
LINK = re.compile(r"(?:https?://|mailto:|#)\S*", re.IGNORECASE)
# Those of highlighted code. By others, formgrader's own code knows its buttons and cells.
CODE_CLASS = re.compile(r"highlight(?: hl-\w+)?|[a-z]{1,2}[a-z0-9]?")
# The libraries that make pages take a time that is quadratic, or worse, in these (characters).
MOST_PROSE, MOST_CODE, LONGEST_LINE = 10_000, 100_000, 1000
# What the templates show of a student as it is.
NAMES = ("student", "first_name", "last_name", "notebook_path")


def clean_html(page: object) -> str:
    """Return `page`, HTML from anywhere, with every other tag shown as text."""
    text = page.decode("utf-8", "replace") if isinstance(page, bytes) else str(page)
    return str(clean(text, tags=TAGS, attributes=ATTRIBUTES))


def clean_markdown(source: str) -> str:
    """Return the HTML of a markdown cell, cleaned; formulas stay for MathJax.

    A cell that is longer than anybody writes is shown as it was typed.
    """
    if len(source) > MOST_PROSE:
        return f"<pre>{escape(source)}</pre>"
    return clean_html(markdown2html(source))


def highlight_code(source: str, language: str | None = None, metadata: object = None) -> str:
    """Return the HTML of a code cell, in colour unless it is too long for that."""
    if len(source) > MOST_CODE or max(map(len, source.split("\n"))) > LONGEST_LINE:
        return f'<div class="highlight hl-ipython3"><pre>{escape(source)}</pre></div>'
    return str(Highlight2HTML(pygments_lexer="ipython3")(source, language, metadata))


class PlainText(Preprocessor):
    """Shows what a student wrote without what hides or turns it, and names as text."""

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Return the notebook with cleaned cells, and `resources` with the names escaped."""
        for cell in nb.cells:
            # Whoever grades by hand has to see the code that runs, in its order.
            cell.source = plain.clean(cell.source, len(cell.source) + 1)
        found = {name: str(resources[name]) for name in NAMES if resources.get(name)}
        resources.update({name: escape(plain.clean_line(one, 1000)) for name, one in found.items()})
        return nb, resources


def _of_a_link(tag: str, name: str, value: str) -> bool:
    """Whether an `<a>` keeps an attribute: `href` only where it is whole and says its scheme.

    nbgrader takes "files/" off the front of a link afterwards, whatever then stands there.
    """
    return name == "title" or (name == "href" and bool(LINK.fullmatch(unescape(value))))


def _of_code(tag: str, name: str, value: str) -> bool:
    return name == "class" and bool(CODE_CLASS.fullmatch(value))


# No style, no id, no on...: a page is changed by its own code only.
ATTRIBUTES = {"a": _of_a_link, "abbr": ["title"], "div": _of_code, "span": _of_code}
