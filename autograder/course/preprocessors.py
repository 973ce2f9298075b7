"""The preprocessors that `nbgrader_config.py` puts into nbgrader's pipelines, by dotted name.

Each class is a thin wrapper of a pure function elsewhere. nbgrader changes into the
course directory while it converts, which is how a preprocessor knows the course.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader.preprocessors import ClearSolutions, NbGraderPreprocessor, SaveAutoGrades
from nbgrader.utils import is_grade, is_solution, is_task
from traitlets import Enum, Unicode
from traitlets.utils.importstring import import_item

from autograder.course.creation import read_course
from autograder.course.gradebook import SECONDS_BEFORE
from autograder.course.graded_attempts import noted_attempts
from autograder.course.graded_notebook import NOT_THERE, has_no_mark, with_verdict
from autograder.course.intake import (
    CHANGED,
    LAID_OUT,
    NOT_ASKED,
    drop_scripts,
    onto_skeleton,
    release_notebook,
    same_code,
    timestamp,
)
from autograder.course.students import counting_folder
from autograder.submission.cells import ASKED
from autograder.values.sanitize import LONGEST_NAME, clean_line
from autograder.values.symbols import Protection, why_not_graded

Result = tuple[NotebookNode, ResourcesDict]
NO_MARK = "no_mark"  # in nbgrader's resources: nothing that counts was judged


class KeepStubs(ClearSolutions):
    """nbgrader's ClearSolutions, except that it leaves cells without a solution region alone.

    It also notes in the notebook what the release asks: whoever hands it in after a later release
    was not asked what is new there.
    """

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> Result:
        """Clear the solution regions of a notebook."""
        nb, resources = super().preprocess(nb, resources)
        graded = (cell for cell in nb.cells if is_grade(cell) or is_task(cell))
        nb.metadata[ASKED] = [cell.metadata.nbgrader["grade_id"] for cell in graded]
        return nb, resources

    def preprocess_cell(
        self, cell: NotebookNode, resources: ResourcesDict, cell_index: int
    ) -> Result:
        """Clear the solution regions of one cell."""
        if is_solution(cell) and self.begin_solution_delimeter not in cell.source:
            return cell, resources
        result: Result = super().preprocess_cell(cell, resources, cell_index)
        return result


class OntoSkeleton(NbGraderPreprocessor):
    """Copies a submission's code into the released notebook."""

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> Result:
        """Return the released notebook with the code of `nb` in its solution cells."""
        release = release_notebook(read_course(Path.cwd()), resources["nbgrader"]["assignment"])
        result = onto_skeleton(release, nb)
        for name in (LAID_OUT, NOT_ASKED):
            if name in nb.metadata:
                result.metadata[name] = nb.metadata[name]
        return result, resources


class SaveGrades(SaveAutoGrades):
    """nbgrader's SaveAutoGrades, which leaves open what was not graded."""

    def _add_score(self, cell: NotebookNode, resources: ResourcesDict) -> None:
        """Write the score of one cell into the gradebook."""
        super()._add_score(cell, resources)
        facts = resources["nbgrader"]
        unseen = cell.metadata["nbgrader"]["grade_id"] in facts.get(NOT_ASKED, ())
        if unseen or (facts.get(NO_MARK) and not is_solution(cell)):
            names = (self.notebook_id, self.assignment_id, self.student_id)
            grade = self.gradebook.find_grade(cell.metadata["nbgrader"]["grade_id"], *names)
            grade.auto_score, grade.needs_manual_grade = None, True
            self.gradebook.db.commit()

    def _add_comment(self, cell: NotebookNode, resources: ResourcesDict) -> None:
        """Write what nbgrader says about one answer into the gradebook."""
        super()._add_comment(cell, resources)
        name = cell.metadata["nbgrader"]["grade_id"]
        if name in resources["nbgrader"].get(NOT_ASKED, ()):
            names = (self.notebook_id, self.assignment_id, self.student_id)
            self.gradebook.find_comment(name, *names).auto_comment = NOT_THERE
            self.gradebook.db.commit()


class WriteVerdict(NbGraderPreprocessor):
    """Replaces nbgrader's Execute: writes the verdict, and runs no code itself."""

    judge = Unicode(
        "autograder.course.autograde.judge",
        help="The dotted name of what judges: judge(course, exercise, student, folder) -> Verdict.",
    ).tag(config=True)
    allow_protection = Enum(
        ["", Protection.PROCESS.value],
        default_value="",
        help="'process': grade even though this machine cannot isolate submissions. The judge gets "
        "allow_process=True. Only for code that you trust.",
    ).tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> Result:
        """Return `nb` with the verdict on the student's own files in its check cells.

        If these files have changed since `nb` was laid out, return the release with the verdict.
        """
        facts: dict[str, Any] = resources["nbgrader"]
        course = read_course(Path.cwd())
        exercise = course.exercise(facts["assignment"])
        folder = counting_folder(course, exercise.name, facts["student"])
        options = {"allow_process": True} if self.allow_protection else {}
        verdict = import_item(self.judge)(course, exercise, facts["student"], folder, **options)
        source = nb
        if not same_code(nb, verdict.code_hash):
            source = release_notebook(course, exercise.name)
            drop_scripts(course.autograded(exercise.name, facts["student"]))
            verdict = replace(verdict, remarks=(*verdict.remarks, CHANGED))
        handed_in = {verdict.student: timestamp(folder, course.hand_ins)}
        notes = noted_attempts(course.graded(exercise.name), [verdict], handed_in)
        counted = notes.counted(exercise, [verdict], course.attempts, course.rules)
        notes.save()
        attempt = counted.get(verdict.student)
        if attempt:
            facts[SECONDS_BEFORE] = attempt.seconds_before
        facts[NO_MARK] = has_no_mark(verdict, attempt)
        if facts[NO_MARK]:
            who = clean_line(verdict.student, LONGEST_NAME)
            self.log.warning("%s is not graded: %s", who, why_not_graded(verdict))
        result = with_verdict(source, verdict, exercise, attempt)
        facts[NOT_ASKED] = nb.metadata.get(NOT_ASKED, ())
        for name in (LAID_OUT, NOT_ASKED):
            result.metadata.pop(name, None)
        return result, resources
