"""The text of a course's `nbgrader_config.py`.

An instructor reads and changes this file, so it says in plain lines what differs
from stock nbgrader and why, and nothing is set behind its back.
"""

from __future__ import annotations

import json
from string import Template

TEMPLATE = """\
# How nbgrader runs this course. The file is yours; each line says why it is here.
from autograder.course.autograde import install

c = get_config()  # noqa: F821 (nbgrader provides it)

c.CourseDirectory.course_id = $course_id
# The gradebook is gradebook.db beside this file. For PostgreSQL:
# c.CourseDirectory.db_url = "postgresql://user@host/gradebook"

# Release. Solution cells hold stubs already, so a cell without a solution region stays as it is.
c.GenerateAssignment.preprocessors = [
    "nbgrader.preprocessors.LockCells",
    "autograder.course.preprocessors.KeepStubs",
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.CheckCellMetadata",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.SaveCells",
    "nbgrader.preprocessors.ClearHiddenTests",
    "nbgrader.preprocessors.ClearMarkScheme",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# Grading, first half. The released notebook is the skeleton; a submission fills in its code.
c.Autograde.sanitize_preprocessors = [
    "autograder.course.preprocessors.OntoSkeleton",
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "nbgrader.preprocessors.OverwriteCells",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# Grading, second half. nbgrader runs no student code: the verdict stands in place of Execute.
c.Autograde.autograde_preprocessors = [
    "autograder.course.preprocessors.WriteVerdict",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# Where a machine cannot isolate submissions, grading is refused (`attn doctor` says what is
# missing). This grades all the same, only for code that you trust; every page says so:
# c.WriteVerdict.allow_protection = "process"

# The plain .py that a student hands in is kept, not replaced by the one in source/.
c.Autograde.exclude_overwriting = $kept

# Feedback and formgrader show what students wrote: no script of theirs may run in your browser.
# sanitize_html covers outputs; nbgrader's templates leave out prose, which the filters cover.
c.HTMLExporter.sanitize_html = True
c.HTMLExporter.filters = {
    "clean_html": "autograder.course.page.clean_html",
    "markdown2html": "autograder.course.page.clean_markdown",
    "highlight_code": "autograder.course.page.highlight_code",
}
# Text that hides or turns its neighbours is taken out, and names are text in pages and in CSV.
c.HTMLExporter.preprocessors = ["autograder.course.page.PlainText"]
c.ExportApp.plugin_class = "autograder.course.export.CleanCsv"

# `nbgrader autograde` also takes a plain .py, a broken notebook and a renamed one.
install()
"""


def render_configuration(course_id: str, kept: dict[str, list[str]]) -> str:
    """Return the file for the course `course_id`.

    `kept` lists, for each exercise, the submitted files that nbgrader must not overwrite.
    """
    return Template(TEMPLATE).substitute(
        course_id=json.dumps(course_id), kept=json.dumps(kept, indent=4)
    )
