"""What stands before and after a step: its diagram, its numbers, and questions that fold."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from autograder.authoring.build import build
from autograder.authoring.stub import WIDEST_DRAWING as WIDEST
from autograder.errors import KitError
from support import toy_exercise
from support.written_exercise import Change, write_exercise

DIAGRAM = '''\
diagram = """
             | x (B, D)
double       | twice (B, D)
halve, add   | half of it, and more
"""
'''
MORE_STEPS = "".join(
    f'\n[[steps]]\nname = "{name}"\ntitle = "{title}"\npoints = 1\nminutes = 1\nhints = []\n'
    for name, title in (("add", "Adding"), ("Layer", "The layer"))
)
TOML = toy_exercise.TOML.replace("\n[grading]", f"{DIAGRAM}\n[grading]") + MORE_STEPS
SOLUTION = '''\
# %% [markdown]
# # A toy

# %%
import numpy as np
from jaxtyping import Float

# %% [markdown]
# ## 1. Doubling
#
# ```
# {{ diagram }}
# ```
#
# Twice {{ number(3) }} is {{ number(reference.double(3)) }}, and $\\\\frac{{a}}{b}$ stays.
#
# <details>
# <summary><b>Before you code.</b> What is twice nothing?</summary>
#
# Nothing.
#
# Still nothing.
#
# </details>


# %%
def double(x: Float[np.ndarray, "B D"]) -> Float[np.ndarray, "B D"]:
    """Double x."""
    ### BEGIN SOLUTION
    return 2 * np.asarray(x)
    ### END SOLUTION


# %% [markdown]
# <details>
# <summary><b>After the check.</b> And twice twice?</summary>
#
# Four times.
#
# </details>

# %% active="ipynb"
# # Try it here.

# %% [markdown]
# ## 2. Halving


# %%
def halve(x: Float[np.ndarray, "B D"]) -> Float[np.ndarray, "B D"]:
    """Halve x."""
    ### BEGIN SOLUTION
    return np.asarray(x) / 2
    ### END SOLUTION


# %%
def add(x: Float[np.ndarray, "B D"]) -> Float[np.ndarray, "B D"]:
    """Add one to x."""
    ### BEGIN SOLUTION
    return np.asarray(x) + 1
    ### END SOLUTION


# %% [markdown]
# ## 4. The layer
#
# ```
# {{ diagram }}
# ```


# %%
class Layer:
    """A layer."""

    def forward(self, x: Float[np.ndarray, "B D"]) -> Float[np.ndarray, "B D"]:
        """Double x."""
        ### BEGIN SOLUTION
        return halve(double(x))
        ### END SOLUTION
'''
WALKTHROUGH = """\
from autograder.checks import solution_beside

reference = solution_beside(__file__)


def number(value):
    return str(value)
"""


def exercise(tmp_path: Path, *changes: Change) -> Path:
    files = {"exercise.toml": TOML, "solution.py": SOLUTION, "walkthrough.py": WALKTHROUGH}
    return write_exercise(tmp_path / "solutions" / "toy", files, *changes)


def built(tmp_path: Path, *changes: Change) -> tuple[str, list[Any]]:
    """Return the text of the `.py` and the cells of the notebook that students get."""
    build(exercise(tmp_path, *changes), tmp_path / "assignments")
    folder = tmp_path / "assignments" / "toy"
    return (folder / "toy.py").read_text(), nbformat.read(folder / "toy.ipynb", as_version=4).cells


def handed_out(tmp_path: Path, name: str) -> str:
    return (tmp_path / "assignments" / "toy" / name).read_text(encoding="utf-8")


def refusal(tmp_path: Path, *changes: Change) -> KitError:
    with pytest.raises(KitError) as refused:
        built(tmp_path, *changes)
    assert not (tmp_path / "assignments").exists()
    return refused.value


def cell_with(cells: list[Any], text: str) -> Any:
    (found,) = (cell for cell in cells if text in cell.source)
    return found


# The diagram


def test_the_diagram_stands_in_the_prose_with_the_lines_of_the_step_marked(tmp_path: Path) -> None:
    _, cells = built(tmp_path)
    lines = ["         x (B, D)", "→     1  twice (B, D)", "   2, 3  half of it, and more"]
    # In a narrow window, JupyterLab breaks the lines of a fence, and those of this not.
    drawn = ['<pre style="white-space: pre; overflow-x: auto">', *lines, "</pre>"]
    assert "\n".join(drawn) in cell_with(cells, "## 1. Doubling").source


def test_the_whole_layer_is_marked_on_every_line_of_a_step(tmp_path: Path) -> None:
    _, cells = built(tmp_path)
    layer = cell_with(cells, "## 4. The layer").source
    assert [line[:1] for line in layer.splitlines()[3:6]] == [" ", "→", "→"]


def test_students_get_the_diagram_in_the_prose_only(tmp_path: Path) -> None:
    built(tmp_path)
    assert "diagram" not in handed_out(tmp_path, "exercise.toml")


@pytest.mark.parametrize(
    ("old", "new", "fact"),
    [
        ("halve, add ", "halve, sub ", "names 'sub', which is no step"),
        ("halve, add   |", "halve, add    ", "has no bar"),
        ("twice (B, D)", "twice (D, B)", "the shape (D, B), which double neither take nor give"),
        ("twice (B, D)", "twice" * WIDEST, f"is {5 * WIDEST} characters wide"),
    ],
)
def test_a_wrong_line_of_the_diagram_is_refused(
    tmp_path: Path, old: str, new: str, fact: str
) -> None:
    error = refusal(tmp_path, ("exercise.toml", old, new))
    assert fact in error.fact
    assert "diagram, at the line: " in error.place


def test_a_diagram_without_the_step_is_refused_where_it_is_asked_for(tmp_path: Path) -> None:
    error = refusal(tmp_path, ("exercise.toml", "double       |", "             |"))
    assert error.fact == "the diagram is asked for the step double, which no line of it belongs to"
    assert re.search(r"solution\.py:\d+$", error.place)


def test_a_diagram_that_is_no_text_is_refused(tmp_path: Path) -> None:
    error = refusal(tmp_path, ("exercise.toml", DIAGRAM, "diagram = 3\n"))
    assert error.fact == "the diagram is not text"


# The numbers


def test_a_number_in_the_prose_is_the_reference_s_own(tmp_path: Path) -> None:
    sentence = r"Twice 3 is 6, and $\\frac{{a}}{b}$ stays."
    assert sentence in cell_with(built(tmp_path)[1], "## 1. Doubling").source
    other = ("solution.py", "return 2 * np", "return 3 * np")
    cells = built(tmp_path / "other", other)[1]
    assert "Twice 3 is 9," in cell_with(cells, "## 1. Doubling").source


@pytest.mark.parametrize(
    ("expression", "fact"),
    [
        ("nubmer(3)", "cannot be filled in: NameError: name 'nubmer' is not defined"),
        ("reference.double(3).sum()", "is not text, but int64"),
    ],
)
def test_a_place_without_a_text_is_refused(tmp_path: Path, expression: str, fact: str) -> None:
    error = refusal(tmp_path, ("solution.py", "{{ number(3) }}", f"{{{{ {expression} }}}}"))
    assert error.fact == f"`{expression}` in the prose {fact}"
    assert error.place.endswith("solution.py:15")


def test_a_claim_of_the_walkthrough_that_is_not_true_stops_the_build(tmp_path: Path) -> None:
    claim = "reference = solution_beside(__file__)\nassert reference.double(3) == 5, 'not 5'\n"
    error = refusal(tmp_path, ("walkthrough.py", "reference = solution_beside(__file__)\n", claim))
    assert error.fact == "walkthrough.py cannot be run: AssertionError: not 5"
    assert error.place.endswith("walkthrough.py:4")


def test_numbers_without_a_walkthrough_are_refused(tmp_path: Path) -> None:
    folder = exercise(tmp_path)
    (folder / "walkthrough.py").unlink()
    with pytest.raises(KitError, match=r"there is no walkthrough\.py"):
        build(folder, tmp_path / "assignments")


# Questions that fold


def test_in_the_notebook_an_answer_folds_and_stands_where_it_is_asked(tmp_path: Path) -> None:
    """What folds before the first step stands below its cell: the line to write is in sight."""
    _, cells = built(tmp_path)
    names = [cell.metadata.get("nbgrader", {}).get("grade_id", cell.cell_type) for cell in cells]
    first = names.index("double")
    assert names[first - 1 : first + 5] == [
        "markdown",
        "double",
        "markdown",
        "check_double",
        "markdown",
        "code",
    ]
    assert "<details>" not in cells[first - 1].source
    before, after = cells[first + 1].source, cells[first + 3].source
    assert "<summary><b>Before you code.</b> What is twice nothing?</summary>" in before
    assert before.endswith("Nothing.\n\nStill nothing.\n\n</details>")
    assert "Four times.\n\n</details>" in after
    assert cells[first + 1].id.startswith("below-") and cells[first + 3].id.startswith("below-")
    assert cells[first + 4].source == "# Try it here."


def test_code_in_a_question_is_code_in_the_notebook_too(tmp_path: Path) -> None:
    # JupyterLab shows what stands between tags as it is written, backticks and all.
    _, cells = built(tmp_path, ("solution.py", "And twice twice?", "And `double` of `double(x)`?"))
    after = cell_with(cells, "After the check.").source
    assert "And <code>double</code> of <code>double(x)</code>?</summary>" in after


def test_the_file_has_neither_questions_nor_answers_and_the_page_folds_them(
    tmp_path: Path,
) -> None:
    text, _ = built(tmp_path)
    assert "What is twice nothing" not in text and "Four times" not in text
    page = handed_out(tmp_path, "guide.html")
    assert "<summary><b>Before you code.</b> What is twice nothing?</summary>" in page
    assert "<p>Four times.</p>\n</details>" in page


def test_code_in_a_question_is_code_on_the_page_and_a_link_leads_to_the_lesson(
    tmp_path: Path,
) -> None:
    built(tmp_path, ("solution.py", "What is twice nothing?", "What is `double(0)`?"))
    page = handed_out(tmp_path, "guide.html")
    assert "What is <code>double(0)</code>?</summary>" in page
    links = re.findall(r'<a href="#([^"]+)">', page)
    assert links and all(page.count(f'id="{each}">') == 1 for each in links)
    for step, tag in (("double", "h2"), ("add", "div")):  # the second has no heading of its own
        assert page.index(f'<{tag} id="about-{step}">') < page.index(f'<pre id="{step}">')
    assert page.index('<pre id="halve">') < page.index('id="about-add"')


# The way through the layer

PATH = """
       | x
double | twice
halve  | half
"""


def with_path(path: str = PATH) -> tuple[Change, Change]:
    place = 'title = "A toy"'
    return (
        ("exercise.toml", place, f'{place}\npath = """{path}"""'),
        ("solution.py", "```\n# {{ diagram }}\n# ```", "{{ path }}"),
    )


def test_the_way_stands_above_a_step_in_one_line_with_its_place_marked(tmp_path: Path) -> None:
    text, _ = built(tmp_path, with_path()[0])
    assert re.search(r"^# 1 Doubling +x → \[twice\] → half$", text, re.MULTILINE)
    assert re.search(r"^# 2 Halving +x → twice → \[half\]$", text, re.MULTILINE)
    assert re.search(r"^# 4 The layer +\[x → twice → half\]$", text, re.MULTILINE)
    assert "path" not in handed_out(tmp_path, "exercise.toml")


def test_in_the_prose_the_way_is_a_picture_with_words_for_who_does_not_see_it(
    tmp_path: Path,
) -> None:
    _, cells = built(tmp_path, *with_path())
    prose = cell_with(cells, "## 1. Doubling").source
    (words, data) = re.findall(r"!\[(.+?)\]\(data:image/svg\+xml;base64,(.+?)\)", prose)[0]
    assert words.startswith("Step 1 of 4. You are here: twice. The way through the layer: x, twice")
    picture = base64.b64decode(data).decode("utf-8")
    assert picture.startswith("<svg ") and ">half</text>" in picture
    page = handed_out(tmp_path, "guide.html")
    assert f'alt="{words}"' in page


def test_a_wrong_line_of_the_path_is_refused(tmp_path: Path) -> None:
    error = refusal(tmp_path, with_path(PATH.replace("halve  |", "hale   |"))[0])
    assert error.fact == "a line of the path names 'hale', which is no step"
    assert "path, at the line: hale" in error.place


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# Four times.\n#\n# </details>", "# Four times."),
        ("<summary><b>After the check.</b> And", "<summary>And"),
        ("# </details>\n\n# %% active", "# </detail>\n\n# %% active"),
    ],
)
def test_a_question_that_does_not_fold_as_the_others_is_refused(
    tmp_path: Path, old: str, new: str
) -> None:
    error = refusal(tmp_path, ("solution.py", old, new))
    assert error.fact == "a folded answer is not written as every other one"
    assert error.place.endswith("solution.py, at the line: <details>")
