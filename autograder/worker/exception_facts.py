"""An exception of the student's code, as facts that are safe to read.

The student's classes may lie or raise in `__str__`, `__class__` or `__name__`,
so only the built-in types are asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import FrameType, TracebackType
from typing import Any

from autograder.protocol import arrays, wire
from autograder.protocol.raise_statement import is_raise
from autograder.protocol.wire import CODE, MESSAGE, NAME, SHAPES

_traceback_of = BaseException.__dict__["__traceback__"].__get__

Lines = Mapping[str, list[str]]  # from the file name of each cell to its lines


def describe(error: BaseException, lines: Lines) -> dict[str, Any]:
    """Return type, message, and place of `error` in the cells of `lines`, as JSON facts.

    `stub` names the function of the submission that raised NotImplementedError
    itself; it is missing for every other exception.
    """
    kind = type(error)
    facts: dict[str, Any] = {
        "type": wire.name_of(kind),
        "message": _message(error),
        "line": 0,
        "code": "",
        "shapes": {},
    }
    frame, number, own = _innermost(_traceback_of(error), lines)
    if frame is not None:
        source = lines[frame.f_code.co_filename]
        facts["line"], facts["code"] = number, _line(source, number)
        facts["shapes"] = _shapes(frame)
        if own and issubclass(kind, NotImplementedError):
            facts["stub"] = frame.f_code.co_qualname.split(".<locals>")[0][:NAME]
    elif issubclass(kind, SyntaxError):
        _add_place(error, facts, lines)
    return facts


def brief(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same facts without what makes them long."""
    return {"type": facts["type"], "message": "", "line": facts["line"], "code": "", "shapes": {}}


def _message(error: BaseException) -> str:
    try:
        return str.__getitem__(str(error), slice(MESSAGE))
    except BaseException:  # the student's own __str__ may raise anything at all
        return "(the exception has no message that can be shown)"


def _innermost(trace: TracebackType | None, lines: Lines) -> tuple[FrameType | None, int, bool]:
    """Return the last frame in the submission, its line, and whether a `raise` there raised it."""
    found: TracebackType | None = None
    last = trace
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in lines:
            found = trace
        last, trace = trace, trace.tb_next
    if found is None:
        return None, 0, False
    return found.tb_frame, found.tb_lineno or 0, found is last and is_raise(found)


def _line(source: list[str], number: int) -> str:
    return source[number - 1].strip()[:CODE] if 0 < number <= len(source) else ""


def _shapes(frame: FrameType) -> dict[str, list[int]]:
    """Return the shapes of the frame's arrays, the first twelve, by name."""
    shapes: dict[str, list[int]] = {}
    try:
        for name, value in frame.f_locals.items():
            shape = arrays.shape(value)
            if type(name) is str and shape is not None and _allowed(shape) and len(shapes) < SHAPES:
                shapes[name[:NAME]] = list(shape)
    except BaseException:  # a class body's namespace may be the student's own mapping
        return {}
    return shapes


def _allowed(shape: tuple[int, ...]) -> bool:
    """Whether the host accepts a shape: it must be one of an array that can be sent."""
    return len(shape) <= wire.MAX_AXES and all(size <= wire.MAX_AXIS for size in shape)


def _add_place(error: BaseException, facts: dict[str, Any], lines: Lines) -> None:
    """A syntax error has no frame; its attributes say where, if they are the compiler's."""
    name, number = getattr(error, "filename", None), getattr(error, "lineno", None)
    if type(name) is str and name in lines and type(number) is int:
        facts["line"], facts["code"] = max(0, number), _line(lines[name], number)
