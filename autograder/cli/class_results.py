"""The results of a class: the files of every student and of the class, and what is printed."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from autograder.cli.follow_ups import find_follow_ups
from autograder.cli.found_class import ClassRecords
from autograder.cli.similar_code import code_examples, find_similar_code
from autograder.cli.student_files import write_student_files
from autograder.errors import KitError
from autograder.grading.class_task import ClassTask, is_course
from autograder.grading.classroom import JudgedClass
from autograder.grading.grader_pool import GraderPool
from autograder.platforms.csv_table import read_class_list
from autograder.reports.class_page import ClassContext, write_class_page, write_projected_page
from autograder.reports.class_summary import class_summary
from autograder.reports.course_page import COURSE_PAGE, write_course_page
from autograder.reports.feedback import environment
from autograder.reports.gradebook_entry import ClassGradebook, changed_marks
from autograder.reports.grades_csv import grades_csv
from autograder.reports.misunderstandings import misunderstandings, read_paragraphs, write_drafts
from autograder.reports.roll import NO_RECORD, class_roll, write_follow_ups
from autograder.reports.table import NARROW, class_table
from autograder.submission.reading import Submission
from autograder.values.files import write_whole
from autograder.values.sanitize import terminal_line
from autograder.values.symbols import count
from autograder.values.verdict import Verdict

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
