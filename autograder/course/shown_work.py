"""What a cell shows besides its text, for those who grade it by hand: outputs and pictures.

Students made them, and the browser of whoever grades shows them. So only text and two kinds of
pictures are kept, which run nothing and load nothing, and only so much of them.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any

from nbformat import NotebookNode

from autograder.values.sanitize import clean, clean_line

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
