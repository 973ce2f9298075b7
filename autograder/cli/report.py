"""The results of a class: its files, what is printed, `attn report`, and who shares rare code.

Nobody is judged here: verdicts come from the journal, marks from the gradebook.
"""

from __future__ import annotations

import ast
import io
import math
import pickle
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from autograder.authoring.regions import read_solution
from autograder.authoring.stub import read_cells
from autograder.cli.follow_ups import find_follow_ups
from autograder.cli.found_class import ClassRecords, opened_class
from autograder.cli.kit import lasting_output
from autograder.cli.student_files import write_student_files
from autograder.errors import KitError
from autograder.grading.class_run import kept_task
from autograder.grading.class_task import ClassTask, GradingOptions, is_course
from autograder.grading.classroom import HANDLING, JudgedClass
from autograder.grading.grader_pool import GraderPool, Loss
from autograder.grading.watched_process import one_by_one
from autograder.platforms.csv_table import read_class_list
from autograder.reports.class_page import (
    NARROW,
    ClassContext,
    class_table,
    write_class_page,
    write_projected_page,
)
from autograder.reports.class_summary import class_summary
from autograder.reports.course_page import COURSE_PAGE, write_course_page
from autograder.reports.feedback import environment
from autograder.reports.finding import told
from autograder.reports.grades_csv import find_verdict, grades_csv
from autograder.reports.misunderstandings import (
    Misunderstanding,
    Paragraph,
    misconception_words,
    mistakes_at,
    misunderstandings,
    read_paragraphs,
    write_drafts,
    write_paragraph,
)
from autograder.reports.roll import (
    NO_RECORD,
    NOTHING_SIMILAR,
    ClassGradebook,
    SimilarCode,
    SimilarPair,
    changed_marks,
    class_roll,
    entry_of,
    write_follow_ups,
)
from autograder.submission.cells import UNREADABLE, parsed, top_level
from autograder.submission.reading import Submission
from autograder.submission.syntax_tree import (
    FEWEST_HAND_INS,
    Fingerprints,
    Resemblance,
    fingerprints,
    is_text,
    resemblances,
)
from autograder.values.exercise import Exercise, given_text
from autograder.values.files import write_whole
from autograder.values.sanitize import clean_line, terminal_line
from autograder.values.symbols import count, number
from autograder.values.value_file import LazySequence
from autograder.values.verdict import Verdict

# Which hand-ins of a class share rare code: found in watched grader processes, since students
# wrote what is compared.

# One student's code for each mistake of a class, without names: comments and docstrings are out.
#
# Students wrote it, so it is read in a watched grader process.

LINES_OF_CODE, WIDEST = 40, 120


def code_examples(
    pool: GraderPool,
    submissions: Sequence[Submission],
    found: Sequence[Misunderstanding],
) -> tuple[str, ...]:
    """Return for each of `found` the step as its example wrote it; "" where it cannot be shown."""
    places = {each.student: place for place, each in enumerate(submissions)}

    def job(number: int) -> tuple[str, Sequence[str]]:
        place = places.get(found[number].example)
        return found[number].step, () if place is None else submissions[place].cells

    texts = _results(pool, _read, LazySequence(len(found), job))
    return tuple(texts.get(place, "") for place in range(len(found)))


def _results(
    pool: GraderPool, function: Callable[[Any], Any], items: Sequence[Any], batch: int = 1
) -> dict[int, Any]:
    """Return what `function` makes of each item, by its place; nothing of one that is lost."""
    found = pool.results(partial(one_by_one, function), items, HANDLING, batch)
    return {place: each for place, each in found if not isinstance(each, Loss)}


def without_names(cells: Sequence[str], name: str) -> str:
    """Return the last definition of `name` as Python writes it, "" if there is none to be shown.

    Without comments and docstrings, in which people sign; at most 40 lines.
    """
    found = ""
    for cell in cells:
        tree = parsed(cell)
        for node in top_level(tree) if tree else ():
            if node.name == name:
                found = _written(node)
    lines = [line[:WIDEST] for line in found.split("\n")]
    return "\n".join([*lines[:LINES_OF_CODE], *(["..."] if len(lines) > LINES_OF_CODE else [])])


def _read(job: tuple[str, Sequence[str]]) -> str:
    name, cells = job
    return without_names(cells, name)


def _written(node: ast.stmt) -> str:
    try:
        copy = ast.parse(ast.unparse(node))
    except UNREADABLE:  # nobody wrote that by hand
        return ""
    for each in ast.walk(copy):
        for part in ("body", "orelse", "finalbody"):
            lines = getattr(each, part, None)
            if isinstance(lines, list) and lines:
                kept = [line for line in lines if not is_text(line)]
                setattr(each, part, kept or [ast.Pass()])
    return ast.unparse(copy)


MOST_PAIRS = 30  # shown on the page
_BATCH = 16
# One grader process compares them all: more take a gigabyte there, and as much here.
MOST_HAND_INS = 50_000
_STEPS_SHOWN = 2  # of a pair


def find_similar_code(
    pool: GraderPool, exercise: Exercise, submissions: Sequence[Submission]
) -> SimilarCode:
    """Return the pairs of hand-ins that share rare code; see `resemblances`.

    Equal code counts once: it is told of elsewhere. What cannot be read or compared is left out.
    """
    alike = {each.code_hash: place for place, each in enumerate(submissions) if not each.rejected}
    compared = LazySequence.picked(submissions, tuple(alike.values()))
    if len(compared) < FEWEST_HAND_INS:
        return NOTHING_SIMILAR
    if len(compared) > MOST_HAND_INS:
        return SimilarCode(left_out=len(submissions))
    steps = frozenset(step.name for step in exercise.steps)
    cells = LazySequence(len(compared), lambda place: compared[place].cells)
    prints = _results(pool, partial(_packed, steps=steps), cells, _BATCH)
    read = sorted(prints)
    compare = partial(_resemblances, given=given_fingerprints(exercise, steps))
    found = _results(pool, compare, [[prints[place] for place in read]]).get(0)
    if found is None:  # comparing takes more than it may
        return SimilarCode(left_out=len(submissions))
    shown = found[:MOST_PAIRS]
    pairs = [(compared[read[each.first]], compared[read[each.second]]) for each in shown]
    return SimilarCode(
        _with_examples(pool, pairs, shown), len(found), left_out=len(compared) - len(read)
    )


def given_fingerprints(exercise: Exercise, steps: frozenset[str]) -> frozenset[int]:
    """Return the fingerprints of what students get and of the reference: they weigh nothing."""
    texts = ([given_text(exercise.folder)], _stub(exercise))
    every = [fingerprints(cells, steps).values() for cells in texts]
    return frozenset().union(*(values for found in every for values in found))


def _stub(exercise: Exercise) -> list[str]:
    """Return the cells that students get; nothing when they cannot be cut out of the solution.

    Nobody's marks depend on it, and what many still have of the stub weighs nothing anyway.
    """
    try:
        return [cell.source for cell in read_cells(read_solution(exercise)) if cell.code]
    except KitError:
        return []


def _packed(cells: Sequence[str], steps: frozenset[str]) -> bytes:
    """Return the fingerprints of a hand-in as bytes, which take a fifteenth of the memory."""
    return pickle.dumps(fingerprints(cells, steps))


def _resemblances(prints: Sequence[bytes], given: frozenset[int]) -> tuple[Resemblance, ...]:
    unpacked = LazySequence[Fingerprints](len(prints), lambda place: pickle.loads(prints[place]))
    return resemblances(unpacked, given)


def _with_examples(
    pool: GraderPool,
    pairs: Sequence[tuple[Submission, Submission]],
    found: Sequence[Resemblance],
) -> tuple[SimilarPair, ...]:
    """Return each pair with the code of the steps in which it shares most."""
    jobs = [
        (place, step, [submission.cells for submission in pair])
        for place, (pair, each) in enumerate(zip(pairs, found, strict=True))
        for step in [step for step in each.steps if step][:_STEPS_SHOWN]
    ]
    examples: list[list[tuple[str, str, str]]] = [[] for _ in pairs]
    for job, texts in _results(pool, _examples, jobs).items():
        place, step, _ = jobs[job]
        examples[place].append((step, *texts))
    return tuple(
        SimilarPair((first.student, second.student), each.steps, each.part, tuple(examples[place]))
        for place, ((first, second), each) in enumerate(zip(pairs, found, strict=True))
    )


def _examples(job: tuple[int, str, Sequence[Sequence[str]]]) -> tuple[str, ...]:
    _, step, hand_ins = job
    return tuple(without_names(cells, step) for cells in hand_ins)


# The results of a class: the files of every student and of the class, and what is printed.

MOST_PRINTED = 1_000  # rows of the table in a terminal
PROJECTED = "projected"  # the folder of the page without names
CLASS_TEMPLATE = "class.html.j2"
MOST_LINES = 10  # sentences of a kind that is on the class page too


@dataclass(frozen=True)
class GradedClass:
    """The result of a run: the output folder, and who is not graded or has no page."""

    output: Path
    problems: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """True when every submission was read and judged, and every page made."""
        return not self.problems


def make_ready() -> None:
    """Compile the template of the class page, which can be done while nobody is judged yet."""
    environment().get_template(CLASS_TEMPLATE)


def write_results(
    task: ClassTask,
    records: ClassRecords,
    pool: GraderPool,
    judged: JudgedClass,
    gradebook: ClassGradebook,
    console: Console,
    anonymous: bool = False,
) -> GradedClass:
    """Write the files of every student and of the class, and print the results.

    If `anonymous`, nothing is printed about students, and a page without names is written as well.
    """
    names = _listed_names(task, console)
    gradebook = _with_hand_ins(gradebook, task, judged.submissions, names)
    exercise, paragraphs = task.exercise, read_paragraphs(task.output)
    submissions, outlines = judged.submissions, judged.outlines
    files = write_student_files(
        pool, task.output, exercise, judged, gradebook, paragraphs, records.delivery()
    )
    # What has failed is tried once more, and told: the files of all students are there by now.
    judged_ones = [each.student for each in outlines if not each.infrastructure]
    records.deliver([each for each in judged_ones if each not in files.delivered], pool)
    mistakes = misunderstandings(exercise, outlines)
    examples = code_examples(pool, submissions, mistakes)
    waiting = find_follow_ups(exercise, outlines, submissions, gradebook, task.groups)
    follow_ups = (*files.lost, *waiting)
    similar = find_similar_code(pool, exercise, submissions)
    pool.dismiss()
    in_its_course = is_course(task.graded) and not task.output_named
    context = ClassContext(
        gradebook.entries,
        follow_ups,
        tuple(zip(mistakes, examples)),
        paragraphs,
        similar,
        gradebook.records,
        course_page=f"../../{COURSE_PAGE}" if in_its_course else "",
    )
    written = _report(
        task, outlines, context, Console(file=io.StringIO()) if anonymous else console
    )
    if anonymous:
        page = write_projected_page(task.output / PROJECTED, exercise, outlines, context)
        console.print(f"to be shown: {page}", soft_wrap=True, markup=False)
    return replace(written, problems=(*written.problems, *(each.line for each in files.lost)))


def _with_hand_ins(
    gradebook: ClassGradebook,
    task: ClassTask,
    submissions: Sequence[Submission],
    names: Mapping[str, str],
) -> ClassGradebook:
    """Add to what is known of students the files that count, their groups, and a list's names."""
    groups = {student: each.group for each in task.groups for student in each.members}
    files = {each.student: "" if each.path.is_dir() else each.path.name for each in submissions}
    records = {}
    for student in {*files, *gradebook.records, *names}:
        known = gradebook.records.get(student, NO_RECORD)
        name, group = known.name or names.get(student, ""), groups.get(student, "")
        records[student] = replace(known, name=name, group=group, file=files.get(student, ""))
    return replace(gradebook, records=records)


def _listed_names(task: ClassTask, console: Console) -> Mapping[str, str]:
    """Return the names in the list of the class, or in what `attn platform collect` wrote.

    Nobody waits for a mark because a list cannot be read.
    """
    for name in ("roster.csv", f"collected-{task.exercise.name}.csv", "collected.csv"):
        if (path := task.graded / name).is_file():
            try:
                listed = read_class_list(path).students
            except KitError as error:
                console.print(
                    Text(terminal_line(f"no names: {error.fact} ({path})", 500), "yellow")
                )
                return {}
            return {each.student: each.identity.name for each in listed}
    return {}


def _report(
    task: ClassTask,
    verdicts: Sequence[Verdict],
    context: ClassContext,
    console: Console,
) -> GradedClass:
    """Write what is about the whole class; print its table and what waits for the instructor."""
    exercise, output = task.exercise, task.output
    entries, records, follow_ups = context.entries, context.records, context.follow_ups
    write_drafts(output, context.mistakes, context.paragraphs)
    # The students' pages exist by now, to which the class page has links.
    write_class_page(output / "feedback", exercise, verdicts, context)
    if context.course_page:
        write_course_page(output, exercise, verdicts, entries, records)
    write_whole(output / "grades.csv", grades_csv(exercise, verdicts, entries, records))
    write_follow_ups(output / "needs-you.json", exercise.name, follow_ups)
    if len(verdicts) <= MOST_PRINTED:
        wraps = console.width < NARROW
        console.print(class_table(exercise, verdicts, entries, records, wraps=wraps))
    else:  # nobody reads it there, and it takes as long as writing the class page
        console.print(f"{len(verdicts):,} students: the table is on the class page.")
    for line in class_summary(exercise, verdicts, entries):
        console.print(Text(terminal_line(line, 1_500)))
    changed = changed_marks(class_roll(exercise, verdicts), entries, records)
    _print_some(changed, console)
    problems = tuple(each.line for each in follow_ups if each.not_graded)
    for problem in problems:
        console.print(Text(f"not graded: {terminal_line(problem, 500)}", style="bold red"))
    waiting = [f"needs you: {each.line}" for each in follow_ups if not each.not_graded]
    _print_some(waiting, console)
    return GradedClass(output, problems)


def _print_some(lines: Sequence[str], console: Console) -> None:
    for line in lines[:MOST_LINES]:
        console.print(Text(terminal_line(line, 1_500)))
    if len(lines) > MOST_LINES:
        console.print(f"{count(len(lines) - MOST_LINES, 'more line')} on the class page.")


_MOST_OFFERED = 12


@lasting_output()
def report_class(
    path: Path,
    *,
    exercise: str | None,
    options: GradingOptions,
    console: Console,
    solutions: Path | None = None,
    output: Path | None = None,
    mistake: str = "",
    words: str = "",
    anonymous: bool = False,
) -> GradedClass:
    """Write and print the results of a class again, as the journal and the gradebook have them now.

    With `mistake`, named as anything prints it, `words` for everybody who made it are kept first;
    empty ones take away those that are there. If `anonymous`, there is a page without names, too,
    and nobody is named in the terminal. Raises `KitError` when nobody is judged yet, or
    nobody has made the mistake.
    """

    def say(words: str) -> None:
        console.print(Text(words))

    with opened_class(path, exercise, solutions, output, say) as found:
        task, records = found.task, found.opened_records()
        with (
            GraderPool(options.processes) as pool,
            kept_task(task, pool, options, console) as judged,
        ):
            gradebook = records.read()
            if records.last_counts:
                _refuse_other_points(task, judged.outlines, gradebook)
            if mistake:
                _tell(task, judged.outlines, mistake, words, console)
            return write_results(task, records, pool, judged, gradebook, console, anonymous)


def _refuse_other_points(
    task: ClassTask, verdicts: Sequence[Verdict], gradebook: ClassGradebook
) -> None:
    """Raise `KitError` when somebody has automatic points that these verdicts do not give."""
    for verdict in verdicts:
        points = _points_of_then(task, verdict, gradebook) if verdict.graded else None
        if points is not None and not math.isclose(points, verdict.points):
            name = terminal_line(verdict.student, 60)
            raise KitError(
                f"{name} was graded with {number(points)} automatic points, and by the settings of "
                f"now it would be {number(verdict.points)}",
                place=str(task.graded),
                cure="name the options that it was graded with, such as `--partial-points`; or run "
                "`attn grade` on the same class, which judges nobody again",
            )


def _points_of_then(task: ClassTask, verdict: Verdict, gradebook: ClassGradebook) -> float | None:
    """Return the automatic points that the gradebook has for this work, or else the results."""
    if entry := entry_of(verdict, gradebook.entries):
        return entry.automatic
    with suppress(KitError, OSError):  # a damaged file is written again
        then = find_verdict(task.output / "verdicts", verdict.student)
        if then and then.graded and then.code_hash == verdict.code_hash:
            return then.points
    return None


def _tell(
    task: ClassTask, verdicts: Sequence[Verdict], mistake: str, words: str, console: Console
) -> None:
    made = _made(task, verdicts)
    meant = _meant(mistake, made)
    if len(meant) != 1:
        near = get_close_matches(_plain(mistake), {each for one in made.values() for each in one})
        alike = [name for name, printed in made.items() if name in meant or printed & {*near}]
        shown = ", ".join([*alike, *sorted({*made} - {*alike})][:_MOST_OFFERED]) or "none"
        raise KitError(
            f"{terminal_line(repr(mistake), 120)} may be several mistakes of this class"
            if meant
            else f"nobody in this class has made the mistake {terminal_line(repr(mistake), 120)}",
            place=str(task.graded),
            cure=f"name it as the class page does; there are: {terminal_line(shown, 1_000)}",
        )
    step, _, code = meant[0].partition("/")
    write_paragraph(task.output, Paragraph(step, code, words.strip()))
    amount = sum(
        code in mistakes_at(each) for one in verdicts for each in one.steps if each.name == step
    )
    told_to = count(amount, "student")
    console.print(Text(f"{'It' if words.strip() else 'Nothing'} is on the page of {told_to} now."))


def _made(task: ClassTask, verdicts: Sequence[Verdict]) -> dict[str, set[str]]:
    """Return what the class page, the terminal and the CSV print of each mistake, by its name."""
    found: dict[str, set[str]] = {}
    for verdict in verdicts:
        for step in verdict.steps:
            title, line = task.exercise.step(step.name).title, told(step).line
            for code, finding in mistakes_at(step).items():
                name = misconception_words(finding.misconception or code)
                printed = [f"{step.name}/{code}", name]
                printed += [f"{name} (in {step.name})", f"{name} in {title}", finding.fact]
                printed += [line, f"{step.name}: {line}"] if finding == step.finding else []
                found.setdefault(printed[0], set()).update(map(_plain, printed))
    return found


def _meant(mistake: str, made: Mapping[str, set[str]]) -> list[str]:
    """Return the names of the mistakes that may be meant; a terminal cuts long lines."""
    wanted = _plain(mistake)
    cut = wanted.endswith(("…", "...")) and wanted.rstrip("….")
    return [
        name
        for name, printed in made.items()
        if wanted in printed or (cut and any(each.startswith(cut) for each in printed))
    ]


def _plain(printed: str) -> str:
    """Return what is printed of a mistake without what does not tell it from others."""
    found = re.sub(r": \d+ students?$|^\d+: ", "", clean_line(printed, 1_000).strip())
    return re.sub(r"[\s_`]+", " ", found).casefold().strip()
