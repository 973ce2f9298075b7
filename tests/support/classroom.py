"""A class of one in a folder: an instructor with a course, an exchange, a student."""

from __future__ import annotations

import getpass
import os
from dataclasses import dataclass
from pathlib import Path

from support.lab import Home
from support.learner_workspace import NAME, ROOT
from support.typed_commands import ATTN

COURSE = "attention"


@dataclass(frozen=True)
class Classroom:
    """Two people with homes of their own, and the exchange between them."""

    instructor: Home
    student: Home

    @property
    def course(self) -> Path:
        """The course directory."""
        return self.instructor.folder / COURSE

    @property
    def name(self) -> str:
        """The student's name, as nbgrader has it: that of the account."""
        return getpass.getuser()

    def teach(self, *words: object) -> str:
        """Run a command in the course directory; return what it said."""
        return self.instructor.run(*words, folder=self.course)


def open_classroom(folder: Path) -> Classroom:
    """Make a course of the NumPy exercise and release it to the exchange."""
    exchange = folder / "exchange"
    exchange.mkdir()
    os.chmod(exchange, 0o777)  # nbgrader demands it; the folder above is private
    setting = f"c = get_config()\nc.Exchange.root = {str(exchange)!r}\n"
    room = Classroom(Home(folder / "grace").made(), Home(folder / "ada").made())
    for home in (room.instructor, room.student):
        (home.config / "nbgrader_config.py").write_text(setting, encoding="utf-8")
    room.instructor.run(
        *(ATTN, "course", "new", room.course, "--exercise", NAME),
        *("--solutions", ROOT / "solutions", "--assignments", ROOT / "assignments"),
    )
    room.teach("nbgrader", "generate_assignment", NAME)
    room.teach("nbgrader", "release_assignment", NAME)
    return room
