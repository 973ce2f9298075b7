"""The whole broken class: files, notebooks and code, broken and not hostile."""

from __future__ import annotations

import json
import re
from typing import Any

from autograder.values.verdict import Outcome
from support.broken.case import (
    ASSIGNMENT,
    CASES,
    EXERCISE,
    NAME,
    NOTEBOOK,
    SCRIPT,
    STEPS,
    Broken,
    Work,
    broken,
    grade_id,
    new_cell,
    text,
)

REJECTED, NOT_WRITTEN, RAISED = Outcome.REJECTED, Outcome.NOT_WRITTEN, Outcome.RAISED
AGAIN = "hand it in again"
COUNTS = "Everything else that you define counts"


# --- files: cut off, renamed, links, other encodings ----------------------------------------------


@broken(loses="everything", ends=REJECTED, says=("not valid JSON (line", AGAIN))
def truncated_file(work: Work) -> None:
    whole = work.save(work.cells).read_bytes()
    work.write(whole[: len(whole) // 2], NOTEBOOK)


@broken(loses="everything", ends=REJECTED, says=("Line 4 is a mark that git leaves", AGAIN))
def merge_conflict_in_json(work: Work) -> None:
    lines = json.dumps({"cells": work.cells}, indent=1).split("\n")
    conflict = ["<<<<<<< HEAD", lines[3], "=======", lines[3], ">>>>>>> mine"]
    work.write("\n".join([*lines[:3], *conflict, *lines[4:]]), NOTEBOOK)


@broken(loses="everything", ends=NOT_WRITTEN, says="not written")
def empty_notebook(work: Work) -> None:
    work.save([])


@broken(loses="everything", ends=REJECTED, says=("no list of cells", AGAIN))
def notebook_is_a_list(work: Work) -> None:
    work.write(json.dumps(work.cells), NOTEBOOK)


@broken()
def third_format(work: Work) -> None:
    cells = [
        {key: value for key, value in cell.items() if key != "source"}
        | {"input" if cell["cell_type"] == "code" else "source": cell["source"]}
        for cell in work.cells
    ]
    notebook = {"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}}
    work.write(json.dumps(notebook | {"worksheets": [{"cells": cells}]}), NOTEBOOK)


@broken()
def wrong_kernel(work: Work) -> None:
    kernel = {"kernelspec": {"display_name": "R", "language": "R", "name": "ir"}}
    work.save(work.cells, metadata=kernel | {"language_info": {"name": "R"}})


@broken()
def capital_suffix(work: Work) -> None:
    work.save(work.cells, f"{NAME}.IPYNB")


@broken(says_of_folder=(f"{NOTEBOOK}.txt was read", f"there is no {NOTEBOOK}"))
def suffix_of_a_download(work: Work) -> None:
    work.save(work.cells, f"{NOTEBOOK}.txt")


@broken(says_of_folder=f"{NAME}-Copy1.ipynb was read")
def two_notebooks_one_of_them_as_released(work: Work) -> None:
    work.write((ASSIGNMENT / NOTEBOOK).read_bytes(), NOTEBOOK)
    work.save(work.cells, f"{NAME}-Copy1.ipynb")


@broken(
    loses="scale_scores",
    ends=NOT_WRITTEN,
    says=(f"{NOTEBOOK} counts; there is also work in {NAME}-Copy1.ipynb",),
)
def two_notebooks_with_work(work: Work) -> None:
    work.save(cell for cell in work.cells if grade_id(cell) != "scale_scores")
    work.save(work.cells, f"{NAME}-Copy1.ipynb")


@broken()
def script_in_place_of_the_notebook(work: Work) -> None:
    work.write(work.script)


@broken(says_of_folder="was read")
def checkpoints_beside_it(work: Work) -> None:
    (work.folder / ".ipynb_checkpoints").mkdir()
    work.write("{", f".ipynb_checkpoints/{NOTEBOOK}")
    work.write("my notes", "notes.txt")
    work.save(work.cells, "attention.ipynb")


@broken(loses="everything", ends=REJECTED, says=("There is no notebook and no .py", "hand in"))
def word_processor_file(work: Work) -> None:
    work.write(b"PK\x03\x04\x00", "homework.docx")
    work.write("see homework.docx", "notes.txt")


@broken(loses="everything", ends=REJECTED, says=("is not a plain file", "hand in the file itself"))
def link_to_the_solution(work: Work) -> None:
    (work.folder / SCRIPT).symlink_to(EXERCISE.folder / "solution.py")


@broken(loses="everything", ends=REJECTED, says=("is not a plain file", "hand in the file itself"))
def folder_in_place_of_the_notebook(work: Work) -> None:
    (work.folder / NOTEBOOK).mkdir()


@broken(says=("hand in the file itself", f"Until then, {SCRIPT} counts"))
def folder_with_the_notebooks_name_beside_a_script(work: Work) -> None:
    (work.folder / NOTEBOOK).mkdir()
    work.write(work.script)


@broken(says="because of its outputs")
def eleven_megabytes_of_outputs(work: Work) -> None:
    cells = work.cells
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    line = '[0.25, "x"] ' * 8 + "\n"
    code[2]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": [line] * 60_000}]
    picture = {"image/png": "iVBORw0KGgo=" * 500_000}
    code[3]["outputs"] = [{"output_type": "display_data", "data": picture, "metadata": {}}]
    size = work.save(cells).stat().st_size
    assert size > 11 * 1024 * 1024, size


@broken(loses="everything", ends=REJECTED, says=("larger than 1024 kB", AGAIN))
def two_megabytes_of_script(work: Work) -> None:
    work.write(f"{work.script}\ntable = '''\n{'0.25, ' * 350_000}\n'''\n")


@broken()
def sixteen_bits_a_letter(work: Work) -> None:
    work.write(work.save(work.cells).read_text(encoding="utf-8").encode("utf-16"), NOTEBOOK)


@broken(says=("is not UTF-8 text (byte 8)", "save it as UTF-8"))
def latin_1_without_a_word(work: Work) -> None:
    text = work.script.encode("ascii", "ignore").decode()
    work.write(f"# of: Zo\u00eb\n{text}".encode("latin-1"))


@broken(says_of_folder=("xfc.ipynb was read", f"there is no {NOTEBOOK}"))
def name_of_an_old_zip(work: Work) -> None:
    work.save(work.cells, "arbeit\udcfc.ipynb")  # as Python names a byte that is not UTF-8


@broken(says=("You handed in 40 notebooks and .py files", "only 10 of them were read"))
def forty_notebooks(work: Work) -> None:
    released = (ASSIGNMENT / NOTEBOOK).read_bytes()
    for number in range(39):
        work.write(released, f"copy {number}.ipynb")
    work.save(work.cells)


@broken(student="Zo\u00eb M\u00fcller-\u674e")
def name_in_other_letters(work: Work) -> None:
    work.save([*work.cells, new_cell("\u00e4hnlichkeit = 'Zo\u00eb'")])


@broken(student="o'brien & daughter, anna")
def name_with_marks(work: Work) -> None:
    work.save(work.cells)


@broken(says_of_folder="homework/numpy_single_head.ipynb was read")
def one_folder_further_down(work: Work) -> None:
    (work.folder / "homework").mkdir()
    work.save(work.cells, f"homework/{NOTEBOOK}")


# --- cells that were copied, moved, merged or deleted, and their metadata -------------------------


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


# --- what only IPython understands ------------------------------------------------------------


@broken()
def shell_cells(work: Work) -> None:
    cells = work.with_cell("%%bash\nls -l | head\npip install numpy")
    cells += [new_cell("%%html\n<b>done</b>"), new_cell("%%javascript\nalert('done')")]
    work.save([*cells, new_cell("%%writefile notes.txt\nnot Python at all")])


@broken(
    loses="softmax",
    ends=NOT_WRITTEN,
    says="in a cell that begins with `%%writefile` is not run",
)
def written_to_a_file(work: Work) -> None:
    work.save(work.edited("softmax", lambda answer: f"%%writefile softmax.py\n{answer}"))


# --- what is not there while grading ------------------------------------------------------------


@broken(says=("EOFError", "No one answers `input()`", COUNTS))
def input_at_the_top(work: Work) -> None:
    work.save(work.edited("softmax", lambda answer: f"size = int(input('D? '))\n{answer}"))


@broken(loses="softmax", ends=RAISED, says=("EOFError", "`input()` waits until somebody"))
def input_in_a_step(work: Work) -> None:
    asks = "def softmax(scores):\n    return scores * float(input('scale? '))"
    work.save(work.edited("softmax", lambda answer: asks))


@broken()
def plots(work: Work) -> None:
    plot = (
        "import matplotlib.pyplot as plt\nfigure, axes = plt.subplots(1, 2)\n"
        "axes[0].imshow(np.eye(4))\nplt.show()\n"
    )
    cells = work.edited("softmax", lambda answer: plot + answer)
    work.save([*cells, new_cell(plot), new_cell(f"plt.figure()\n{work.answers['scale_scores']}")])


@broken(says=("`import no_such_frame as frame` (line 1 of its cell)", "ModuleNotFoundError"))
def import_that_is_missing(work: Work) -> None:
    cells = work.cells
    first = next(cell for cell in cells if text(cell).startswith("import numpy"))
    first["source"] = "import no_such_frame as frame\n" + text(first)
    work.save(cells)


@broken(says=("No module named 'no_such_frame'", "was added for the check"))
def import_that_takes_others_with_it(work: Work) -> None:
    cells = work.cells
    first = next(cell for cell in cells if text(cell).startswith("import numpy"))
    first["source"] = text(first).replace("import numpy", "import no_such_frame, numpy")
    work.save(cells)


@broken(says=("No module named 'my_solution'", COUNTS))
def import_of_a_file_that_is_not_handed_in(work: Work) -> None:
    work.write(f"from my_solution import *\n{work.script}")


@broken(says=("FileNotFoundError", "there are no other files"))
def files_read_and_folders_changed(work: Work) -> None:
    source = "import os, sys\nsys.path.insert(0, '..')\nos.chdir('/')\ndata = np.load('data.npy')\n"
    work.save(work.edited("softmax", lambda answer: source + answer))


@broken(says=("No module named 'google'", COUNTS))
def colab(work: Work) -> None:
    source = "!pip install -q attention-kit\nfrom google.colab import drive\ndrive.mount('/d')"
    work.save(work.with_cell(source))


# --- what takes too long, or ends everything ----------------------------------------------------


@broken()
def training_loop_of_a_second(work: Work) -> None:
    source = "import time\nend = time.time() + 1\nwhile time.time() < end:\n    np.ones(9).sum()"
    work.save([*work.cells, new_cell(source)])


@broken(says=("takes longer than a submission may", "what you define counts"))
def training_loop_of_hours(work: Work) -> None:
    work.save(work.edited("softmax", lambda answer: f"while True:\n    np.ones(9).sum()\n{answer}"))


@broken(says=("prints more than a submission may", "what you define counts"))
def megabytes_printed(work: Work) -> None:
    work.save([*work.cells, new_cell("for _ in range(50_000):\n    print('step', 'x' * 2000)")])


@broken(loses="softmax", ends=Outcome.OUTPUT_LIMIT, says="It printed more than a submission may")
def megabytes_printed_in_a_step(work: Work) -> None:
    work.save(
        work.edited(
            "softmax", lambda answer: answer.replace("return", "print('x' * 5_000_000)\n    return")
        )
    )


@broken(says=("SystemExit", COUNTS))
def exit_at_the_top(work: Work) -> None:
    work.write(work.script.replace("import numpy", "import sys\nsys.exit()\nimport numpy", 1))


@broken(says=("ends the Python process", "what you define counts"))
def python_ended(work: Work) -> None:
    work.save(work.with_cell("import os\nos._exit(0)"))


@broken(says=("ValueError: half-way", COUNTS))
def cell_that_raises_half_way(work: Work) -> None:
    both = "{}\n\nraise ValueError('half-way')\n\n{}"
    answers = work.answers
    cells = work.edited(
        "softmax", lambda answer: both.format(answer, answers["initialize_weights"])
    )
    stub = text(work.stubs["initialize_weights"])
    place = next(n for n, cell in enumerate(cells) if text(cell) == answers["initialize_weights"])
    cells[place]["source"] = stub
    work.save(cells)


@broken(says=("ZeroDivisionError", COUNTS))
def demonstration_that_raises(work: Work) -> None:
    """The error is in a function, the call of it between two steps of one cell."""
    source = "def demonstrate():\n    return 1 / 0\n\ndemonstrate()\n\n"
    work.save(work.edited("softmax", lambda answer: source + answer))


# --- code that is no Python -----------------------------------------------------------------------


@broken(says=("mark that git leaves", COUNTS))
def merge_conflict_around_a_step(work: Work) -> None:
    conflict = "<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> theirs"
    work.save(work.edited("scale_scores", lambda answer: conflict.format(answer, answer)))


@broken(loses="scale_scores", says=("mark that git leaves", COUNTS))
def merge_conflict_in_a_step(work: Work) -> None:
    def conflict(answer: str) -> str:
        *head, last = answer.rstrip().split("\n")
        return "\n".join([*head, "<<<<<<< HEAD", last, "=======", last, ">>>>>>> theirs"])

    work.save(work.edited("scale_scores", conflict))


@broken(loses="project_output", ends=RAISED, says=("curly quote", COUNTS))
def curly_quote(work: Work) -> None:
    curly = "def project_output(attention_output, output_weights):\n    print(\u2018out\u2019)"
    work.save(work.edited("project_output", lambda answer: curly))


@broken(loses="softmax", ends=RAISED, says=("non-printable character U+00A0", COUNTS))
def spaces_of_a_web_page(work: Work) -> None:
    work.save(work.edited("softmax", lambda answer: answer.replace("    ", "\u00a0   ")))


@broken(loses="scale_scores", ends=RAISED, says=("TabError", COUNTS))
def tabs_mixed_with_spaces(work: Work) -> None:
    mixed = "def scale_scores(attention_scores, embedding_dimension):\n    if True:\n\treturn 1\n"
    work.write(work.script.replace(work.answers["scale_scores"], mixed, 1))


@broken(says="null bytes")
def null_bytes(work: Work) -> None:
    work.write(work.script.replace("def softmax(", "\0def softmax(", 1))


@broken(says="halves of characters")
def half_a_character_in_a_cell(work: Work) -> None:
    # Written as JSON's own escape: no file can hold it as it is.
    work.save([*work.cells, new_cell("word = 'HALF'")])
    whole = (work.folder / NOTEBOOK).read_text(encoding="utf-8")
    work.write(whole.replace("HALF", "\\ud800"), NOTEBOOK)


@broken(loses="softmax", ends=RAISED, says="has no attribute 'a'")
def attributes_without_end(work: Work) -> None:
    chain = "def softmax(scores):\n    scores" + ".a" * 700 + "\n    return scores\n"
    work.save(work.edited("softmax", lambda answer: chain))


# --- code that stands elsewhere -------------------------------------------------------------------


@broken()
def defined_twice_the_last_one_right(work: Work) -> None:
    wrong = "def softmax(scores):\n    return scores\n\n\n"
    work.save(work.edited("softmax", lambda answer: wrong + answer))


@broken(loses="softmax", ends=NOT_WRITTEN, says="inside the class `Attention`")
def step_inside_a_class(work: Work) -> None:
    def nested(answer: str) -> str:
        return "class Attention:\n" + "\n".join(f"    {line}" for line in answer.split("\n"))

    work.save(work.edited("softmax", nested))


@broken()
def hints_that_are_names_of_nothing(work: Work) -> None:
    def hinted(answer: str) -> str:
        return answer.replace("np.ndarray", "Matrix")

    cells = work.edited("softmax", hinted)
    cells = [new_cell("from __future__ import annotations"), *cells]
    work.save([*cells, new_cell(hinted(work.answers["scale_scores"]))])


@broken(says="was added for the check")
def answers_only(work: Work) -> None:
    work.write("\n\n\n".join(work.answers[step] for step in STEPS))


@broken(says="No module named 'torchtyping'")
def annotation_of_an_absent_package(work: Work) -> None:
    change = 'from torchtyping import TensorType\ndef softmax(scores: TensorType["B"]'
    work.write(re.sub(r"def softmax\(\s*scores: [^)]*", change, work.script, count=1))


@broken(loses="softmax", says=("there 2 times, and the last one counts", "scores = 0 * scores"))
def step_written_again_below(work: Work) -> None:
    again = "def softmax(scores):\n    scores = 0 * scores\n    return scores"
    work.write(f"{work.script}\n\n{again}\n")


EVERYBODY: tuple[Broken, ...] = tuple(CASES.values())
