"""Which platform a download comes from, and whose each of its files is.

What is known of each layout, and from where:

- Canvas, `lib/content_zipper.rb` of canvas-lms: `NAME[_LATE]_USER_FILE_filename` in one folder.
  NAME is "Doe, Jane" without anything but letters and digits, in small letters; with anonymous
  grading, `[LATE_]anon_XXXXX_FILE_filename`. What was typed there is `..._text.html` or
  `..._link.html`. Canvas adds `-1`, `-2` to a file's name when a student hands it in again.
- Moodle, `mod/assign/classes/downloader.php`: `Full Name_12345_assignsubmission_file/name`; up to
  4.0 the folder ends in `file_`; without folders, `Full Name_12345_assignsubmission_file_name`. The
  number is the participant's, and "_" in a name becomes a space.
- Gradescope, "Download Submissions": `assignment_N_export/submission_12345/...` with
  `submission_metadata.yml` beside them (see gradescope_metadata.py).
- Brightspace, "Download" in a submission folder: one folder for each submission, such as
  `12345-67890 - Full Name - Nov 3, 2026 1105 AM/name`, or the same before the name of a file. The
  first number is the student's, the second the submission folder's; `index.html` lists them.
- Blackboard, "Assignment File Download": `TITLE_LOGIN_attempt_2026-11-03-11-05-00_name`, and beside
  each attempt the same with `.txt`, which says who handed in what.
- GitHub Classroom's assistant and `gh classroom clone`: one folder `assignment-username` each.
- plain: a folder, or a file, or a zip, named after its student.

Others are known by their shape only, so that the names that they give are not taken for students.
"""

from __future__ import annotations

import enum
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.errors import KitError
from autograder.platforms.archive import Parts, common_length
from autograder.platforms.csv_table import BRIGHTSPACE, CANVAS, GITHUB, LOGIN, MOODLE, Identity
from autograder.submission.file_text import SUFFIXES, bare, is_submission
from autograder.values.sanitize import clean_line

METADATA = "submission_metadata.yml"
_CANVAS = re.compile(
    r"(?P<name>.+?)(?P<late>_LATE)?_(?P<user>\d+)_(?P<file>\d+)_(?P<rest>.+)", re.S
)
_CANVAS_ANONYMOUS = re.compile(
    r"(?P<late>LATE_)?(?P<user>anon_[A-Za-z0-9]+)_(?P<file>\d+)_(?P<rest>.+)", re.S
)
_CANVAS_TYPED = re.compile(
    r"(?:(?P<name>.+?)_)??(?P<late>LATE_)?(?P<user>\d+|anon_[A-Za-z0-9]+)_(?P<rest>(?:text|link)\.html)",
    re.S,
)
_MOODLE = re.compile(
    r"(?P<name>.+?)(?:_(?P<user>\d+))?_assignsubmission_(?P<kind>[a-z0-9]+)_?(?P<rest>.*)", re.S
)
_GRADESCOPE = re.compile(r"submission_\d+")
_BRIGHTSPACE = re.compile(
    r"""
    (?P<user>\d+)-\d+[ ]?-[ ]?(?P<name>.+?)[ ]?-[ ]?
    (?: (?P<month>[^\W\d]{3,12})\.?[ ](?P<day>\d\d?)
      | (?P<day2>\d\d?)\.?[ ](?P<month2>[^\W\d]{3,12})\.? )
    ,?[ ](?P<year>\d{4}),?[ ](?P<hour>\d\d?)[:.]?(?P<minute>\d\d)[ ]?(?P<half>[AP]M)?
    (?:[ ]?-[ ]?(?P<rest>.+))?
    """,
    re.S | re.I | re.X,
)
_BLACKBOARD = re.compile(
    r"(?P<whose>.+?)_attempt_(?P<moment>\d{4}(?:-\d\d){5})(?:_(?P<rest>.+)|\.txt)", re.S
)
# The first letters of months, in the languages that write them much as English does, and others.
_MONTHS = (
    *(
        "jan ene gen jän",
        "feb fev fév fèv",
        "mar mär maa mrt",
        "apr avr abr",
        "may mai mei mag maj",
    ),
    *("jun juin giu", "jul juil lug", "aug aoû aou ago", "sep set", "oct okt ott out", "nov"),
    "dec dez déc dic",
)
# Platforms that are not read, and forms that are not known: by what names at the top begin with, or
# by a folder that lies somewhere in the path.
_UNREAD_TOPS = {
    "Brightspace": re.compile(r"\d{3,}-\d{3,} ?- ?."),
    "Blackboard": re.compile(r".+_attempt_\d"),
    "ILIAS": re.compile(r"(?:[^_]+_){3,6}\d+$"),
    "Google Classroom": re.compile(r"(?:[^ ]+ ){2,5}- .+\.\w+$"),
}
_UNREAD_FOLDERS = {
    "Sakai": re.compile(r"Submission attachment\(s\)$"),
    "Microsoft Teams": re.compile(r"Version \d+$"),
    "Schoology": re.compile(r"Revision \d+ - "),
}
_LISTS = (METADATA, "index.html", "grades.csv", "grades.xls", "grades.xlsx")


class Platform(enum.StrEnum):
    """Where a download comes from."""

    CANVAS = "canvas"
    MOODLE = "moodle"
    GRADESCOPE = "gradescope"
    BRIGHTSPACE = "brightspace"
    BLACKBOARD = "blackboard"
    GITHUB = "github"
    PLAIN = "plain"


SHOWN = {
    Platform.CANVAS: "Canvas",
    Platform.MOODLE: "Moodle",
    Platform.GRADESCOPE: "Gradescope",
    Platform.BRIGHTSPACE: "Brightspace",
    Platform.BLACKBOARD: "Blackboard",
    Platform.GITHUB: "GitHub Classroom",
    Platform.PLAIN: "no platform: files or folders named after students",
}


@dataclass(frozen=True)
class Placed:
    """Whose a file is, and where it lies in what they handed in.

    `owner` tells owners apart within the download. Several `people` hand in together. `newer` is
    larger for what was handed in later, where that is known. The `attempt` that it belongs to sorts
    by its moment. `typed` is text that was typed into the platform, which is no file of the
    student's.
    """

    owner: str
    people: tuple[Identity, ...]
    inner: Parts
    newer: int = 0
    late: bool = False
    typed: bool = False
    attempt: str = ""


@dataclass(frozen=True)
class DownloadLayout:
    """How a download is laid out.

    `outer` are the folders around everything, `prefix` begins the names of repositories and of
    Blackboard's files, `people` are those whom Gradescope names, by folder.
    """

    platform: Platform
    outer: Parts = ()
    prefix: str = ""
    people: Mapping[str, tuple[Identity, ...]] | None = None

    def placed(self, parts: Parts) -> Placed | None:
        """Return whose the file at `parts` is; None when its name does not say so."""
        if parts[: len(self.outer)] != self.outer or len(parts) == len(self.outer):
            return None
        inside = parts[len(self.outer) :]
        return _PLACING[self.platform](self, inside)

    def lists_others(self, parts: Parts) -> bool:
        """Whether the platform wrote the file at `parts`, which says who handed in what."""
        inside = parts[len(self.outer) :]
        if self.platform is Platform.BLACKBOARD:
            found = _BLACKBOARD.fullmatch(inside[0]) if len(inside) == 1 else None
            return found is not None and found["rest"] is None
        owned = (Platform.GRADESCOPE, Platform.BRIGHTSPACE)
        return self.platform in owned and len(inside) == 1 and inside[0] in _LISTS

    def owner_of(self, parts: Parts) -> str:
        """Return whose the file is, for counting; "" for nobody's."""
        placed = self.placed_with_content(parts)
        return placed.owner if placed else ""

    def placed_with_content(self, parts: Parts) -> Placed | None:
        """Return whose the file is; of a zip, whose all that lies in it is."""
        zipped = bool(parts) and parts[-1].lower().endswith(".zip")
        return self.placed((*parts, "") if zipped else parts)


def recognised(
    paths: Sequence[Parts], platform: Platform | None = None, *, repositories: bool = False
) -> DownloadLayout:
    """Return the layout of a download by the paths in it, or that of the `platform` named.

    `repositories` says whether git's own files are in it. Raise `KitError` when there is no file,
    and when it looks like the download of a platform that is not read.
    """
    if not paths:
        raise KitError(
            "the zip holds no file that anybody has handed in",
            place="the whole zip",
            cure="download the submissions again, with all students selected",
        )
    outer = _outer(paths)
    inside = [parts[len(outer) :] for parts in paths]
    found = platform or _platform(inside, repositories)
    # One folder with files in it is a class, or else one student.
    alone = all(len(parts) == 1 for parts in inside) and not _looks_like_a_class(inside)
    if outer and (found is Platform.GITHUB or found is Platform.PLAIN) and alone:
        outer = outer[:-1]
        inside = [parts[len(outer) :] for parts in paths]
    if found is Platform.PLAIN and platform is None:
        _refuse_others(paths, inside)
    prefix = _prefix(inside) if found is Platform.GITHUB else ""
    if found is Platform.BLACKBOARD:
        prefix = _title(inside)
    return DownloadLayout(found, outer, prefix)


def _outer(paths: Sequence[Parts]) -> Parts:
    """Return the folders that lie around everything, but none that is a student's."""
    common: Parts = paths[0][: common_length([parts[:-1] for parts in paths])]
    for number, name in enumerate(common):
        own = any(each.fullmatch(name) for each in (_MOODLE, _GRADESCOPE, _BRIGHTSPACE))
        if own or name.lower().endswith(".zip"):
            return common[:number]
    return common


def _refuse_others(paths: Sequence[Parts], inside: Sequence[Parts]) -> None:
    """Raise `KitError` for a platform that is not read: its names are no students' names."""
    handed_in = (*SUFFIXES, ".zip")
    work = [
        (path, own[0])
        for path, own in zip(paths, inside)
        if bare(Path(path[-1])).suffix.lower() in handed_in
    ]
    counts: Counter[str] = Counter()
    for path, top in work:
        counts.update(name for name, shape in _UNREAD_TOPS.items() if shape.match(top))
        counts.update(
            name for name, shape in _UNREAD_FOLDERS.items() if any(map(shape.match, path[:-1]))
        )
    for name, count in counts.most_common(1):
        if count * 2 > len(work):
            raise KitError(
                f"the zip looks like a download of {name}, in a form that is not read here",
                place=clean_line("/".join(work[0][0]), 200),
                cure="make a zip with one folder for each student, named after the student; if its "
                "files and folders are named after students already, add --platform plain",
            )


def _looks_like_a_class(inside: Sequence[Parts]) -> bool:
    """Whether files in one folder are one for each student: several hand-ins, named otherwise."""
    files = (Path(parts[0]) for parts in inside)
    return len({bare(file).stem for file in files if is_submission(file)}) > 1


def _platform(inside: Sequence[Parts], repositories: bool) -> Platform:
    tops = {parts[0] for parts in inside}
    if METADATA in tops and any(_GRADESCOPE.fullmatch(top) for top in tops):
        return Platform.GRADESCOPE
    # A platform names everything, and students name files in it: one name says nothing yet.
    files = {parts[0] for parts in inside if len(parts) == 1}
    canvas = sum(_canvas(name) is not None for name in files)
    blackboard = sum(_BLACKBOARD.fullmatch(name) is not None for name in files)
    if blackboard * 2 > len(tops) and blackboard >= canvas:
        return Platform.BLACKBOARD
    if sum(_brightspace(top) is not None for top in tops - {*_LISTS}) * 2 > len(tops - {*_LISTS}):
        return Platform.BRIGHTSPACE
    moodle = sum(_MOODLE.fullmatch(top) is not None for top in tops)
    if moodle * 2 > len(tops) and moodle >= canvas:
        return Platform.MOODLE
    if canvas and canvas * 2 > len(files) and len(files) * 2 > len(tops):
        return Platform.CANVAS
    return Platform.GITHUB if repositories and _prefix(inside) else Platform.PLAIN


def _prefix(inside: Sequence[Parts]) -> str:
    """Return what the names of all repositories begin with, up to a "-"."""
    tops = sorted({parts[0] for parts in inside if len(parts) > 1})
    common = tops[0][: common_length(tops)] if len(tops) > 1 else ""
    return common[: common.rfind("-") + 1]


def _title(inside: Sequence[Parts]) -> str:
    """Return what stands before all students' names in Blackboard's files, up to a "_"."""
    found = (_BLACKBOARD.fullmatch(parts[0]) for parts in inside)
    before = sorted({match["whose"] for match in found if match})
    common = before[0][: common_length(before)] if len(before) > 1 else before[0]
    return common[: common.rfind("_") + 1]


def _brightspace(name: str) -> tuple[re.Match[str], str] | None:
    """Return the parts of a name in Brightspace's download, and its moment so that it sorts."""
    found = _BRIGHTSPACE.fullmatch(name)
    word = (found["month"] or found["month2"]).casefold() if found else ""
    months = [at for at, begins in enumerate(_MONTHS) if word.startswith(tuple(begins.split()))]
    if found is None or not months:
        return None
    day, half = int(found["day"] or found["day2"]), (found["half"] or "").upper()
    hour = int(found["hour"]) % 12 + 12 * (half == "PM") if half else int(found["hour"])
    return found, f"{found['year']}-{months[-1]:02}-{day:02} {hour:02}:{found['minute']}"


def _canvas(name: str) -> re.Match[str] | None:
    return (
        _CANVAS_ANONYMOUS.fullmatch(name)
        or _CANVAS.fullmatch(name)
        or _CANVAS_TYPED.fullmatch(name)
    )


def _in_canvas(layout: DownloadLayout, inside: Parts) -> Placed | None:
    found = _canvas(inside[0])
    if found is None:
        return None
    facts = found.groupdict()
    name, user = facts.get("name") or "", facts["user"]
    person = Identity.of(name or user, **{CANVAS: user})
    newer = int(facts.get("file") or 0)
    rest = (facts["rest"], *inside[1:])
    return Placed(user, (person,), rest, newer, bool(facts["late"]), "file" not in facts)


def _in_moodle(layout: DownloadLayout, inside: Parts) -> Placed | None:
    found = _MOODLE.fullmatch(inside[0])
    if found is None:
        return None
    facts = found.groupdict()
    name, user = facts["name"], facts["user"] or ""
    person = Identity.of(name, **{MOODLE: user})
    inner = (*((facts["rest"],) if facts["rest"] else ()), *inside[1:])
    if not inner:
        return None
    return Placed(f"{name}_{user}", (person,), inner, typed=facts["kind"] != "file")


def _in_gradescope(layout: DownloadLayout, inside: Parts) -> Placed | None:
    people = (layout.people or {}).get(inside[0])
    if len(inside) < 2 or not _GRADESCOPE.fullmatch(inside[0]):
        return None
    return Placed(inside[0], people or (Identity.of(inside[0]),), inside[1:])


def _in_brightspace(layout: DownloadLayout, inside: Parts) -> Placed | None:
    read = _brightspace(inside[0])
    if read is None:
        return None
    found, moment = read
    person = Identity.of(found["name"].strip(), **{BRIGHTSPACE: found["user"]})
    inner = (*((found["rest"],) if found["rest"] else ()), *inside[1:])
    return Placed(found["user"], (person,), inner, attempt=moment) if inner else None


def _in_blackboard(layout: DownloadLayout, inside: Parts) -> Placed | None:
    found = _BLACKBOARD.fullmatch(inside[0])
    if found is None or found["rest"] is None:
        return None
    login = found["whose"].removeprefix(layout.prefix) or found["whose"]
    person = Identity.of(login, **{LOGIN: login})
    return Placed(login, (person,), (found["rest"], *inside[1:]), attempt=found["moment"])


def _in_github(layout: DownloadLayout, inside: Parts) -> Placed | None:
    if len(inside) < 2:
        return None
    login = inside[0].removeprefix(layout.prefix) or inside[0]
    return Placed(inside[0], (Identity.of(login, **{GITHUB: login}),), inside[1:])


def _in_plain(layout: DownloadLayout, inside: Parts) -> Placed | None:
    top = inside[0]
    if len(inside) > 1:
        name = top[: -len(".zip")] if top.lower().endswith(".zip") else top
        return Placed(name, (Identity.plain(name),), inside[1:])
    name = bare(Path(top)).stem
    return Placed(name, (Identity.plain(name),), (top,))


_PLACING = {
    Platform.CANVAS: _in_canvas,
    Platform.MOODLE: _in_moodle,
    Platform.GRADESCOPE: _in_gradescope,
    Platform.BRIGHTSPACE: _in_brightspace,
    Platform.BLACKBOARD: _in_blackboard,
    Platform.GITHUB: _in_github,
    Platform.PLAIN: _in_plain,
}
