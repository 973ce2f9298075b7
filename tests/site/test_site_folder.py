"""What `attn site` writes: a folder that stands alone, from the same files the same, or nothing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from autograder.errors import KitError
from autograder.model.exercise import read_exercise
from autograder.site import in_page
from autograder.site.parts import NUMPY, PARTS
from autograder.site.script_pieces import ScriptPieces
from autograder.site.site_folder import SiteOptions, make_site
from support.learner_workspace import NAME, REFERENCE, ROOT

EXERCISE = read_exercise(ROOT / "assignments" / NAME)
ANSWERS = {f"assignments/{NAME}/{file}" for file in ("solution.py", "generated/rungs.json")}
STEPS = [step.name for step in EXERCISE.steps]
STUBS = (EXERCISE.folder / f"{NAME}.py").read_text(encoding="utf-8")
# Checks a step with nothing of this repository but what is in the archive.
ALONE = """
import json, sys
sys.path.insert(0, sys.argv[1])
from autograder.site import in_page
assert in_page.__file__.startswith(sys.argv[1])
page = in_page.Page(f"{sys.argv[1]}/assignments/numpy_single_head")
code = "import numpy as np\\ndef softmax(scores):\\n    print('<b>')\\n    return scores"
answer = json.loads(page.answer(json.dumps({"cells": [["yours", code]], "step": "softmax"}), print))
needless = {"click", "nbgrader", "pytest", "rich", "watchfiles"} & {*sys.modules}
print(json.dumps([answer, sorted(needless)]))
"""

# Checks every step of the file that is given, and prints the card of each.
CARDS = """
import json, sys
from autograder.site import in_page
page = in_page.Page(f"{sys.argv[1]}/assignments/numpy_single_head")
code = sys.stdin.read()
print(json.dumps([page.check([["yours", code]], step)["html"] for step in sys.argv[2:]]))
"""


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """A folder with parts in which nothing is."""
    folder = tmp_path / "parts"
    folder.mkdir()
    for name in PARTS:
        (folder / name).write_text('{"packages": {"numpy": {}, "pandas": {}}}', encoding="utf-8")
    with zipfile.ZipFile(folder / NUMPY, "w") as wheel:
        wheel.writestr("numpy.dist-info/licenses/LICENSE.txt", "may be used")
    return folder


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_check_needs_no_more_of_the_kit_than_is_in_the_archive(
    parts: Path, tmp_path: Path
) -> None:
    make_site(SiteOptions([EXERCISE], parts), tmp_path / "site")
    kit = tmp_path / "kit"
    with zipfile.ZipFile(tmp_path / "site" / "kit.zip") as archive:
        archive.extractall(kit)
    assert not list(kit.rglob("solution.py")) and not list(kit.rglob("misconceptions.py"))
    command = [sys.executable, "-c", ALONE, str(kit)]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8")
    assert run.returncode == 0, run.stderr
    answer, needless = json.loads(run.stdout)
    assert needless == []
    assert not answer["passes"] and "softmax: 0 of 9 checks pass." in answer["html"]
    assert answer["printed"].startswith("<b>") and "<b>" not in answer["html"]


def test_the_same_files_give_the_same_site_and_every_file_is_kept_offline(
    parts: Path, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        make_site(SiteOptions([EXERCISE], parts), tmp_path / name)
    files = files_of(tmp_path / "one")
    assert files == files_of(tmp_path / "two")
    service = files["service.js"].decode()
    assert all(json.dumps(name) in service for name in files if name != "service.js")
    assert json.loads(files["pyodide/pyodide-lock.json"]) == {"packages": {"numpy": {}}}


class Page(HTMLParser):
    """The scripts, addresses and places of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts: list[dict[str, str | None]] = []
        self.addresses: list[str] = []
        self.steps: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        facts = dict(attrs)
        if tag == "script":
            self.scripts.append(facts)
        if facts.get("class") == "step":
            self.steps.append(str(facts["id"]))
        self.addresses += [str(facts[name]) for name in ("src", "href") if name in facts]


def test_a_page_has_an_editor_for_each_step_and_leads_nowhere_else(
    parts: Path, tmp_path: Path
) -> None:
    make_site(SiteOptions([EXERCISE], parts), tmp_path / "site")
    for name in ("index.html", f"{NAME}.html"):
        page = Page((tmp_path / "site" / name).read_text(encoding="utf-8"))
        assert all("src" in each or each["type"] == "application/json" for each in page.scripts)
        assert not [each for each in page.addresses if "//" in each or each.startswith("/")]
    assert page.steps == STEPS


def test_what_needs_pytorch_is_there_to_download_with_the_kit_that_its_first_cell_installs(
    parts: Path, tmp_path: Path
) -> None:
    torch = read_exercise(ROOT / "assignments" / "torch_single_head")
    kit = ("attention_kit-1-py3-none-any.whl", b"the kit")
    size, apart = make_site(SiteOptions([EXERCISE, torch], parts, wheel=kit), tmp_path / "site")
    files = files_of(tmp_path / "site")
    page = Page(files["index.html"].decode())
    first = json.loads(files["download/torch_single_head.ipynb"])["cells"][0]["source"]
    assert f"%pip install --quiet ./{kit[0]}" in "".join(first)
    assert f"download/{kit[0]}" in page.addresses and files[f"download/{kit[0]}"] == b"the kit"
    assert "download/torch_single_head.ipynb" in page.addresses
    assert "torch_single_head.html" not in files
    assert b"download/" not in files["service.js"]  # who reads here does not have to keep it
    assert size + apart == sum(map(len, files.values()))


def test_a_course_has_its_name_on_every_page_and_grades_come_from_elsewhere(
    parts: Path, tmp_path: Path
) -> None:
    make_site(SiteOptions([EXERCISE], parts, course="Attention & <more>"), tmp_path / "site")
    for name in ("index.html", f"{NAME}.html"):
        text = (tmp_path / "site" / name).read_text(encoding="utf-8")
        assert "Attention &amp; &lt;more&gt;" in text and "<more>" not in text
        assert "Grades come from there, never from these pages." in text


def test_lines_of_the_solutions_are_there_only_where_they_are_asked_for(
    parts: Path, tmp_path: Path
) -> None:
    made = {}
    for name, answers in (("course", None), ("alone", ROOT / "solutions")):
        make_site(SiteOptions([EXERCISE], parts, answers=answers), tmp_path / name)
        files = files_of(tmp_path / name)
        with zipfile.ZipFile(tmp_path / name / "kit.zip") as archive:
            packed = ANSWERS & {*archive.namelist()}
        made[name] = (b"exponentials = np.exp(shifted)" in files[f"{NAME}.html"], len(packed))
    assert made == {"course": (False, 0), "alone": (True, 2)}


def test_the_licenses_of_all_that_a_browser_gets_lie_beside_it(parts: Path, tmp_path: Path) -> None:
    make_site(SiteOptions([EXERCISE], parts), tmp_path / "site")
    told = (tmp_path / "site" / "licenses.txt").read_text(encoding="utf-8")
    for each in (
        "MIT License",
        "10.4. Distributing Source Code Form",
        "may be used",
        "jaxtyping",
        "wadler",
    ):
        assert each in told


def test_a_folder_with_something_in_it_is_refused(parts: Path) -> None:
    with pytest.raises(KitError, match="there is something in the folder"):
        make_site(SiteOptions([EXERCISE], parts), parts)


def test_the_pieces_of_a_script_are_the_script() -> None:
    pieces = ScriptPieces.of(STUBS, STEPS)
    parts = [text for name in STEPS for text in (pieces.above[name], pieces.code[name])]
    assert "\n".join([*parts, pieces.below]) == STUBS
    assert pieces.own_code(STUBS) == pieces.code


GIVEN = ScriptPieces.of(STUBS, STEPS)
HELPER = "def double(x):\n    return 2 * x"


def saved(code: dict[str, str]) -> str:
    """The file that the page saves, see `save` in page.js."""
    parts = [text for name in STEPS for text in (GIVEN.above[name], code[name])]
    return "\n".join([*parts, GIVEN.below])


WRITTEN = {
    "a solution": lambda name, code: ScriptPieces.of(REFERENCE, STEPS).code[name],
    "a syntax error": lambda name, code: code.replace("# YOUR CODE HERE", "return ((("),
    "a quote that nothing closes": lambda name, code: code.replace('"""', '"', 1) + "\n'''",
    "another name": lambda name, code: code.replace(name, "another"),
    "no definition": lambda name, code: "x = 1",
    "nothing": lambda name, code: "",
    "blank lines": lambda name, code: f"\n\n{code}\n\n\n",
    "a helper before": lambda name, code: f"{HELPER}\n\n\n{code}",
    "a helper after": lambda name, code: f"{code}\n\n\n{HELPER}",
    "a comment before": lambda name, code: f"# mine\n@double\n{code}\n# mine",
    "the step twice": lambda name, code: f"{code}\n\n{code}",
    "our own heading": lambda name, code: f"{GIVEN.above[name]}\n{code}",
    "a heading": lambda name, code: f"# %%\n# 3 Queries, keys and values\n{code}\n# %%",
    "the whole file": lambda name, code: STUBS,
}


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
def test_a_saved_file_comes_back_letter_for_letter(written: Callable[[str, str], str]) -> None:
    everywhere = {name: written(name, code) for name, code in GIVEN.code.items()}
    for name in STEPS:
        code = {**GIVEN.code, name: everywhere[name]}
        back = GIVEN.own_code(saved(code))
        assert saved(back) == saved(code)
        if STUBS not in code[name] and "# %%" not in code[name]:
            assert back == code
    assert saved(GIVEN.own_code(saved(everywhere))) == saved(everywhere)


def test_a_file_from_windows_comes_back_and_the_question_names_what_it_does_not_define() -> None:
    page = in_page.Page(str(EXERCISE.folder))
    back = page.loaded("\ufeff" + STUBS.replace("\n", "\r\n"))
    assert back.pop("question") == "Put 11 of 11 steps in the place of your code here?"
    assert back == GIVEN.code
    renamed = page.loaded(STUBS.replace("def softmax", "def soft"))
    assert renamed["question"].endswith("here? The file does not define softmax.")
    one = page.loaded("def softmax(scores):\n    return scores\n")
    assert one["question"].startswith("Put 1 of 11 steps in")
    assert "does not define initialize_weights, project_qkv, " in one["question"]


def test_what_a_learner_wrote_elsewhere_comes_along_and_prose_of_ours_does_not() -> None:
    code = GIVEN.own_code(STUBS.replace("def scale", "ROOT = 0.5\n\n\ndef scale"))
    assert code == {
        **GIVEN.code,
        "scale_scores": "ROOT = 0.5\n\n\n" + GIVEN.code["scale_scores"],
    }
    imported = STUBS.replace("import numpy as np\n", "import math\nimport numpy as np\n")
    code = GIVEN.own_code(imported)
    assert code == {**GIVEN.code, "softmax": "import math\n\n\n" + GIVEN.code["softmax"]}
    heading = "# %%\n# 5 Scaling   "
    assert heading in STUBS
    for changed in ("# 5 Scaling", "# %%\n# 5 Scaling"):  # without it, cut at the definition
        there = STUBS.replace(heading, changed)
        assert "def scale_scores" not in GIVEN.own_code(there)["compute_attention_scores"]
        assert GIVEN.own_code(there)["scale_scores"].endswith(GIVEN.code["scale_scores"])


def test_a_file_without_our_headings_is_cut_at_its_definitions() -> None:
    bare = "\n".join(line for line in STUBS.split("\n") if not line.startswith("#"))
    for name, code in GIVEN.own_code(bare).items():
        assert code.endswith(GIVEN.code[name])
    twice = GIVEN.own_code("def softmax(x):\n    return 1\n\ndef softmax(x):\n    return 2\n")
    assert list(twice) == ["softmax"] and twice["softmax"].endswith("return 2")
    assert GIVEN.own_code("print()") == {}


def test_a_card_tells_as_many_checks_as_it_counts_and_promises_none_that_do_not_come() -> None:
    run = [sys.executable, "-c", CARDS, str(ROOT), *STEPS]
    told = subprocess.run(
        run, input=REFERENCE, capture_output=True, text=True, check=True, cwd=ROOT
    )
    for step, card in zip(STEPS, json.loads(told.stdout), strict=True):
        rows = re.findall(r"<li[^>]*>(.*?)</li>", card)
        assert f"{step}: {len(rows)} of {len(rows)} checks pass." in card
        assert "when these pass" not in card, rows
