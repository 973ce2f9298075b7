"""The text of a course's `nbgrader_config.py`.

An instructor reads and changes this file, so it says plainly what differs from
stock nbgrader, and why. Nothing is set anywhere else.
"""

from __future__ import annotations

import json
from string import Template

_SHARED = "c.CourseDirectory.groupshared = True  # where several instructors share this folder"
TEMPLATE = """\
# How nbgrader runs this course. This file is yours; each part says why it is here.
from autograder.course.autograde import install

c = get_config()  # noqa: F821 (nbgrader provides it)

c.CourseDirectory.course_id = $course_id
$shared
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
    "nbgrader.preprocessors.OverwriteKernelspec",
    "nbgrader.preprocessors.OverwriteCells",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# Grading, second half. nbgrader runs no student code: the verdict takes the place of Execute.
c.Autograde.autograde_preprocessors = [
    "autograder.course.preprocessors.WriteVerdict",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# Being late costs nothing, unless you take away the "# " of these lines and of those you need.
# c.AssignLatePenalties.plugin_class = "autograder.course.late_policy.LatePolicy"
# c.LatePolicy.percent_per_day = 10
# c.LatePolicy.grace_minutes = 15
# c.LatePolicy.most_percent = 100

# Grading is refused on a machine that cannot isolate submissions (`attn doctor` says what is
# missing). The next line grades anyway. It is only for code that you trust; every page says so:
# c.WriteVerdict.allow_protection = "process"

# The plain .py that a student hands in is kept, not replaced by the one in source/.
c.Autograde.exclude_overwriting = $kept

# Feedback and formgrader show what students wrote: no script of theirs may run in your browser.
# sanitize_html cleans outputs only; the filters clean the prose, which nbgrader does not.
c.HTMLExporter.sanitize_html = True
c.HTMLExporter.filters = {
    "clean_html": "autograder.course.page.clean_html",
    "markdown2html": "autograder.course.page.clean_markdown",
    "highlight_code": "autograder.course.page.highlight_code",
}
# Characters that hide or reverse other text are removed; in pages and CSV, a name is only text.
c.HTMLExporter.preprocessors = ["autograder.course.page.PlainText"]
c.ExportApp.plugin_class = "autograder.course.export.CleanCsv"

# `nbgrader autograde` also accepts a plain .py, a broken notebook and a renamed one.
install()
"""


def render_configuration(course_id: str, kept: dict[str, list[str]], *, shared: bool) -> str:
    """Return the file for the course `course_id`, whose folder a group may have `shared`.

    `kept` lists, for each exercise, the submitted files that nbgrader must not overwrite.
    """
    group = _SHARED if shared else f"# {_SHARED}"
    return Template(TEMPLATE).substitute(
        course_id=json.dumps(course_id), kept=json.dumps(kept, indent=4), shared=group
    )


# All that an adopted course gets: its own settings hold, and those above only for the exercises.
BESIDE = """\
# Added by `attn course adopt`; `attn course adopt --undo` takes it away. The exercises that are
# listed in attn.toml are released and graded by the kit, with its settings. Yours hold for
# everything else, as before.
from autograder.course.autograde import install

install()
"""
# With a line break before, a file that was there is told from a new one.
BESIDE_OTHERS = f"\n{BESIDE}"
