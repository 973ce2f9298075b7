"""The text of a file that a student handed in.

Reading happens in the trusted process, so sizes are capped before anything else, links are
not followed, and only encodings that hide nothing are used. What cannot be read becomes a
sentence (`Unreadable`); oddly written text is still read, as far as possible.
"""

from __future__ import annotations

import codecs
import hashlib
import os
import re
import tokenize
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

from autograder.values.files import NotPlain, opened
from autograder.values.sanitize import SURROGATES, file_name

LARGEST_FILE = 50 * 1024 * 1024
LARGEST_NOTEBOOK = 10 * 1024 * 1024
LARGEST_SOURCE = 1024 * 1024
SUFFIXES = (".ipynb", ".py")

# A string is skipped as a whole, so that a bracket or a key inside it is text. A quote alone
# is one that nothing closes.
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["\[\]]', re.DOTALL)
_OUTPUTS = re.compile(r'"outputs"\s*:\s*\[')
_MOST_TOKENS = 3_000_000


# What a plain text has nowhere: other ends of lines, null bytes, DOS's end mark, byte order marks.
# How zip, gzip, RAR and 7z files begin.
_PACKED = (b"PK\x03\x04", b"\x1f\x8b\x08", b"Rar!\x1a", b"7z\xbc\xaf")
_ODD = (b"\r", b"\0", b"\x1a", codecs.BOM_UTF8)


class Unreadable(Exception):
    """A file cannot be read as a submission; the text says why, and what to do."""


@dataclass(frozen=True)
class Text:
    """The text of a file, remarks on how it was read, and the SHA-256 of its bytes."""

    text: str
    remarks: tuple[str, ...] = ()
    digest: str = ""


def read_text(file: Path, root: Path | None = None) -> Text:
    """Return the text of a notebook or a `.py` with plain line ends.

    When a notebook is large only because of its outputs, they are left out. No link below `root`
    is followed, see `opened`. Raises `Unreadable` or OSError.
    """
    content = _content(file, root)
    return replace(_text(content, file), digest=digest_of(content))


def digest_of(content: bytes) -> str:
    """Return the SHA-256 of what a file holds, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def _text(content: bytes, file: Path) -> Text:
    name = file_name(file)
    if content.startswith(_PACKED):
        raise Unreadable(f"{name} is packed, whatever its name says: unpack it, and hand in that.")
    if is_notebook(file) and content.lstrip().startswith(b"<"):
        raise Unreadable(
            f"{name} is a web page and no notebook: download the notebook itself from JupyterLab "
            "and hand in that one."
        )
    read = _decoded(content, name)
    if not is_plain(read.text):
        lines = with_plain_lines(read.text)
        remarks = (*read.remarks, *remarks_on_characters(lines, name))
        read = Text(plain_text(lines), remarks)
    if is_notebook(file) and len(content) > LARGEST_NOTEBOOK:
        return _without_outputs(read, name)
    return read


def plain_text(text: str) -> str:
    """Return `text` with plain line ends, without null bytes and halves of characters."""
    plain = with_plain_lines(text).replace("\0", "")
    return SURROGATES.sub("\ufffd", plain) if _has_halves(plain) else plain


def is_plain(text: str) -> bool:
    """Whether `text` holds nothing that `plain_text` replaces.

    That is so of nearly every text, and far quicker to see in bytes than to replace in characters.
    """
    try:
        content = text.encode()
    except UnicodeEncodeError:
        return False
    return not any(odd in content for odd in _ODD)


def remarks_on_characters(text: str, name: str) -> tuple[str, ...]:
    """Say what `plain_text` changes in the text of the file `name`, apart from line ends."""
    found = []
    if "\0" in text:
        found.append(f"{name} holds null bytes, which editors do not show; they are left out.")
    if _has_halves(text):
        half = "halves of characters, which are not text; each was read as \ufffd."
        found.append(f"{name} holds {half}")
    return tuple(found)


def _has_halves(text: str) -> bool:
    """Whether `text` holds halves of characters, without which it can be written as UTF-8."""
    try:
        text.isascii() or text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _content(file: Path, root: Path | None) -> bytes:
    """Return the bytes of a plain file that is not too large; raise `Unreadable` or OSError."""
    notebook = is_notebook(file)
    limit = LARGEST_FILE if notebook else LARGEST_SOURCE
    try:
        with opened(file, root) as found:
            content = found.content(limit + 1)
    except NotPlain:
        # A link may point at a file that the grader can read and the student may not.
        raise Unreadable(
            f"{file_name(file)} is not a plain file: hand in the file itself."
        ) from None
    if len(content) > limit:
        shrink = "clear its outputs" if notebook else "leave data out of it"
        raise Unreadable(
            f"{file_name(file)} is larger than {limit // 1024} kB: {shrink}, save it and hand it "
            "in again."
        )
    return content


def bare(file: Path) -> Path:
    """Return the path without the suffix that a browser adds to a download: `a.ipynb.txt`."""
    whole = file.with_suffix("")
    downloaded = file.suffix.lower() in (".txt", ".json") and whole.suffix.lower() in SUFFIXES
    return whole if downloaded else file


def is_submission(file: Path) -> bool:
    """Whether `file` is named as a notebook or a `.py`."""
    return bare(file).suffix.lower() in SUFFIXES


def is_notebook(file: Path) -> bool:
    """Whether `file` is named as a notebook."""
    return bare(file).suffix.lower() == ".ipynb"


def _decoded(data: bytes, name: str) -> Text:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    else:
        encoding = _declared(data)
    try:
        return Text(data.decode(encoding))
    except UnicodeDecodeError as error:
        if b"\0" in data:
            raise Unreadable(
                f"{name} is not text (byte {error.start}): save it as UTF-8 and hand it in again."
            ) from None
        # One letter in a comment is no reason to lose the rest.
        remark = (
            f"{name} is not UTF-8 text (byte {error.start}) and was read as Latin-1, so letters "
            "such as é may be wrong: save it as UTF-8."
        )
        return Text(data.decode("latin-1"), (remark,))


def _declared(data: bytes) -> str:
    """Return the encoding that a `.py` declares, when it is a plain one; else UTF-8.

    Others, such as utf-7, can hide text from a reader.
    """
    try:
        declared = codecs.lookup(tokenize.detect_encoding(BytesIO(data).readline)[0]).name
    except (SyntaxError, LookupError, ValueError):
        return "utf-8-sig"
    plain = ("iso8859-1", "iso8859-15", "cp1252")
    return declared if declared in plain else "utf-8-sig"


def with_plain_lines(text: str) -> str:
    """Return `text` without a byte order mark and DOS's end mark; line feeds end its lines."""
    # A lone carriage return ends a line in Python and in editors.
    return (
        text.removeprefix("\ufeff").removesuffix("\x1a").replace("\r\n", "\n").replace("\r", "\n")
    )


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

    Parsing a large file can take a hundred times its size in memory.
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


# A student's name, from the name of their file or folder.
#
# A file system accepts any bytes as a name. Latin-1 from an old zip file is not UTF-8, which
# databases, JSON and web pages need, so such bytes are written out (`jos\xe9`). Two names on the
# disk never become one student, and the folder can be found again from the student's name.

# The width of a column in nbgrader's gradebook, and the longest name in a file system.
LONGEST, MOST_BYTES = 128, 255
_KEPT = 80  # bytes of a longer name
_SHORTENED = re.compile(r"~[0-9a-f]{32}\Z")
_RAW = re.compile("[\udc80-\udcff]")
_WRITTEN_OUT = re.compile(r"\\(?:\\|x([89a-f][0-9a-f]))")


def student_of(name: str) -> str:
    """Return the student whose file or folder is called `name`, as the file system gives it.

    A name stays as it is when it is UTF-8 and at most 128 characters long. Bytes that are not
    UTF-8 are written as `\\xe9`; a longer name becomes its beginning and a hash of the whole.
    """
    student = name
    if _RAW.search(name) or "\\x" in name:  # or the second could be taken for the first
        written = name.replace("\\", "\\\\")
        student = _RAW.sub(lambda byte: f"\\x{ord(byte[0]) - 0xDC00:02x}", written)
    long = len(student) > LONGEST or len(os.fsencode(student)) > MOST_BYTES
    if long or _SHORTENED.search(student):
        digest = hashlib.sha256(os.fsencode(name)).hexdigest()[:32]
        short = os.fsencode(student)[:_KEPT].decode("utf-8", "ignore")
        return f"{short}~{digest}"
    return student


def name_of(student: str, folder: Path) -> str:
    """Return the name of the entry of `folder` that is `student`'s: the inverse of `student_of`.

    When nothing there is theirs, it is the student's own name.
    """
    if _SHORTENED.search(student):
        names = os.listdir(folder) if folder.is_dir() else []
        return next((name for name in names if student_of(name) == student), student)
    return _WRITTEN_OUT.sub(_character, student) if "\\x" in student else student


def _character(found: re.Match[str]) -> str:
    return chr(0xDC00 + int(found[1], 16)) if found[1] else "\\"
