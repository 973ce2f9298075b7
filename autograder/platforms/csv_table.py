"""A CSV file of somebody else, of which single cells are filled in and nothing else changes.

Encoding, byte order mark, delimiter, quotes and line ends stay as they are: every cell knows where
it stands in the text, and a new value takes the place of just that piece.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from pathlib import Path

from autograder.errors import KitError
from autograder.reports.grades_csv import cell
from autograder.values.files import read_small, write_whole
from autograder.values.sanitize import clean_line, listed

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

    def wrong(self, fact: str, cure: str, column: int | None = None) -> KitError:
        """Return the error about the table, or about a column of it."""
        heading = "" if column is None else f", column {clean_line(self.headings[column], 80)}"
        return KitError(fact, place=f"{self.path}{heading}", cure=cure)

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
    write_whole(path, content)


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


# The list of a class as CSV: which of a platform's names and numbers is which student's.
#
# Columns are found by their headings: those of nbgrader's own list (`id`, `first_name`, ...), of
# the gradebook that Canvas exports, of Moodle's grading worksheet, of the rosters of Gradescope
# and of GitHub Classroom, of Brightspace's class list, and of what `attn platform collect`
# writes. Where headings are in another language, what the columns hold says which have the names
# and the numbers.

# Who somebody is on a platform and in the course: by numbers and addresses, and by name.
#
# Two are the same when an identifier of one kind is equal, never when identifiers of two kinds
# happen to look alike: 4711 may be one student's number in Canvas and another's in the register.
# A name counts only where there is nothing better, and only when it is one person's.

# The kinds of identifiers. STUDENT is the id that the course uses.
STUDENT, CANVAS, MOODLE, SIS, LOGIN, EMAIL, GITHUB, BRIGHTSPACE = (
    *("student_id", "canvas_id", "moodle_participant", "sis_id", "login"),
    *("email", "github_username", "brightspace_id"),
)
KINDS = (STUDENT, CANVAS, MOODLE, SIS, LOGIN, EMAIL, GITHUB, BRIGHTSPACE)
_MOST_WORDS = 12


@dataclass(frozen=True)
class Identity:
    """A person as one list knows them: a name to show, and identifiers by kind."""

    name: str
    identifiers: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, **identifiers: str) -> Identity:
        """Return the person with one identifier of each kind that is named and not empty."""
        found = {kind: frozenset({plain(one)}) for kind, one in identifiers.items() if plain(one)}
        return cls(name, found)

    @classmethod
    def plain(cls, name: str) -> Identity:
        """Return somebody of whom only the name of a folder is known, which may be of any kind."""
        return cls.of(name, **dict.fromkeys((STUDENT, SIS, LOGIN, EMAIL, GITHUB), name))

    def shares_with(self, other: Identity) -> bool:
        """Whether an identifier of the same kind is the same."""
        return any(
            values & other.identifiers.get(kind, frozenset())
            for kind, values in self.identifiers.items()
        )

    def contradicts(self, other: Identity) -> bool:
        """Whether each has a number of its own on a platform: whatever the names, these are two.

        A number in Moodle is one for an assignment, so another says nothing.
        """
        both = ((self.identifiers.get(k), other.identifiers.get(k)) for k in (CANVAS, BRIGHTSPACE))
        return any(mine and theirs and not mine & theirs for mine, theirs in both)

    def one(self, kind: str) -> str:
        """Return the identifier of this kind; "" when there is none."""
        return min(self.identifiers.get(kind, frozenset()), default="")


def plain(identifier: str) -> str:
    """Return an identifier as it is compared: without white space around it, in small letters."""
    return unicodedata.normalize("NFC", identifier).strip().casefold()


@lru_cache(maxsize=10_000)
def spellings(name: str) -> frozenset[str]:
    """Return a name run together, beginning at each of its words: "janedoe" and "doejane"."""
    words = re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", name).casefold())[:_MOST_WORDS]
    turns = ("".join(words[at:] + words[:at]) for at in range(len(words)))
    return frozenset(turn for turn in turns if turn)


# What headings mean, in small letters and with spaces for "_" and "-".
_HEADINGS = {
    **dict.fromkeys(("student id", "id", "nbgrader id", "studentid"), STUDENT),
    **dict.fromkeys(("canvas id", "canvas user id"), CANVAS),
    **dict.fromkeys(("moodle participant", "identifier"), MOODLE),
    **dict.fromkeys(("brightspace id",), BRIGHTSPACE),
    **dict.fromkeys(
        (
            *("sis user id", "sis id", "sid", "id number", "idnumber", "student number"),
            *("orgdefinedid", "org defined id"),
        ),
        SIS,
    ),
    **dict.fromkeys(
        ("sis login id", "login", "login id", "lms user id", "username", "user"), LOGIN
    ),
    **dict.fromkeys(("email", "email address", "e mail", "mail"), EMAIL),
    **dict.fromkeys(("github username", "github", "github login"), GITHUB),
}
_NAMES = ("name", "full name", "student name")
_FIRST, _LAST = ("first name", "firstname"), ("last name", "lastname", "surname")
_NAME = re.compile(r"[^\W\d_][^\d_@/\\:;]{0,120}")  # letters, and what may stand between them
_NUMBER = re.compile(r"#?[A-Za-z]{0,3}\d{4,20}")
_MOST_NAME_COLUMNS = 6
_PARTICIPANT = re.compile(r"\D{0,60}?(\d{1,12})")
_PARTICIPANT_WORD = re.compile(r"(\D{3,60}?)\s?\d{1,12}")
# Where the list has no ids of its own, the students' ids are what it has first of these.
_IDS = (STUDENT, LOGIN, SIS, EMAIL, GITHUB, CANVAS)


@dataclass(frozen=True)
class Listed:
    """One student of the list: the id in the course, and who that is.

    `names` are others that this may be, run together, where no heading says which column has them.
    """

    student: str
    identity: Identity
    names: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Resolved:
    """Who somebody is: the id in the course, or "" and the reason why that is not known."""

    student: str
    reason: str = ""


@dataclass(frozen=True)
class ClassList:
    """The students of a class; `ids` says in words which column their ids come from.

    `headings` are those of the list.
    """

    students: tuple[Listed, ...]
    ids: str = ""
    headings: tuple[str, ...] = ()

    def find(self, person: Identity, *, by_name: bool = True) -> Resolved:
        """Return which student `person` is, by identifiers or else by the whole name."""
        found = {each.student for each in self.students if each.identity.shares_with(person)}
        if len(found) > 1:
            return Resolved("", f"several students could be meant: {listed(sorted(found))}")
        if not found and by_name:
            found = self._named(person)
            if len(found) > 1:
                return Resolved("", f"several students have this name: {listed(sorted(found))}")
        return Resolved(found.pop()) if found else Resolved("", "not in the list of the class")

    def _named(self, person: Identity) -> set[str]:
        wanted = spellings(person.name)
        others = (each for each in self.students if not each.identity.contradicts(person))
        every = ((each.student, spellings(each.identity.name) | each.names) for each in others)
        return {student for student, known in every if wanted & known}


def identities(
    table: CsvTable, *, worksheet: bool = False, kinds: Mapping[int, str] | None = None
) -> tuple[Identity, ...]:
    """Return who each row of a table is about, in order; the row of headings is left out.

    `worksheet` says that it is Moodle's, whose headings may be in any language. `kinds` says which
    columns hold identifiers, if it is not for the headings to say.
    """
    kinds = column_kinds(table) if kinds is None else {**kinds}
    participants = _participants(table) if worksheet else None
    if participants is not None:
        kinds[participants] = MOODLE
    names = _name_columns(table)
    found = []
    for row in table.rows[1:]:
        values: dict[str, frozenset[str]] = {}
        for number, kind in kinds.items():
            value = plain(table.value(row, number)).removeprefix("#")  # as Brightspace writes them
            if kind == MOODLE and (match := _PARTICIPANT.fullmatch(value)):
                value = match[1]
            if value:
                values[kind] = values.get(kind, frozenset()) | {value}
        name = " ".join(filter(None, (table.value(row, number) for number in names)))
        found.append(Identity(clean_line(name, 200), values))
    return tuple(found)


def column_kinds(table: CsvTable) -> dict[int, str]:
    """Return which columns hold identifiers, and of which kind."""
    headings = [_heading(each) for each in table.headings]
    kinds = {at: _HEADINGS[each] for at, each in enumerate(headings) if each in _HEADINGS}
    canvas = "section" in headings or "sis login id" in headings
    for number, kind in kinds.items():
        if kind == STUDENT and headings[number] == "id" and canvas:
            kinds[number] = CANVAS
        if headings[number] == "identifier" and GITHUB in kinds.values():
            kinds[number] = STUDENT  # GitHub Classroom calls the course's own id so
    if "student" in headings and _name_columns(table) != [headings.index("student")]:
        kinds[headings.index("student")] = STUDENT
    for number in range(len(headings)):
        if number not in kinds and EMAIL not in kinds.values():
            values = [value for value in table.column(number) if value]
            if values and all(re.fullmatch(r"[^@\s]+@[^@\s]+", value) for value in values):
                kinds[number] = EMAIL  # headings may be in any language
    return kinds


def _participants(table: CsvTable) -> int | None:
    """Return the column of Moodle's numbers, "Participant 12", in whatever language it is."""
    for number in range(len(table.headings)):
        found = [_PARTICIPANT_WORD.fullmatch(value) for value in table.column(number)]
        words = {match[1] if match else "" for match in found}
        if len(words) == 1 and "" not in words:
            return number
    return None


def read_class_list(path: Path, id_column: str | None = None) -> ClassList:
    """Read the list of a class; `id_column` is the heading of the ids that the course uses.

    Raise `KitError` when no column holds ids, or one id belongs to two.
    """
    table = read_table(path)
    kinds = _kinds_of_list(table)
    column = _named_column(table, id_column) if id_column else _id_column(table, kinds)
    names = _possible_names(table, kinds)
    merged: dict[str, Listed] = {}
    for row, identity in zip(table.rows[1:], identities(table, kinds=kinds)):
        student = table.value(row, column).removeprefix("#")
        if student:
            known = {**identity.identifiers}
            known[STUDENT] = known.get(STUDENT, frozenset()) | {plain(student)}
            whole = Listed(student, Identity(identity.name, known), names(row))
            before = merged.get(student)
            if before and _are_two(before.identity, identity):
                both = listed((before.identity.name, identity.name))
                raise table.wrong(
                    f"the id {clean_line(student, 60)} belongs to two: {both}",
                    "correct the list, or name the column of the ids with --id-column",
                    column,
                )
            merged[student] = _merged(before, whole) if before else whole
    return ClassList(tuple(merged.values()), table.headings[column], table.headings)


def _kinds_of_list(table: CsvTable) -> dict[int, str]:
    """Return which columns hold identifiers; a number of each student's own is the register's."""
    kinds = column_kinds(table)
    if SIS in kinds.values() or STUDENT in kinds.values():
        return kinds
    for number in range(len(table.headings)):
        values = [value for value in table.column(number) if value]
        own = len(set(values)) == len(values) == len(table.rows) - 1
        if number not in kinds and values and own and all(map(_NUMBER.fullmatch, values)):
            return {**kinds, number: SIS}
    return kinds


def _possible_names(
    table: CsvTable, kinds: Mapping[int, str]
) -> Callable[[TableRow], frozenset[str]]:
    """Return what gives the names that a row may hold, where no heading says which it is.

    In German, the heading "Name" may stand over the family name alone.
    """
    named = [" ".join(table.value(row, at) for at in _name_columns(table)) for row in table.rows]
    if sum(len(name.split()) > 1 for name in named[1:]) * 2 > len(named) - 1:
        return lambda row: frozenset()
    columns = [
        number
        for number in range(len(table.headings))
        if number not in kinds and _holds_names([each for each in table.column(number) if each])
    ][:_MOST_NAME_COLUMNS]
    pairs = [*((at,) for at in columns), *combinations(columns, 2)]

    def names(row: TableRow) -> frozenset[str]:
        values = [" ".join(table.value(row, number) for number in pair) for pair in pairs]
        whole = [spellings(value) for value in values if len(value.split()) > 1]
        return frozenset().union(*whole)

    return names


def _holds_names(values: Sequence[str]) -> bool:
    """Whether a column may hold names: words without digits."""
    return bool(values) and all(map(_NAME.fullmatch, values))


def list_of(students: Iterable[str]) -> ClassList:
    """Return a list that knows only ids, of which each may be of any kind but a Moodle number."""
    kinds = [kind for kind in KINDS if kind != MOODLE]
    return ClassList(
        tuple(Listed(each, Identity.of("", **dict.fromkeys(kinds, each))) for each in students)
    )


def _are_two(one: Identity, other: Identity) -> bool:
    """Whether two rows with one id are about two people: other names, and nothing in common."""
    if one.contradicts(other):
        return True
    others = Identity(other.name, {k: v for k, v in other.identifiers.items() if k != STUDENT})
    mine, theirs = spellings(one.name), spellings(other.name)
    return bool(mine and theirs and not mine & theirs and not one.shares_with(others))


def _merged(one: Listed, other: Listed) -> Listed:
    """Return a student who stands in the list twice, for example in two sections."""
    mine, theirs = one.identity.identifiers, other.identity.identifiers
    empty: frozenset[str] = frozenset()
    values = {k: mine.get(k, empty) | theirs.get(k, empty) for k in {*mine, *theirs}}
    identity = Identity(one.identity.name or other.identity.name, values)
    return Listed(one.student, identity, one.names | other.names)


def _heading(text: str) -> str:
    return " ".join(re.split(r"[\s_-]+", text.casefold())).strip()


def _name_columns(table: CsvTable) -> list[int]:
    headings = [_heading(each) for each in table.headings]
    whole = [at for at, each in enumerate(headings) if each in _NAMES]
    first = [at for at, each in enumerate(headings) if each in _FIRST]
    last = [at for at, each in enumerate(headings) if each in _LAST]
    found = whole[:1] or [*first[:1], *last[:1]]
    return found or [at for at, each in enumerate(headings) if each == "student"][:1]


def _named_column(table: CsvTable, name: str) -> int:
    if name in table.headings:
        return table.headings.index(name)
    cure = f"use one of: {listed(table.headings, 20)}"
    raise table.wrong(f"the list has no column {clean_line(name, 80)!r}", cure)


def _id_column(table: CsvTable, kinds: Mapping[int, str]) -> int:
    for wanted in _IDS:
        for number, kind in sorted(kinds.items()):
            if kind == wanted and any(table.column(number)):
                return number
    if len(table.rows) == 1:
        cure = "export it again, or write a line for each student"
        raise table.wrong("the list has no students, only headings", cure)
    cure = "give the column the heading student_id, or name it with --id-column"
    raise table.wrong("no column of the list holds the students' ids", cure)
