"""A student's name, from the name of their file or folder.

A file system accepts any bytes as a name. Latin-1 from an old zip file is not UTF-8, which
databases, JSON and web pages need, so such bytes are written out (`jos\\xe9`). Two names on the
disk never become one student, and the folder can be found again from the student's name.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

# The width of a column in nbgrader's gradebook, and the longest name in a file system.
LONGEST, MOST_BYTES = 128, 255
_KEPT = 80  # characters of a longer name
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
        student = _RAW.sub(_byte, name.replace("\\", "\\\\"))
    long = len(student) > LONGEST or len(os.fsencode(student)) > MOST_BYTES
    if long or _SHORTENED.search(student):
        digest = hashlib.sha256(os.fsencode(name)).hexdigest()[:32]
        return f"{_short(student)}~{digest}"
    return student


def name_of(student: str, folder: Path) -> str:
    """Return the name of the entry of `folder` that is `student`'s: the inverse of `student_of`.

    When nothing there is theirs, it is the student's own name.
    """
    if _SHORTENED.search(student):
        names = (name for name in _listed(folder) if student_of(name) == student)
        return next(names, student)
    return _WRITTEN_OUT.sub(_character, student) if "\\x" in student else student


def _short(student: str) -> str:
    return os.fsencode(student)[:_KEPT].decode("utf-8", "ignore")


def _listed(folder: Path) -> list[str]:
    return os.listdir(folder) if folder.is_dir() else []


def _byte(found: re.Match[str]) -> str:
    return f"\\x{ord(found[0]) - 0xDC00:02x}"


def _character(found: re.Match[str]) -> str:
    return chr(0xDC00 + int(found[1], 16)) if found[1] else "\\"
