"""Cells of a solution that a course leaves out, and the place of those that it adds."""

from __future__ import annotations

import pytest

from autograder.course.adjusted_exercise import last_line_about, without_cells

SOLUTION = """\
# %% [markdown]
# ## 1. First

# %%
def first(): ...

# %% [markdown]
# A question about the first.

# %% active="ipynb"
# print("a trial of the first")

# %% [markdown]
# ## 2. Second

# %%
def second(): ...

# %% [markdown]
# A question about the second.

# %% [markdown]
# ## The end
"""


def test_a_step_that_is_left_out_takes_the_prose_above_and_below_it_along() -> None:
    text = without_cells(SOLUTION, ["second"])
    assert "second" not in text.lower()
    assert text == SOLUTION[: SOLUTION.index("# %% [markdown]\n# ## 2.")] + (
        "# %% [markdown]\n# ## The end\n"
    )


@pytest.mark.parametrize(
    ("step", "last"), [("first", "# A question about the first."), ("second", "second.")]
)
def test_what_is_added_after_a_step_comes_behind_the_prose_below_it(step: str, last: str) -> None:
    lines = SOLUTION.split("\n")
    number = lines.index(f"def {step}(): ...") + 1
    about = "\n".join(lines[: last_line_about(SOLUTION, number)]).rstrip()
    assert about.endswith(last)
