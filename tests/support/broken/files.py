"""Files that are not what they should be: cut off, renamed, links, other encodings."""

from __future__ import annotations

import json

from autograder.values.verdict import Outcome
from support.broken.case import (
    ASSIGNMENT,
    EXERCISE,
    NAME,
    NOTEBOOK,
    SCRIPT,
    Work,
    broken,
    grade_id,
    new_cell,
)

REJECTED = Outcome.REJECTED
NOT_WRITTEN = Outcome.NOT_WRITTEN
AGAIN = "hand it in again"


@broken(loses="everything", ends=REJECTED, says=("not valid JSON (line 1)", AGAIN))
def invalid_json(work: Work) -> None:
    work.write("this is my homework", NOTEBOOK)


@broken(loses="everything", ends=REJECTED, says=("not valid JSON (line", AGAIN))
def truncated_file(work: Work) -> None:
    whole = work.save(work.cells).read_bytes()
    work.write(whole[: len(whole) // 2], NOTEBOOK)


@broken(loses="everything", ends=REJECTED, says=("Line 4 is a mark that git leaves", AGAIN))
def merge_conflict_in_json(work: Work) -> None:
    lines = json.dumps({"cells": work.cells}, indent=1).split("\n")
    conflict = ["<<<<<<< HEAD", lines[3], "=======", lines[3], ">>>>>>> mine"]
    work.write("\n".join([*lines[:3], *conflict, *lines[4:]]), NOTEBOOK)


@broken(loses="everything", ends=REJECTED, says=("is empty", AGAIN))
def empty_file(work: Work) -> None:
    work.write("", NOTEBOOK)


@broken(loses="everything", ends=NOT_WRITTEN, says="not written")
def empty_script(work: Work) -> None:
    work.write("")


@broken(loses="everything", ends=NOT_WRITTEN, says="not written")
def empty_notebook(work: Work) -> None:
    work.save([])


@broken(loses="everything", ends=REJECTED, says=("no list of cells", AGAIN))
def notebook_is_a_list(work: Work) -> None:
    work.write(json.dumps(work.cells), NOTEBOOK)


@broken(loses="everything", ends=REJECTED, says=("not valid JSON", AGAIN))
def saved_web_page(work: Work) -> None:
    work.write("<!DOCTYPE html><html><body>JupyterLab</body></html>", NOTEBOOK)


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


@broken(says_of_folder=("My Work (1).ipynb was read", f"there is no {NOTEBOOK}"))
def renamed_notebook(work: Work) -> None:
    work.save(work.cells, "My Work (1).ipynb")


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


@broken(loses="scale_scores", ends=NOT_WRITTEN, says=f"there is also work in {SCRIPT}")
def notebook_and_script_with_work(work: Work) -> None:
    work.save(cell for cell in work.cells if grade_id(cell) != "scale_scores")
    work.write(work.script)


@broken(says=f"Until then, {SCRIPT} counts")
def broken_notebook_beside_a_script(work: Work) -> None:
    work.write("{", NOTEBOOK)
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


@broken(loses="everything", ends=REJECTED, says=("more than 1024 kB of code", AGAIN))
def two_megabytes_of_code_in_a_notebook(work: Work) -> None:
    work.save([*work.cells, new_cell(f"table = [{'0.25, ' * 350_000}]")])


@broken()
def byte_order_mark(work: Work) -> None:
    work.write(b"\xef\xbb\xbf" + work.save(work.cells).read_bytes(), NOTEBOOK)


@broken()
def sixteen_bits_a_letter(work: Work) -> None:
    work.write(work.save(work.cells).read_text(encoding="utf-8").encode("utf-16"), NOTEBOOK)


@broken()
def tabs_and_carriage_returns(work: Work) -> None:
    work.write(work.script.replace("    ", "\t").replace("\n", "\r\n"))


@broken()
def latin_1_as_declared(work: Work) -> None:
    text = work.script.encode("ascii", "ignore").decode()
    work.write(f"# -*- coding: latin-1 -*-\nname = 'Zo\u00eb'\n{text}".encode("latin-1"))


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


@broken(loses="everything", ends=REJECTED, says="There is only Jupyter's own copy")
def only_the_checkpoint(work: Work) -> None:
    (work.folder / ".ipynb_checkpoints").mkdir()
    work.save(work.cells, f".ipynb_checkpoints/{NAME}-checkpoint.ipynb")


@broken(
    loses="everything",
    ends=REJECTED,
    says="hand in",
    says_of_folder="homework.zip is packed: unpack",
)
def packed_file(work: Work) -> None:
    work.write(b"PK\x03\x04\x00", "homework.zip")
