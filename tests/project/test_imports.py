"""What a student's `import autograder` costs, and that imports point one way.

The sources are read with `ast`, not imported, so that a wrong import is found also
inside a function. The table of layers is the design: a module may use its own
layer and those below it.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from autograder.authoring.run import rooms_below
from support.entered_files import entered
from support.import_layers import (
    LAYERS,
    PACKAGE,
    Room,
    circle,
    drawn,
    imports_below,
    module_name,
    package_needs,
    parsed,
    rooms,
    through_the_door,
    upward,
)
from support.room_tests import folders_for

ROOT = PACKAGE.parent
PICTURE = "tests/golden/layers.txt"
DRAW = "tests/support/import_layers.py"

# What is heavy or not everywhere: who may import it as soon as he is imported himself.
HEAVY = {
    "torch": ("play",),
    "nbgrader": ("course",),
    "nbconvert": ("course",),
    "nbformat": ("course", "authoring"),
    "jupytext": (),
    "tomli_w": ("authoring", "course"),
    "sqlalchemy": ("course",),
    "jinja2": ("course", "reports"),  # nbconvert hands the template's cell to a filter that says so
    "matplotlib": (),
    "pyseccomp": ("worker",),
    "dask": ("cluster",),
    "distributed": ("cluster",),
    "pytest": ("checks", "authoring"),
    "_pytest": ("checks",),
}


# They plug in, so that the kit is whole without them. The others are faces, or prove what is told.
PLUGGED_IN = frozenset({"play", "cluster", "platforms"})
MAY_NAME_THEM = {"cli", "site"}


def heavy(package: Path) -> list[str]:
    """Say of every heavy import that comes too early which one it is."""
    sentences = []
    for found in imports_below(package):
        whole = found.target.split(".")[0]
        allowed = HEAVY.get(whole)
        part = found.module.split(".")[1] if "." in found.module else ""
        if allowed is not None and not found.late and part not in allowed:
            sentences.append(
                f"{found.place}: {found.module} imports {whole} as soon as it is imported: "
                "import it inside the function that needs it"
            )
    return sentences


def beside_students(package: Path) -> list[str]:
    """Say of every import in `worker/` that brings in more of ours than it."""
    sentences = []
    for found in imports_below(package):
        inside = found.module.startswith(f"{package.name}.worker")
        ours = found.target.split(".")[0] == package.name
        if inside and ours and not found.target.startswith(f"{package.name}.worker"):
            sentences.append(
                f"{found.place}: {found.module} imports {found.target}, which would lie "
                "in memory beside a student's code"
            )
    return sentences


def test_every_module_has_its_layer() -> None:
    parts = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}
    known = {name for names in LAYERS for name in names}
    assert parts - {"__init__", "__pycache__"} == known


def test_imports_point_one_way() -> None:
    assert upward(PACKAGE) == []


def test_no_package_needs_itself_by_way_of_others() -> None:
    assert circle(package_needs(PACKAGE)) == ""


@pytest.mark.slow
def test_the_layers_are_drawn_as_they_are() -> None:
    run = subprocess.run([sys.executable, DRAW], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.endswith("no arrow points up\nno package circle\n")
    told = f"if the new arrows are meant: .venv/bin/python {DRAW} > {PICTURE}"
    assert run.stdout == (ROOT / PICTURE).read_text(encoding="utf-8"), told


def test_make_layers_draws_them() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert f"\nlayers: $(READY)\n\t@$(BIN)/python {DRAW}\n" in makefile


def test_the_folders_for_a_room_are_its_own_and_those_of_the_rooms_that_import_it() -> None:
    for room in rooms(PACKAGE):
        folders = folders_for(room.name)
        assert all((ROOT / folder).exists() for folder in folders), folders
        assert "tests/project/test_imports.py" in folders
    assert {"tests/sandbox", "tests/grading"} <= set(folders_for("sandbox"))
    assert folders_for("worker")[0] == "tests/worker" and "tests/cli" not in folders_for("worker")
    with pytest.raises(KeyError):
        folders_for("no_room")


def test_several_rooms_may_be_named_and_none_is_left_out_in_silence() -> None:
    def named(*names: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(ROOT / "tests" / "support" / "room_tests.py"), *names]
        env = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    both = named("sandbox", "reports").stdout.split()
    assert {*both} == {*folders_for("sandbox"), *folders_for("reports")}
    assert len(both) == len({*both})
    wrong = named("sandbox", "no_room")
    assert wrong.returncode == 2 and not wrong.stdout
    assert "'no_room' is no room of autograder/" in wrong.stderr


def test_a_proof_depends_on_every_room_that_it_can_reach_and_on_no_other() -> None:
    arrows = {room.name: room for room in rooms(PACKAGE)}

    def reached(room: Room) -> set[str]:
        return {room.name}.union(*(reached(arrows[name]) for name in room.imports))

    assert rooms_below("authoring") == reached(arrows["authoring"])
    assert not {"course", "cli", "learning", "play"} & rooms_below("authoring")


def test_a_drawing_with_an_arrow_that_points_up_says_so(tmp_path: Path) -> None:
    files = {
        "values/exercise.py": "from autograder.grading.run import grade_path\n",
        "grading/run.py": "def run():\n    from autograder.values import exercise\n",
    }
    text = drawn(planted(tmp_path, files))
    assert "  values       -> grading\n" in text and "  grading      -> values\n" in text
    assert "autograder/values/exercise.py:1: autograder.values.exercise imports" in text
    assert "these packages need each other: autograder.grading -> autograder.values" in text
    assert "no arrow points up" not in text and "no package circle" not in text


def test_no_type_has_two_meanings() -> None:
    """One name for one thing: no two classes or aliases of ours are called alike."""
    assert types_named_alike(PACKAGE, ROOT / "demo") == {}


def types_named_alike(*folders: Path) -> dict[str, list[str]]:
    """The types that have a name in common, with the files that they are in."""
    homes: dict[str, list[str]] = {}
    for path in (path for folder in folders for path in sorted(folder.rglob("*.py"))):
        for node in ast.walk(parsed(path)):
            for name in types_in(node):
                homes.setdefault(name, []).append(path.name)
    return {name: paths for name, paths in homes.items() if len(paths) > 1}


def types_in(node: ast.AST) -> list[str]:
    """The names of the types that a node defines."""
    if isinstance(node, ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.AnnAssign):
        said = ast.unparse(node.annotation).split(".")[-1] == "TypeAlias"
        return [ast.unparse(node.target)] if said else []
    if not isinstance(node, ast.Assign):
        return []
    names = [target.id for target in node.targets if isinstance(target, ast.Name)]
    return [name for name in names if like_a_type(name) or is_type(node.value)]


def like_a_type(name: str) -> bool:
    return name[0].isupper() and not name.isupper()


# A name in capitals is a constant as a rule; what it is given shows that it is a type.
BUILT_IN = ("bool", "bytes", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple")
MAKERS = ("Enum", "NamedTuple", "NewType", "ParamSpec", "TypeVar", "TypedDict", "namedtuple")


def is_type(value: ast.expr) -> bool:
    """Whether a value is written as a type: `Any`, `dict[str, int]`, `X | None`, `NewType(...)`."""
    if isinstance(value, ast.Name | ast.Attribute):
        name = ast.unparse(value).split(".")[-1]
        return name in BUILT_IN or like_a_type(name)
    if isinstance(value, ast.Subscript):
        return is_type(value.value)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr):
        return is_type(value.left) or is_type(value.right)
    return isinstance(value, ast.Call) and ast.unparse(value.func).split(".")[-1] in MAKERS


@pytest.mark.parametrize(
    "text",
    [
        "class {}: pass",
        "def f():\n    class {}: pass",
        "if TYPE_CHECKING:\n    class {}: pass",
        "{} = dict",
        "{}: TypeAlias = 'dict[str, int]'",
        "{}: typing.TypeAlias = dict",
        "if TYPE_CHECKING:\n    {} = Callable[..., None]",
        "{} = int | None",
        "{} = collections.abc.Mapping[str, int]",
        "{} = typing.NewType('x', int)",
    ],
)
@pytest.mark.parametrize("name", ["Reply", "REPLY", "R"])
def test_a_type_with_two_meanings_is_told(tmp_path: Path, text: str, name: str) -> None:
    package = planted(tmp_path, {"values/a.py": f"class {name}: pass\n"})
    demo = tmp_path / "demo"
    demo.mkdir()
    (demo / "b.py").write_text(text.format(name))
    assert types_named_alike(package, demo) == {name: ["a.py", "b.py"]}


def test_a_constant_in_capitals_is_no_type(tmp_path: Path) -> None:
    text = "A = 5\nA: int = 4\nA = {'a': 1}\nA = re.I | re.M\nA = SIZES[0]\nA: int = 3\n"
    assert types_named_alike(planted(tmp_path, {"values/a.py": text})) == {}


def test_no_two_modules_are_called_alike() -> None:
    assert modules_named_alike(PACKAGE) == {}


def modules_named_alike(package: Path) -> dict[str, list[str]]:
    """The modules that have a name in common; a folder of modules is one too, so also a room."""
    homes: dict[str, list[str]] = {}
    for path in sorted(package.rglob("*.py")):
        name = path.parent.name if path.name == "__init__.py" else path.stem
        homes.setdefault(name, []).append(str(path.relative_to(package)))
    del homes[package.name]
    homes.pop("__main__", None)
    return {name: paths for name, paths in homes.items() if len(paths) > 1}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("course/judge.py", "grading/judge.py"),
        ("grading/judging.py", "judging/__init__.py"),
        ("grading/grading.py", "grading/__init__.py"),
        ("learning/course/__init__.py", "course/__init__.py"),
    ],
)
def test_modules_that_are_called_alike_are_told(tmp_path: Path, one: str, other: str) -> None:
    rest = {"cli/__main__.py": "", "worker/__main__.py": "", "values/exercise.py": ""}
    (told,) = modules_named_alike(planted(tmp_path, {one: "", other: "", **rest})).values()
    assert sorted(told) == sorted([one, other])


def test_at_the_top_there_is_the_door_and_the_error() -> None:
    assert sorted(path.name for path in PACKAGE.glob("*.py")) == ["__init__.py", "errors.py"]


def test_what_is_heavy_is_imported_only_where_it_is_at_home() -> None:
    assert heavy(PACKAGE) == []


def test_beside_a_students_code_there_is_nothing_else_of_ours() -> None:
    assert beside_students(PACKAGE) == []


def test_no_module_needs_itself_to_be_imported() -> None:
    graph: dict[str, set[str]] = {}
    for found in imports_below(PACKAGE):
        if found.target.startswith("autograder") and not found.late:
            graph.setdefault(found.module, set()).add(found.target)
    for module in graph:
        graph[module].discard(module)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"these import each other: {' -> '.join(error.args[1])}")


def planted(folder: Path, files: dict[str, str]) -> Path:
    package = folder / "autograder"
    for name, text in {"__init__.py": "", **files}.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text, encoding="utf-8")
    return package


def test_an_import_that_points_up_is_told_by_name(tmp_path: Path) -> None:
    files = {
        "worker/wire.py": "def show():\n    from autograder.judging import compare\n",
        "judging/compare.py": "",
        "sandbox/workers.py": "from autograder.grading.run import grade_path\n",
        "grading/run.py": "from autograder import sandbox\n",
    }
    told = upward(planted(tmp_path, files))
    assert [sentence.split(",")[0].split(": ")[1] for sentence in told] == [
        "autograder.sandbox.workers imports autograder.grading.run",
        "autograder.worker.wire imports autograder.judging.compare",
    ]


@pytest.mark.parametrize(
    "text",
    [
        'importlib.import_module("autograder.grading.run")',
        'def late():\n    import_module(name="autograder.grading.run")',
        '__import__("autograder.grading.run")',
        "import autograder.values.files\nautograder.grading.run.grade_path()",
    ],
)
def test_an_import_by_another_way_is_an_arrow_too(tmp_path: Path, text: str) -> None:
    files = {"values/exercise.py": text, "grading/__init__.py": "", "grading/run.py": ""}
    package = planted(tmp_path, files)
    (told,) = upward(package)
    assert "autograder.values.exercise imports autograder.grading" in told
    assert "  values       -> grading\n" in drawn(package)


def test_nothing_of_ours_comes_through_the_door() -> None:
    assert through_the_door(PACKAGE) == []


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("from autograder import open_exercise", "autograder.open_exercise"),
        (
            "def f():\n    from autograder import values, show_attention",
            "autograder.show_attention",
        ),
        ("from autograder import *", "autograder.*"),
        ("import autograder.values\nautograder.open_exercise()", "autograder.open_exercise"),
        ("import autograder", "autograder"),
        ("import autograder as kit", "autograder"),
        ('importlib.import_module("autograder").open_exercise', "autograder"),
    ],
)
def test_what_comes_through_the_door_is_told(tmp_path: Path, text: str, used: str) -> None:
    package = planted(tmp_path, {"cli/grade.py": text, "values/__init__.py": ""})
    (told,) = through_the_door(package)
    assert told.startswith("autograder/cli/grade.py:") and f"cli.grade uses {used}, which" in told
    assert told in drawn(package)


def test_the_version_and_a_room_may_come_from_the_package(tmp_path: Path) -> None:
    text = "from autograder import __version__, values\nimport autograder.values\n"
    files = {"cli/grade.py": text, "values/__init__.py": ""}
    assert through_the_door(planted(tmp_path, files)) == []


def test_a_heavy_import_is_told_by_name_unless_it_waits(tmp_path: Path) -> None:
    files = {
        "values/exercise.py": "import torch.nn as nn\n",
        "judging/compare.py": "def same():\n    import torch\n",
        "course/page.py": "import nbgrader\n",
        "grading/run.py": "try:\n    from nbgrader import api\nexcept ImportError:\n    api = 0\n",
    }
    told = heavy(planted(tmp_path, files))
    assert [sentence.split(" as soon")[0].split(": ")[1] for sentence in told] == [
        "autograder.grading.run imports nbgrader",
        "autograder.values.exercise imports torch",
    ]


def test_an_import_beside_a_students_code_is_told_by_name(tmp_path: Path) -> None:
    files = {
        "worker/wire.py": "",
        "values/verdict.py": "",
        "worker/serving.py": "from autograder.values import verdict\n"
        "from autograder.worker import wire\nfrom autograder.worker import x\n",
    }
    told = beside_students(planted(tmp_path, files))
    assert len(told) == 1 and "imports autograder.values.verdict" in told[0]


LOADED = "import sys, {}; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
FOR_ALL = (
    *("torch", "nbgrader", "pytest", "_pytest", "nbformat", "jinja2", "jupytext", "rich"),
    *("dask", "distributed"),
)


def loaded_by(modules: str) -> set[str]:
    """What a fresh interpreter has loaded after importing `modules`."""
    run = subprocess.run(
        [sys.executable, "-c", LOADED.format(modules)], capture_output=True, text=True, check=True
    )
    return set(run.stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert loaded_by("autograder") & {*FOR_ALL, "numpy"} == set()


def test_the_ground_loads_nothing_heavy() -> None:
    paths = [path for room in ("worker", "values") for path in (PACKAGE / room).glob("*.py")]
    ground = ", ".join(module_name(PACKAGE, path) for path in paths)
    loaded = loaded_by(ground)
    assert loaded & set(FOR_ALL) == set()
    assert "numpy" in loaded


def test_what_a_notebook_imports_loads_neither_pytest_nor_nbgrader() -> None:
    loaded = loaded_by("autograder; autograder.open_exercise")
    assert loaded & set(FOR_ALL) == set()
    assert "autograder" in loaded


def test_what_grading_enters_is_counted_in_the_starter_and_in_its_grader_process() -> None:
    found = {str(file.relative_to(PACKAGE)): count for file, count in entered().items()}
    assert found["cli/grade.py"] and found["grading/batch.py"] and found["judging/diagnosis.py"]
    assert "course/gradebook.py" not in found


def test_no_room_of_the_core_imports_what_plugs_in() -> None:
    naming = {room.name for room in rooms(PACKAGE) if room.imports & PLUGGED_IN}
    assert naming - PLUGGED_IN <= MAY_NAME_THEM
