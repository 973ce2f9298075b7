"""Building keeps its promises: nothing secret gets out, and nbgrader takes what is built."""

from __future__ import annotations

import ast
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import numpy as np
import pytest
from jaxtyping import Float, Real
from nbgrader.preprocessors import CheckCellMetadata, ComputeChecksums, LockCells
from nbgrader.utils import determine_grade

from autograder.authoring.build import build, build_all, stale
from autograder.authoring.leak import refuse_leaks, secrets_of, text_of
from autograder.authoring.regions import read_solution
from autograder.errors import KitError
from autograder.judging.examples import facts_in, packed
from autograder.values.exercise import (
    EARLIER_EXAMPLES,
    EXAMPLES,
    Signature,
    generated,
    read_exercise,
    shape_text,
    signature_in,
    signature_of,
)
from support.leak_search import refuse_leaks_below
from support.written_exercise import Change, changed, write_exercise

ROOT = Path(__file__).resolve().parents[2]
EXERCISES = sorted(path.parent for path in (ROOT / "solutions").glob("*/exercise.toml"))

MATHML = "http://www.w3.org/1998/Math/MathML"  # a name, and nothing is fetched there
MANIFEST = """\
# the author's own note
format_version = 1
name = "toy"
title = "A toy"
library = "numpy"
difficulty = 1

[limits]
seconds_per_call = 1.5

[grading]
seed = 987654321

[[steps]]
name = "double"
title = "Doubling"
points = 2
minutes = 65
hints = ["Once is not enough.", "Say \\"two\\".", "Multiply by two: 2 · x."]

[[steps]]
name = "gather"
title = "Gathering"
points = 1
minutes = 5
compare = "floor"
hints = ["a", "b", "c"]

[[steps]]
name = "Layer"
title = "The layer"
points = 3
minutes = 20
hints = []
"""

SOLUTION = '''\
# %% [markdown]
# # A toy
#
# `B` is the batch, `S` the sequence.

# %%
import numpy as np
from jaxtyping import Float


# %%
def double(scores: Float[np.ndarray, "B S"], factor: int = 2) -> Float[np.ndarray, "B S"]:
    """Double the scores."""
    ### BEGIN SOLUTION
    doubled_scores = factor * scores
    return doubled_scores
    ### END SOLUTION


# %% [markdown]
# ## Gathering


# %%
def gather(
    weights: Float[np.ndarray, "B S S"], values: Float[np.ndarray, "B S D"]
) -> tuple[Float[np.ndarray, "B S D"], int]:
    """Gather the values."""
    if weights.ndim == 3:
            ### BEGIN SOLUTION
        gathered = weights @ values  # the sum over the sequence
        return gathered, gathered.shape[1]
            ### END SOLUTION


# %%
class Layer:
    """A layer."""

    def __init__(self, factor: int) -> None:
        """Keep the factor."""
        ### BEGIN SOLUTION
        self.kept_factor = abs(factor)
        ### END SOLUTION

    def forward(self, x: Float[np.ndarray, "B S"]) -> Float[np.ndarray, "B S"]:
        """Double x."""
        ### BEGIN SOLUTION
        return double(x, self.kept_factor)
        ### END SOLUTION
'''

MISCONCEPTIONS = '''\
"""Wrong implementations."""

import numpy as np


def doubled_twice(scores, factor=2):
    """You double the scores twice."""
    return np.multiply(factor, np.multiply(factor, scores))
'''


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """The folder of a toy exercise: two functions and a class."""
    return write_toy(tmp_path)


def write_toy(folder: Path) -> Path:
    files = {
        "exercise.toml": MANIFEST,
        "solution.py": SOLUTION,
        "misconceptions.py": MISCONCEPTIONS,
    }
    return write_exercise(folder / "solutions" / "toy", files)


@pytest.fixture
def two(toy: Path) -> tuple[Path, Path]:
    """The toy exercise, and one that differs by its name."""
    other = shutil.copytree(toy, toy.with_name("zoo"))
    return toy, changed(other, ("exercise.toml", 'name = "toy"', 'name = "zoo"'))


@pytest.fixture
def assignments(tmp_path: Path) -> Path:
    return tmp_path / "assignments"


@pytest.fixture(scope="module")
def handout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What students get of the toy exercise as it is; nobody changes it."""
    return built(write_toy(tmp_path_factory.mktemp("toy")))


def built(toy: Path, *changes: Change) -> Path:
    """What students get of the exercise with these changes."""
    assignments = toy.parents[1] / "assignments"
    build(changed(toy, *changes), assignments)
    return assignments / toy.name


def solution(old: str, new: str) -> Change:
    return "solution.py", old, new


def line_of(file: Path, part: str) -> int:
    text = file.read_text()
    return text[: text.index(part)].count("\n") + 1


def content(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def notebook_of(folder: Path) -> Any:
    return nbformat.read(folder / f"{folder.name}.ipynb", as_version=4)


# What students get


def test_build_writes_the_stub_the_notebook_the_checklist_and_the_public_facts(
    toy: Path, assignments: Path
) -> None:
    paths = build(toy, assignments)
    names = ["toy.py", "toy.ipynb", "guide.html", "README.md", "exercise.toml"]
    assert [path.relative_to(assignments / "toy").as_posix() for path in paths] == names
    assert content(assignments / "toy").keys() == set(names)


def test_an_error_in_one_exercise_leaves_the_assignments_of_all_as_they_were(
    two: tuple[Path, Path], assignments: Path
) -> None:
    build_all(two, assignments)
    before = content(assignments)
    assert len(before) == 10
    changed(two[0], solution("# # A toy", "# # Another toy"))
    changed(two[1], solution("### END SOLUTION", "### END"))
    with pytest.raises(KitError):
        build_all(two, assignments)
    assert content(assignments) == before


def test_a_build_tells_the_faults_of_all_exercises_at_once(
    two: tuple[Path, Path], assignments: Path
) -> None:
    changed(two[1], solution("### END SOLUTION", "### END"))
    changed(two[0], ("exercise.toml", "minutes = 5", "minutes = 0"))
    changed(two[0], solution("# # A toy", "# # A toy {{ missing }}"))
    with pytest.raises(KitError) as raised:
        build_all(two, assignments)
    facts = [each.fact for each in raised.value.each]
    assert facts == [
        "gather takes 0 minutes",
        "the prose asks for values, but there is no walkthrough.py",
        "a solution region begins inside the one that begins at line 14",
    ]
    assert str(raised.value).count("cure:") == 3
    assert not assignments.exists()


def test_a_folder_that_cannot_be_written_to_leaves_every_file_as_it_was(
    two: tuple[Path, Path], assignments: Path
) -> None:
    assignments.mkdir()
    (assignments / "zoo").write_text("a file where a folder belongs", encoding="utf-8")
    with pytest.raises(KitError):
        build_all(two, assignments)
    assert content(assignments).keys() == {"zoo"}


def test_what_lies_beside_a_solution_is_written_with_the_assignments_or_not_at_all(
    toy: Path, assignments: Path
) -> None:
    def refused(folder: Path, examples: bytes) -> dict[str, str]:
        raise KitError("no lines", place=str(facts_in(examples)), cure="none")

    def beside(folder: Path, examples: bytes) -> dict[str, str]:
        return {"rungs.json": str(facts_in(examples))}

    with pytest.raises(KitError):
        build_all([toy], assignments, lambda folder: packed([]), refused)
    assert not assignments.exists()
    build_all([toy], assignments, lambda folder: packed([]), beside)
    assert (toy / "generated" / "rungs.json").read_text(encoding="utf-8") == "[]"


def test_an_unwritten_step_says_so_in_words(handout: Path) -> None:
    stub = runpy.run_path(str(handout / "toy.py"))
    x = np.ones((2, 3))
    calls: dict[str, Callable[[], object]] = {
        "double": lambda: stub["double"](x),
        "gather": lambda: stub["gather"](np.ones((2, 3, 3)), np.ones((2, 3, 4))),
        "Layer.__init__": lambda: stub["Layer"](2),
        "Layer.forward": lambda: stub["Layer"].forward(None, x),
    }
    for name, call in calls.items():
        with pytest.raises(NotImplementedError, match=rf"^{re.escape(name)} is not written yet$"):
            call()


def test_the_stub_stands_at_the_indentation_of_the_code_not_of_the_marker(handout: Path) -> None:
    stub = "    if weights.ndim == 3:\n        # YOUR CODE HERE\n        raise NotImplementedError("
    assert stub in (handout / "toy.py").read_text()


def test_the_stub_is_percent_format_with_the_code_of_the_notebook_and_without_checks(
    handout: Path,
) -> None:
    text = (handout / "toy.py").read_text()
    assert "check(" not in text
    assert "\n\n# %%\n# 1 Doubling\ndef double(" in text
    assert "\n\n# %%\nimport numpy" in text
    assert "attn read double" in text.split("# %%")[0]
    cells = jupytext.reads(text, fmt="py:percent").cells
    titles = re.compile(r"^# \d+ .*\n")
    code = [titles.sub("", cell.source) for cell in cells if cell.cell_type == "code"]
    shared = [
        cell.source
        for cell in notebook_of(handout).cells
        if cell.cell_type == "code" and not cell.id.startswith(("check-", "setup"))
    ]
    assert code[0].startswith("# A toy\n") and code[1:] == shared


def test_a_brief_stands_in_the_stub_above_its_step_and_not_in_the_notebook(toy: Path) -> None:
    brief = '# %% [markdown] active="py"\n# How much is twice?\n#\n#   2 4\n\n'
    folder = built(toy, solution("# %%\ndef double(", f"{brief}# %%\ndef double("))
    text = (folder / "toy.py").read_text()
    assert "# %%\n# 1 Doubling\n# How much is twice?\n#\n#   2 4\ndef double(" in text
    every = "".join(cell.source for cell in notebook_of(folder).cells)
    assert "How much is twice" not in every
    error = refused(toy, solution("How much is twice", "How " + "very " * 20 + "much is twice"))
    assert error.fact == "a line of the stub is 120 characters wide, and 100 fit"
    assert "at the line: # How very very" in error.place


def test_the_page_holds_the_whole_lesson_and_fetches_nothing(toy: Path) -> None:
    formula = solution("# ## Gathering", "# ## Gathering\n#\n# $$\\sqrt{D} < 3$$ costs $5")
    page = (built(toy, formula) / "guide.html").read_text()
    assert ">Gathering</h2>" in page and "costs $5" in page
    assert "<msqrt>" in page and "sqrt{D}" not in page
    assert '<a href="#about-double">1 Doubling</a>' in page and 'id="about-double"' in page
    assert "raise NotImplementedError" in page and "check(" not in page
    assert "http" not in page.replace("http-equiv", "").replace(MATHML, "")
    assert "<script" not in page and "default-src 'none'" in page


def test_the_header_that_jupytext_writes_is_for_no_student(toy: Path, handout: Path) -> None:
    header = "# ---\n# jupyter:\n#   jupytext:\n#     formats: ipynb,py:percent\n# ---\n\n"
    first = "# %% [markdown]\n# # A toy"
    assert content(built(toy, solution(first, header + first))) == content(handout)


def test_a_cell_for_the_notebook_alone_is_code_there_and_not_in_the_stub(toy: Path) -> None:
    with (toy / "solution.py").open("a") as file:
        file.write('\n\n# %% active="ipynb"\n# drawn = double(1)\n#\n# # a note\n# drawn\n')
    folder = built(toy)
    last = notebook_of(folder).cells[-2]  # above the list of the steps
    assert (last.cell_type, last.source) == ("code", "drawn = double(1)\n\n# a note\ndrawn")
    assert "drawn" not in (folder / "toy.py").read_text()


def test_the_notebook_is_valid_and_every_step_has_its_check_under_it(handout: Path) -> None:
    notebook = notebook_of(handout)
    nbformat.validate(notebook)
    assert notebook.cells[0].source.startswith("# A toy")
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert 'check = open_exercise("toy")' in code[0].source
    graded = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in code]
    pairs = [name for step in ("double", "gather", "Layer") for name in (step, f"check_{step}")]
    assert graded == ["setup", None, *pairs]
    for step, check in zip(code[2::2], code[3::2], strict=True):
        name = step.metadata.nbgrader.grade_id
        assert f" {name}(" in step.source or f"class {name}:" in step.source
        assert check.source == f"check({name})"
        assert (step.metadata.nbgrader.grade, check.metadata.nbgrader.grade) == (False, True)
        assert (step.metadata.nbgrader.solution, check.metadata.nbgrader.solution) == (True, False)
        assert (step.metadata.nbgrader.locked, check.metadata.nbgrader.locked) == (False, True)


def test_nbgrader_accepts_the_metadata_and_adds_only_its_checksums(handout: Path) -> None:
    notebook = notebook_of(handout)
    CheckCellMetadata().preprocess(notebook, {})
    before = [dict(cell.metadata) for cell in notebook.cells]
    LockCells().preprocess(notebook, {})
    assert [dict(cell.metadata) for cell in notebook.cells] == before
    ComputeChecksums().preprocess(notebook, {})
    CheckCellMetadata().preprocess(notebook, {})
    checks = [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade")]
    assert [determine_grade(cell)[1] for cell in checks] == [2.0, 1.0, 3.0]


def test_the_checklist_has_a_line_for_every_step_with_shapes_points_and_minutes(
    handout: Path,
) -> None:
    text = (handout / "README.md").read_text()
    assert "3 steps, 6 points, about 1 hour 30 minutes" in text
    assert "- [ ] **double**: Doubling (2 points, about 1 hour 5 minutes)" in text
    assert "- [ ] **gather**: Gathering (1 point, about 5 minutes)" in text
    assert "`double(scores: (B, S), factor) -> (B, S)`" in text
    assert "`gather(weights: (B, S, S), values: (B, S, D)) -> (B, S, D), value`" in text
    assert "`Layer(factor)`" in text
    assert "`Layer.forward(x: (B, S)) -> (B, S)`" in text


def table_of(folder: Path) -> list[str]:
    text = (folder / "README.md").read_text()
    return text.partition("## The shapes\n\n")[2].partition("\n\n## How to check")[0].splitlines()


def test_the_checklist_has_a_table_of_the_shapes_with_the_class_last(
    toy: Path, handout: Path
) -> None:
    head, layer = ["| step | result |", "|---|---|"], "| `Layer.forward` | `(B, S)` |"
    double, gather = "| `double` | `(B, S)` |", "| `gather` | `(B, S, D)`, value |"
    assert table_of(handout) == [*head, double, gather, layer]
    pair = 'tuple[Float[np.ndarray, "B S"], Float[np.ndarray, "B S"]]'
    folder = built(
        toy,
        solution('-> tuple[Float[np.ndarray, "B S D"], int]:', "-> int:"),
        solution('2) -> Float[np.ndarray, "B S"]:', f"2) -> {pair}:"),
    )
    assert table_of(folder) == [*head, "| `double` | `(B, S)` each |", layer]


def test_a_checklist_without_shapes_has_no_table(toy: Path) -> None:
    axes = ("B S D", "B S S", "B S")
    folder = built(toy, *(solution(f'Float[np.ndarray, "{each}"]', "np.ndarray") for each in axes))
    text = (folder / "README.md").read_text()
    assert "The shapes" not in text
    assert "`double(scores, factor)`\n" in text
    assert "\n\n## How to check\n" in text


def test_the_public_facts_are_all_but_the_grading(toy: Path, handout: Path) -> None:
    text = (handout / "exercise.toml").read_text()
    assert "987654321" not in text
    assert '    "Multiply by two: 2 · x.",\n' in text
    assert "author's own note" not in text
    expected = tomllib.loads(MANIFEST)
    del expected["grading"]
    assert tomllib.loads(text) == expected
    ours, theirs = read_exercise(toy), read_exercise(handout)
    assert (ours.steps, ours.limits) == (theirs.steps, theirs.limits)
    assert theirs.grading.seed == 0


def test_the_public_facts_may_be_whatever_toml_can_say(toy: Path) -> None:
    odd = (
        'odd = "\\u007f\\\\\\"\\n\\u2028"\n'
        '"a.b c" = {when = 2026-11-21, inf = inf, list = [[1, 2.5], []]}\n'
    )
    folder = built(toy, ("exercise.toml", "difficulty = 1\n", f"difficulty = 1\n{odd}"))
    facts = tomllib.loads((folder / "exercise.toml").read_text())
    assert facts["odd"] == '\x7f\\"\n\u2028'
    assert facts["a.b c"] == tomllib.loads(odd)["a.b c"]


def test_worked_examples_come_from_the_callable_that_gets_the_solution_folder(
    toy: Path, assignments: Path
) -> None:
    paths = build(toy, assignments, examples=lambda folder: packed({"of": folder.name}))
    assert paths[-1].name == EXAMPLES
    assert facts_in(paths[-1].read_bytes()) == {"of": "toy"}


def test_two_builds_give_the_same_bytes(toy: Path, handout: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from autograder.authoring.build import build; "
        "build(Path(sys.argv[1]), Path(sys.argv[2]))"
    )
    subprocess.run(
        [sys.executable, "-c", program, str(toy), str(tmp_path)],
        # Not as sets are ordered in this process.
        env={**os.environ, "PYTHONHASHSEED": "20261122", "PYTHONPATH": str(ROOT)},
        check=True,
    )
    assert content(tmp_path / "toy") == content(handout)


@pytest.mark.parametrize("folder", EXERCISES, ids=lambda folder: folder.name)
def test_every_exercise_of_the_kit_builds_without_a_leak(folder: Path, assignments: Path) -> None:
    paths = build(folder, assignments)
    exercise = read_exercise(assignments / folder.name)
    stub = (assignments / folder.name / f"{folder.name}.py").read_text()
    assert stub.count("raise NotImplementedError(") == len(
        read_solution(read_exercise(folder)).regions
    )
    assert [node.name for node in _definitions(stub)] == [step.name for step in exercise.steps]
    refuse_leaks_below(secrets_of(read_exercise(folder)), paths[0].parent)


def _definitions(text: str) -> list[ast.FunctionDef | ast.ClassDef]:
    body = ast.parse(text).body
    return [node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]


# Leaks


def test_no_line_of_a_region_stands_in_any_file_for_students(toy: Path, assignments: Path) -> None:
    paths = build(
        toy, assignments, examples=lambda _: packed({"told": "You double the scores twice."})
    )
    for path in paths:
        text = text_of(path.name, path.read_bytes())
        for part in ("doubled_scores", "weights @", "kept_factor", "the sum over", "SOLUTION"):
            assert part not in text, f"{part} in {path}"


@pytest.mark.parametrize(
    "text", ["x\n\ndoubled_scores=factor  *  scores", "gathered = weights\n@values"]
)
def test_a_planted_line_is_found_however_it_is_wrapped(toy: Path, text: str) -> None:
    secrets = secrets_of(read_exercise(toy))
    refuse_leaks(secrets, {"notes.md": "Doubling and gathering are two steps."})
    with pytest.raises(KitError, match="a line of a solution is in a file for students"):
        refuse_leaks(secrets, {"notes.md": text})


def test_a_leak_is_told_with_both_places(toy: Path, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    folder.mkdir()
    (folder / "clean.txt").write_text("nothing here\n")
    (folder / "notes.txt").write_text("one\ntwo\n  return double(x, self.kept_factor)\n")
    with pytest.raises(KitError) as caught:
        refuse_leaks_below(secrets_of(read_exercise(toy)), folder)
    number = line_of(toy / "solution.py", "return double(x")
    assert caught.value.place == (f"{folder / 'notes.txt'}:3, from {toy / 'solution.py'}:{number}")


def test_a_leak_in_a_notebook_is_found_behind_its_escapes(toy: Path) -> None:
    line = "self.kept_factor = abs(factor)"
    told = f'{line} + len("a\\tb")'
    folder = built(toy, solution(line, told))
    path, notebook = folder / "toy.ipynb", notebook_of(folder)
    notebook.cells[-1].source += f"\n{told}"
    nbformat.write(notebook, path)
    with pytest.raises(KitError, match="is in a file for students") as caught:
        refuse_leaks_below(secrets_of(read_exercise(toy)), folder)
    assert f"{path}:{line_of(path, 'kept_factor')}," in caught.value.place


@pytest.mark.parametrize(
    "told",
    [
        {"told": "Gathering is:\ngathered = weights\n    @ values"},
        {"told": ["gathered = weights", ["@ values"]]},
        {"gathered = weights\t@ values": 1},
        {"told": 'self.name = call("größe\\t")'},
    ],
    ids=["over lines of a text", "over texts", "in a key", "behind escapes"],
)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_leak_in_a_json_file_is_found_however_it_is_written_there(
    toy: Path, told: dict[str, Any], ascii_only: bool
) -> None:
    changed(toy, solution("abs(factor)", 'abs(factor)\n        self.name = call("größe\\t")'))
    secrets = secrets_of(read_exercise(toy))
    text = json.dumps({"first": "Doubling.", **told}, indent=1, ensure_ascii=ascii_only)
    with pytest.raises(KitError, match="a line of a solution is in a file") as caught:
        refuse_leaks(secrets, {"costs.json": text})
    assert caught.value.place.startswith("costs.json:")
    number = int(caught.value.place.split(":")[1].split(",")[0])
    assert any(word in text.split("\n")[number - 1] for word in ("gathered", "self.name"))


@pytest.mark.parametrize("name", ["costs.json", "toy.ipynb"])
def test_a_leak_is_found_in_a_json_file_that_is_broken(toy: Path, name: str) -> None:
    secrets = secrets_of(read_exercise(toy))
    refuse_leaks(secrets, {name: '{"told": "Doubling."\n'})
    with pytest.raises(KitError, match="is in a file for students") as caught:
        refuse_leaks(secrets, {name: '{"told":\n"gathered = weights @ values"'})
    assert caught.value.place.startswith(f"{name}:2,")


def test_the_code_of_a_misconception_is_secret_and_its_words_are_not(toy: Path) -> None:
    secrets = secrets_of(read_exercise(toy))
    refuse_leaks(secrets, {EXAMPLES: packed(["You double the scores twice."])})
    with pytest.raises(KitError, match=r"a line of misconceptions\.py"):
        refuse_leaks(secrets, {"a.py": "return np.multiply(factor, np.multiply(factor, scores))"})


@pytest.mark.parametrize("end", ["\f", "\v", "\x1c", "\u2028"], ids=ascii)
def test_what_only_some_call_the_end_of_a_line_hides_no_secret(toy: Path, end: str) -> None:
    docstring = '"""You do something else."""'
    more = f"\n\ndef other(scores):\n    {docstring}\n    return scores * 123456789012\n"
    before = None
    for count in range(10):  # each shift could let another line pass for a docstring
        marks = "".join(f"# {end}\n" for _ in range(count))
        (toy / "misconceptions.py").write_text(marks + MISCONCEPTIONS + more)
        (toy / "solution.py").write_text(marks + SOLUTION)
        found = secrets_of(read_exercise(toy))
        before = before or {each.text for each in found}
        assert {each.text for each in found} == before, count
        (place,) = (each.place for each in found if each.text.startswith("returnnp.multiply"))
        assert place.endswith(f":{marks.count(end) + MISCONCEPTIONS.count(chr(10))}")


def test_a_marker_of_a_region_is_a_leak(toy: Path) -> None:
    with pytest.raises(KitError, match="a marker of a solution region"):
        refuse_leaks(secrets_of(read_exercise(toy)), {"a.py": "    ### BEGIN SOLUTION\n"})


def test_a_line_that_stands_in_the_open_part_too_is_no_secret(toy: Path) -> None:
    line = "        assert factor.bit_length() > 1\n"
    docstring, kept = '        """Keep the factor."""\n', "        self.kept_factor = abs(factor)\n"
    folder = built(toy, solution(kept, line + kept), solution(docstring, docstring + line))
    assert line in (folder / "toy.py").read_text()


GATHERED = "gathered = weights @ values"


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("solution.py", "# ## Gathering", f"# ## Gathering\n# `{GATHERED}`"),
        ("solution.py", '"""Double x."""', '"""Do: return double(x, self.kept_factor)"""'),
        ("exercise.toml", "Multiply by two: 2 · x.", "doubled_scores = factor * scores"),
        ("exercise.toml", "minutes = 65", f"minutes = 65\nsimilar = '>>> {GATHERED}'"),
    ],
    ids=["prose", "docstring", "hint", "similar code"],
)
def test_a_line_of_a_solution_stops_the_build_before_it_writes(
    toy: Path, assignments: Path, file: str, old: str, new: str
) -> None:
    assert "is in a file for students" in refused(toy, (file, old, new)).fact
    assert not assignments.exists()


def test_a_solution_line_in_the_worked_examples_stops_the_build(
    toy: Path, assignments: Path
) -> None:
    with pytest.raises(KitError, match=r"examples\.xz:1"):
        build(toy, assignments, examples=lambda _: packed([GATHERED]))


# Stale


def test_what_was_just_built_is_not_stale(toy: Path, assignments: Path) -> None:
    cache = built(toy) / "__pycache__"
    cache.mkdir()
    (cache / "toy.pyc").write_bytes(b"")
    assert stale(toy, assignments) == ()


def test_before_the_first_build_every_file_is_missing_and_none_is_written(
    toy: Path, assignments: Path
) -> None:
    assert len(stale(toy, assignments)) == 5
    assert not assignments.exists()


def test_missing_edited_and_left_over_files_are_named(toy: Path, assignments: Path) -> None:
    folder = built(toy)
    (folder / "README.md").unlink()
    changed(folder, ("toy.py", "YOUR CODE HERE", "your code here"))
    (folder / "old").mkdir()
    (folder / "old" / "toy_v1.py").write_text("")
    assert stale(toy, assignments) == (
        "toy/toy.py differs",
        "toy/README.md is missing",
        "toy/old/toy_v1.py is left over",
    )


def test_a_change_of_the_facts_makes_the_files_that_say_them_stale(
    toy: Path, assignments: Path
) -> None:
    built(toy)
    changed(toy, ("exercise.toml", "points = 2", "points = 5"))
    names = {entry.split()[0] for entry in stale(toy, assignments)}
    assert names == {"toy/toy.ipynb", "toy/README.md", "toy/exercise.toml"}


def test_worked_examples_without_their_callable_are_left_over(toy: Path, assignments: Path) -> None:
    build(toy, assignments, examples=lambda _: packed({}))
    assert stale(toy, assignments, examples=lambda _: packed({})) == ()
    assert stale(toy, assignments) == (f"toy/{EXAMPLES} is left over",)


@pytest.mark.parametrize(("number", "kept"), [(0.5 + 1e-9, True), (0.6, False)])
def test_worked_examples_that_differ_in_the_last_digits_are_not_stale_and_not_written_again(
    toy: Path, assignments: Path, number: float, kept: bool
) -> None:
    """They depend on the processor, and a file that nobody can read would seem to have changed."""

    def examples(value: float) -> Callable[[Path], bytes]:
        return lambda folder: packed({"a": np.array([0.25, value])})

    build(toy, assignments, examples(0.5))
    found = stale(toy, assignments, examples(number))
    assert found == (() if kept else (f"toy/{EXAMPLES} differs",))
    build(toy, assignments, examples(number))
    written = facts_in((assignments / "toy" / EXAMPLES).read_bytes())["a"]
    assert written[1] == (0.5 if kept else number)


def test_what_an_earlier_kit_has_generated_elsewhere_is_removed(
    toy: Path, assignments: Path
) -> None:
    (assignments / "toy").mkdir(parents=True)
    earlier = [assignments / "toy" / EARLIER_EXAMPLES, toy / "rungs.json"]
    for file in earlier:
        file.write_text("{}", encoding="utf-8")
    build_all([toy], assignments, lambda _: packed({}), lambda *made: {"rungs.json": "[]"})
    assert not any(file.exists() for file in earlier)
    assert generated(toy, "rungs.json").read_text(encoding="utf-8") == "[]"


# What the author can get wrong


def refused(toy: Path, *changes: Change) -> KitError:
    with pytest.raises(KitError) as caught:
        built(toy, *changes)
    return caught.value


BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION\n"
LAST = f"        return double(x, self.kept_factor)\n        {END}"
SPARE = f"\ndef spare():\n    {BEGIN}\n    return 1\n    {END}"


def without_region(function: str) -> Change:
    """What a function would be handed out with, had it no region."""
    start = SOLUTION.index(BEGIN, SOLUTION.index(function))
    region = SOLUTION[start : SOLUTION.index(END, start)] + END
    return solution(region, region.replace(BEGIN, "#").replace(END, "#\n"))


def renamed(old: str, new: str) -> Change:
    return "exercise.toml", f'"{old}"', f'"{new}"'


# What is changed, what is told, and what stands at the line that is named.
FAULTS: dict[str, tuple[list[Change], str, str]] = {
    "optional is neither yes nor no": (
        [("exercise.toml", "format_version = 1", 'format_version = 1\noptional = "yes"')],
        "optional is 'yes'",
        "",
    ),
    "a region is not closed": (
        [solution(LAST, LAST.removesuffix(f"        {END}"))],
        "a solution region is not closed",
        f"{BEGIN}\n        return double(x",
    ),
    "a region in a region": (
        [solution("    return doubled", f"    {BEGIN}\n    return doubled")],
        "a solution region begins inside the one that begins at line 14",
        f"{BEGIN}\n    return doubled",
    ),
    "an end without a beginning": (
        [solution(f"    {BEGIN}\n    doubled", "    doubled")],
        "a solution region ends but never began",
        END,
    ),
    **{
        f"the marker {marker}": (
            [solution(f"    {BEGIN}\n    doubled", f"    {marker}\n    doubled")],
            "is almost a marker of a solution region",
            marker,
        )
        for marker in (
            *("## BEGIN SOLUTION", "### begin solution"),
            *("pass  ### BEGIN SOLUTION", "#BEGIN_SOLUTION"),
        )
    },
    "a step without a function": (
        [solution("def gather(", "def collect(")],
        "the step gather has no function or class in solution.py",
        'name = "gather"',
    ),
    "a function that would be handed out solved": (
        [without_region("def double(")],
        "double has no solution region, so it would be handed out solved",
        "def double(",
    ),
    "a method that would be handed out solved": (
        [without_region("def __init__(")],
        "Layer.__init__ has no solution region, so it would be handed out solved",
        "def __init__(",
    ),
    "a region outside of every step": (
        [solution("\n# %% [markdown]\n# ## Gath", f"{SPARE}\n# %% [markdown]\n# ## Gath")],
        "a solution region is not inside one function of a step",
        f"{BEGIN}\n    return 1",
    ),
    "a region over the end of its function": (
        [solution(f"    return doubled_scores\n    {END}", SPARE.replace(f"    {BEGIN}\n", ""))],
        "a solution region is not inside one function of a step",
        f"{BEGIN}\n    doubled",
    ),
    "steps in another order than their functions": (
        [renamed("double", "first"), renamed("gather", "double"), renamed("first", "gather")],
        "the step double comes where gather is expected",
        "def double(",
    ),
    "a step that is defined twice": (
        [solution("# ## Gathering\n", "# ## Gathering\n\n# %%\ndef double(): ...\n")],
        "the step double is defined twice",
        "def double(): ...",
    ),
    "a step that would have to be awaited": (
        [solution("def double(", "async def double(")],
        "the step double is written with `async def`, which cannot be checked",
        "async def double(",
    ),
    "a step and something else in a cell": (
        [solution("\n\n# %%\nclass Layer", "\n\nclass Layer")],
        "the cell of the step Layer also holds something else",
        "class Layer",
    ),
    **{
        f"code in a cell of comments, {marker}": (
            [solution(LAST, f"{LAST}\n\n{marker}\n# text\n\nleft_over = 1\n")],
            f"a cell that begins with `{marker}` holds a line that is not a comment",
            "left_over = 1",
        )
        for marker in ("# %% [markdown]", '# %% active="ipynb"')
    },
    "a name that is not the folder's": (
        [renamed("toy", "other")],
        "the exercise is called 'other', but its folder is not",
        "",
    ),
    "no Python": (
        [solution("def gather(", "def gather((")],
        "solution.py is not valid Python: '(' was never closed",
        "def gather((",
    ),
}


@pytest.mark.parametrize(("changes", "fact", "at"), FAULTS.values(), ids=FAULTS)
def test_what_an_author_gets_wrong_is_told_with_its_line(
    toy: Path, changes: list[Change], fact: str, at: str
) -> None:
    error = refused(toy, *changes)
    assert error.fact.endswith(fact), error.fact
    if at:
        file = toy / ("exercise.toml" if at.startswith("name") else "solution.py")
        places = (f"{file}:{line_of(file, at)}", f"{file}, at the line: {at}")
        assert error.place in places


def test_only_what_is_optional_may_be_worth_nothing(toy: Path) -> None:
    error = refused(toy, *(("exercise.toml", f"points = {n}", "points = 0") for n in (1, 2, 3)))
    assert error.fact == "all steps together are worth 0 points" and "optional" in error.cure
    version = "format_version = 1"
    folder = built(toy, ("exercise.toml", version, f"{version}\noptional = true"))
    checklist = (folder / "README.md").read_text(encoding="utf-8")
    assert "steps, optional, about" in checklist and "(no points, about" in checklist
    assert read_exercise(folder).optional


def test_prose_may_speak_of_solutions(toy: Path) -> None:
    said = "They differ in the end: solutions."
    folder = built(toy, solution("# ## Gathering", f"# ## Gathering\n# {said}"))
    assert said in (folder / "toy.ipynb").read_text()


def test_a_method_may_be_given_but_not_all_of_a_class(toy: Path) -> None:
    made, forward = "factor: int) -> None:", '"B S"]:\n        """Double x'
    folder = built(toy, solution(made, f"{made}  # given"), without_region("def __init__("))
    assert "kept_factor = abs(factor)" in (folder / "toy.py").read_text()
    given = solution(forward, forward.replace(":", ":  # given"))
    assert refused(toy, given, without_region("def forward(")).fact == (
        "the step Layer has no solution region at all"
    )


def test_a_folder_without_a_solution_is_refused(toy: Path) -> None:
    (toy / "solution.py").unlink()
    assert refused(toy).fact == "the exercise has no solution.py"


# Signatures


def softmax(scores: Float[np.ndarray, "B S S"]) -> Float[np.ndarray, "B S S"]:
    return scores


def project(
    x: Float[np.ndarray, "B S D"],
    bias: Float[np.ndarray, " D"] | None = None,
    *,
    causal: bool = False,
) -> tuple[Float[np.ndarray, "B S D"], int]:
    return x, 0


def mixed(x: Float[np.ndarray, "B S"] | Real[np.ndarray, "S B"], anything) -> None:  # type: ignore[no-untyped-def]
    return None


class Layer:
    def __init__(self, size: int) -> None: ...

    def forward(self, x: Float[np.ndarray, "B S D"]) -> Float[np.ndarray, "B S"]:
        return x[..., 0]


SIGNATURES: tuple[tuple[Callable[..., Any], Signature, str], ...] = (
    (softmax, Signature((("scores", "B S S"),), ("B S S",)), "f(scores: (B, S, S)) -> (B, S, S)"),
    (
        project,
        Signature((("x", "B S D"), ("bias", "D"), ("causal", None)), ("B S D", None)),
        "f(x: (B, S, D), bias: (D,), causal) -> (B, S, D), value",
    ),
    (mixed, Signature((("x", None), ("anything", None)), ()), "f(x, anything)"),
    (Layer.forward, Signature((("x", "B S D"),), ("B S",)), "f(x: (B, S, D)) -> (B, S)"),
    (Layer.__init__, Signature((("size", None),), ()), "f(size)"),
)


@pytest.mark.parametrize(
    ("function", "expected", "text"), SIGNATURES, ids=lambda each: str(each)[:20]
)
def test_a_signature_is_the_same_read_live_or_from_its_source(
    function: Callable[..., Any], expected: Signature, text: str
) -> None:
    assert signature_of(function) == expected
    assert signature_in(_source_of(function)) == expected
    assert expected.text("f") == text


def _source_of(function: Callable[..., Any]) -> ast.FunctionDef:
    tree = ast.parse(Path(__file__).read_text())
    return next(
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.lineno == function.__code__.co_firstlineno
    )


def test_the_signature_of_a_class_is_that_of_its_making() -> None:
    assert signature_of(Layer) == Signature((("size", None),), ())
    assert dict(signature_of(softmax).parameters)["scores"] == "B S S"


def test_an_annotation_that_cannot_be_read_is_told_by_name(tmp_path: Path) -> None:
    path = tmp_path / "misspelt.py"
    path.write_text("from __future__ import annotations\ndef f(x: Floot['B']): ...\n")
    namespace = runpy.run_path(str(path))
    with pytest.raises(KitError, match="the annotations of f cannot be read: name 'Floot'"):
        signature_of(namespace["f"])


@pytest.mark.parametrize(("axes", "text"), [("", "()"), ("D", "(D,)"), ("B H S S", "(B, H, S, S)")])
def test_axes_are_written_as_a_shape(axes: str, text: str) -> None:
    assert shape_text(axes) == text


def test_importing_the_leak_check_and_the_signatures_needs_no_notebook_package() -> None:
    program = (
        "import sys, autograder.authoring.leak, autograder.values.exercise; "
        "assert not {'jupytext', 'nbformat', 'nbgrader', 'torch'} & set(sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
