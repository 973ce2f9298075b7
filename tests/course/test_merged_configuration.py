"""A newer `nbgrader_config.py` comes into an instructor's own, line by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.course.course_update import merge_configuration, with_exercises
from autograder.course.creation import render_configuration
from autograder.errors import KitError
from support.released_course import NAME, ROOT

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
