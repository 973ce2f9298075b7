"""What is kept of a course: next term's copy, an archive; and what of it every user may read."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import shutil
import stat
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import tomli_w
from markupsafe import Markup, escape

from autograder import __version__
from autograder.course.adjusted_exercise import ADJUSTED
from autograder.course.adjustment import MADE, OWN, STATE, read_own_configuration
from autograder.course.creation import GRADEBOOK, LARGEST_FACTS, NOT_COPIED, Course
from autograder.course.gradebook_entries import not_marks
from autograder.course.intake import SECRET as NBGRADER_SECRET
from autograder.course.settings import gradebook_address, read_settings, whole_gradebook, within
from autograder.errors import KitError
from autograder.grading.class_task import CONFIG, FACTS, SECRET
from autograder.reports.course_page import COURSE_PAGE
from autograder.reports.feedback import environment, page_name
from autograder.reports.grades_csv import LONGEST_REASON, cell, csv_text
from autograder.reports.roll import HELD, StudentRecord, called, shown_names
from autograder.submission.cells import notebook_cells, source
from autograder.submission.file_text import Unreadable
from autograder.values.exercise import EARLIER_EXAMPLES, EXAMPLES
from autograder.values.files import (
    file_stem,
    following,
    found_in,
    opened,
    read_small,
    unwritable,
    write_whole,
)
from autograder.values.sanitize import clean, clean_line, terminal_line
from autograder.values.symbols import number

# Only what is listed goes along: whatever else lies in a course may be about its students.
_FOLDERS = ("source", OWN, str(MADE))
_UNFINISHED = ".part"
# What nbgrader and the kit make of hand-ins, and anew.
_OF_THIS_TERM = (
    *("release", "submitted", "autograded", "feedback", "graded", "downloaded", "gradebook.db"),
    STATE,
)
_FOR_ONE_TERM = ("course_id", "db_url", "CourseDirectory.root")


@dataclass(frozen=True)
class CourseCopy:
    """The course that was made, which of its settings are others, and what stayed behind."""

    directory: Path
    changed: tuple[str, ...]
    left: tuple[str, ...]


def copy_course(course: Course, target: Path) -> CourseCopy:
    """Make `target` the course of another term, without people, marks and hand-ins.

    Raise `KitError`, before anything is written, when there is something at `target`, or a setting
    would lead back to this term.
    """
    if target.exists():
        raise KitError(
            "there is something already", place=str(target), cure="name a folder that is not there"
        )
    gradebook_address(course, "")  # one that is computed could be that of this term
    part = target.with_name(f"{target.name}{_UNFINISHED}")
    shutil.rmtree(part, ignore_errors=True)
    part.parent.mkdir(parents=True, exist_ok=True)
    try:
        part.mkdir()
        with following(part):
            changed = tuple(_fill(course, part, target))
        os.rename(part, target)
    except OSError as error:
        raise unwritable("the copy", target, error) from error
    taken = {Path(name).parts[0] for name in (*_FOLDERS, CONFIG, FACTS)}
    left = sorted(
        path.name
        for path in course.directory.iterdir()
        if path.name not in taken and path.name not in _OF_THIS_TERM and path.name[0] != "."
    )
    return CourseCopy(target, changed, tuple(left))


def _fill(course: Course, part: Path, target: Path) -> Iterator[str]:
    for name in _FOLDERS:
        if (course.directory / name).is_dir():
            shutil.copytree(course.directory / name, part / name, ignore=NOT_COPIED, symlinks=True)
    text = read_own_configuration(course.directory)
    if text is not None:
        text, changed = _for_another_term(text, course, target)
        write_whole(part / CONFIG, text)
        yield from changed
    write_whole(part / FACTS, _facts(course, target))


def _for_another_term(text: str, course: Course, target: Path) -> tuple[str, list[str]]:
    """Return the configuration with another name for the course, and without this gradebook."""
    lines, said = text.split("\n"), []
    for node in reversed(ast.parse(text).body):
        if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute)):
            continue
        name, value = node.targets[0].attr, ast.unparse(node.value)
        named = ast.unparse(node.targets[0]).endswith(tuple(f".{each}" for each in _FOR_ONE_TERM))
        if not named or (name == "db_url" and _inside(course, node.value)):
            continue
        where = slice(node.lineno - 1, node.end_lineno)
        if name == "course_id":
            new = json.dumps(re.sub(r"[^\w-]+", "-", target.name).strip("-") or "next-term")
            lines[where] = [f"{ast.unparse(node.targets[0])} = {new}"]
            said.append(f"{CONFIG}: the course is called {new} in the exchange, before {value}")
        else:
            lines[where] = [f"# of the term before: {line}" for line in lines[where]]
            said.append(f"{CONFIG}: {name} is of the term before, and taken out")
    return "\n".join(lines), said[::-1]


def _inside(course: Course, value: ast.expr) -> bool:
    """Whether a gradebook is a file in the course: the copy then makes one of its own."""
    address = str(ast.literal_eval(value))
    file = within(course, address).removeprefix("sqlite:///")
    return not Path(address.removeprefix("sqlite:///")).is_absolute() and Path(
        os.path.normpath(file)
    ).is_relative_to(course.directory)


def _facts(course: Course, target: Path) -> str:
    """Return `attn.toml` with the way from the copy to the solutions."""
    text = read_small(course.directory / FACTS, LARGEST_FACTS).decode("utf-8")
    named = Path(str(tomllib.loads(text)["solutions"]))
    if named.is_absolute():
        return text
    way = Path(os.path.relpath(course.solutions, target.resolve())).as_posix()
    line = tomli_w.dumps({"solutions": way}).strip()
    return re.sub(r"(?m)^solutions[ \t]*=.*$", lambda _: line, text, count=1)


# A term to be kept: marks, pages and hand-ins as files that any browser opens.
#
# Names and contents are the students'. So a name becomes a plain file name, text is escaped, what
# a browser might run gets an ending that it only shows, and pages of nbgrader's may run no
# script.

_MOST_FILES, _LARGEST, _LONGEST_TEXT = 1_000, 1 << 26, 1 << 20  # of a hand-in; bytes; characters
_LONGEST_NAME = 200
_GIVEN = (EXAMPLES, EARLIER_EXAMPLES)  # what the kit gave is nobody's work
_TO_HAND_IN = re.compile(r' ?<a class="file" href="[^"]*">.*?</a>', re.DOTALL)
_LARGEST_PARSED, _MOST_LEFT = 1 << 23, 200  # bytes; lines about what is not in the archive
# Shown or downloaded by a browser, and never run; anything else is kept as NAME.txt.
_SHOWN = (".ipynb", ".py", ".txt", ".csv", ".json", ".md", ".png", ".jpg", ".jpeg", ".pdf")
_TEXTS = (".ipynb", ".py", ".txt", ".csv", ".json", ".md")
_POLICY = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src '
    "'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; form-action 'none'\">"
)


@dataclass(frozen=True)
class KeptTerm:
    """What was kept: how much, what is not in it, and the file to open."""

    students: int
    assignments: int
    left: tuple[str, ...]
    opened: str


@dataclass(frozen=True)
class _Mark:
    """What the gradebook has about a student's work; `points` is None where nobody has graded.

    Where that is no mark, there are no points, and `why` says why not.
    """

    points: float | None
    most: float
    penalty: float | None
    waiting: bool
    handed_in: str
    cells: tuple[tuple[str, float | None, float | None, float | None, float, str], ...]
    why: str = ""

    @property
    def held(self) -> bool:
        """Whether it is held back: then nothing of it goes into an archive."""
        return self.why.startswith(HELD)


def archive_course(course: Course, target: Path) -> KeptTerm:
    """Keep the course in the new folder, or the new .zip, `target`.

    Raise `KitError` when there is something at `target`, it lies in the course, or it cannot be
    written.
    """
    if target.exists() or target.resolve().is_relative_to(course.directory):
        raise KitError(
            "an archive needs a new place outside the course",
            place=str(target),
            cure="name a folder or a .zip that is not there yet",
        )
    try:
        target.absolute().parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".part-", dir=target.absolute().parent) as name:
            folder = Path(name) / target.stem
            folder.mkdir()
            term = _Term(course, folder)
            term.write()
            if target.suffix == ".zip":
                made = shutil.make_archive(f"{name}/made", "zip", name, target.stem)
                os.replace(made, target)
            else:
                os.replace(folder, target)
    except OSError as error:
        raise unwritable("the archive", error.filename or target, error) from error
    inside = f"{target.stem}/" if target.suffix == ".zip" else ""
    return KeptTerm(
        len(term.names), len(term.assignments), tuple(term.left), f"{target}: {inside}index.html"
    )


class _Term:
    """A course on its way into the folder of an archive."""

    def __init__(self, course: Course, folder: Path) -> None:
        self.course, self.folder, self.left = course, folder, list[str]()
        settings = read_settings(course)
        with whole_gradebook(course, settings, course.exercises[0]) as gradebook:
            none = not_marks(course, gradebook)
            self.marks = {
                each.name: {
                    row.student_id: _mark(row, none.get((each.name, row.student_id), ""))
                    for row in each.submissions
                }
                for each in gradebook.assignments
            }
            self.people = {each.id: _full_name(each) for each in gradebook.students}
        self.handed_in = self._handed_in()
        self.assignments = sorted({*self.marks, *self.handed_in})
        students = {student for found in self.handed_in.values() for student in found} | {
            *self.people
        }
        shown = shown_names(students)
        self.names = {
            student: called(shown[student], StudentRecord(self.people.get(student, "")))
            for student in sorted(students)
        }

    def write(self) -> None:
        """Write everything."""
        pages = {name: self._assignment(name) for name in self.assignments}
        self._text("marks.csv", csv_text(self._mark_rows()))
        self._text("cells.csv", csv_text(self._cell_rows()))
        self._text("index.html", self._index(pages))

    def _handed_in(self) -> dict[str, tuple[str, ...]]:
        """Return who handed in what, by assignment; links are not followed."""
        folders = self.course.hand_ins
        names = {
            inner.name
            for student in (os.scandir(folders) if folders.is_dir() else ())
            if student.is_dir(follow_symlinks=False)
            for inner in os.scandir(student.path)
            if inner.is_dir(follow_symlinks=False) and not inner.name.startswith(".")
        }
        return {name: self.course.students(name) for name in sorted(names)}

    def _assignment(self, name: str) -> dict[str, tuple[str, str]]:
        """Write the pages and hand-ins of an assignment; return the links by student."""
        place = self.folder / file_stem(name)
        results = self.course.graded(name) / "feedback"
        ours = name in self.course.exercises and results.is_dir()
        if ours:
            shutil.copytree(results, place / "pages", symlinks=True, ignore=self._held_pages(name))
            for page in (place / "pages").glob("index*.html"):
                # They lead to the course; the index of the archive leads to what it has of it.
                write_whole(page, _TO_HAND_IN.sub("", page.read_text(encoding="utf-8")))
        links = {}
        for student in {*self.handed_in.get(name, ()), *self.marks.get(name, ())}:
            page = place / "pages" / f"{file_stem(student)}.html"
            if ours:
                page = found_in(place / "pages", page_name(student))
            else:
                self._page_of_nbgrader(name, student, page)
            work = self._hand_in(name, student, place / "hand-ins" / file_stem(student))
            links[student] = (self._link(page) if page.is_file() else "", work)
        return links

    def _held_pages(self, name: str) -> Callable[[str, list[str]], set[str]]:
        """Return which files among the pages of an exercise show a mark that is held back."""
        held = [student for student, mark in self.marks.get(name, {}).items() if mark.held]
        if not held:
            return lambda folder, files: set()
        again = "give out what is held back, and archive again"
        self.left.append(f"{name}: the page of the class, since a mark is held back: {again}")
        for student in held:
            cure = f"`attn course hold {shlex.quote(_line(student))} {name} --release`"
            self.left.append(f"{name}: the page of {student}, whose mark it is: {cure}")
        theirs = {Path(page_name(student)).stem for student in held}

        def shown(folder: str, files: list[str]) -> set[str]:
            stems = {file: file.partition(".")[0].partition("~")[0] for file in files}
            return {file for file in files if Path(file).stem in theirs or stems[file] == "index"}

        return shown

    def _page_of_nbgrader(self, name: str, student: str, page: Path) -> None:
        """Keep the pages of other assignments, in which students' HTML stands as they wrote it."""
        folder = self.course.feedback(name, student)
        for count, file in enumerate(sorted(folder.glob("*.html")) if folder.is_dir() else ()):
            content = self._content(file, self.course.directory)
            if content is not None:
                target = page.with_name(f"{page.stem}~{count}.html") if count else page
                target.parent.mkdir(parents=True, exist_ok=True)
                # A policy that comes first holds for all that follows.
                target.write_bytes(f"<!DOCTYPE html>{_POLICY}".encode() + content)

    def _hand_in(self, name: str, student: str, target: Path) -> str:
        """Keep what was handed in, and one page that shows its text; return the link to it."""
        folder = self.course.submitted(name, student)
        given = _GIVEN if name in self.course.exercises else ()
        files = [file for file in _files(folder) if file.name not in (NBGRADER_SECRET, *given)]
        if not files:
            return ""
        target.mkdir(parents=True)
        shown: list[tuple[str, str, str]] = []
        for count, file in enumerate(files[:_MOST_FILES], start=1):
            inside = _line(file.relative_to(folder).as_posix())
            content = self._content(file, self.course.hand_ins)
            if content is None:
                shown.append((inside, "", ""))
                continue
            ending = file.suffix.lower() if file.suffix.lower() in _SHOWN else ".txt"
            kept = f"{count:03}-{file_stem(file.stem)}{ending}"
            (target / kept).write_bytes(content)
            text = "".join(_shown_text(content, ending)) if ending in _TEXTS else ""
            shown.append((inside, quote(kept), Markup(text)))
        if len(files) > _MOST_FILES:
            self.left.append(f"{name}, {student}: files after the first {_MOST_FILES}")
        title, path = _line(f"{name}: {self.names[student]}"), target / "index.html"
        page = environment().get_template("archived_work.html.j2").render(title=title, files=shown)
        self._text(str(path.relative_to(self.folder)), page)
        return self._link(path)

    def _content(self, file: Path, root: Path) -> bytes | None:
        with suppress(OSError), opened(file, root) as found:
            content = found.content(_LARGEST + 1)
            if len(content) <= _LARGEST:
                return content
        self.left.append(f"{file.relative_to(root)}: it is too large, a link, or cannot be read")
        return None

    def _mark_rows(self) -> Iterator[Sequence[object]]:
        yield (
            *("student", "name", "assignment", "points", "max_points", "off_for_late"),
            *("handed_in", "reason"),
        )
        for name, student, mark in self._every():
            points, off = ("" if each is None else each for each in (mark.points, mark.penalty))
            more = points, mark.most, off, mark.handed_in, cell(mark.why, LONGEST_REASON)
            yield cell(student), cell(self.people.get(student, "")), cell(name), *more

    def _cell_rows(self) -> Iterator[Sequence[object]]:
        yield (
            *("student", "assignment", "cell", "automatic", "by_hand", "extra_credit"),
            *("max_points", "comment"),
        )
        for name, student, mark in self._every():
            for title, *points, said in () if mark.held else mark.cells:
                shown = ("" if each is None else each for each in points)
                yield cell(student), cell(name), cell(title), *shown, cell(str(said), 5_000)

    def _every(self) -> Iterator[tuple[str, str, _Mark]]:
        for name in self.assignments:
            for student, mark in sorted(self.marks.get(name, {}).items()):
                yield name, student, mark

    def _index(self, pages: dict[str, dict[str, tuple[str, str]]]) -> str:
        more = [f"and {len(self.left) - _MOST_LEFT} more"] if len(self.left) > _MOST_LEFT else []
        self.left = [*self.left[:_MOST_LEFT], *more]
        whole = {name: f"{file_stem(name)}/pages/index.html" for name in self.assignments}
        facts = {
            "title": _line(self.course.directory.name),
            "today": f"{datetime.now(UTC):%Y-%m-%d}",
            "version": __version__,
            "assignments": list(map(_line, self.assignments)),
            "classes": [
                (_line(name), quote(page))
                for name, page in whole.items()
                if (self.folder / page).is_file()
            ],
            "rows": [
                (_line(shown), [self._entry(name, student, pages[name]) for name in pages])
                for student, shown in self.names.items()
            ],
            "left": list(map(_line, self.left)),
        }
        return environment().get_template("archive.html.j2").render(facts)

    def _entry(
        self, name: str, student: str, links: dict[str, tuple[str, str]]
    ) -> tuple[str, list[tuple[str, str]]]:
        """Return a mark in words, and the links to page and work, by what they are called."""
        mark, found = self.marks.get(name, {}).get(student), links.get(student, ("", ""))
        named = [(what, link) for what, link in zip(("page", "work"), found) if link]
        if mark is None:
            return "", named
        if mark.points is None:
            return mark.why.partition(":")[0].partition(";")[0] or "not graded", named
        star = "*" if mark.waiting else ""
        return f"{number(mark.points)}{star} of {number(mark.most)}", named

    def _link(self, path: Path) -> str:
        return quote(path.relative_to(self.folder).as_posix())

    def _text(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8", errors="backslashreplace")


def _mark(row: Any, why: str) -> _Mark:
    """Return what a row has; `why` says why that is no mark, if it is none."""
    cells = []
    for book in row.notebooks:
        said = {each.cell_id: each.comment or "" for each in book.comments}
        for grade in book.grades:
            points = grade.auto_score, grade.manual_score, grade.extra_credit
            about = said.get(grade.cell_id, "")
            cells.append((grade.cell.name, *points, grade.cell.max_score, about))
    graded = not why and any(
        auto is not None or by_hand is not None for _, auto, by_hand, *_ in cells
    )
    penalty = float(row.late_submission_penalty or 0.0)
    return _Mark(
        max(0.0, float(row.score) - penalty) if graded else None,
        float(row.max_score),
        penalty if graded else None,
        bool(row.needs_manual_grade),
        f"{row.timestamp:%Y-%m-%d %H:%M:%S} UTC" if row.timestamp else "",
        tuple(sorted(cells)),
        why,
    )


def _full_name(student: Any) -> str:
    parts = (student.first_name, student.last_name)
    return _line(" ".join(part for part in parts if part))


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files of a hand-in in order; no link is followed, and hidden ones are left out."""
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] != ".")
        yield from (Path(at, name) for name in sorted(names) if name[0] != ".")


def _shown_text(content: bytes, ending: str) -> Iterator[str]:
    text = content.decode("utf-8", "replace")
    parts: Iterable[str] = (text,)
    if ending == ".ipynb" and len(content) <= _LARGEST_PARSED:
        with suppress(Unreadable):
            parts = (source(each) for each in notebook_cells(text, "it"))
    left = _LONGEST_TEXT
    for part in parts:
        shown = clean(part[:left], left) if left > 0 else ""
        left -= len(part)
        if shown.strip():
            yield f"<pre>{escape(shown)}</pre>"
    if left < 0:
        yield "<p>The rest is in the file.</p>"


def _line(text: str) -> str:
    return clean_line(text, _LONGEST_NAME)


# What of a course every user of this machine may read; on a machine with students, that is
# theirs.
#
# Only the plain permissions are looked at, and only what they say: whether a student has an
# account here is not known.

_LONGEST = 300
_MOST_LOOKED_AT = 2_000  # that are looked at, of one place


def open_to_all(course: Course) -> tuple[str, ...]:
    """Return in words what is not for students and everybody may read, and how to close it."""
    found = [(what, folder, _open_file(path)) for what, path, folder in _not_for_students(course)]
    words = [f"{what} ({_shown(file)})" for what, _, file in found if file]
    folders = dict.fromkeys(_shown(folder) for _, folder, file in found if file)
    return (*words, f"To close it: chmod o-rwx {' '.join(folders)}") if words else ()


def _not_for_students(course: Course) -> Iterator[tuple[str, Path, Path]]:
    """Give each thing, where it is, and the folder that is closed for it."""
    yield "the solutions", course.solutions, course.solutions
    here = course.directory
    yield "your own steps", here / OWN, here
    yield "the solutions as this course has them", here / ADJUSTED, here
    yield "the secret of the hidden inputs", course.secret_folder / SECRET, here
    yield "the gradebook", here / GRADEBOOK, here
    yield "the marks of all exercises", course.secret_folder / COURSE_PAGE, here
    for name in course.exercises:
        yield f"the results of {name}", course.graded(name), here
    yield "what students handed in", course.hand_ins, here
    yield "what was graded", here / "autograded", here


def _open_file(path: Path) -> Path | None:
    """Return a file at or below `path` that all users may read, with every folder above it."""
    left, seen = [path], 0
    while left and seen < _MOST_LOOKED_AT:
        here, seen = left.pop(), seen + 1
        try:
            left += _open_below(here)
            if here.is_file() and _lets_all(here, stat.S_IROTH):
                return here
        except OSError:  # it is not there, or not even the instructor may look
            continue
    return None


def _open_below(folder: Path) -> list[Path]:
    # Whoever knows a name needs no right to list the folder.
    if not folder.is_dir() or not _lets_all(folder, stat.S_IXOTH):
        return []
    return sorted(folder.iterdir(), reverse=True)


def _lets_all(path: Path, right: int) -> bool:
    """Whether all users have a right to what is at `path`, and may pass every folder above it."""
    path = path.resolve(strict=True)
    passed = all(above.stat().st_mode & stat.S_IXOTH for above in path.parents)
    return passed and bool(path.stat().st_mode & right)


def _shown(path: Path) -> str:
    return terminal_line(str(path), _LONGEST)
