"""Notebooks whose cells were copied, moved, merged, deleted, or whose metadata was changed."""

from __future__ import annotations

from typing import Any

from autograder.values.verdict import Outcome
from support.broken.case import Work, broken, grade_id, new_cell, text

NOT_WRITTEN = Outcome.NOT_WRITTEN


@broken(says="there more than once")
def cells_copied_and_left_empty(work: Work) -> None:
    stubs = work.stubs
    pairs = ((cell, stubs.get(grade_id(cell))) for cell in work.cells)
    work.save(cell for pair in pairs for cell in pair if cell)


@broken()
def cells_copied_with_the_answer(work: Work) -> None:
    work.save(cell for cell in work.cells for _ in range(2))


@broken(says="there more than once")
def answer_above_the_stub(work: Work) -> None:
    stub = text(work.stubs["softmax"])
    cells = work.edited("softmax", lambda answer: stub)
    place = next(n for n, cell in enumerate(cells) if grade_id(cell) == "softmax")
    work.save([*cells[:place], new_cell(work.answers["softmax"]), *cells[place:]])


@broken(says="there more than once")
def answer_above_the_stub_in_its_cell(work: Work) -> None:
    stub = text(work.stubs["softmax"])
    work.save(work.edited("softmax", lambda answer: f"{answer}\n\n\n{stub}"))


@broken()
def answer_in_an_extra_cell(work: Work) -> None:
    stub = text(work.stubs["softmax"])
    work.save([*work.edited("softmax", lambda answer: stub), new_cell(work.answers["softmax"])])


@broken(loses="softmax", ends=NOT_WRITTEN, says="The one in a Markdown cell is not run")
def answer_in_a_markdown_cell(work: Work) -> None:
    stub = text(work.stubs["softmax"])
    fenced = f"My answer:\n```python\n{work.answers['softmax']}\n```"
    cells = work.edited("softmax", lambda answer: stub)
    work.save([*cells, new_cell(fenced, "markdown")])


@broken(loses="softmax", ends=NOT_WRITTEN, says="The one in a raw cell is not run")
def answer_cell_made_raw(work: Work) -> None:
    cells = work.cells
    for cell in cells:
        if grade_id(cell) == "softmax":
            cell["cell_type"] = "raw"
    work.save(cells)


@broken()
def answer_in_the_check_cell(work: Work) -> None:
    stub = text(work.stubs["softmax"])
    cells = work.edited("softmax", lambda answer: stub)
    for cell in cells:
        if grade_id(cell) == "check_softmax":
            cell["source"] = f"{work.answers['softmax']}\n\ncheck(softmax)"
    work.save(cells)


@broken(says=("`import numpy as np`", "was added for the check"))
def cells_in_reverse_order(work: Work) -> None:
    work.save(reversed(work.cells))


@broken()
def all_code_in_one_cell(work: Work) -> None:
    code = [text(cell) for cell in work.cells if cell["cell_type"] == "code"]
    work.save([new_cell("\n".join(code))])


@broken(loses="scale_scores", says=("outside function", "Everything else that you define counts"))
def cell_split_in_a_function(work: Work) -> None:
    """As the editor's "split cell" leaves it, when the cursor stood in the last line."""
    cells = []
    for cell in work.cells:
        if grade_id(cell) != "scale_scores":
            cells.append(cell)
            continue
        *head, last = text(cell).rstrip().split("\n")
        cells += [cell | {"source": "\n".join(head)}, new_cell(last)]
    work.save(cells)


@broken(loses="scale_scores", ends=NOT_WRITTEN)
def cells_deleted(work: Work) -> None:
    gone = ("scale_scores", "check_scale_scores", "check_softmax", "setup")
    cells = [cell for cell in work.cells if grade_id(cell) not in gone]
    work.save(cell for cell in cells if cell["cell_type"] != "markdown")


@broken(says=("`import numpy as np`", "was added for the check"))
def imports_deleted(work: Work) -> None:
    work.save(cell for cell in work.cells if not text(cell).startswith("import numpy"))


@broken()
def flipped_metadata(work: Work) -> None:
    cells = work.cells
    for cell in cells:
        facts = cell["metadata"].get("nbgrader")
        if facts:
            facts |= {key: not facts[key] for key in ("grade", "solution", "locked")}
            facts["points"] = 1000
    work.save(cells)


@broken()
def schema_of_the_future(work: Work) -> None:
    cells = work.cells
    for cell in cells:
        if grade_id(cell):
            cell["metadata"]["nbgrader"]["schema_version"] = 99
    work.save(cells)


@broken()
def one_grade_id_for_all(work: Work) -> None:
    cells = work.cells
    for cell in cells:
        if grade_id(cell):
            cell["metadata"]["nbgrader"]["grade_id"] = "softmax"
    work.save(cells)


@broken()
def one_cell_id_for_all(work: Work) -> None:
    work.save(cell | {"id": "softmax"} for cell in work.cells)


@broken()
def metadata_lost(work: Work) -> None:
    work.save(
        [new_cell(text(cell), cell["cell_type"]) for cell in work.cells], metadata={}, nbformat=4
    )


NOT_CELLS: list[Any] = [None, 7, "x"]


@broken()
def metadata_of_wrong_types(work: Work) -> None:
    cells = work.cells
    for number, cell in enumerate(cells):
        cell["metadata"] = [None, "x", {"nbgrader": 3}, {"nbgrader": {"grade_id": []}}][number % 4]
    work.save([*NOT_CELLS, *cells], metadata=None)
