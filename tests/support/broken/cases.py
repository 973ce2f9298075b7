"""The whole broken class."""

from __future__ import annotations

from support.broken import code, files, notebooks
from support.broken.case import CASES, Broken

MODULES = (files, notebooks, code)
EVERYBODY: tuple[Broken, ...] = tuple(CASES.values())
# For what takes its time over every student: files, folders, names, cells and code that are read,
# laid out or judged each in another way.
ONE_OF_EACH_KIND: tuple[Broken, ...] = tuple(
    CASES[student]
    for student in (
        *("invalid_json", "empty_notebook", "third_format", "renamed_notebook"),
        *("broken_notebook_beside_a_script", "script_in_place_of_the_notebook"),
        *("link_to_the_solution", "name_of_an_old_zip", "o'brien & daughter, anna"),
        *("answer_in_a_markdown_cell", "metadata_of_wrong_types", "magic_lines", "curly_quote"),
    )
)
