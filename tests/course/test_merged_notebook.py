"""A newer kit comes into an instructor's own files: by cells and by lines, and nothing twice."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.course.course_update import merge_configuration, with_exercises
from autograder.course.creation import render_configuration
from autograder.course.exercise_update import STEPS_LIST, merge
from autograder.errors import KitError
from course.changing_course import cell_facts, graded_by_hand
from support.released_course import NAME, ROOT

STEPS = ("first", "second", "third")


def kits(steps: Sequence[str] = STEPS, prose: str = "about", points: float = 2) -> NotebookNode:
    """A notebook as the kit makes it: ids that count cells, a text and a check for each step."""
    cells = [new_markdown_cell("# Title", id="prose-000")]
    for number, step in enumerate(steps):
        solution = cell_facts(step, solution=True)
        check = cell_facts(f"check_{step}", grade=True, locked=True, points=points)
        cells += [
            new_markdown_cell(f"{prose} {step}", id=f"prose-{2 * number + 1:03}"),
            new_code_cell(f"def {step}(): ...", id=f"s-{step}", metadata=solution),
            new_code_cell(f"check({step})", id=f"c-{step}", metadata=check),
        ]
    notebook: NotebookNode = new_notebook(cells=cells)
    return notebook


def texts(notebook: NotebookNode) -> list[str]:
    return [cell.source for cell in notebook.cells]


def with_own(notebook: NotebookNode, after: str, text: str) -> NotebookNode:
    result = copy.deepcopy(notebook)
    place = texts(result).index(after) + 1
    result.cells.insert(place, new_markdown_cell(text, id=text.replace(" ", "-")))
    return result


@pytest.mark.parametrize("path", sorted(ROOT.glob("assignments/*/*.ipynb")), ids=lambda p: p.stem)
def test_the_list_of_steps_is_known_by_its_form_when_nobody_knows_who_wrote_it(path: Path) -> None:
    now = nbformat.read(path, as_version=4)
    course = copy.deepcopy(now)
    (listed,) = (cell for cell in course.cells if cell.id == STEPS_LIST)
    assert "points" in listed.source
    listed.source = listed.source.replace("points", "pointers")
    merged = merge(None, course, now)
    assert merged.changes == ("the list of the steps has changed",) and merged.kept == ()
    listed.source += "\n\nMine."
    merged = merge(None, course, now)
    assert merged.changes == () and len(merged.kept) == 1


def test_a_new_step_comes_behind_what_the_instructor_wrote_below_the_one_before() -> None:
    course = with_own(kits(), "check(first)", "below the first")
    now = kits(("first", "new", "second", "third"))
    merged = merge(kits(), course, now)
    nbformat.validate(merged.notebook)
    assert texts(merged.notebook) == texts(with_own(now, "check(first)", "below the first"))
    assert "the step `new` is new" in merged.changes
    assert not merge(now, merged.notebook, now).other


def test_new_prose_below_a_step_takes_no_place_of_the_instructor_s_about_the_next() -> None:
    course = kits()
    place = texts(course).index("about second")
    course.cells[place].source = "about second, in my words"
    now = kits(prose="more about")
    now.cells.insert(place, new_markdown_cell("a question", id="below-004"))
    merged = merge(kits(), course, now)
    around = texts(merged.notebook)[place - 1 : place + 3]
    assert around == [
        *("check(first)", "a question"),
        *("about second, in my words", "def second(): ..."),
    ]
    assert len(merged.kept) == 1
    assert not merge(now, merged.notebook, now).other


@pytest.mark.parametrize("gone", STEPS)
def test_a_step_that_is_gone_takes_its_text_along_but_no_words_of_the_instructors(
    gone: str,
) -> None:
    course = with_own(kits(), f"check({gone})", "mine")
    now = kits([step for step in STEPS if step != gone])
    merged = merge(kits(), course, now)
    assert sorted(texts(merged.notebook)) == sorted([*texts(now), "mine"])
    assert f"the step `{gone}` is gone" in merged.changes
    course.cells[texts(course).index(f"about {gone}")].source = "about it, in my words"
    merged = merge(kits(), course, now)
    nbformat.validate(merged.notebook)
    assert "about it, in my words" in texts(merged.notebook)
    assert any("stays as a cell of yours" in words for words in merged.kept)
    again = merge(now, merged.notebook, now)
    assert not again.other and again.kept == ()


def test_steps_in_another_order_take_along_what_follows_them() -> None:
    course = with_own(kits(), "check(second)", "below the second")
    now = kits(("second", "first", "third"))
    merged = merge(kits(), course, now)
    assert texts(merged.notebook) == texts(with_own(now, "check(second)", "below the second"))


def test_an_order_of_the_instructors_own_stays() -> None:
    course = kits(("third", "first", "second"))
    merged = merge(kits(), course, kits(points=5))
    assert texts(merged.notebook) == texts(course)
    assert merged.changes == tuple(f"`{step}` is worth 5, before 2" for step in STEPS)


def test_a_text_that_the_instructor_has_taken_out_stays_out_but_a_check_comes_back() -> None:
    course = kits()
    course.cells = [c for c in course.cells if c.source not in ("about second", "check(second)")]
    merged = merge(kits(), course, kits(prose="more about"))
    assert "more about second" not in texts(merged.notebook)
    assert "check(second)" in texts(merged.notebook)


def test_a_question_and_an_exercise_of_the_instructors_are_never_taken_for_the_kits() -> None:
    course = with_own(kits(), "check(third)", "a question")
    course.cells[-1].metadata.update(graded_by_hand("why"))
    tried = cell_facts("tried", solution=True, points=3)
    course.cells.append(new_code_cell("# try it", id="t", metadata=tried))
    for made in (kits(), None):
        merged = merge(made, course, kits(("first", "third")), replace=True)
        assert texts(merged.notebook)[-2:] == ["a question", "# try it"]


def test_without_ids_as_in_an_old_notebook_cells_are_found_by_their_words() -> None:
    course = kits()
    course.nbformat_minor = 4
    for cell in course.cells:
        del cell["id"]
    now = kits(("first", "new", "second", "third"))
    merged = merge(kits(), course, now)
    nbformat.validate(merged.notebook)
    assert texts(merged.notebook) == texts(now)


def test_the_kits_cell_keeps_its_id_where_one_of_the_instructors_has_it_too() -> None:
    course = kits()
    now = kits((*STEPS, "fourth"))
    course.cells.insert(0, new_markdown_cell("mine", id=now.cells[10].id))
    merged = merge(kits(), course, now)
    nbformat.validate(merged.notebook)
    assert texts(merged.notebook) == ["mine", *texts(now)]
    assert [cell.id for cell in merged.notebook.cells[1:]] == [cell.id for cell in now.cells]
    assert not merge(now, merged.notebook, now).other


# --- nbgrader_config.py and attn.toml, line by line

OLD_CONFIGURATION = ROOT / "tests" / "golden" / "nbgrader_config_0.1.0.txt"
MADE = render_configuration("ml", {"one": ["one.py"]}, shared=False)
LINE = "c.HTMLExporter.sanitize_html = True"


def test_what_only_the_kit_has_changed_is_taken() -> None:
    now = MADE.replace(LINE, "c.HTMLExporter.sanitize_html = 2").replace(
        "install()", "# why\nc.New.part = [\n    1,\n]\n\ninstall()"
    )
    merged = merge_configuration(MADE, MADE, now)
    assert merged.changes == ("c.HTMLExporter.sanitize_html has changed", "c.New.part is missing")
    assert (
        merged.text.count("c.New.part") == 1 and "# why\nc.New.part = [\n    1,\n]" in merged.text
    )
    assert merge_configuration(now, merged.text, now).text == merged.text
    assert merge_configuration(now, merged.text, now).changes == ()


def test_what_the_instructor_has_changed_or_taken_out_stays() -> None:
    mine = MADE.replace(LINE, "c.HTMLExporter.sanitize_html = False  # mine")
    mine = mine.replace('c.ExportApp.plugin_class = "autograder.course.export.CleanCsv"', "")
    now = MADE.replace(LINE, "c.HTMLExporter.sanitize_html = 2")
    merged = merge_configuration(MADE, mine, now)
    assert merged.text == mine and merged.changes == ()
    assert merged.kept == (
        "c.HTMLExporter.sanitize_html differs from the kit's; yours stays, if it is yours",
    )
    assert merge_configuration(now, mine, now).kept == ()


def test_what_the_kit_no_longer_sets_goes_unless_it_was_changed() -> None:
    now = MADE.replace(LINE, "")
    assert LINE not in merge_configuration(MADE, MADE, now).text
    mine = MADE.replace(LINE, f"{LINE[:-4]}False")
    assert merge_configuration(MADE, mine, now).text == mine
    assert merge_configuration(None, MADE, now).text == MADE


def test_an_exercise_is_added_to_the_files_that_are_kept_beside_the_instructors_own() -> None:
    mine = MADE.replace('"one.py"', '"one.py", "data.csv"')
    now = render_configuration("ml", {"one": ["one.py"], "two": ["two.py"]}, shared=False)
    for made in (MADE, None):
        text = merge_configuration(made, mine, now).text
        assert "'one': ['one.py', 'data.csv']" in text and "'two': ['two.py']" in text
        assert merge_configuration(now, text, now).changes == ()
    computed = MADE.replace('{\n    "one": [\n        "one.py"\n    ]\n}', "dict(one=names)")
    assert computed != MADE
    assert "dict(one=names)" in merge_configuration(None, computed, now).text


def test_a_configuration_of_the_first_version_gets_the_filter_that_came_later() -> None:
    old = OLD_CONFIGURATION.read_text(encoding="utf-8")
    assert "highlight_code" not in old
    now = render_configuration("ml", {NAME: [f"{NAME}.py"]}, shared=False)
    merged = merge_configuration(None, old, now)
    assert "'highlight_code': 'autograder.course.page.highlight_code'" in merged.text
    assert 'course_id = "attention-2026"' in merged.text
    assert merge_configuration(now, merged.text, now).text == merged.text
    without = now.replace('    "highlight_code": "autograder.course.page.highlight_code",\n', "")
    assert without != now
    assert merge_configuration(now, without, now).text == without  # taken out by the instructor


def test_a_configuration_that_is_not_python_is_refused() -> None:
    with pytest.raises(KitError, match="is not Python"):
        merge_configuration(MADE, "c = (", MADE)


FACTS = (
    '# mine [1]\nformat_version = 1\nexercises = [ # "]"\n  "a[1]",\n]\n[more]\nexercises = ["x"]\n'
)


def test_an_exercise_is_added_to_the_list_and_every_other_line_stays(tmp_path: Path) -> None:
    text = with_exercises(FACTS, ("a[1]", "b"), tmp_path / "attn.toml")
    assert text.startswith("# mine [1]\nformat_version = 1\nexercises = [")
    assert text.endswith('\n[more]\nexercises = ["x"]\n') and '"b"' in text
    with pytest.raises(KitError, match="cannot be found") as refused:
        with_exercises('"exercises" = ["a"]\n', ("a", "b"), tmp_path / "attn.toml")
    assert 'exercises = [ "a", "b", ]' in refused.value.cure
