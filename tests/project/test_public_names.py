"""Every name of ours that files outside this repository import keeps its place.

Notebooks, courses and exercises are copied to other machines and stay there while the kit
under them is updated. So the names are written here as they were released, not read from
today's files: when one of these tests fails, the name has moved, and what was copied breaks.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

import nbgrader.apps.api
import nbgrader.apps.autogradeapp
import nbgrader.apps.generatefeedbackapp
import nbgrader.converters
import pytest
from traitlets.config.loader import Config, PyFileConfigLoader

from autograder.course.creation import TEMPLATE
from autograder.course.preprocessors import WriteVerdict

ROOT = Path(__file__).resolve().parents[2]
# What `attn course new` of 0.1.0 wrote. It is never brought up to date.
OLD_CONFIGURATION = ROOT / "tests" / "golden" / "nbgrader_config_0.1.0.txt"

NOTEBOOKS = {
    ("autograder", "compare_with_library"),
    ("autograder", "open_exercise"),
    ("autograder", "pytorch_attention"),
    ("autograder", "show_costs"),
    ("autograder", "show_example"),
    ("autograder", "show_numbers"),
    ("autograder", "speak"),
    ("autograder", "train"),
}
# Those that notebooks of an earlier kit import; today's do without.
EARLIER_NOTEBOOKS = {("autograder", "show_attention")}
COURSES = {
    ("autograder.course.autograde", "install"),
    ("autograder.course.export", "CleanCsv"),
    ("autograder.course.late_policy", "LatePolicy"),
    ("autograder.course.page", "PlainText"),
    ("autograder.course.page", "clean_html"),
    ("autograder.course.page", "clean_markdown"),
    ("autograder.course.page", "highlight_code"),
    ("autograder.course.preprocessors", "KeepStubs"),
    ("autograder.course.preprocessors", "OntoSkeleton"),
    ("autograder.course.preprocessors", "WriteVerdict"),
}
CAME_LATER = {
    ("autograder.course.late_policy", "LatePolicy"),
    ("autograder.course.page", "highlight_code"),
}
# Of 0.1.0, `autograder.wire` and `autograder.checks.misconception` are gone: see CHANGELOG.md.
EXERCISES = {
    ("autograder.checks", "shared_beside"),
    ("autograder.checks", "solution_beside"),
    ("autograder.worker.wire", "Linear"),
    ("autograder.worker.wire", "Seed"),
    ("autograder.checks", "walkthrough_beside"),
}
# What the command `attn` of an installed wheel runs, and what the build reads.
INSTALLED = {("autograder", "__version__"), ("autograder.cli", "main")}
PUBLIC = sorted(NOTEBOOKS | EARLIER_NOTEBOOKS | COURSES | EXERCISES | INSTALLED)

Name = tuple[str, str]


def missing(names: Iterable[Name]) -> list[str]:
    """Say of every name that does not import which one it is."""
    return [f"{module}.{name} is gone" for module, name in names if not imports(module, name)]


def imports(module: str, name: str) -> bool:
    try:
        return hasattr(import_module(module), name)
    except ModuleNotFoundError:
        return False


def imported_by(text: str) -> set[Name]:
    """The names of ours that a Python text imports; a module alone has the name ""."""
    found: set[Name] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            found |= {(node.module or "", alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {(alias.name, "") for alias in node.names}
    return {(module, name) for module, name in found if module.split(".")[0] == "autograder"}


def named_in_configuration(text: str) -> set[Name]:
    """The names of ours in an nbgrader_config.py: imported, or as nbgrader imports a string."""
    dotted = re.findall(r'"(autograder\.[\w.]+)\.(\w+)"', text)
    # The template has `$` where the facts of a course go, which is no Python.
    return {*dotted, *imported_by(text.replace("$", "facts_"))}


def code_of(path: Path) -> str:
    """The Python of a file or a notebook, without what only IPython runs."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return text
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    lines = "\n".join("".join(cell["source"]) for cell in cells).splitlines()
    return "\n".join(line for line in lines if not line.startswith(("%", "!")))


def used_by(paths: Iterable[Path]) -> set[Name]:
    return {name for path in paths for name in imported_by(code_of(path))}


def files_below(folder: str) -> Iterator[Path]:
    """The Python files and notebooks of all exercises in `folder`."""
    found = [path for ending in ("py", "ipynb") for path in ROOT.glob(f"{folder}/*/*.{ending}")]
    assert found, f"there is nothing in {folder}"
    yield from found


@pytest.fixture
def stock_nbgrader(monkeypatch: pytest.MonkeyPatch) -> None:
    """The classes that `install()` replaces, put back when the test ends."""
    monkeypatch.setattr(nbgrader.apps.autogradeapp, "Autograde", nbgrader.converters.Autograde)
    monkeypatch.setattr(nbgrader.apps.api, "Autograde", nbgrader.converters.Autograde)
    feedback = nbgrader.converters.GenerateFeedback
    monkeypatch.setattr(nbgrader.apps.generatefeedbackapp, "GenerateFeedback", feedback)
    monkeypatch.setattr(nbgrader.apps.api, "GenerateFeedback", feedback)


def test_every_public_name_still_imports() -> None:
    assert missing(PUBLIC) == []


@pytest.mark.parametrize(
    "name", [("autograder.wire", "Linear"), ("autograder.checks", "misconception")]
)
def test_a_name_that_has_moved_is_told(name: Name) -> None:
    assert missing([*PUBLIC, name]) == [f"{name[0]}.{name[1]} is gone"]


def test_what_a_file_imports_is_found_in_code_and_in_a_notebook(tmp_path: Path) -> None:
    (tmp_path / "graders.py").write_text("def f():\n    from autograder.checks import one\n")
    source = ["%pip install x\n", "import numpy\n", "import autograder.values.exercise"]
    cells = [{"cell_type": "code", "source": source}, {"cell_type": "markdown", "source": ["# A"]}]
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": cells}))
    names = {("autograder.checks", "one"), ("autograder.values.exercise", "")}
    assert used_by(tmp_path.iterdir()) == names


def test_the_notebooks_of_today_import_only_names_that_stay() -> None:
    assert used_by(files_below("assignments")) == NOTEBOOKS


def test_the_exercises_of_today_import_only_names_that_stay() -> None:
    assert used_by(files_below("solutions")) - NOTEBOOKS == EXERCISES


def test_the_courses_of_today_name_only_what_stays() -> None:
    assert named_in_configuration(TEMPLATE) == COURSES


def test_a_course_of_the_first_version_names_only_what_stays() -> None:
    named = named_in_configuration(OLD_CONFIGURATION.read_text(encoding="utf-8"))
    assert named == COURSES - CAME_LATER


@pytest.mark.usefixtures("stock_nbgrader")
def test_nbgrader_loads_the_configuration_of_a_course_of_the_first_version() -> None:
    folder, name = str(OLD_CONFIGURATION.parent), OLD_CONFIGURATION.name
    config = PyFileConfigLoader(name, path=folder).load_config()
    assert isinstance(config, Config)
    assert config.CourseDirectory.course_id == "attention-2026"
    for app in (nbgrader.apps.autogradeapp, nbgrader.apps.api):
        assert app.Autograde.__module__ == "autograder.course.autograde"
    for app in (nbgrader.apps.generatefeedbackapp, nbgrader.apps.api):
        assert app.GenerateFeedback.__module__ == "autograder.course.autograde"


def test_the_setting_that_the_configuration_offers_is_still_one() -> None:
    offered = set(re.findall(r"# c\.WriteVerdict\.(\w+) =", OLD_CONFIGURATION.read_text("utf-8")))
    assert offered == {"allow_protection"}
    assert offered <= set(WriteVerdict.class_trait_names(config=True))
