"""Finding what waits for the instructor, in hand-ins, verdicts and the gradebook.

Whatever a person has to decide after a run is in this one list, each with its reason and with what
settles it. It decides nothing itself: no mark follows from it.
"""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter

from autograder.grading.class_task import GroupHandIn
from autograder.grading.journal import stopped_at
from autograder.reports.misunderstandings import of_any_hand_in
from autograder.reports.roll import ClassGradebook, EnteredCell, FollowUp, entry_of, shown_names
from autograder.submission.cells import Asked
from autograder.submission.file_text import is_notebook
from autograder.submission.reading import Submission
from autograder.values.exercise import CHECK_PREFIX, Exercise
from autograder.values.sanitize import clean_line, listed
from autograder.values.symbols import count, mark, number, why_not_graded
from autograder.values.verdict import NOT_JUDGED, Outcome, Verdict

_LONGEST_QUESTION = 200
LONGEST_NAME = 40
_LONGEST_ID = 255  # as long as a folder's name: in a command, an id is whole
_DIFFER = " (so for the first of them; lines, names and numbers may be others for the rest)"
FORMGRADER = "Enter points under Manual Grading in formgrader, then grade again."
_BLANK = (Outcome.NOT_WRITTEN, *NOT_JUDGED)
_LIMITS = (Outcome.TIMED_OUT, Outcome.OUT_OF_MEMORY)
_NEEDS = re.compile(r"it needs Python (\d+\.\d+)")


@dataclass(frozen=True, slots=True)
class _HandIn:
    """What is told of the files that a student handed in.

    `file` is the one that counts, or else all that was handed in. `script` says whether a `.py`
    counts, `beside` whether a notebook was read as well, `several` whether any other file was.
    `asked` is what the release had that a notebook comes from.
    """

    student: str
    file: str
    remarks: tuple[str, ...]
    script: bool
    beside: bool
    several: bool
    asked: Asked | None = None

    @classmethod
    def of(cls, read: Submission) -> _HandIn:
        script = not read.rejected and not is_notebook(read.path)
        beside = script and any(is_notebook(path) for path, _ in read.digests)
        file = read.folder or read.path if read.rejected else read.path
        several = len(read.digests) > 1
        return cls(read.student, str(file), read.remarks, script, beside, several, read.asked)

    def lacks(self, cell: EnteredCell) -> bool:
        """Whether the student's release did not have what this cell gives points for."""
        name = f"{CHECK_PREFIX}{cell.step}" if cell.step else cell.name.removesuffix(", by hand")
        if self.asked is None or ": " in name:  # a cell of another notebook
            return False
        # Of a notebook that has lost cells, nobody knows which checks its release had.
        known = self.asked.sure or not cell.step
        return known and name not in self.asked.names


def find_follow_ups(
    exercise: Exercise,
    verdicts: Sequence[Verdict],
    submissions: Sequence[Submission],
    gradebook: ClassGradebook,
    groups: Sequence[GroupHandIn] = (),
) -> tuple[FollowUp, ...]:
    """Return what waits for the instructor, the most urgent first."""
    students = {verdict.student for verdict in verdicts}
    everybody = {*students, *gradebook.entries, *gradebook.enrolled, *gradebook.removed}
    everybody |= {*gradebook.records}
    names = shown_names(everybody, gradebook.records)
    # One at a time: of a large class, nobody holds what was handed in.
    hand_ins = tuple(map(_HandIn.of, submissions))
    files = {each.student: each.file for each in hand_ins}
    return tuple(
        replace(
            each,
            names=tuple(names[student] for student in each.students),
            files={who: files[who] for who in each.students if who in files},
        )
        for each in _found(exercise, verdicts, hand_ins, gradebook, groups)
    )


def _found(
    exercise: Exercise,
    verdicts: Sequence[Verdict],
    hand_ins: Sequence[_HandIn],
    gradebook: ClassGradebook,
    groups: Sequence[GroupHandIn],
) -> tuple[FollowUp, ...]:
    return (
        *_not_judged(exercise, verdicts),
        *_removed(exercise, gradebook),
        *_questions(exercise, gradebook),
        *_groups(groups),
        *_in_part(verdicts),
        *_files(hand_ins),
        *_scripts(hand_ins, gradebook),
        *_older_releases(exercise, hand_ins, gradebook),
        *_by_hand(verdicts, hand_ins, gradebook),
        *_no_hand_in(exercise, verdicts, gradebook),
        *_held(exercise, gradebook),
        *_limits(verdicts),
        *_equal_code(verdicts, groups),
        *_remarks(verdicts, hand_ins),
    )


def _not_judged(exercise: Exercise, verdicts: Sequence[Verdict]) -> Iterator[FollowUp]:
    """Who was not judged: one fault of ours is told once, what is a student's own one by one."""
    ours = [verdict for verdict in verdicts if verdict.infrastructure]
    told = [(verdict.student, why_not_graded(verdict)) for verdict in ours]
    for why, students in _by_reason(told):
        own = f"/{exercise.name}/" in why  # an error in what its author wrote
        cure = "Correct it there, then grade again." if own else "Grade again."
        if found := _NEEDS.match(why):
            cure = f"Install the kit with Python {found[1]}, then grade again; or judge by hand."
        yield FollowUp("not_judged", students, why, cure, not_graded=True)
    for verdict in verdicts:
        if not (verdict.graded or verdict.infrastructure):
            why = why_not_graded(verdict)
            yield FollowUp("not_accepted", (verdict.student,), why, "", not_graded=True)


def _removed(exercise: Exercise, gradebook: ClassGradebook) -> Iterator[FollowUp]:
    """Who was removed from the gradebook, and what was handed in is still there."""
    for student in gradebook.removed:
        whom = clean_line(student, _LONGEST_ID)
        why = "not in the gradebook any more, so the work is not graded and no export has a mark."
        cure = (
            f"If the student has left, take submitted/{whom}/{exercise.name} out, and the name out "
            f"of groups.csv; if not, `nbgrader db student add {shlex.quote(whom)}`, grade again."
        )
        yield FollowUp("not_in_gradebook", (student,), why, cure)


def _in_part(verdicts: Sequence[Verdict]) -> Iterator[FollowUp]:
    """Whose judging was stopped: the mark is for what was judged before."""
    for verdict in verdicts:
        if stopped := stopped_at(verdict):
            why = f"judged only in part. {stopped.fact}"
            cure = "The mark is for what was judged before; look at the rest yourself."
            yield FollowUp("judged_in_part", (verdict.student,), why, cure)


def _files(hand_ins: Sequence[_HandIn]) -> Iterator[FollowUp]:
    for several, cure in (
        (True, "Look at the files that were handed in; leave the one that counts, grade again."),
        (False, "Look at what was handed in; what was read of it counts."),
    ):
        found = (each for each in hand_ins if each.several is several)
        told = [(each.student, remark) for each in found for remark in each.remarks]
        yield from _waiting("files", told, cure)


def _scripts(hand_ins: Sequence[_HandIn], gradebook: ClassGradebook) -> Iterator[FollowUp]:
    """Whose `.py` counts, which holds no answer to the instructor's own questions."""
    told = [
        (student, f"the .py counts, and the notebook beside it may answer `{cell.shown_name}`.")
        if beside
        else (student, f"a .py has no place for `{cell.shown_name}`.")
        for student, cell, beside in _unanswered(hand_ins, gradebook)
    ]
    return _waiting("script", told, f"Look for the answer. {FORMGRADER}")


def _older_releases(
    exercise: Exercise, hand_ins: Sequence[_HandIn], gradebook: ClassGradebook
) -> Iterator[FollowUp]:
    """Who was never asked something that has points now, since it came with a later release."""
    sure, guessed = [], []
    for hand_in, pairs in groupby(_not_asked(hand_ins, gradebook), key=itemgetter(0)):
        names = [f"`{cell.shown_name}`" for _, cell in pairs]
        lacks = f"{listed(names, longest=_LONGEST_ID)} {'is' if len(names) == 1 else 'are'} not in"
        if hand_in.asked and hand_in.asked.sure:
            sure.append((hand_in.student, f"{lacks} this student's release."))
        else:
            why = "the notebook: its release is older, or the cell was deleted."
            guessed.append((hand_in.student, f"{lacks} {why}"))
    cure = (
        f"Have them fetch {exercise.name} again, add their work and hand it in (`attn course "
        "check` says whether the exchange has the new release); or enter points in formgrader."
    )
    yield from _waiting("older_release", sure, cure)
    yield from _waiting("older_release", guessed, cure)


def _not_asked(
    hand_ins: Iterable[_HandIn], gradebook: ClassGradebook
) -> Iterator[tuple[_HandIn, EnteredCell]]:
    """Return who was not asked for a cell to which nobody has given points by hand since."""
    for each in hand_ins:
        entry = gradebook.entries.get(each.student)
        for cell in entry.cells if entry else ():
            if cell.by_hand is None and each.lacks(cell):
                yield each, cell


def _unanswered(
    hand_ins: Iterable[_HandIn], gradebook: ClassGradebook
) -> Iterator[tuple[str, EnteredCell, bool]]:
    """Return who handed in a script, which own question it cannot answer, and whether a notebook
    lay beside it."""
    for each in hand_ins:
        entry = gradebook.entries.get(each.student)
        if entry is None or not each.script:
            continue
        for cell in entry.cells:
            if not cell.step and cell.by_hand is None:
                yield each.student, cell, each.beside


def _by_hand(
    verdicts: Sequence[Verdict], hand_ins: Sequence[_HandIn], gradebook: ClassGradebook
) -> Iterator[FollowUp]:
    """What waits in the gradebook: questions that are not graded, and points of other work."""
    told = {(student, cell.name) for student, cell, _ in _unanswered(hand_ins, gradebook)}
    told |= {(each.student, cell.name) for each, cell in _not_asked(hand_ins, gradebook)}
    cells = [
        (verdict.student, cell)
        for verdict in verdicts
        if (entry := entry_of(verdict, gradebook.entries))
        for cell in entry.cells
    ]
    for student, cell in cells:
        if cell.look_again:
            yield FollowUp("points_by_hand", (student,), _of_other_work(cell), FORMGRADER)
    open_cells = [
        (student, f"`{cell.shown_name}` is not graded yet.")
        for student, cell in cells
        if cell.open and (student, cell.name) not in told
    ]
    yield from _waiting("not_graded_yet", open_cells, FORMGRADER)


def _of_other_work(cell: EnteredCell) -> str:
    given = [
        "" if cell.by_hand is None else f"{number(cell.by_hand)} by hand",
        f"{number(cell.extra)} of extra credit" if cell.extra else "",
        "" if cell.automatic is None else f"{number(cell.automatic)} automatic now",
    ]
    has = ", ".join(part for part in given if part)
    return f"`{cell.shown_name}` has {has}; the work may have changed since."


def _no_hand_in(
    exercise: Exercise, verdicts: Sequence[Verdict], gradebook: ClassGradebook
) -> Iterator[FollowUp]:
    here = {verdict.student for verdict in verdicts}
    others = sorted(set(gradebook.entries) - here)
    gone = [student for student in others if not gradebook.has_only_time(student)]
    for student in gone:
        entry = gradebook.entries[student]
        if entry.points or entry.has_marks:
            still = count(entry.points, "point")
            why = f"no hand-in any more; the gradebook still has {still}, in no export of the kit."
            cure = "Put it back, and the mark counts again."
            yield FollowUp("withdrawn", (student,), why, cure)
    absent = tuple(sorted(set(gradebook.enrolled) - here - set(gone)))
    if absent:
        why = f"enrolled, and there is no submitted/STUDENT/{exercise.name}."
        yield FollowUp("nothing_handed_in", absent, why, "")


def _limits(verdicts: Sequence[Verdict]) -> Iterator[FollowUp]:
    told = [
        (verdict.student, f"`{step.name}` {mark(step.outcome).words}.")
        for verdict in verdicts
        if not stopped_at(verdict)
        for step in verdict.steps
        if step.outcome in _LIMITS
    ]
    return _waiting("limits", told, "If this machine was busy, grade with --again.")


def _questions(exercise: Exercise, gradebook: ClassGradebook) -> Iterator[FollowUp]:
    """What students ask about their marks, as long as nobody has answered."""
    for student, record in sorted(gradebook.records.items()):
        for each in record.waiting:
            why = f"asks about the mark: “{clean_line(each.text, _LONGEST_QUESTION)}”."
            whom = shlex.quote(clean_line(student, _LONGEST_ID))
            command = f"attn course question {whom} {exercise.name} --answer WORDS"
            cure = f"Answer it on the student's page: `{command}`"
            if each.file and record.late:
                cure += (
                    ". It came with a late hand-in: if asking shall cost nothing, give more time"
                )
                cure += f" with `attn course extend {whom} {exercise.name} --until TIME`"
            yield FollowUp("question", (student,), why, cure)


def _groups(groups: Sequence[GroupHandIn]) -> Iterator[FollowUp]:
    """Of which groups several members have handed in."""
    for each in groups:
        if each.others:
            group, student = (clean_line(name, LONGEST_NAME) for name in (each.group, each.student))
            why = f"several hand-ins of group {group}: that of {student} counts for all."
            cure = "It is the last one, or the first by name where times are not known. If another"
            cure += " one shall count, take the others out, then grade again."
            yield FollowUp("group", (each.student, *each.others), why, cure)


def _held(exercise: Exercise, gradebook: ClassGradebook) -> Iterator[FollowUp]:
    for student, record in sorted(gradebook.records.items()):
        if record.held:
            whom = shlex.quote(clean_line(student, _LONGEST_ID))
            cure = f"Give it out: `attn course hold {whom} {exercise.name} --release`"
            why = f"the mark is held back: {record.held}."
            yield FollowUp("held", (student,), why, cure)


def _equal_code(verdicts: Sequence[Verdict], groups: Sequence[GroupHandIn]) -> Iterator[FollowUp]:
    of_a_group = {student: each.student for each in groups for student in each.members}
    alike: Mapping[str, list[str]] = defaultdict(list)
    for verdict in verdicts:
        own = of_a_group.get(verdict.student, verdict.student) == verdict.student
        if own and any(step.outcome not in _BLANK for step in verdict.steps):
            alike[verdict.code_hash].append(verdict.student)
    for students in alike.values():
        if len(students) > 1:
            cure = "That may have a good reason; it is worth a talk."
            why = "the same code, character by character."
            yield FollowUp("equal_code", tuple(students), why, cure)


def _remarks(verdicts: Sequence[Verdict], hand_ins: Sequence[_HandIn]) -> Iterator[FollowUp]:
    told_of_files = {each.student: each.remarks for each in hand_ins}
    told = [
        (verdict.student, remark)
        for verdict in verdicts
        for remark in verdict.remarks
        if remark not in told_of_files.get(verdict.student, ())
    ]
    return _waiting("remark", told, "That is what the page tells them.", of_any_hand_in)


def _waiting(
    kind: str, told: Iterable[tuple[str, str]], cure: str, alike: Callable[[str], str] = str
) -> Iterator[FollowUp]:
    """Return one follow-up for each reason; see `_by_reason`."""
    for reason, students in _by_reason(told, alike):
        yield FollowUp(kind, students, reason, cure)


def _by_reason(
    told: Iterable[tuple[str, str]], kind: Callable[[str], str] = str
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Return each reason with its students, those of the most students first.

    Of reasons that are of one `kind`, the first stands for all, and it is said that others differ.
    """
    students: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for student, reason in told:
        students[kind(reason)].append((student, reason))
    for found in sorted(students.values(), key=lambda each: -len(each)):
        first, differ = found[0][1], len({reason for _, reason in found}) > 1
        yield f"{first}{_DIFFER if differ else ''}", tuple(dict.fromkeys(name for name, _ in found))
