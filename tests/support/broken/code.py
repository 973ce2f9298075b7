"""Code that does not run where it is graded, or does not run at all."""

from __future__ import annotations

import re

from autograder.values.verdict import Outcome
from support.broken.case import NOTEBOOK, STEPS, Work, broken, new_cell, text

RAISED = Outcome.RAISED
NOT_WRITTEN = Outcome.NOT_WRITTEN
COUNTS = "Everything else that you define counts"


# --- what only IPython understands ------------------------------------------------------------


@broken()
def magic_lines(work: Work) -> None:
    source = (
        "%matplotlib inline\n%load_ext autoreload\n!pip install einops\nfiles = !ls\n"
        "?softmax\nnp.exp?\nnp.sum??\n%time small = np.ones(3)\n"
        "remainder = (7\n    % 4)\nrest = 7 \\\n    % 4\nassert small.sum() == remainder == rest\n"
    )
    work.save(work.edited("softmax", lambda answer: source + answer))


@broken()
def timed_cell(work: Work) -> None:
    work.save(work.edited("softmax", lambda answer: f"%%time\n{answer}"))


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


@broken()
def exported_from_a_notebook(work: Work) -> None:
    calls = (
        "get_ipython().run_line_magic('matplotlib', 'inline')\n"
        "get_ipython().system('pip install einops')\n"
    )
    work.write(work.script.replace("import numpy", f"{calls}import numpy", 1))


@broken()
def checks_in_between(work: Work) -> None:
    source = (
        "import autograder, math as m\nx = m.pi; check(softmax)\n"
        "result = check(softmax)\nprint(check(softmax))\n"
        "if x > 3:\n    check(softmax)\n"
        "try:\n    check(scale_scores)\nexcept Exception:\n    raise\n"
        "assert result\n"
    )
    work.save([*work.cells, new_cell(source), new_cell(work.answers["softmax"])])


@broken(says=("SyntaxError", COUNTS))
def fence_below_an_answer(work: Work) -> None:
    work.write(f"{work.script.rstrip()}\n```\n- done on Sunday\n")


# --- what is not there while grading ------------------------------------------------------------


@broken(says=("EOFError", "No one answers `input()`", COUNTS))
def input_at_the_top(work: Work) -> None:
    work.save(work.edited("softmax", lambda answer: f"size = int(input('D? '))\n{answer}"))


@broken(loses="softmax", ends=RAISED, says=("EOFError", "`input()` waits until somebody"))
def input_in_a_step(work: Work) -> None:
    asks = "def softmax(scores):\n    return scores * float(input('scale? '))"
    work.save(work.edited("softmax", lambda answer: asks))


@broken(says=("No module named 'no_such_plots'", COUNTS))
def plots_with_what_is_not_installed(work: Work) -> None:
    plot = "import no_such_plots as plt\nplt.figure()\nplt.plot([1, 2])\nplt.show()\n"
    work.save(work.edited("softmax", lambda answer: plot + answer))


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


@broken(loses="softmax", ends=RAISED, says=("Missing parentheses in call", COUNTS))
def python_2_print(work: Work) -> None:
    old = "def softmax(scores):\n    print 'here'\n    return scores"
    work.save(work.edited("softmax", lambda answer: old))


@broken(loses="softmax", ends=RAISED, says=("non-printable character U+00A0", COUNTS))
def spaces_of_a_web_page(work: Work) -> None:
    work.save(work.edited("softmax", lambda answer: answer.replace("    ", "\u00a0   ")))


@broken(loses="scale_scores", ends=RAISED, says=("TabError", COUNTS))
def tabs_mixed_with_spaces(work: Work) -> None:
    mixed = "def scale_scores(attention_scores, embedding_dimension):\n    if True:\n\treturn 1\n"
    work.write(work.script.replace(work.answers["scale_scores"], mixed, 1))


@broken(loses="scale_scores", ends=RAISED, says=("never closed", COUNTS))
def script_without_cells_and_with_an_error(work: Work) -> None:
    lines = [line for line in work.script.split("\n") if not line.startswith("#")]
    whole = "\n".join(lines)
    answer = work.answers["scale_scores"]
    assert answer in whole
    opened = "def scale_scores(attention_scores, embedding_dimension):\n    return (1\n"
    work.write(whole.replace(answer, opened, 1))


@broken(says="null bytes")
def null_bytes(work: Work) -> None:
    work.write(work.script.replace("def softmax(", "\0def softmax(", 1))


@broken(says="null bytes")
def null_bytes_in_a_cell(work: Work) -> None:
    cells = work.edited("softmax", lambda answer: answer.replace("def softmax", "def soft\0max"))
    work.save(cells)


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


@broken(says=("has no attribute 'a'", COUNTS))
def attributes_without_end_beside_the_steps(work: Work) -> None:
    work.save(work.edited("softmax", lambda answer: f"x = 1; y = x{'.a' * 700}\n\n{answer}"))


@broken(says=COUNTS)
def brackets_without_end(work: Work) -> None:
    work.save([*work.cells, new_cell("(" * 5_000)])


# --- code that stands elsewhere -------------------------------------------------------------------


@broken()
def defined_twice_the_last_one_right(work: Work) -> None:
    wrong = "def softmax(scores):\n    return scores\n\n\n"
    work.save(work.edited("softmax", lambda answer: wrong + answer))


@broken(loses="softmax", ends=Outcome.WRONG_VALUES)
def defined_twice_the_last_one_wrong(work: Work) -> None:
    work.save([*work.cells, new_cell("def softmax(scores):\n    return 2.0 * scores")])


@broken(loses="softmax", ends=NOT_WRITTEN, says="There is a `soft_max`: did you rename it?")
def function_renamed(work: Work) -> None:
    work.save(work.edited("softmax", lambda answer: answer.replace("softmax", "soft_max")))


@broken(loses="softmax", ends=NOT_WRITTEN, says="inside the class `Attention`")
def step_inside_a_class(work: Work) -> None:
    def nested(answer: str) -> str:
        return "class Attention:\n" + "\n".join(f"    {line}" for line in answer.split("\n"))

    work.save(work.edited("softmax", nested))


@broken(loses="softmax", ends=NOT_WRITTEN, says="inside an `if`")
def step_of_a_script_under_main(work: Work) -> None:
    answer = work.answers["softmax"]
    indented = "\n".join(f"    {line}" for line in answer.split("\n"))
    assert answer in work.script
    work.write(work.script.replace(answer, f"if __name__ == '__main__':\n{indented}", 1))


@broken()
def step_of_a_notebook_under_main(work: Work) -> None:
    def indented(answer: str) -> str:
        lines = "\n".join(f"    {line}" for line in answer.split("\n"))
        return f'if __name__ == "__main__":\n{lines}\n    check(softmax)'

    work.save(work.edited("softmax", indented))


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


@broken(says="`@jaxtyped(typechecker=beartype)` needs `beartype`, which is not there")
def decorator_of_an_absent_package(work: Work) -> None:
    lines = "from beartype import beartype\nfrom jaxtyping import jaxtyped\n"
    decorated = f"{lines}@jaxtyped(typechecker=beartype)\ndef softmax("
    work.write(work.script.replace("def softmax(", decorated))


@broken(says="No module named 'torchtyping'")
def annotation_of_an_absent_package(work: Work) -> None:
    change = 'from torchtyping import TensorType\ndef softmax(scores: TensorType["B"]'
    work.write(re.sub(r"def softmax\(\s*scores: [^)]*", change, work.script, count=1))


@broken(loses="softmax", says=("there 2 times, and the last one counts", "scores = 0 * scores"))
def step_written_again_below(work: Work) -> None:
    again = "def softmax(scores):\n    scores = 0 * scores\n    return scores"
    work.write(f"{work.script}\n\n{again}\n")


@broken()
def prompts_of_a_session(work: Work) -> None:
    def pasted(answer: str) -> str:
        first, *rest = answer.split("\n")
        return "\n".join([f">>> {first}", *(f"... {line}" for line in rest)])

    work.save(work.edited("scale_scores", pasted))


@broken(says="is a marimo notebook: what its cells hold was read as plain Python")
def notebook_of_marimo(work: Work) -> None:
    decorated = re.sub(r"^def ", "@app.function\ndef ", work.script, flags=re.MULTILINE)
    work.write(f"import marimo\n\napp = marimo.App()\n\n\n{decorated}")
