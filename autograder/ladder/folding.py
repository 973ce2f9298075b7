"""A statement over several lines, none longer than a width, that is still the same Python."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator

INDENT = " " * 4
OPENING, CLOSING = "([{", ")]}"


def folded(code: str, width: int) -> tuple[str, ...]:
    """Return a statement of one line over lines of at most `width` characters, if it can be.

    It is broken only inside brackets, where Python allows it; names without brackets get some. What
    cannot be broken stays longer, and what is no Python stays as it is.
    """
    if len(code) <= width:
        return (code,)
    text = code.lstrip()
    margin = code[: len(code) - len(text)]
    try:
        ways = [_lines(each, width - len(margin)) for each in _ways(text)]
    except (SyntaxError, tokenize.TokenError):
        return (code,)
    best = min(ways, key=lambda lines: max(width - len(margin), *map(len, lines)))
    return tuple(margin + line for line in best)


def _ways(code: str) -> tuple[str, ...]:
    """Return the statement as it is, or with brackets around what it returns or assigns to."""
    # The body of a compound statement is not there.
    match ast.parse(f"{code} pass" if code.endswith(":") else code).body:
        case [ast.Assign(targets=[ast.Tuple() as names], value=value)] if code[0] not in OPENING:
            return code, f"({code[: names.end_col_offset]}) = {code[value.col_offset :]}"
        case [ast.Return(value=ast.Tuple() as parts)] if code[parts.col_offset] not in OPENING:
            return (f"return ({code[parts.col_offset :]})",)
        case [ast.Assert(msg=ast.expr() as words)]:
            return (f"{code[: words.col_offset]}({code[words.col_offset :]})",)
    return (code,)


def _lines(code: str, width: int) -> tuple[str, ...]:
    """Break a statement where the fewest brackets are open, and there as late as it fits."""
    breaks = tuple(_breaks(code))
    lines: list[str] = []
    begin = 0
    while (room := width - len(INDENT) * bool(lines)) < len(code) - begin:
        later = [each for each in breaks if begin < each[1] < len(code)]
        fitting = [each for each in later if each[1] - begin <= room]
        if not later:
            break
        _, end = min(fitting, key=lambda each: (each[0], -each[1])) if fitting else later[0]
        lines.append(code[begin:end].strip())
        begin = end
    lines.append(code[begin:].strip())
    return (lines[0], *(INDENT + line for line in lines[1:]))


def _breaks(code: str) -> Iterator[tuple[int, int]]:
    """Give how many brackets are open behind each round one and each comma, and its place."""
    depth = 0
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type != tokenize.OP:
            continue
        depth += (token.string in OPENING) - (token.string in CLOSING)
        if depth and token.string in "(,":
            yield depth, token.end[1]
