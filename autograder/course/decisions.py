"""What an instructor decides about single students: marks that are held back, questions about them.

It lies beside the results of the exercise, since nbgrader's gradebook has no place for it. No mark
follows from it. A student asks by handing in a file beside the work.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from autograder.course.creation import Course
from autograder.errors import KitError
from autograder.model.files import opened, read_small, write_whole
from autograder.model.sanitize import clean
from autograder.reports.student_record import MarkQuestion, time_words

FILE = "decisions.json"
REQUESTS = ("regrade-request.txt", "regrade-request.md")
LONGEST = 2_000  # characters of a question, an answer or a reason
_MOST_BYTES = 64_000_000


@dataclass(frozen=True)
class Decisions:
    """Why marks are `held` back, and the `questions` about marks, by student."""

    held: Mapping[str, str] = field(default_factory=dict)
    questions: Mapping[str, tuple[MarkQuestion, ...]] = field(default_factory=dict)

    @classmethod
    def read(cls, course: Course, exercise: str) -> Decisions:
        """Return those on an exercise; raise `KitError` when the file is not one of the kit's."""
        file = course.graded(exercise) / FILE
        try:
            facts = json.loads(read_small(file, _MOST_BYTES).decode("utf-8"))
            held = {str(student): str(why) for student, why in facts["held"].items()}
            questions = {
                str(student): tuple(map(_question, asked))
                for student, asked in facts["questions"].items()
            }
        except FileNotFoundError:
            return cls()
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise KitError(
                "this file is damaged: it should hold which marks are held back, and questions",
                place=str(file),
                cure="put back a copy of it, or correct it; without it, all marks are given out",
            ) from error
        return cls(held, questions)

    def write(self, course: Course, exercise: str) -> None:
        """Keep them; raise `KitError` when that is not possible."""
        facts = {
            "held": dict(sorted(self.held.items())),
            "questions": {
                student: [asdict(each) for each in asked]
                for student, asked in sorted(self.questions.items())
            },
        }
        text = json.dumps(facts, indent=1, ensure_ascii=False)
        write_whole(course.graded(exercise) / FILE, text + "\n")

    def holding(self, student: str, why: str | None) -> Decisions:
        """Return them with a mark held back, for a reason, or given out (None)."""
        others = {each: reason for each, reason in self.held.items() if each != student}
        return replace(self, held=others if why is None else {**others, student: why})

    def asking(self, student: str, question: MarkQuestion) -> Decisions:
        """Return them with one more question; one that is there already is not asked again."""
        there = self.questions.get(student, ())
        if any((each.text, each.file) == (question.text, question.file) for each in there):
            return self
        return replace(self, questions={**self.questions, student: (*there, question)})

    def answering(self, student: str, answer: str) -> Decisions:
        """Return them with the first open question of a student answered, else the last one anew.

        Raise `KitError` when the student has asked nothing.
        """
        asked = self.questions.get(student, ())
        if not asked:
            raise KitError(
                f"{student} has asked nothing",
                place="--answer",
                cure="note the question first: attn course question STUDENT EXERCISE WORDS",
            )
        waiting = [number for number, each in enumerate(asked) if not each.answer]
        place = waiting[0] if waiting else len(asked) - 1
        answered = replace(asked[place], answer=answer, answered=time_now())
        settled = (*asked[:place], answered, *asked[place + 1 :])
        return replace(self, questions={**self.questions, student: settled})

    def without_noted(self, student: str) -> Decisions:
        """Return them without the questions of a student that were noted and not handed in."""
        kept = tuple(each for each in self.questions.get(student, ()) if each.file)
        others = {each: asked for each, asked in self.questions.items() if each != student}
        return replace(self, questions={**others, student: kept} if kept else others)


def decisions_now(course: Course, exercise: str, folders: Mapping[str, Path]) -> Decisions:
    """Return the decisions, with the questions that lie in the hand-ins in `folders`.

    They are kept then: a new hand-in takes the place of the file. Raises what `read` raises.
    """
    known = Decisions.read(course, exercise)
    now = known
    for student, question in _requests(course, folders):
        now = now.asking(student, question)
    if now != known:
        now.write(course, exercise)
    return now


def time_now() -> str:
    """Return the time as it stands on a page."""
    return time_words(datetime.now(UTC))


def _requests(course: Course, folders: Mapping[str, Path]) -> Iterable[tuple[str, MarkQuestion]]:
    for student, folder in folders.items():
        for name in REQUESTS:
            if not os.path.lexists(folder / name):
                continue
            with suppress(OSError), opened(folder / name, course.hand_ins) as found:
                # One character takes four bytes at most.
                text = found.content(4 * LONGEST + 4).decode("utf-8", "replace")
                if words := clean(text, LONGEST).strip():
                    yield student, MarkQuestion(words, time_now(), name)


def _question(facts: Mapping[str, Any]) -> MarkQuestion:
    if not all(isinstance(value, str) for value in facts.values()):
        raise ValueError("a question is made of words")
    return MarkQuestion(**facts)
