"""File names from student ids, and files that are whole or not there.

An id comes from a folder, a form or a learning platform: it may hold slashes,
`..`, any script, or a thousand characters, and two ids may differ only in what
a file system folds away (case, normal form). Two ids never share a name.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from pathlib import Path

from autograder.errors import KitError

# Ids that every file system keeps as they are. "~" is not among the characters, so that no
# such id can equal the name made for another one. "index" is the class page's own, and the
# other words are devices on Windows, whatever follows a dot.
KEPT = re.compile(
    r"(?!(?:index|con|prn|aux|nul|com\d|lpt\d)(?:\.|$))"
    r"[a-z0-9_](?:[a-z0-9_.@-]{0,62}[a-z0-9_-])?"
)


def file_stem(student: str) -> str:
    """Return a file name without suffix for `student`, at most 73 ASCII characters.

    A short id of lower-case letters, digits and "_", with "-", ".", "@" inside, stays as it is;
    any other becomes what is readable of it, "~" and a hash of the whole id.
    """
    if KEPT.fullmatch(student):
        return student
    folded = unicodedata.normalize("NFKD", student[:200]).encode("ascii", "ignore").decode()
    readable = re.sub(r"[^a-z0-9]+", "-", folded.lower()).strip("-")[:40]
    digest = hashlib.sha256(student.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{readable.rstrip('-') or 'student'}~{digest}"


def write_whole(path: Path, text: str) -> None:
    """Write `text` to `path` as UTF-8, so that a reader finds all of it or the file before.

    A lone surrogate is written as its escape, which JSON reads back as it was. Raise
    `KitError` when the folder cannot be written.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            part.write_bytes(text.encode("utf-8", "backslashreplace"))
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise KitError(
            f"{path.name} cannot be written: {error.strerror}",
            place=str(path.parent),
            cure="name a folder that you may write to, on a disk with room",
        ) from error
