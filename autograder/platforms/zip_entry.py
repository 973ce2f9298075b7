"""One entry of a zip as the zip tells of it: its path, and why it may not be taken."""

from __future__ import annotations

import stat
import zipfile

Parts = tuple[str, ...]  # a path inside a download: names, from the outermost zip on

_UTF8, _ENCRYPTED = 0x800, 0x1
_MOST_FOLDERS, _LONGEST = 30, 2_000


def parts_of(info: zipfile.ZipInfo) -> Parts:
    """Return the path of a member; the names of zips made on Windows and macOS are understood.

    A zip says that a name is UTF-8 or else it is in the character set of MS-DOS. macOS writes
    UTF-8 and does not say so, so a name that reads as UTF-8 is taken as that.
    """
    name = info.filename
    if not info.flag_bits & _UTF8:
        try:
            name = name.encode("cp437").decode("utf-8")
        except UnicodeError:
            name = info.filename
    path = name.replace("\\", "/")
    absolute = ("/",) if path.startswith("/") else ()
    return (*absolute, *(part for part in path.split("/") if part not in ("", ".")))


def problem_of_path(parts: Parts) -> str:
    """Return why a path is not taken, "" when it may be."""
    if not parts:
        return "it has no name"
    if parts[0] == "/" or ".." in parts or ":" in parts[0][1:2]:
        return "its path leads out of the folder that it would lie in"
    if "__MACOSX" in parts or any(part.startswith("._") for part in parts):
        return "macOS wrote it beside the files"
    if any(part.startswith(".") for part in parts):
        return "it is hidden"
    if "__pycache__" in parts:
        return "Python wrote it"
    return problem_of_length(parts)


def problem_of_length(parts: Parts) -> str:
    """Return that a path is too long, "" where it can be that of a file on any disk."""
    bytes_in_all = sum(len(part.encode("utf-8", "surrogatepass")) for part in parts)
    too_long = len(parts) > _MOST_FOLDERS or bytes_in_all > _LONGEST
    return "its path is too long" if too_long else ""


def problem_of_entry(info: zipfile.ZipInfo) -> str:
    """Return why an entry is not taken, by what the zip says of it; "" when it may be."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "it is a link: the file itself has to be handed in"
    if kind not in (0, stat.S_IFREG):
        return "it is not a plain file"
    if info.flag_bits & _ENCRYPTED:
        return "it is encrypted"
    if info.header_offset < 0:
        return "it is damaged in the zip"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "it is compressed in a way that is not read here: use a plain zip"
    return ""
