"""Finds text in students' files that only instructors may read.

The secrets are all telling lines of the solution regions and the calls within them, the lines of
graders.py and misconceptions.py, and of the code that exercises share. A line in the open part of
solution.py is not a secret. Files are compared without white space, and notebooks and JSON by
the text in them, so a line is found even after it was wrapped differently.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.authoring.regions import BEGIN, END, Solution, read_solution
from autograder.authoring.stub import signature_texts
from autograder.errors import KitError
from autograder.values.exercise import (
    EXAMPLES,
    GRADERS,
    WALKTHROUGH,
    Exercise,
    at_its_origin,
    shared_code,
)

CODE_FILES = (GRADERS, "misconceptions.py", "variants.py", WALKTHROUGH)
# Shorter lines, and lines that compute nothing (`return values`), give nothing away.
SHORTEST_OF_A_REGION = 8
SHORTEST_OF_OTHER_CODE = 24
# A call or a subscript inside a line; formulas, such as `C // 4`, belong to the prose as well.
SHORTEST_FRAGMENT = 10
_FRAGMENTS = (ast.Call, ast.Subscript)
_COMPUTES = re.compile(r"[(\[@*/+\-%<>|&]|==|!=")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")


@dataclass(frozen=True)
class Secret:
    """A line that must not get out: its text without white space, and its place."""

    text: str
    place: str
    what: str


def secrets_of(exercise: Exercise) -> tuple[Secret, ...]:
    """Return every line of `exercise` (the instructor's copy) that students must not get."""
    solution = read_solution(exercise)
    public = _public_code(solution)
    found = [
        Secret(marker, str(solution.path), "a marker of a solution region")
        for marker in (_squeezed(BEGIN), _squeezed(END))
    ]
    for number, line in _region_lines(solution):
        if _telling(line, SHORTEST_OF_A_REGION):
            found.append(Secret(_squeezed(line), f"{solution.path}:{number}", "a solution"))
    for path in _other_code(exercise):
        for number, line in _code_lines(path.read_text(encoding="utf-8")):
            if _telling(line, SHORTEST_OF_OTHER_CODE):
                found.append(Secret(_squeezed(line), f"{path}:{number}", f"{path.name}"))
    # Last: what is found first is told, and a whole line says more than a part.
    for number, fragment in _fragments(solution):
        if _telling(fragment, SHORTEST_FRAGMENT):
            place = f"{solution.path}:{number}"
            found.append(Secret(_squeezed(fragment), place, "a solution (a part of it)"))
    return tuple(secret for secret in found if secret.text not in public)


def _other_code(exercise: Exercise) -> Iterator[Path]:
    """Give the instructors' other files of code: the exercise's own, and the shared ones."""
    yield from (path for name in CODE_FILES if (path := exercise.folder / name).is_file())
    yield from shared_code(exercise.folder)


def refuse_leaks(secrets: tuple[Secret, ...], files: Mapping[str, str | bytes]) -> None:
    """Raise `KitError` for the first secret found in `files` (by name), with the count."""
    found = [
        (secret, f"{name}:{line}")
        for name, content in files.items()
        for secret, line in _leaks(secrets, name, text_of(name, content))
    ]
    if found:
        secret, place = found[0]
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise KitError(
            f"a line of {secret.what} is in a file for students{more}",
            place=f"{place}, from {at_its_origin(secret.place)}",
            cure="remove it from the prose, docstring, hint or file that holds it, "
            "then run the command again",
        )


def text_of(name: str, content: str | bytes) -> str:
    """Return what a person can read in a file of this name."""
    if isinstance(content, str):
        return content
    if name.endswith(EXAMPLES):
        from autograder.judging.examples import words_in  # it brings NumPy

        return words_in(content)
    return content.decode("utf-8", errors="replace")


def _leaks(secrets: tuple[Secret, ...], name: str, text: str) -> list[tuple[Secret, int]]:
    raw = text.split("\n")
    lines = _lines_of(name, text) or raw
    squeezed = [_squeezed(line) for line in lines]
    whole = "".join(squeezed)
    found = []
    for secret in secrets:
        position = whole.find(secret.text)
        if position >= 0:
            number = _line_at(position, squeezed)
            found.append((secret, number + 1 if lines is raw else _raw_line(lines[number], raw)))
    return found


def _line_at(position: int, squeezed: list[str]) -> int:
    for number, text in enumerate(squeezed):
        if position < len(text):
            return number
        position -= len(text)
    raise AssertionError("the position lies in one of the lines")


def _lines_of(name: str, text: str) -> list[str]:
    """Return the lines of all texts in a notebook or JSON file; none for other files."""
    if not name.endswith((".ipynb", ".json", EXAMPLES)):
        return []
    try:
        texts = _texts(json.loads(text))
    except ValueError:  # broken JSON is searched as it is
        return []
    return [line for each in texts for line in each.split("\n")]


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for entry in value:
                yield from _texts(entry)
        case dict():
            for key, entry in value.items():
                yield key
                yield from _texts(entry)


def _raw_line(line: str, raw: list[str]) -> int:
    """Return the number of the raw line that has `line` in its JSON form, or 1."""
    written = (json.dumps(line, ensure_ascii=False)[1:-1], json.dumps(line)[1:-1])
    numbered = enumerate(raw, start=1)
    return next((n for n, text in numbered if any(each in text for each in written)), 1)


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _telling(line: str, shortest: int) -> bool:
    code = _squeezed(_QUOTED.sub("", line))
    return len(code) >= shortest and bool(_COMPUTES.search(code))


def _region_lines(solution: Solution) -> list[tuple[int, str]]:
    return [
        (number, _without_comment(solution.lines[number - 1]))
        for region in solution.regions
        for number in range(region.begin + 1, region.end)
    ]


def _fragments(solution: Solution) -> Iterator[tuple[int, str]]:
    """Give (number, text) of the calls and subscripts inside the regions."""
    text = "\n".join(solution.lines)
    inside = {n for region in solution.regions for n in range(region.begin + 1, region.end)}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, _FRAGMENTS) and node.lineno in inside:
            yield node.lineno, ast.get_source_segment(text, node) or ""


def _public_code(solution: Solution) -> str:
    """Return the code outside the regions, and the signatures as the checklist writes them."""
    secret = {n for region in solution.regions for n in range(region.begin, region.end + 1)}
    lines = _code_lines("\n".join(solution.lines))
    open_code = [line for number, line in lines if number not in secret]
    signatures = [text for name in solution.definitions for text in signature_texts(name, solution)]
    return _squeezed("\n".join([*open_code, *signatures]))


def _code_lines(text: str) -> list[tuple[int, str]]:
    """Return (number, line) for the code in Python `text`, without docstrings and comments."""
    prose = {
        number
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    return [
        (number, _without_comment(line))
        for number, line in enumerate(text.split("\n"), start=1)
        if number not in prose and not line.strip().startswith("#")
    ]


def _without_comment(line: str) -> str:
    """Return `line` without the comment at its end; a `#` inside quotes begins no comment."""
    bare = _QUOTED.sub(lambda quoted: "_" * len(quoted.group()), line)
    return line[: bare.index("#")] if "#" in bare else line
