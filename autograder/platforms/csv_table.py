"""A CSV file of somebody else, of which single cells are filled in and nothing else changes.

Encoding, byte order mark, delimiter, quotes and line ends stay as they are: every cell knows where
it stands in the text, and a new value takes the place of just that piece.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from autograder.errors import KitError
from autograder.model.files import read_small, replace_file
from autograder.reports.grades_csv import cell

LARGEST = 64 * 1024 * 1024
MOST_CELLS = 5_000_000
DELIMITERS = (",", ";", "\t")
_NAMED = re.compile(r"\ufeff?sep=(.)\r?\n", re.IGNORECASE)  # a first line that Excel understands
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_BLANKS = re.compile(r" *(?=\")")  # some write a blank after the comma, before the quote
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class TableCell:
    """One cell: its value, and from where to where its text goes, quotes included."""

    value: str
    start: int
    end: int


TableRow = tuple[TableCell, ...]


@dataclass(frozen=True)
class CsvTable:
    """A CSV file: its text, its rows (the headings first), and how it is written."""

    path: Path
    text: str
    rows: tuple[TableRow, ...]
    delimiter: str
    encoding: str

    @property
    def headings(self) -> tuple[str, ...]:
        """The values of the first row, without white space around them."""
        return tuple(each.value.strip() for each in self.rows[0])

    def column(self, number: int) -> tuple[str, ...]:
        """Return the values of a column, without its heading; "" where a row is too short."""
        return tuple(self.value(row, number) for row in self.rows[1:])

    def value(self, row: TableRow, column: int) -> str:
        """Return a value without white space around it; "" where the row is too short."""
        return row[column].value.strip() if column < len(row) else ""

    @property
    def decimal_comma(self) -> bool:
        """Whether numbers in the file are written as 2,5: some are, and none as 2.5."""
        values = [each.value.strip() for row in self.rows[1:] for each in row]
        comma = any(re.fullmatch(r"\d+,\d+", value) for value in values)
        return comma and not any(re.fullmatch(r"\d+\.\d+", value) for value in values)

    def filled(self, values: Mapping[tuple[int, int], str]) -> bytes:
        """Return the file with other values, by row and column; such a cell has to exist.

        Each value is safe in a spreadsheet.
        """
        pieces, at = [], 0
        for row, column in sorted(values):
            old = self.rows[row][column]
            pieces += [self.text[at : old.start], self._written(values[row, column], old)]
            at = old.end
        return "".join((*pieces, self.text[at:])).encode(self.encoding)

    def _written(self, value: str, old: TableCell) -> str:
        safe = cell(value)
        quoted = self.text[old.start : old.start + 1] == '"'
        if quoted or self.delimiter in safe or '"' in safe:
            return '"' + safe.replace('"', '""') + '"'
        return safe


def read_table(path: Path) -> CsvTable:
    """Read a CSV file; raise `KitError` when there is none, or nothing that is a table."""
    try:
        content = read_small(path, LARGEST)
    except OSError as error:
        raise KitError(
            f"{path.name} cannot be read: {error.strerror}",
            place=str(path),
            cure="name a CSV file that is there",
        ) from None
    encoding = _encoding(content)
    text = content.decode(encoding)
    delimiter = _delimiter(text)
    rows = _rows(text, delimiter)
    if rows is None or not rows or len(rows[0]) < 2:
        raise KitError(
            f"{path.name} is not a CSV file with headings in its first line",
            place=str(path),
            cure="save it as CSV, not as a spreadsheet, with the headings in the first line",
        )
    return CsvTable(path, text, rows, delimiter, encoding)


def write_beside(path: Path, content: bytes, source: Path) -> None:
    """Write a filled copy; raise `KitError` when it would take the place of its source."""
    if path.exists() and path.samefile(source):
        raise KitError(
            "the filled copy would take the place of the file that it is made from",
            place=str(path),
            cure="name another file with --to",
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, content)
    except OSError as error:
        raise KitError(
            f"{path.name} cannot be written: {error.strerror}",
            place=str(path.parent),
            cure="name a file in a folder that you may write to, on a disk with free space",
        ) from error


def _encoding(content: bytes) -> str:
    """Return the encoding; Latin-1 takes any bytes and gives them back."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        little = content.startswith(codecs.BOM_UTF16_LE)
        return "utf-16-le" if little else "utf-16-be"  # they keep the mark, as "utf-8" does
    for encoding in ("utf-8", "cp1252"):
        try:
            content.decode(encoding)
            return encoding
        except UnicodeDecodeError:
            continue
    return "latin-1"


def _delimiter(text: str) -> str:
    """Return what parts the headings: the sign that is there most often, outside of quotes."""
    if named := _NAMED.match(text):
        return named[1]
    line = _QUOTED.sub("", text.lstrip("\ufeff")[:100_000]).split("\n", 1)[0]
    return max(DELIMITERS, key=line.count)


def _rows(text: str, delimiter: str) -> tuple[TableRow, ...] | None:
    """Cut a text into rows of cells; None when a quote is open or there are too many cells."""
    rows: list[TableRow] = []
    row: list[TableCell] = []
    named = _NAMED.match(text)
    at = named.end() if named else int(text.startswith("\ufeff"))
    plain = re.compile(rf"[^{re.escape(delimiter)}\r\n]*")
    total = 0
    while at < len(text) or row:
        blanks = _BLANKS.match(text, at)
        start = at = blanks.end() if blanks else at
        quoted = _QUOTED.match(text, at)
        if text.startswith('"', at) and quoted is None:
            return None
        at = quoted.end() if quoted else at
        rest = plain.match(text, at)
        at = rest.end() if rest else at
        inner = quoted[0][1:-1].replace('""', '"') + text[quoted.end() : at] if quoted else ""
        row.append(TableCell(inner if quoted else text[start:at], start, at))
        total += 1
        if total > MOST_CELLS:
            return None
        if text.startswith(delimiter, at):
            at += 1
            continue
        if len(row) > 1 or row[0].value:
            rows.append(tuple(row))
        row = []
        end = _LINE_END.match(text, at)
        at = end.end() if end else at
    return tuple(rows)
