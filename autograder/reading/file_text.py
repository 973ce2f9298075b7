"""The text of a file that a student handed in.

Reading happens in the trusted process, so sizes are capped before anything else, links are
not followed, and only encodings that hide nothing are used. What cannot be read becomes a
sentence (`Unreadable`); what is oddly written is read all the same, as far as that goes.
"""

from __future__ import annotations

import codecs
import re
import tokenize
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from autograder.plain import SURROGATES, file_name

LARGEST_FILE = 50 * 1024 * 1024
LARGEST_NOTEBOOK = 10 * 1024 * 1024
LARGEST_SOURCE = 1024 * 1024
SUFFIXES = (".ipynb", ".py")

# Strings are read over as a whole, so that a bracket or a key within one is text; a quote
# alone is one that nothing closes.
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["\[\]]', re.DOTALL)
_OUTPUTS = re.compile(r'"outputs"\s*:\s*\[')
_MOST_TOKENS = 3_000_000


class Unreadable(Exception):
    """A file cannot be read as a submission; the text says why, and what to do."""


@dataclass(frozen=True)
class Text:
    """The text of a file, and what is to be said about how it was read."""

    text: str
    remarks: tuple[str, ...] = ()


def read_text(file: Path) -> Text:
    """Return the text of a notebook or a `.py` with plain line ends; raise `Unreadable`, OSError.

    Of a notebook that is large only for its outputs, the outputs are left out.
    """
    name = file_name(file)
    # A link may point at a file that the grader can read and the student may not.
    if file.is_symlink() or (file.exists() and not file.is_file()):
        raise Unreadable(f"{name} is not a plain file: hand in the file itself.")
    notebook = is_notebook(file)
    limit = LARGEST_FILE if notebook else LARGEST_SOURCE
    size = file.stat().st_size
    if size > limit:
        shrink = "clear its outputs" if notebook else "leave data out of it"
        raise Unreadable(
            f"{name} is larger than {limit // 1024} kB: {shrink}, save it and hand it in again."
        )
    read = _decoded(_content(file, limit), name)
    remarks = (*read.remarks, *remarks_on_characters(read.text, name))
    read = Text(plain_text(read.text), remarks)
    if notebook and size > LARGEST_NOTEBOOK:
        return _without_outputs(read, name)
    return read


def plain_text(text: str) -> str:
    """Return `text` with plain line ends and no character that is none: a null, half a pair."""
    return SURROGATES.sub("\ufffd", with_plain_lines(text).replace("\0", ""))


def remarks_on_characters(text: str, name: str) -> tuple[str, ...]:
    """Say what `plain_text` changes in the text of the file called `name`, beside line ends."""
    null = f"{name} holds null bytes, which editors do not show; they are left out."
    half = f"{name} holds halves of characters, which are no text; each was read as \ufffd."
    found = ((null, "\0" in text), (half, SURROGATES.search(text) is not None))
    return tuple(words for words, there in found if there)


def _content(file: Path, limit: int) -> bytes:
    # No more than was looked at: the file may be growing.
    with file.open("rb") as stream:
        return stream.read(limit)


def bare(file: Path) -> Path:
    """Return the path without the suffix that a browser hangs on a download: `a.ipynb.txt`."""
    whole = file.with_suffix("")
    downloaded = file.suffix.lower() in (".txt", ".json") and whole.suffix.lower() in SUFFIXES
    return whole if downloaded else file


def is_submission(file: Path) -> bool:
    """Whether `file` is called a notebook or a `.py`."""
    return bare(file).suffix.lower() in SUFFIXES


def is_notebook(file: Path) -> bool:
    """Whether `file` is called a notebook."""
    return bare(file).suffix.lower() == ".ipynb"


def _decoded(data: bytes, name: str) -> Text:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    else:
        encoding = _declared(data)
    try:
        return Text(with_plain_lines(data.decode(encoding)))
    except UnicodeDecodeError as error:
        if b"\0" in data:
            raise Unreadable(
                f"{name} is not text (byte {error.start}): save it as UTF-8 and hand it in again."
            ) from None
        # One letter in a comment is no reason to lose the rest.
        remark = (
            f"{name} is not UTF-8 text (byte {error.start}) and was read as Latin-1, so letters "
            "such as é may be others: save it as UTF-8."
        )
        return Text(with_plain_lines(data.decode("latin-1")), (remark,))


def _declared(data: bytes) -> str:
    """Return the encoding that a `.py` declares, when it is a plain one; else UTF-8.

    Others, such as utf-7, are a way to hide text from who reads it.
    """
    try:
        declared = codecs.lookup(tokenize.detect_encoding(BytesIO(data).readline)[0]).name
    except (SyntaxError, LookupError, ValueError):
        return "utf-8-sig"
    plain = ("iso8859-1", "iso8859-15", "cp1252")
    return declared if declared in plain else "utf-8-sig"


def with_plain_lines(text: str) -> str:
    """Return `text` without a byte order mark, every line ended by a line feed."""
    # A lone carriage return ends a line in Python and in editors.
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _without_outputs(read: Text, name: str) -> Text:
    text = without_outputs(read.text)
    if len(text) > LARGEST_NOTEBOOK:
        raise Unreadable(
            f"{name} is larger than {LARGEST_NOTEBOOK // 1024} kB even without its outputs: "
            "leave pictures and data out of it, save it and hand it in again."
        )
    remark = (
        f"{name} is larger than {LARGEST_NOTEBOOK // 1024} kB because of its outputs; your code "
        "was read without them. Clear the outputs before you hand in."
    )
    return Text(text, (*read.remarks, remark))


def without_outputs(text: str) -> str:
    """Return a notebook's JSON with every list of outputs emptied, without parsing it.

    Parsed, a large file can take a hundred times its size in memory.
    """
    kept: list[str] = []
    start = position = depth = tokens = 0
    while (token := _TOKEN.search(text, position)) and tokens < _MOST_TOKENS:
        tokens += 1
        position = token.end()
        if token[0] == '"':
            break
        if not depth:
            found = _OUTPUTS.match(text, token.start())
            if found:
                kept.append(text[start : found.end()])
                start = position = found.end()
                depth = 1
        elif token[0] in "[]":
            depth += 1 if token[0] == "[" else -1
            if not depth:
                start = token.start()
    return "".join([*kept, text[start:]])
