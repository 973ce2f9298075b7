"""Turns what a student wrote, and what its cells show, into HTML in which nothing can run.

nbgrader's feedback and formgrader pages show markdown cells unchanged, even when
`sanitize_html` is set, and the instructor is logged in where formgrader's pages are.
The functions here replace the filters that the templates use. The preprocessor
cleans what the templates show without any filter.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from html import escape, unescape
from typing import Any
from urllib.parse import quote

from bleach import clean as bleach_clean
from jinja2 import pass_context
from nbconvert.filters import Highlight2HTML
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode
from nbgrader.utils import is_grade, is_solution

from autograder.values import sanitize as plain
from autograder.values.sanitize import clean, clean_line

# What a cell shows besides its text, for those who grade it by hand: outputs and pictures.
#
# Students made them, and the browser of whoever grades shows them. So only text and two kinds of
# pictures are kept, which run nothing and load nothing, and only so much of them.

PICTURES = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff"}  # how files begin
MOST_TEXT = 20_000  # characters of all outputs of a cell
MOST_PICTURES = 8_000_000  # characters of all outputs, and of all attachments, of a cell
MOST_PARTS = 40
_LONGEST_NAME = 200
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")

Pictures = dict[str, dict[str, str]]


def shown_outputs(cell: Mapping[str, Any]) -> list[NotebookNode]:
    """Return the outputs of a submitted cell: printed text, errors and pictures.

    None of them is an `execute_result`, from which nbgrader would read a score.
    """
    room_for_text, room_for_pictures, found = MOST_TEXT, MOST_PICTURES, list[NotebookNode]()
    for output in _objects(cell.get("outputs"))[:MOST_PARTS]:
        printed = _printed(output)[: 2 * MOST_TEXT]  # cleaning takes time
        picture = _picture(output.get("data"), room_for_pictures)
        if picture:
            room_for_pictures -= sum(map(len, picture.values()))
            data = NotebookNode(picture | {"text/plain": "a picture"})
            found.append(_output("display_data", metadata=NotebookNode(), data=data))
        elif text := clean(printed, room_for_text) if room_for_text > 0 else "":
            room_for_text -= len(text)
            found.append(_output("stream", name="stdout", text=text))
    return found


def shown_attachments(cell: Mapping[str, Any]) -> Pictures:
    """Return the pictures that somebody put into a markdown cell, by their names."""
    given = cell.get("attachments")
    room, found = MOST_PICTURES, Pictures()
    for name, data in list(given.items())[:MOST_PARTS] if isinstance(given, dict) else ():
        picture = _picture(data, room)
        if picture and isinstance(name, str) and name == clean_line(name, _LONGEST_NAME):
            found[name] = picture
            room -= sum(map(len, picture.values()))
    return found


def _printed(output: Mapping[str, Any]) -> str:
    """Return what an output says in plain text."""
    kind, data = output.get("output_type"), output.get("data")
    if kind == "stream":
        return _text(output.get("text"))
    if kind == "error":
        return f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}"
    return _text(data.get("text/plain")) if isinstance(data, dict) else ""


def _picture(data: object, room: int) -> dict[str, str]:
    """Return the first picture of a bundle, by its kind; nothing when there is none, or no room."""
    if not isinstance(data, dict):
        return {}
    for kind, begin in PICTURES.items():
        text = "".join(_text(data.get(kind)).split())
        whole = len(text) <= room and len(text) % 4 == 0 and _BASE64.fullmatch(text)
        if whole and base64.b64decode(text[:16]).startswith(begin):
            return {kind: text}
    return {}


def _objects(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _text(value: object) -> str:
    """Return a text; the format allows one text or a list of lines."""
    lines: Iterator[object] = iter(value if isinstance(value, list) else [value])
    return "".join(line for line in lines if isinstance(line, str))


def _output(kind: str, **facts: object) -> NotebookNode:
    return NotebookNode(output_type=kind, **facts)


INLINE = ("a", "abbr", "b", "br", "code", "del", "em", "i", "s", "span", "strong", "sub", "sup")
BLOCKS = ("blockquote", "details", "div", "hr", "li", "ol", "p", "pre", "summary", "ul")
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
TABLES = ("table", "tbody", "td", "th", "thead", "tr")
TAGS = frozenset((*INLINE, *BLOCKS, *HEADINGS, *TABLES))
LINK = re.compile(r"(?:https?://|mailto:|#)\S*", re.IGNORECASE)
# The classes of highlighted code. Formgrader's scripts find buttons and cells by other classes.
CODE_CLASS = re.compile(r"highlight(?: hl-\w+)?|[a-z]{1,2}[a-z0-9]?")
NUMBERED = re.compile(r"data:image/png;base64,(\d{1,3})")
PICTURE = re.compile(rf'<img(?: src="{NUMBERED.pattern}")?>')
ELSEWHERE = "[a picture that is not in the notebook]"
SCORE = re.compile(r"\d{1,9}\.\d{1,20}")
# In characters. The libraries that make pages take quadratic time, or worse, in these.
MOST_PROSE, MOST_CODE, LONGEST_LINE = 10_000, 100_000, 1000
# The texts of a student's that the templates show unchanged.
NAMES = ("student", "first_name", "last_name", "notebook_path")


def clean_html(page: object) -> str:
    """Return `page`, HTML from anywhere, with every tag outside `TAGS` shown as text."""
    text = page.decode("utf-8", "replace") if isinstance(page, bytes) else str(page)
    return str(bleach_clean(text, tags=TAGS, attributes=ATTRIBUTES))


@pass_context
def clean_markdown(context: Mapping[str, Any], source: str) -> str:
    """Return the HTML of a markdown cell, cleaned; formulas stay for MathJax.

    `context` is the template's, with the `cell`, whose pictures are shown. A cell that is too long
    for anybody to have written is shown as plain text.
    """
    if len(source) > MOST_PROSE:
        return f"<pre>{escape(source)}</pre>"
    cell = context.get("cell")
    found = shown_attachments(cell) if isinstance(cell, dict) else {}
    pictures = [_address(picture) for picture in found.values()]
    renderer = IPythonRenderer(escape=False, attachments=_Attachments(found))
    page = str(MarkdownWithMath(renderer=renderer).render(source))
    # Cleaning takes time for each letter. So a picture's number stands for it until then.
    cleaned = bleach_clean(page, tags={*TAGS, "img"}, attributes=MARKDOWN, protocols=PROTOCOLS)
    return PICTURE.sub(lambda place: _shown(pictures, place[1]), str(cleaned))


class _Attachments(dict[str, dict[str, str]]):
    """The attachments of a cell as the renderer asks for them: a number for each picture.

    The renderer stops at one that is missing.
    """

    def __init__(self, pictures: Pictures) -> None:
        names = ((name, str(number)) for number, name in enumerate(pictures))
        super().__init__(
            {key: {"image/png": number} for name, number in names for key in (name, quote(name))}
        )

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> dict[str, str]:
        return {"image/png": ""}


def _address(picture: Mapping[str, str]) -> str:
    ((kind, text),) = picture.items()
    return f"data:{kind};base64,{text}"


def _shown(pictures: list[str], number: str | None) -> str:
    if number is None or int(number) >= len(pictures):
        return ELSEWHERE
    return f'<img alt="a picture in the answer" src="{pictures[int(number)]}">'


def highlight_code(source: str, language: str | None = None, metadata: object = None) -> str:
    """Return the HTML of a code cell, in color unless the cell is too long."""
    if len(source) > MOST_CODE or max(map(len, source.split("\n"))) > LONGEST_LINE:
        return f'<div class="highlight hl-ipython3"><pre>{escape(source)}</pre></div>'
    return str(Highlight2HTML(pygments_lexer="ipython3")(source, language, metadata))


class PlainText(Preprocessor):
    """Removes characters that hide or reverse text in cells, and shows names as plain text.

    The number from which nbgrader reads a score is left out: the page shows the score beside it.
    """

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Return the notebook with cleaned cells, and `resources` with the names escaped."""
        for cell in nb.cells:
            # Somebody who grades by hand must see the code that runs, in the right order.
            cell.source = plain.clean(cell.source, len(cell.source) + 1)
            if is_grade(cell) and not is_solution(cell) and cell.cell_type == "code":
                cell.outputs = [each for each in cell.outputs if not _is_score(each)]
        found = {name: str(resources[name]) for name in NAMES if resources.get(name)}
        resources.update(
            {name: escape(plain.clean_line(text, 1000)) for name, text in found.items()}
        )
        return nb, resources


def _is_score(output: NotebookNode) -> bool:
    text = output.get("data", {}).get("text/plain", "")
    return output.output_type == "execute_result" and bool(SCORE.fullmatch(text))


def _of_a_link(tag: str, name: str, value: str) -> bool:
    """Whether an `<a>` keeps an attribute: `href` only if it is a full address with a scheme.

    nbgrader later removes "files/" from the start of a link, and does not check what is left.
    """
    return name == "title" or (name == "href" and bool(LINK.fullmatch(unescape(value))))


def _of_code(tag: str, name: str, value: str) -> bool:
    return name == "class" and bool(CODE_CLASS.fullmatch(value))


def _of_a_picture(tag: str, name: str, value: str) -> bool:
    return name == "src" and bool(NUMBERED.fullmatch(value))


# No style, id or on...: only the page's own code may change the page.
ATTRIBUTES = {"a": _of_a_link, "abbr": ["title"], "div": _of_code, "span": _of_code}
MARKDOWN = {**ATTRIBUTES, "img": _of_a_picture}
PROTOCOLS = ("http", "https", "mailto", "data")  # `LINK` lets no other into an address
